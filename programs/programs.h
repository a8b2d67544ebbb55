/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of the maps of the programs here, shared with the views in src/report. */
#pragma once

enum {
	CUDACOUNTER_KERNELS = 4096,
	CUDACOUNTER_GROUPS = 64, /* of the blocks of a kernel */
	/* Bytes: a million warps of blocks of eight. */
	BLOCKTIME_RING = 1 << 26,
	/* Bytes: a grid of a million threads of which each exits alone. */
	KERNELRETSNOOP_RING = 1 << 26,
	MEMTRACE_SITES = 1 << 15,
	DIVERGENCE_SITES = 1 << 15,
	HOTLOOP_SITES = 1 << 15,
	STALL_SITES = 1 << 15,
};

struct cudacounter_kernel {
	unsigned long long entries, exits; /* threads */
	unsigned long long warps, cycles;  /* groups of lanes that exit together; their time */
	unsigned long long blocks, blocks_ended;
	/* ns of %globaltimer: with at least one running thread, if none is running; of all blocks,
	 * if all have ended. */
	unsigned long long time, block_time;
};

struct threadhist_thread {
	unsigned long long entries;    /* of kernels */
	unsigned long long loops;      /* branches back to the start of a loop */
	unsigned long long executions; /* of the line, with --line */
};

/* Lanes of a warp that exit together. */
struct kernelretsnoop_exit {
	unsigned long long launch;      /* %gridid */
	unsigned long long time, clock; /* %globaltimer in ns; %clock64 */
	unsigned int pid, kernel;
	unsigned int lanes; /* bit n: lane n */
	unsigned int block_x;
	unsigned short block_y, block_z, warp;
	unsigned short size_x, size_y, size_z; /* of a block */
	unsigned int reserved;
};

/* The start of a block, or lanes of a warp that exit together. */
struct blocktime_record {
	unsigned long long launch, time; /* %gridid; %globaltimer in ns */
	unsigned int pid, kernel;
	unsigned int block_x;
	unsigned short block_y, block_z;
	unsigned int sm;
	unsigned int lanes;   /* that exit; 0: the start */
	unsigned int threads; /* of a block */
	unsigned int shared;  /* bytes of shared memory of a block */
};

/* An instruction that accesses memory. A request is one execution by a warp. */
struct memtrace_site {
	unsigned long long requests;
	unsigned long long lanes, bytes;
	unsigned long long sectors, min_sectors; /* of global memory; without gaps */
	unsigned long long passes, min_passes;   /* of shared memory; without bank conflicts */
	/* Requests of more than one lane by pattern; strided ones have another constant stride. */
	unsigned long long unit, broadcast, strided, irregular;
	unsigned long long same_stride; /* strided requests with the stride of the first one */
};

/* What reports have of it: two maps. Arrays to which programs only add are quicker. */
struct memtrace_row {
	struct memtrace_site sums;
	unsigned long long stride; /* in bytes, of the first strided request */
};

/* A conditional branch. */
struct divergence_site {
	unsigned long long executions; /* by warps */
	unsigned long long lanes, taken;
	unsigned long long divergent; /* executions in which some lanes took it and others not */
};

struct hotloop_site {
	unsigned long long warps, threads; /* that branched back to the start of a loop */
	unsigned long long entries;        /* by threads that have left the loop */
	unsigned long long trips;          /* of these; a trip passes the start once */
};

struct hotloop_extremes {
	unsigned long long max, not_min; /* trips of an entry; ~ the minimum */
};

struct hotloop_row {
	struct hotloop_site sums;
	struct hotloop_extremes extremes;
};

/* A load, an atomic or a barrier: by warps. The first counter is 0 if it did not run. */
struct stall_site {
	unsigned long long executions;
	unsigned long long cycles; /* waited */
};

struct stall_row {
	struct stall_site sums;
	unsigned long long max; /* cycles of the longest wait */
};
