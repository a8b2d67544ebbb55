/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of kernels: those that have a patched form are that, and answer as the original. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/opencl/layer.h"
#include "agent/opencl/pairs.h"

/* What is beside a patched kernel. */
struct gt_cl_origin {
	cl_kernel original;
	cl_uint arguments; /* of the original */
	bool numbers_launches;
	bool needs_system_memory;
};

static struct gt_cl_pairs origins = GT_CL_PAIRS_INIT; /* patched kernel: its origin */
/*
 * Held from the setting of a launch's number to the launch. A callback of the program may launch
 * kernels, too.
 */
static pthread_mutex_t launching = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static cl_ulong launches;

static struct gt_cl_origin *find_origin(cl_kernel kernel)
{
	return gt_cl_pairs_find(&origins, kernel);
}

static void free_origin(struct gt_cl_origin *origin)
{
	if (origin)
		gt_cl_target->clReleaseKernel(origin->original);
	free(origin);
}

void gt_cl_kernels_forked(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	gt_cl_pairs_forked(&origins);
	launching = unlocked;
}

/* ---- patched kernels ---- */

static cl_uint count_arguments(cl_kernel kernel)
{
	cl_uint count = 0;

	gt_cl_target->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
	return count;
}

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
	if (!gt_cl_pairs_put(&origins, kernel, kept, 1, &earlier)) {
		free(kept);
		return false;
	}
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
	origin.arguments = count_arguments(original);
	origin.numbers_launches = count_arguments(kernel) == origin.arguments + 1;
	origin.needs_system_memory = replacement->needs_system_memory;
	if ((!origin.needs_system_memory || use_system_memory(kernel)) &&
	    put_origin(kernel, &origin))
		return kernel;
	gt_cl_target->clReleaseKernel(kernel);
	return original;
}

cl_kernel CL_API_CALL gt_cl_create_kernel(cl_program program, const char *name, cl_int *ret_error)
{
	cl_kernel kernel = gt_cl_target->clCreateKernel(program, name, ret_error);

	return kernel ? replace_kernel(program, name, kernel) : NULL;
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
			created[i] = replace_kernel(program, name, created[i]);
	}
	return error;
}

/* ---- references ---- */

cl_kernel CL_API_CALL gt_cl_clone_kernel(cl_kernel kernel, cl_int *ret_error)
{
	const struct gt_cl_origin *origin = find_origin(kernel);
	cl_kernel clone = gt_cl_target->clCloneKernel(kernel, ret_error);

	if (clone && origin && !gt_cl_target->clRetainKernel(origin->original) &&
	    !put_origin(clone, origin))
		gt_cl_target->clReleaseKernel(origin->original);
	return clone;
}

cl_int CL_API_CALL gt_cl_retain_kernel(cl_kernel kernel)
{
	cl_int error = gt_cl_target->clRetainKernel(kernel);

	if (!error)
		gt_cl_pairs_retain(&origins, kernel);
	return error;
}

cl_int CL_API_CALL gt_cl_release_kernel(cl_kernel kernel)
{
	struct gt_cl_origin *origin = gt_cl_pairs_release(&origins, kernel);
	cl_int error = gt_cl_target->clReleaseKernel(kernel);

	free_origin(origin);
	return error;
}

/* ---- arguments ---- */

/* Whether an argument is one that the program does not know of. */
static bool is_hidden(cl_kernel kernel, cl_uint index)
{
	const struct gt_cl_origin *origin = find_origin(kernel);

	return origin && index >= origin->arguments;
}

cl_int CL_API_CALL gt_cl_set_argument(cl_kernel kernel, cl_uint index, size_t size,
				      const void *value)
{
	return is_hidden(kernel, index) ? CL_INVALID_ARG_INDEX
					: gt_cl_target->clSetKernelArg(kernel, index, size, value);
}

cl_int CL_API_CALL gt_cl_set_svm_argument(cl_kernel kernel, cl_uint index, const void *value)
{
	return is_hidden(kernel, index)
		       ? CL_INVALID_ARG_INDEX
		       : gt_cl_target->clSetKernelArgSVMPointer(kernel, index, value);
}

cl_int CL_API_CALL gt_cl_set_exec_info(cl_kernel kernel, cl_kernel_exec_info which, size_t size,
				       const void *value)
{
	const struct gt_cl_origin *origin = find_origin(kernel);
	const cl_bool yes = CL_TRUE;

	/* The programs access the maps. */
	if (which == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM && size == sizeof(yes) && value &&
	    origin && origin->needs_system_memory)
		value = &yes;
	return gt_cl_target->clSetKernelExecInfo(kernel, which, size, value);
}

/* ---- launches ---- */

/* Number the next launch of a kernel. `launching` is held. */
static cl_int number_launch(cl_kernel kernel, const struct gt_cl_origin *origin)
{
	launches++;
	return gt_cl_target->clSetKernelArg(kernel, origin->arguments, sizeof(launches), &launches);
}

cl_int CL_API_CALL gt_cl_enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
					cl_uint dimensions, const size_t *offset,
					const size_t *global, const size_t *local, cl_uint waits,
					const cl_event *wait_list, cl_event *event)
{
	const struct gt_cl_origin *origin = find_origin(kernel);
	bool numbers = origin && origin->numbers_launches;
	cl_int error = CL_SUCCESS;

	if (numbers) {
		pthread_mutex_lock(&launching);
		error = number_launch(kernel, origin);
	}
	if (!error)
		error = gt_cl_target->clEnqueueNDRangeKernel(
			queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
	if (numbers)
		pthread_mutex_unlock(&launching);
	return error;
}

cl_int CL_API_CALL gt_cl_enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
				      const cl_event *wait_list, cl_event *event)
{
	const struct gt_cl_origin *origin = find_origin(kernel);
	bool numbers = origin && origin->numbers_launches;
	cl_int error = CL_SUCCESS;

	if (numbers) {
		pthread_mutex_lock(&launching);
		error = number_launch(kernel, origin);
	}
	if (!error)
		error = gt_cl_target->clEnqueueTask(queue, kernel, waits, wait_list, event);
	if (numbers)
		pthread_mutex_unlock(&launching);
	return error;
}

/* ---- what is asked of the originals ---- */

cl_int CL_API_CALL gt_cl_get_kernel_info(cl_kernel kernel, cl_kernel_info which, size_t size,
					 void *value, size_t *ret_size)
{
	const struct gt_cl_origin *origin =
		which == CL_KERNEL_REFERENCE_COUNT ? NULL : find_origin(kernel);

	return gt_cl_target->clGetKernelInfo(origin ? origin->original : kernel, which, size, value,
					     ret_size);
}

cl_int CL_API_CALL gt_cl_get_argument_info(cl_kernel kernel, cl_uint index,
					   cl_kernel_arg_info which, size_t size, void *value,
					   size_t *ret_size)
{
	const struct gt_cl_origin *origin = find_origin(kernel);

	return gt_cl_target->clGetKernelArgInfo(origin ? origin->original : kernel, index, which,
						size, value, ret_size);
}
