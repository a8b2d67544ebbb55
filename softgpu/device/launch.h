/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Launching kernels. */
#pragma once

#include <stdbool.h>

#include <cuda.h>

#include "device/module.h"
#include "device/work.h"

/* A launch that a program requests. */
struct sg_launch_request {
	CUfunction function; /* or a CUkernel, as CUDA allows */
	struct sg_launch_shape shape;
	int priority;
	void **parameters; /* a pointer to each argument; or NULL, then: */
	void **extra;      /* CU_LAUNCH_PARAM_BUFFER_POINTER … */
};

/* Read the shape from a CUlaunchConfig or a CUDA_KERNEL_NODE_PARAMS. */
#define SG_SHAPE_OF(cuda)                                                                          \
	((struct sg_launch_shape){                                                                 \
		.grid = {(cuda)->gridDimX, (cuda)->gridDimY, (cuda)->gridDimZ},                    \
		.block = {(cuda)->blockDimX, (cuda)->blockDimY, (cuda)->blockDimZ},                \
		.dynamic_shared = (cuda)->sharedMemBytes,                                          \
	})

/*
 * Check a request and prepare its work, with a copy of the arguments. CUDA_ERROR_INVALID_VALUE,
 * LAUNCH_OUT_OF_RESOURCES, COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_CLUSTER_SIZE, INVALID_HANDLE …:
 * nothing is launched, and the context stays usable.
 */
CUresult sg_kernel_prepare(CUcontext context, const struct sg_launch_request *request,
			   struct sg_work *ret_work);
bool sg_kernel_clone(const struct sg_kernel_work *kernel, struct sg_kernel_work *ret_kernel);
CUresult sg_kernel_run(const struct sg_kernel_work *kernel, CUcontext context,
		       struct sg_record *record);

/* Return how many blocks of that size a multiprocessor holds at once. */
uint32_t sg_kernel_occupancy(CUfunction function, uint32_t threads, uint64_t shared);
