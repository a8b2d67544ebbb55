/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A unit of work, as data: a stream runs it, a capture adds it to a graph, a graph runs it again. A
 * work owns the members that are marked "owned", and nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "device/log.h"
#include "exec/exec.h"

enum sg_work_kind {
	SG_WORK_EMPTY,
	SG_WORK_KERNEL,
	SG_WORK_COPY,
	SG_WORK_SET,
	SG_WORK_HOST,      /* a host function, or a stream's callback */
	SG_WORK_RECORD,    /* of an event */
	SG_WORK_WAIT,      /* for an event; outside of graphs a mere dependency */
	SG_WORK_VALUE,     /* wait for a value in memory, or write one */
	SG_WORK_ALLOCATE,  /* memory, in a graph */
	SG_WORK_FREE,      /* memory */
	SG_WORK_GRAPH,     /* a graph within a graph */
	SG_WORK_CONDITION, /* graphs that run depending on a value */
	SG_WORK_RESET,     /* sets the initial value of a condition */
	SG_WORK_SIGNAL,    /* signals an event to other processes */
	SG_WORK_AWAIT,     /* waits for an event that another process may record */
};

/* Attributes of a kernel that have no effect here; as in CUlaunchAttributeValue. */
struct sg_hints {
	CUaccessPolicyWindow window;
	CUclusterSchedulingPolicy scheduling;
	CUlaunchMemSyncDomain memory_domain;
	CUlaunchMemSyncDomainMap memory_domains;
	unsigned int carveout;
};

struct sg_kernel_work {
	CUfunction function; /* of the context that runs it */
	CUkernel kernel; /* the handle that the program passed, if it was a kernel of a library */
	struct sg_launch_shape shape;
	int priority;
	uint64_t id; /* %gridid, in the order of the calls; 0: given when it runs, as in graphs */
	struct sg_hints hints;
	/* Owned: the parameter buffer, and for each parameter a pointer into it. */
	unsigned char *parameters;
	size_t parameter_size;
	void **pointers;
};

/* One side of a copy. Address of byte (x, y, z): address + z * slice + y * pitch + x. */
struct sg_copy_side {
	uint64_t address;
	uint64_t pitch;
	uint64_t slice;
};

struct sg_copy_work {
	struct sg_copy_side target, source;
	uint64_t width;        /* bytes */
	uint64_t height;       /* rows */
	uint64_t depth;        /* slices */
	const char *direction; /* "H2D", "D2H", "D2D", "H2H" */
	bool reads_pageable;   /* the source is host memory that is not pinned */
	bool writes_pageable;
	bool host_sees;           /* either side is memory that the host may read */
	void *staging;            /* owned: where the source was copied to; NULL: nowhere */
	CUDA_MEMCPY3D parameters; /* as the program gave them (for graphs) */
};

struct sg_set_work {
	uint64_t address;
	uint64_t pitch; /* bytes */
	uint32_t value;
	uint32_t element_size; /* 1, 2, 4 */
	uint64_t width;        /* elements */
	uint64_t height;       /* rows */
	bool host_sees;        /* the host may read it */
};

struct sg_host_work {
	CUhostFn function; /* or NULL, then: */
	CUstreamCallback callback;
	CUstream stream; /* the argument of the callback */
	void *data;
};

struct sg_value_work {
	uint64_t address;
	uint64_t value;
	unsigned int size; /* 4 or 8 */
	unsigned int flags;
	bool is_write;
};

/* The value of a conditional node, and the graphs that it selects from. */
struct sg_condition_work {
	struct sg_condition *condition; /* a reference (condition.h) */
	CUgraphConditionalNodeType type;
	unsigned int size; /* of bodies */
	CUgraph *bodies;   /* owned, the graphs too */
};

/* Memory that a graph allocates: it exists as long as any graph or clone that refers to it. */
struct sg_graph_memory;

struct sg_allocate_work {
	CUDA_MEM_ALLOC_NODE_PARAMS parameters;
	struct sg_graph_memory *memory; /* a reference; the graph's (graph.h) */
};

/* A record of an event that processes share. */
struct sg_shared_work {
	struct sg_shared_event *event; /* a reference (shared_event.h) */
	uint64_t number;
};

struct sg_work {
	enum sg_work_kind kind;
	union {
		struct sg_kernel_work kernel;
		struct sg_copy_work copy;
		struct sg_set_work set;
		struct sg_host_work host;
		CUevent event;
		struct sg_value_work value;
		CUdeviceptr address; /* SG_WORK_FREE */
		struct sg_allocate_work allocation;
		CUgraph graph; /* owned */
		struct sg_condition_work condition;
		struct sg_condition *reset; /* a reference */
		struct sg_shared_work shared;
	};
};

/* Return the name of a work in the log; NULL: it is not logged. */
const char *sg_work_name(enum sg_work_kind kind);
/* Copy a work with everything that it owns. False: no memory. */
bool sg_work_clone(const struct sg_work *work, struct sg_work *ret_work);
/* Free what the work owns. */
void sg_work_clear(struct sg_work *work);
/*
 * Run it in the calling thread and fill in the log record. Not for EMPTY, RECORD, WAIT, GRAPH,
 * which only take part in the order.
 */
CUresult sg_work_run(struct sg_work *work, CUcontext context, struct sg_record *record);
