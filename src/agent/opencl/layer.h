/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libgputap-opencl.so: a layer of OpenCL's loader (OPENCL_LAYERS). Beside each program that the
 * traced process builds it creates another one, which the collector has patched, and kernels that
 * programs match come from that one. Everything else is asked of the originals: sources, logs,
 * names, arguments. Times of commands: times.h. Whatever goes wrong, there is the original alone,
 * and the process runs as without the layer. Without the agent in the process the layer does
 * nothing.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include "agent/services.h"

extern const struct gt_agent_services *gt_cl_services;
/* The functions below the layer. */
extern const struct _cl_icd_dispatch *gt_cl_target;

typedef void CL_CALLBACK gt_cl_notify(cl_program program, void *data);

/* ---- replacement.c ---- */

struct gt_agent_units;
struct gt_cl_copies;

/* The patched form of a program. */
struct gt_cl_replacement {
	cl_program program;
	cl_device_id device;         /* one of its devices */
	bool needs_system_memory;    /* its kernels are to be allowed to access it */
	struct gt_cl_copies *copies; /* that its kernels get (copies.h); or NULL */
	size_t size;                 /* of the names */
	char names[];                /* of the kernels that it is to be used for, each with a NUL */
};

struct gt_cl_request {
	cl_program program;          /* NULL: it is not linked yet */
	bool is_built;               /* OpenCL knows the names of its kernels */
	cl_context context;          /* where there is no program */
	cl_uint count;               /* of the devices */
	const cl_device_id *devices; /* NULL: all of the program or context */
	const struct gt_agent_units *units;
};

/* Create the patched form of a program. NULL: there is none, and the program is left alone. */
struct gt_cl_replacement *gt_cl_replace(const struct gt_cl_request *request);
void gt_cl_replacement_free(struct gt_cl_replacement *replacement);
bool gt_cl_replacement_has(const struct gt_cl_replacement *replacement, const char *kernel);

/* In the child after fork. */
void gt_cl_devices_forked(void);

/* ---- program.c: the functions of the layer, as cl.h describes them ---- */

cl_int CL_API_CALL gt_cl_build_program(cl_program program, cl_uint count,
				       const cl_device_id *devices, const char *options,
				       gt_cl_notify *notify, void *data);
cl_int CL_API_CALL gt_cl_compile_program(cl_program program, cl_uint count,
					 const cl_device_id *devices, const char *options,
					 cl_uint header_count, const cl_program *headers,
					 const char **names, gt_cl_notify *notify, void *data);
cl_program CL_API_CALL gt_cl_link_program(cl_context context, cl_uint device_count,
					  const cl_device_id *devices, const char *options,
					  cl_uint count, const cl_program *inputs,
					  gt_cl_notify *notify, void *data, cl_int *ret_error);
cl_program CL_API_CALL gt_cl_create_from_binary(cl_context context, cl_uint count,
						const cl_device_id *devices, const size_t *lengths,
						const unsigned char **binaries, cl_int *status,
						cl_int *ret_error);
cl_int CL_API_CALL gt_cl_retain_program(cl_program program);
cl_int CL_API_CALL gt_cl_release_program(cl_program program);
/* The patched form of a program, or NULL. */
const struct gt_cl_replacement *gt_cl_replacement_of(cl_program program);
void gt_cl_programs_forked(void);

/* ---- kernel.c ---- */

/* What is beside a patched kernel. */
struct gt_cl_origin {
	cl_kernel original;
	bool needs_system_memory, takes_launch; /* it has the hidden arguments of launch.c */
	struct gt_cl_copies *copies;            /* another hidden argument (copies.h); or NULL */
	cl_uint argument_count;                 /* of the original */
	cl_ulong own_local; /* the local memory of the patched kernel without arguments */
	bool is_launching;  /* launch.c: OpenCL is being called with the hidden arguments */
};

/* NULL: the kernel is not patched. */
struct gt_cl_origin *gt_cl_origin_of(cl_kernel kernel);

cl_kernel CL_API_CALL gt_cl_create_kernel(cl_program program, const char *name, cl_int *ret_error);
cl_int CL_API_CALL gt_cl_create_kernels(cl_program program, cl_uint count, cl_kernel *created,
					cl_uint *ret_count);
cl_kernel CL_API_CALL gt_cl_clone_kernel(cl_kernel kernel, cl_int *ret_error);
cl_int CL_API_CALL gt_cl_retain_kernel(cl_kernel kernel);
cl_int CL_API_CALL gt_cl_release_kernel(cl_kernel kernel);
cl_int CL_API_CALL gt_cl_set_exec_info(cl_kernel kernel, cl_kernel_exec_info which, size_t size,
				       const void *value);
cl_int CL_API_CALL gt_cl_get_kernel_info(cl_kernel kernel, cl_kernel_info which, size_t size,
					 void *value, size_t *ret_size);
cl_int CL_API_CALL gt_cl_get_argument_info(cl_kernel kernel, cl_uint index,
					   cl_kernel_arg_info which, size_t size, void *value,
					   size_t *ret_size);
cl_int CL_API_CALL gt_cl_get_group_info(cl_kernel kernel, cl_device_id device,
					cl_kernel_work_group_info which, size_t size, void *value,
					size_t *ret_size);
/* The local memory of a kernel, with that of its arguments; 0: unknown. */
cl_ulong gt_cl_local_memory(cl_kernel kernel, cl_device_id device);
/* The same of a patched kernel, as its original would have it. */
cl_ulong gt_cl_original_local_memory(const struct gt_cl_origin *origin, cl_kernel kernel,
				     cl_device_id device);
void gt_cl_kernels_forked(void);

/* ---- launch.c ---- */

/*
 * Whether a patched kernel has hidden arguments, and give them values for launches that the layer
 * does not see; origin->takes_launch, argument_count; copies is NULL then if it has none for them.
 * False: it cannot be used.
 */
bool gt_cl_prepare_launches(cl_kernel kernel, struct gt_cl_origin *origin);
/* clCloneKernel, not while hidden arguments are set. */
cl_kernel gt_cl_clone(cl_kernel kernel, cl_int *ret_error);
void gt_cl_launches_forked(void);
cl_int CL_API_CALL gt_cl_set_argument(cl_kernel kernel, cl_uint index, size_t size,
				      const void *value);
cl_int CL_API_CALL gt_cl_set_svm_argument(cl_kernel kernel, cl_uint index, const void *value);
cl_int CL_API_CALL gt_cl_enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
					cl_uint dimensions, const size_t *offset,
					const size_t *global, const size_t *local, cl_uint count,
					const cl_event *list, cl_event *event);
cl_int CL_API_CALL gt_cl_enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
				      const cl_event *list, cl_event *event);
