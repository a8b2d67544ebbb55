/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How good the code of translated programs is: the probes of translate-probes.c, next to the same
 * source through clang's nvptx64 target, for one GPU of each instruction set. The kernels are the
 * probes and nothing else. Needs clang and ptxas.
 */
#pragma once

#include <stdbool.h>

#include "sass.h"

struct probe_code {
	const char *name;
	unsigned sm;
	bool has_clang; /* there is clang's nvptx64 target, and the probe has a form for it */
	struct sass_code ours, clang;
};

/* Why nothing can be measured here, or NULL. */
const char *probe_tools_missing(void);
/* Calls `use` for each probe and GPU until it gives something else than 0. 0 or -Exxx. */
int measure_probes(int (*use)(const struct probe_code *code, void *user), void *user);
