/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libgputap-opencl.so: a layer of OpenCL's loader (OPENCL_LAYERS). Beside each program that the
 * traced process builds it creates another one, which the collector has patched, and kernels that
 * programs match come from that one. Everything else is asked of the originals: sources, logs,
 * names, arguments. Whatever goes wrong, there is the original alone, and the process runs as
 * without the layer. Without the agent in the process the layer does nothing.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include "agent/services.h"

extern const struct gt_agent_services *gt_cl_services;
/* The functions below the layer. */
extern const struct _cl_icd_dispatch *gt_cl_target;

/* ---- program.c ---- */

/* The patched form of a program. */
struct gt_cl_replacement {
	cl_program program;
	size_t size;  /* of the names */
	char names[]; /* of the kernels that it is to be used for, each with a NUL */
};

/*
 * Create the patched form of a program for its devices, or for `count` of them. NULL: there is
 * none, and the program is left alone.
 */
struct gt_cl_replacement *gt_cl_replace(cl_program program, cl_uint count,
					const cl_device_id *devices, const char *options);
void gt_cl_replacement_free(struct gt_cl_replacement *replacement);
bool gt_cl_replacement_has(const struct gt_cl_replacement *replacement, const char *kernel);
