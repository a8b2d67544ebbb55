/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clocks, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#define GT_SECOND_NS UINT64_C(1000000000)

/* Return the time of a clock of clock_gettime(2), in ns. */
static inline uint64_t gt_clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * GT_SECOND_NS + (uint64_t)time.tv_nsec;
}

/* Return CLOCK_MONOTONIC, on which events are, in ns. */
static inline uint64_t gt_clock_monotonic(void)
{
	return gt_clock_ns(CLOCK_MONOTONIC);
}
