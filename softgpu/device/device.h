/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software CUDA device as one whole: it is started once, by cuInit, and lives until the
 * process ends. Its machine (exec/exec.h) serves all devices; each has its share of the arena.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "base/vec.h"
#include "device/config.h"
#include "exec/exec.h"

enum {
	SG_DRIVER_VERSION = 13000, /* of the CUDA API that the libraries speak */
	SG_MAX_DEVICES = 16,
};

struct sg_device {
	int ordinal;
	uint64_t arena;           /* address of its memory */
	uint64_t arena_size;      /* bytes; more than config.memory: see memory.c */
	struct CUctx_st *primary; /* NULL while it is not retained */
	unsigned int primary_references;
	unsigned int primary_flags;
	struct CUmemPoolHandle_st *default_pool;
	struct CUmemPoolHandle_st *current_pool;
	/* Calls that waited for a stream, an event or a context: pools release memory there. */
	atomic_uint_least64_t synchronizations;
};

struct sg_state {
	struct sg_config config;
	struct sg_machine *machine;
	uint64_t arena; /* address of the mapping; all devices' memory, one after the other */
	uint64_t arena_size;
	int arena_fd; /* memfd that holds it */
	struct sg_device devices[SG_MAX_DEVICES];
	pthread_mutex_t lock; /* of the devices' members that change */
};

/* The state of all devices. Its members are constant after sg_start, except those of `devices`. */
extern struct sg_state sg_state;

/* Start the device, for cuInit. CUDA_SUCCESS, CUDA_ERROR_NO_DEVICE, or the reason of a failure. */
CUresult sg_start(void);
/*
 * Check whether a call is allowed: CUDA_SUCCESS; NOT_INITIALIZED before cuInit and in a forked
 * child of a process that used the device; NOT_PERMITTED in a host function of a stream.
 */
CUresult sg_check(void);
/* The same without the rule for host functions. */
CUresult sg_check_started(void);

/* Return a device by its number, or NULL. */
struct sg_device *sg_device_find(CUdevice ordinal);
/* Return an attribute of a device. CUDA_ERROR_INVALID_VALUE: no such attribute. */
CUresult sg_device_attribute(CUdevice ordinal, int attribute, int *ret_value);

/* A stream by its address and its number, since the address may be reused. */
struct sg_own_stream {
	struct CUstream_st *stream;
	uint64_t id;
};

/* The state of a thread of the program. */
struct sg_thread {
	GT_VEC(struct CUctx_st *) contexts;   /* the last one is current */
	GT_VEC(struct sg_own_stream) streams; /* its per-thread default streams */
	bool in_host_function;
	CUstreamCaptureMode capture_mode;
};

/* Return the calling thread's state; NULL: no memory. */
struct sg_thread *sg_thread_self(void);

/*
 * Create a thread of the device, which receives none of the program's signals; as pthread_create.
 */
int sg_create_thread(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*run)(void *),
		     void *argument);
