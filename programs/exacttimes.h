/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What exacttimes.bpf.c shares with its reader. */
#pragma once

enum {
	EXACTTIMES_RING = 1 << 22,  /* bytes: what 80,000 grids write between two reads */
	EXACTTIMES_SLOTS = 1 << 12, /* of grids that run */
};

/* A grid that runs. The high 24 bits of each word are those of its id. */
struct exacttimes_slot {
	unsigned long long first;  /* the low 40 bits of the earliest time so far */
	unsigned long long blocks; /* that have ended */
};

/* A grid that has ended. */
struct exacttimes_grid {
	unsigned long long launch;      /* %gridid */
	unsigned long long first, last; /* %globaltimer in ns, where its blocks begin and end */
	unsigned int pid, kernel;
};
