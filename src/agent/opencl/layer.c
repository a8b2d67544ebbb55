/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of the layer: programs and kernels that have a patched form beside them. */
#include "agent/opencl/layer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/opencl/pairs.h"
#include "agent/protocol.h"

#define EXPORTED __attribute__((visibility("default")))

/* The layer may be loaded without the agent. */
#pragma weak gt_agent_services

const struct gt_agent_services *gt_cl_services;
const struct _cl_icd_dispatch *gt_cl_target;

static struct gt_cl_pairs programs = GT_CL_PAIRS_INIT; /* original: struct gt_cl_replacement */
static struct gt_cl_pairs kernels = GT_CL_PAIRS_INIT;  /* replacement: the original kernel */

/* ---- what the program would notice ---- */

struct caller {
	int error, cancel;
};

static struct caller save_caller(void)
{
	struct caller caller = {.error = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller.cancel);
	return caller;
}

static void restore_caller(const struct caller *caller)
{
	pthread_setcancelstate(caller->cancel, NULL);
	errno = caller->error;
}

/* ---- programs ---- */

static void keep_replacement(cl_program program, struct gt_cl_replacement *replacement)
{
	cl_uint references = 1;
	void *earlier = NULL;

	gt_cl_target->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references),
				       &references, NULL);
	if (!gt_cl_pairs_put(&programs, program, replacement, references, &earlier))
		earlier = replacement;
	gt_cl_replacement_free(earlier);
}

static void instrument(cl_program program, cl_uint count, const cl_device_id *devices,
		       const char *options)
{
	const struct caller caller = save_caller();
	struct gt_cl_replacement *replacement = gt_cl_replace(program, count, devices, options);

	if (replacement)
		keep_replacement(program, replacement);
	restore_caller(&caller);
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count,
					const cl_device_id *devices, const char *options,
					void(CL_CALLBACK *notify)(cl_program program, void *data),
					void *data)
{
	cl_int error;

	/* Once it is called, the program may create kernels. */
	if (notify)
		instrument(program, count, devices, options);
	error = gt_cl_target->clBuildProgram(program, count, devices, options, notify, data);
	if (!notify && !error)
		instrument(program, count, devices, options);
	return error;
}

static cl_int CL_API_CALL retain_program(cl_program program)
{
	cl_int error = gt_cl_target->clRetainProgram(program);

	if (!error)
		gt_cl_pairs_retain(&programs, program);
	return error;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
	gt_cl_replacement_free(gt_cl_pairs_release(&programs, program));
	return gt_cl_target->clReleaseProgram(program);
}

/* ---- kernels ---- */

/* The patched form of a kernel, where there is one; else the original. */
static cl_kernel replace_kernel(cl_program program, const char *name, cl_kernel original)
{
	const struct gt_cl_replacement *replacement = gt_cl_pairs_find(&programs, program);
	void *earlier;
	cl_kernel kernel;
	cl_int error;

	if (!replacement || !gt_cl_replacement_has(replacement, name))
		return original;
	kernel = gt_cl_target->clCreateKernel(replacement->program, name, &error);
	if (!kernel)
		return original;
	if (gt_cl_pairs_put(&kernels, kernel, original, 1, &earlier))
		return kernel;
	gt_cl_target->clReleaseKernel(kernel);
	return original;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *ret_error)
{
	cl_kernel kernel = gt_cl_target->clCreateKernel(program, name, ret_error);

	return kernel ? replace_kernel(program, name, kernel) : NULL;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel *created,
					 cl_uint *ret_count)
{
	cl_uint own_count = 0;
	cl_int error = gt_cl_target->clCreateKernelsInProgram(program, count, created, &own_count);

	if (ret_count && !error)
		*ret_count = own_count;
	for (cl_uint i = 0; created && !error && i < own_count; i++) {
		char name[1024];

		if (!gt_cl_target->clGetKernelInfo(created[i], CL_KERNEL_FUNCTION_NAME,
						   sizeof(name), name, NULL))
			created[i] = replace_kernel(program, name, created[i]);
	}
	return error;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int *ret_error)
{
	cl_kernel original = gt_cl_pairs_find(&kernels, kernel);
	cl_kernel clone = gt_cl_target->clCloneKernel(kernel, ret_error);
	void *earlier;

	if (clone && original && !gt_cl_target->clRetainKernel(original) &&
	    !gt_cl_pairs_put(&kernels, clone, original, 1, &earlier))
		gt_cl_target->clReleaseKernel(original);
	return clone;
}

static cl_int CL_API_CALL retain_kernel(cl_kernel kernel)
{
	cl_int error = gt_cl_target->clRetainKernel(kernel);

	if (!error)
		gt_cl_pairs_retain(&kernels, kernel);
	return error;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel)
{
	cl_kernel original = gt_cl_pairs_release(&kernels, kernel);
	cl_int error = gt_cl_target->clReleaseKernel(kernel);

	if (original)
		gt_cl_target->clReleaseKernel(original);
	return error;
}

/* ---- what is asked of the originals ---- */

static cl_int CL_API_CALL get_kernel_info(cl_kernel kernel, cl_kernel_info which, size_t size,
					  void *value, size_t *ret_size)
{
	cl_kernel original =
		which == CL_KERNEL_REFERENCE_COUNT ? NULL : gt_cl_pairs_find(&kernels, kernel);

	return gt_cl_target->clGetKernelInfo(original ? original : kernel, which, size, value,
					     ret_size);
}

static cl_int CL_API_CALL get_argument_info(cl_kernel kernel, cl_uint index,
					    cl_kernel_arg_info which, size_t size, void *value,
					    size_t *ret_size)
{
	cl_kernel original = gt_cl_pairs_find(&kernels, kernel);

	return gt_cl_target->clGetKernelArgInfo(original ? original : kernel, index, which, size,
						value, ret_size);
}

/* ---- the interface of the loader ---- */

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info which, size_t size,
							void *value, size_t *ret_size)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "gputap";
	const void *answer = which == CL_LAYER_NAME ? (const void *)name : &version;
	size_t answer_size = which == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (which != CL_LAYER_NAME && which != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < answer_size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, answer_size);
	if (ret_size)
		*ret_size = answer_size;
	return CL_SUCCESS;
}

static void reset_after_fork(void)
{
	gt_cl_pairs_forked(&programs);
	gt_cl_pairs_forked(&kernels);
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
						     const struct _cl_icd_dispatch *target,
						     cl_uint *ret_count,
						     const struct _cl_icd_dispatch **ret_dispatch)
{
	static const struct _cl_icd_dispatch active = {
		.clBuildProgram = build_program,
		.clRetainProgram = retain_program,
		.clReleaseProgram = release_program,
		.clCreateKernel = create_kernel,
		.clCreateKernelsInProgram = create_kernels,
		.clCloneKernel = clone_kernel,
		.clRetainKernel = retain_kernel,
		.clReleaseKernel = release_kernel,
		.clGetKernelInfo = get_kernel_info,
		.clGetKernelArgInfo = get_argument_info,
	};
	static const struct _cl_icd_dispatch inactive;
	const cl_uint own_count = sizeof(active) / sizeof(void *);
	const char *socket = secure_getenv(GT_AGENT_SOCKET);
	bool is_active = socket && *socket && gt_agent_services && count >= own_count;

	if (!target || !ret_count || !ret_dispatch)
		return CL_INVALID_VALUE;
	if (is_active) {
		gt_cl_services = gt_agent_services();
		gt_cl_target = target;
		pthread_atfork(NULL, NULL, reset_after_fork);
	}
	*ret_dispatch = is_active ? &active : &inactive;
	*ret_count = own_count;
	return CL_SUCCESS;
}
