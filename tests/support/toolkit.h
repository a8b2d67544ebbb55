/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tools of the CUDA toolkit and other compilers, which tests run where they are installed. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "amount.h"
#include "tap.h"

/* Where CUDA's tools are looked for, beside PATH. */
#define TOOLS "PATH=\"$PATH:${CUDA_HOME:-/usr/local/cuda}/bin\" "

/* Whether a tool may run. Sanitized tests run none: that would be most of their time, and
 * sanitizers do not see what it does. */
static inline bool have_tool(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), TOOLS "command -v %s >/dev/null", name);
	return !IS_SANITIZED && !system(command);
}

#define NEED_TOOL(name)                                                                            \
	do {                                                                                       \
		if (IS_SANITIZED)                                                                  \
			SKIP("it runs " name ", which sanitizers do not see");                     \
		if (!have_tool(name))                                                              \
			SKIP(name " is not installed");                                            \
	} while (0)
