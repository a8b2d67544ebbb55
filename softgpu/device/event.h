/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events: the time at which a stream reached a point. */
#pragma once

#include <pthread.h>

#include <cuda.h>

#include "device/shared_event.h"
#include "device/stream.h"

struct CUevent_st {
	CUcontext context;
	unsigned int flags; /* CU_EVENT_… */
	pthread_mutex_t lock;
	struct sg_operation *record;    /* the last one submitted; a reference, or NULL */
	struct sg_shared_event *shared; /* a reference, if CU_EVENT_INTERPROCESS, or NULL */
	/* If the last record was in a captured stream: its node in the graph (capture.c). */
	uint64_t capture_id; /* 0: it was not */
	GT_VEC(struct CUgraphNode_st *) nodes;
};

CUresult sg_event_new(CUcontext context, unsigned int flags, CUevent *ret_event);
/* Create an event that another process shares, by its file, which is taken over. */
CUresult sg_event_open(CUcontext context, int fd, CUevent *ret_event);
void sg_event_destroy(CUevent event);
/*
 * Record an event. In a captured stream it marks the current point of the graph; `external` adds a
 * node instead.
 */
CUresult sg_event_record(CUevent event, CUstream stream, bool external);
/* Make later work in the stream wait for the event's last record. */
CUresult sg_event_wait(CUstream stream, CUevent event, bool external);
/* CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or the context's error. */
CUresult sg_event_query(CUevent event);
CUresult sg_event_synchronize(CUevent event);
/* Return the ms between two events. */
CUresult sg_event_elapsed(CUevent start, CUevent end, float *ret_ms);

/* Return a reference to the operation of its last record, or NULL. */
struct sg_operation *sg_event_operation(CUevent event);
/* Make this operation the event's last record (a node of a graph records it). */
void sg_event_set_operation(CUevent event, struct sg_operation *operation);
