/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Launching kernels. */
#pragma once

#include <stdbool.h>

#include <cuda.h>

#include "device/module.h"
#include "device/work.h"

/* What a program asks for; shape as in CUlaunchConfig. */
struct sg_launch_request {
	CUfunction function; /* or a CUkernel, as CUDA allows */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t cluster[3];
	uint32_t shared;
	bool cooperative;
	int priority;
	void **parameters; /* a pointer to each argument; or NULL, then: */
	void **extra;      /* CU_LAUNCH_PARAM_BUFFER_POINTER … */
};

/*
 * Checks the request for a context and makes it a work, with a copy of the arguments.
 * CUDA_ERROR_INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, COOPERATIVE_LAUNCH_TOO_LARGE,
 * INVALID_CLUSTER_SIZE, INVALID_HANDLE …: nothing is launched, and the context stays usable.
 */
CUresult sg_kernel_prepare(CUcontext context, const struct sg_launch_request *request,
			   struct sg_work *ret_work);
bool sg_kernel_clone(const struct sg_kernel_work *kernel, struct sg_kernel_work *ret_kernel);
CUresult sg_kernel_run(const struct sg_kernel_work *kernel, CUcontext context,
		       struct sg_record *record);

/* Blocks of that shape that fit on a multiprocessor at once. */
uint32_t sg_kernel_occupancy(CUfunction function, uint32_t threads, uint64_t shared);
