/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of kernels: those that have a patched form are that, and answer as the original. */
#include <stdlib.h>
#include <string.h>

#include "agent/opencl/copies.h"
#include "agent/opencl/layer.h"
#include "agent/opencl/times.h"
#include "agent/pairs.h"

static struct gt_agent_pairs origins = GT_AGENT_PAIRS_INIT; /* patched kernel: its origin */

struct gt_cl_origin *gt_cl_origin_of(cl_kernel kernel)
{
	return gt_agent_pairs_find(&origins, kernel);
}

static void free_origin(struct gt_cl_origin *origin)
{
	if (!origin)
		return;
	gt_cl_target->clReleaseKernel(origin->original);
	gt_cl_copies_put(origin->copies);
	free(origin);
}

void gt_cl_kernels_forked(void)
{
	gt_agent_pairs_forked(&origins);
}

/* ---- patched kernels ---- */

/* Let a kernel access the memory of the process. False: it may not. */
static bool use_system_memory(cl_kernel kernel)
{
	const cl_bool yes = CL_TRUE;

	return gt_cl_target->clSetKernelExecInfo &&
	       !gt_cl_target->clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
						  sizeof(yes), &yes);
}

/* The origin of a patched kernel, which takes over a reference to the original. False: none. */
static bool put_origin(cl_kernel kernel, const struct gt_cl_origin *origin)
{
	struct gt_cl_origin *kept = malloc(sizeof(*kept));
	void *earlier = NULL;

	if (!kept)
		return false;
	*kept = *origin;
	kept->is_launching = false;
	if (!gt_agent_pairs_put(&origins, kernel, kept, 1, &earlier)) {
		free(kept);
		return false;
	}
	gt_cl_copies_retain(kept->copies);
	/* A kernel of the implementation's that ended without a call. */
	free_origin(earlier);
	return true;
}

/* The patched form of a kernel, where there is one; else the original. */
static cl_kernel replace_kernel(cl_program program, const char *name, cl_kernel original)
{
	const struct gt_cl_replacement *replacement = gt_cl_replacement_of(program);
	struct gt_cl_origin origin = {.original = original};
	cl_kernel kernel;
	cl_int error;

	if (!replacement || !gt_cl_replacement_has(replacement, name))
		return original;
	kernel = gt_cl_target->clCreateKernel(replacement->program, name, &error);
	if (!kernel)
		return original;
	origin.needs_system_memory = replacement->needs_system_memory;
	origin.copies = replacement->copies;
	origin.own_local = gt_cl_local_memory(kernel, replacement->device);
	if ((!origin.needs_system_memory || use_system_memory(kernel)) &&
	    gt_cl_prepare_launches(kernel, &origin) && put_origin(kernel, &origin))
		return kernel;
	gt_cl_target->clReleaseKernel(kernel);
	return original;
}

cl_kernel CL_API_CALL gt_cl_create_kernel(cl_program program, const char *name, cl_int *ret_error)
{
	cl_kernel kernel = gt_cl_target->clCreateKernel(program, name, ret_error);

	return kernel ? replace_kernel(program, name, kernel) : NULL;
}

/* The call does not have the names of its kernels. */
static cl_kernel name_kernel(cl_kernel kernel, const char *name)
{
	gt_cl_times_name(kernel, name);
	return kernel;
}

cl_int CL_API_CALL gt_cl_create_kernels(cl_program program, cl_uint count, cl_kernel *created,
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
			created[i] = name_kernel(replace_kernel(program, name, created[i]), name);
	}
	return error;
}

/* ---- references ---- */

cl_kernel CL_API_CALL gt_cl_clone_kernel(cl_kernel kernel, cl_int *ret_error)
{
	const struct gt_cl_origin *origin = gt_cl_origin_of(kernel);
	cl_kernel clone = gt_cl_clone(kernel, ret_error);

	if (clone && origin && !gt_cl_target->clRetainKernel(origin->original) &&
	    !put_origin(clone, origin))
		gt_cl_target->clReleaseKernel(origin->original);
	return clone;
}

cl_int CL_API_CALL gt_cl_retain_kernel(cl_kernel kernel)
{
	cl_int error = gt_cl_target->clRetainKernel(kernel);

	if (!error)
		gt_agent_pairs_retain(&origins, kernel);
	return error;
}

cl_int CL_API_CALL gt_cl_release_kernel(cl_kernel kernel)
{
	struct gt_cl_origin *origin = gt_agent_pairs_release(&origins, kernel);
	cl_int error = gt_cl_target->clReleaseKernel(kernel);

	free_origin(origin);
	return error;
}

cl_int CL_API_CALL gt_cl_set_exec_info(cl_kernel kernel, cl_kernel_exec_info which, size_t size,
				       const void *value)
{
	const struct gt_cl_origin *origin = gt_cl_origin_of(kernel);
	const cl_bool yes = CL_TRUE;

	/* The programs access the maps. */
	if (which == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM && size == sizeof(yes) && value &&
	    origin && origin->needs_system_memory)
		value = &yes;
	return gt_cl_target->clSetKernelExecInfo(kernel, which, size, value);
}

/* ---- what is asked of the originals ---- */

cl_int CL_API_CALL gt_cl_get_kernel_info(cl_kernel kernel, cl_kernel_info which, size_t size,
					 void *value, size_t *ret_size)
{
	const struct gt_cl_origin *origin =
		which == CL_KERNEL_REFERENCE_COUNT ? NULL : gt_cl_origin_of(kernel);

	return gt_cl_target->clGetKernelInfo(origin ? origin->original : kernel, which, size, value,
					     ret_size);
}

cl_ulong gt_cl_local_memory(cl_kernel kernel, cl_device_id device)
{
	cl_ulong size = 0;

	gt_cl_target->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE,
					       sizeof(size), &size, NULL);
	return size;
}

/*
 * The variables of the original, whose patched form may have others (PoCL gives each kernel those
 * of all kernels), and the arguments, which are those of the patched form.
 */
cl_ulong gt_cl_original_local_memory(const struct gt_cl_origin *origin, cl_kernel kernel,
				     cl_device_id device)
{
	cl_ulong size = gt_cl_local_memory(kernel, device);
	cl_ulong arguments = size > origin->own_local ? size - origin->own_local : 0;

	return gt_cl_local_memory(origin->original, device) + arguments;
}

cl_int CL_API_CALL gt_cl_get_group_info(cl_kernel kernel, cl_device_id device,
					cl_kernel_work_group_info which, size_t size, void *value,
					size_t *ret_size)
{
	const struct gt_cl_origin *origin = gt_cl_origin_of(kernel);
	bool is_limit = which == CL_KERNEL_WORK_GROUP_SIZE ||
			which == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE;
	cl_kernel asked = origin && !is_limit ? origin->original : kernel;
	cl_int error =
		gt_cl_target->clGetKernelWorkGroupInfo(asked, device, which, size, value, ret_size);

	if (!error && value && origin && which == CL_KERNEL_LOCAL_MEM_SIZE) {
		cl_ulong local = gt_cl_original_local_memory(origin, kernel, device);

		memcpy(value, &local, sizeof(local));
	}
	return error;
}

cl_int CL_API_CALL gt_cl_get_argument_info(cl_kernel kernel, cl_uint index,
					   cl_kernel_arg_info which, size_t size, void *value,
					   size_t *ret_size)
{
	const struct gt_cl_origin *origin = gt_cl_origin_of(kernel);

	return gt_cl_target->clGetKernelArgInfo(origin ? origin->original : kernel, index, which,
						size, value, ret_size);
}
