/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#pragma once

#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "base/vec.h"
#include "opencl/opencl.h"

struct gt_cl_functions {
#define FUNCTION(name) __typeof__(&(name)) name;
#include "opencl/functions.def"
#undef FUNCTION
	__typeof__(&clCreateProgramWithIL) clCreateProgramWithIL; /* NULL before OpenCL 2.1 */
};

struct gt_cl {
	void *library;
	struct gt_cl_functions call;
	GT_VEC(cl_device_id) devices;
};

struct gt_cl_device {
	struct gt_cl *cl;
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	struct gt_cl_device_info info;
	bool is_abandoned;
};

struct gt_cl_program {
	struct gt_cl_device *device;
	cl_program program;
	/* The launch that runs. */
	cl_kernel kernel;
	cl_event event; /* its end; NULL: none runs */
	struct gt_cl_argument arguments[GT_CL_MAX_ARGUMENTS];
	cl_mem memory[GT_CL_MAX_ARGUMENTS];
	size_t argument_count;
};

/* 0, or the error of a result, with its name in the diag. */
int gt_cl_check(cl_int result, const char *function, struct gt_diag *diag);

/*
 * Convert SPIR-V to SPIR 1.2 bitcode by llvm-spirv. 0; -ENOENT: it is not installed; -EINVAL: it
 * fails, its messages are appended to *ret_log.
 */
int gt_cl_convert(const void *module, size_t size, struct gt_strbuf *ret_bitcode,
		  struct gt_strbuf *ret_log, struct gt_diag *diag);
