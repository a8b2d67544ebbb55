/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A site in a kernel, for tests that run programs with a context in the interpreter. */
#pragma once

#include "gpubpf/interp/interp.h"

/* Initialiser of a struct gt_interp_site; `function` has the values that differ between lanes. */
#define TEST_SITE(function)                                                                        \
	{                                                                                          \
		.kernel = 3, .site = 4, .line = 55, .argument_count = 2, .argument_sizes = {8, 4}, \
		.arguments = {0xabcdef0123456789, 77}, .width = 16, .space = GT_SPACE_GLOBAL,      \
		.lane = (function)                                                                 \
	}
