/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events: the moment when a stream had come to a point. */
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
	/* Recorded last in a stream that is captured: where in the graph (capture.c). */
	uint64_t capture_id; /* 0: not so */
	GT_VEC(struct CUgraphNode_st *) nodes;
};

CUresult sg_event_new(CUcontext context, unsigned int flags, CUevent *ret_event);
/* An event of another process, by the file of what is shared, which is taken over. */
CUresult sg_event_open(CUcontext context, int fd, CUevent *ret_event);
void sg_event_destroy(CUevent event);
/* In a stream that is captured, that point of the graph; `external` makes it a node instead. */
CUresult sg_event_record(CUevent event, CUstream stream, bool external);
/* Makes what comes later in the stream wait for the event's last record. */
CUresult sg_event_wait(CUstream stream, CUevent event, bool external);
/* CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or the context's error. */
CUresult sg_event_query(CUevent event);
CUresult sg_event_synchronize(CUevent event);
/* ms from one to the other. */
CUresult sg_event_elapsed(CUevent start, CUevent end, float *ret_ms);

/* The operation of its last record as a reference, or NULL. */
struct sg_operation *sg_event_operation(CUevent event);
/* From now on the event is this operation (a graph's node records it). */
void sg_event_set_operation(CUevent event, struct sg_operation *operation);
