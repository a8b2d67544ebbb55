/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What launchlate.bpf.c shares with its report. */
#pragma once

enum {
	LAUNCHLATE_LOG = 1 << 14,  /* events of the host that nobody has read yet; a power of two */
	LAUNCHLATE_RING = 1 << 22, /* bytes: records of grids */
	LAUNCHLATE_GRIDS = 1 << 12, /* that are distinguished at once; a power of two */
	LAUNCHLATE_PAUSE = 20000,   /* ns between times that the GPU leaves for the host */
	LAUNCHLATE_NAME = 512,      /* bytes of a kernel's name that its hash covers */
};

enum launchlate_kind {
	LAUNCHLATE_KERNEL = 1,    /* a call that launches a kernel has returned */
	LAUNCHLATE_GRAPH,         /* one that launches a graph */
	LAUNCHLATE_SYNC,          /* a call that may have waited for kernels has returned */
	LAUNCHLATE_NAMED,         /* `handle` is a kernel; `other`: the hash of its name */
	LAUNCHLATE_ALIAS,         /* `handle` is the kernel that `other` is */
	LAUNCHLATE_CAPTURE_BEGIN, /* launches in the stream `handle` are captured from now on */
	LAUNCHLATE_CAPTURE_END,
};

/* Times are in ns of CLOCK_MONOTONIC. */
struct launchlate_event {
	unsigned long long number;     /* in the log, from 1; written last */
	unsigned long long begin, end; /* of the call */
	unsigned long long handle;     /* kernels: a CUfunction, CUkernel or a runtime's handle */
	unsigned long long other;      /* launches: the stream */
	unsigned long long gpu;        /* a time of the GPU that was before `end`; 0: none */
	unsigned int pid, tid;
	unsigned short kind, launches; /* launches: calls of the driver within the call */
	int result;
};

/* The first value: the latest times that each side has left for the other. */
struct launchlate_clocks {
	unsigned long long host; /* a call began or returned */
	unsigned long long gpu;  /* lanes exited */
	unsigned long long head; /* events ever written */
	unsigned long long seen; /* the last GPU time that is in the log */
	unsigned long long lost; /* calls that there was no memory for */
};

union launchlate_slot {
	struct launchlate_clocks clocks;
	struct launchlate_event event;
};

/* The first instruction of a grid; of several records the earliest counts. */
struct launchlate_grid {
	unsigned long long launch; /* %gridid */
	unsigned long long time;   /* %globaltimer */
	unsigned long long read;   /* the same, later: after `host` was read */
	unsigned long long host;   /* a host's time that was before it; 0: none */
	unsigned int pid, kernel;
};

#define LAUNCHLATE_HASH_START 0xcbf29ce484222325ull
#define LAUNCHLATE_HASH_FACTOR 0x100000001b3ull /* FNV-1a, 64 bits */
