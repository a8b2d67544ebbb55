/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How much random tests do. */
#pragma once

#include <stdlib.h>

#ifdef __has_feature
#define AMOUNT_HAS_FEATURE(feature) __has_feature(feature)
#else
#define AMOUNT_HAS_FEATURE(feature) 0
#endif

/* Sanitizers make a program up to 20 times slower, and find their faults in a part of the cases. */
#if defined(__SANITIZE_ADDRESS__) || AMOUNT_HAS_FEATURE(address_sanitizer)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* The number of random programs: PROGRAMS in the environment, or `usual`; a fifth if sanitized. */
static inline unsigned programs_wanted(unsigned usual)
{
	const char *wanted = getenv("PROGRAMS");

	if (wanted)
		return (unsigned)atoi(wanted);
	return IS_SANITIZED ? usual / 5 : usual;
}
