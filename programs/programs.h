/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of the maps of the programs here, shared with the views in src/report. */
#pragma once

enum {
	CUDACOUNTER_KERNELS = 4096,
};

struct cudacounter_kernel {
	unsigned long long entries, exits; /* threads */
	unsigned long long warps, cycles;  /* groups of lanes that exit together; their time */
	unsigned long long blocks;
};

struct threadhist_thread {
	unsigned long long entries; /* of kernels */
	unsigned long long loops;   /* branches back to the start of a loop */
};
