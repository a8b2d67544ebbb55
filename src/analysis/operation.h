/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations: effects of calls on memory, streams and kernels, whichever function has them.
 * Analyses handle operations and know no function by name.
 *
 * One logical operation is reported once, although the runtime's functions call the driver's: of
 * nested calls of one category, the outermost counts. A nested call is held back until the
 * outermost call around it has returned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/call.h"
#include "base/clean.h"
#include "event/event.h"
#include "names/names.h"

enum gt_operation_kind {
	GT_OPERATION_OTHER, /* nothing that an analysis knows */
	GT_OPERATION_ALLOC,
	GT_OPERATION_FREE,
	GT_OPERATION_COPY, /* `other`: how many, where it is a list */
	GT_OPERATION_SET,
	GT_OPERATION_LAUNCH,
	GT_OPERATION_SYNC, /* of the stream, if it has one, or of all of the device */
	GT_OPERATION_REGISTER,
	GT_OPERATION_UNREGISTER,
	GT_OPERATION_MAP, /* `other`: the handle that is mapped at `address` */
	GT_OPERATION_UNMAP,
	GT_OPERATION_RETAIN,
	GT_OPERATION_IMPORT,        /* a handle of memory that another handle or API owns */
	GT_OPERATION_STREAM_CREATE, /* `other`: its flags */
	/* Of OpenCL, Level Zero: no default stream waits for it; `other`: its flags, 1: its work is
	 * in no order. */
	GT_OPERATION_QUEUE_CREATE,
	GT_OPERATION_STREAM_QUERY,
	GT_OPERATION_EVENT_CREATE, /* which work does not complete */
	/* `address`, or `signal` of work that is nothing else that an analysis knows. */
	GT_OPERATION_EVENT_RECORD,
	GT_OPERATION_EVENT_WAIT,
	GT_OPERATION_EVENT_SYNC,
	GT_OPERATION_EVENT_QUERY,
	GT_OPERATION_RESET,           /* of the device; `other`: its ordinal, if it has one */
	GT_OPERATION_CONTEXT_PRIMARY, /* is retained; `other`: the device's ordinal … */
	GT_OPERATION_CONTEXT_RELEASE, /* … and released */
	GT_OPERATION_CONTEXT_CREATE,
	GT_OPERATION_CONTEXT_DESTROY,
	GT_OPERATION_CONTEXT_SET,
	GT_OPERATION_CONTEXT_PUSH,
	GT_OPERATION_CONTEXT_POP,
	GT_OPERATION_CAPTURE_BEGIN, /* `other`: a graph to capture into, if there is one */
	GT_OPERATION_CAPTURE_END,
	GT_OPERATION_CAPTURE_CHANGE, /* … in an unsupported way */
	GT_OPERATION_GRAPH_CREATE,
	GT_OPERATION_GRAPH_CLONE, /* `other`: the original */
	GT_OPERATION_GRAPH_NODE,  /* a node is added: becomes one of the next, or OTHER */
	GT_OPERATION_GRAPH_COPY,  /* a node is added, that copies; `other`: the node … */
	GT_OPERATION_GRAPH_KERNEL,
	GT_OPERATION_GRAPH_ALLOC,
	GT_OPERATION_GRAPH_CHILD,  /* … or `other`: the graph that is a node */
	GT_OPERATION_GRAPH_CHANGE, /* in an unsupported way … */
	GT_OPERATION_GRAPH_CHANGE_NODE,
	GT_OPERATION_GRAPH_CHANGE_EXEC,
	GT_OPERATION_GRAPH_INSTANTIATE, /* or updated; `other`: the graph */
	GT_OPERATION_GRAPH_DESTROY,
	GT_OPERATION_GRAPH_DESTROY_EXEC,
	GT_OPERATIONS,
};

enum gt_memory_space {
	GT_SPACE_DEVICE,
	GT_SPACE_HOST, /* pinned */
	GT_SPACE_MANAGED,
	GT_SPACE_ARRAY,
	GT_SPACE_PHYSICAL, /* by cuMemCreate: has a handle, and addresses where it is mapped */
	GT_SPACES,
};
/* "device", "host", … */
const char *gt_space_name(enum gt_memory_space space);

/* cudaStreamLegacy and cudaStreamPerThread: default streams by their handles. */
#define GT_STREAM_LEGACY 1
#define GT_STREAM_PER_THREAD 2

struct gt_operation {
	const struct gt_event_call *event; /* valid while the operation is passed on */
	/* The decoded event. A call that adds a node to a graph: as if it were the node's call. */
	struct gt_call call;
	enum gt_operation_kind kind;
	enum gt_memory_space space; /* of ALLOC and FREE */
	bool failed;
	uint64_t start, end; /* of the call, ns */
	/* False: not in the record. */
	bool has_address, has_bytes, has_other, has_stream;
	uint64_t address; /* or handle: allocated, freed, registered, of an event, of a graph that
			     is launched … */
	uint64_t bytes;
	uint64_t other;
	uint64_t stream;
	/* Events that the call waits for, or the work that it puts into a queue (OpenCL, Level
	 * Zero). */
	unsigned wait_count;
	uint64_t waits[GT_API_MAX_LIST];
	uint64_t signal;  /* event of which the completion is that of the work; 0: none */
	uint64_t kernel;  /* of GRAPH_KERNEL: its handle, or 0 */
	uint64_t capture; /* number of the capture that it becomes part of, begins or ends; 0: none:
			   it is done */
	bool names_stream; /* the function has an argument for it; else it means the default one */
};

struct gt_operations;

/* NULL: no memory. */
struct gt_operations *gt_operations_new(void);
void gt_operations_free(struct gt_operations *operations);
GT_DEFINE_AUTO(operations, struct gt_operations, gt_operations_free)

/* Takes an operation; a result other than 0 stops and is returned. */
typedef int (*gt_operation_sink)(void *context, const struct gt_names *names,
				 const struct gt_operation *operation);

/*
 * Passes the operations that an event completes to the sink. Abandoned calls and functions that are
 * in no table are none. 0, -ENOMEM, or the sink's result.
 */
int gt_operations_take(struct gt_operations *operations, const struct gt_names *names,
		       const struct gt_event *event, gt_operation_sink sink, void *context);
/* The kind of operation of a function's calls. */
enum gt_operation_kind gt_operation_kind_of(const struct gt_api_function *function);
