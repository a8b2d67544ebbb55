/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches of patched kernels. Where programs read the number of the launch or the size of local
 * memory, a kernel has two hidden arguments after those of the original (patch/spirv/private.h).
 * Each launch is of a clone of the kernel that has their values: threads may launch a kernel at the
 * same time, and no lock is held while OpenCL is called. A kernel that cannot be cloned, before
 * OpenCL 2.1, and one that something else launches, has zeros.
 */
#include <stdatomic.h>

#include "agent/opencl/layer.h"

enum {
	NUMBER,
	LOCAL_SIZE,
	HIDDEN_ARGUMENTS,
};

static struct {
	atomic_uint_least64_t count; /* launches, from 1 */
	atomic_bool has_hidden;      /* a kernel of the process has hidden arguments */
} launches;

/* ---- arguments ---- */

static cl_uint count_arguments(cl_kernel kernel)
{
	cl_uint count = 0;

	gt_cl_target->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
	return count;
}

static bool set_hidden(const struct gt_cl_origin *origin, cl_kernel kernel,
		       const cl_ulong values[HIDDEN_ARGUMENTS])
{
	for (cl_uint i = 0; i < HIDDEN_ARGUMENTS; i++)
		if (gt_cl_target->clSetKernelArg(kernel, origin->argument_count + i,
						 sizeof(values[i]), &values[i]))
			return false;
	return true;
}

bool gt_cl_prepare_launches(cl_kernel kernel, struct gt_cl_origin *origin)
{
	static const cl_ulong unknown[HIDDEN_ARGUMENTS];
	cl_uint count = count_arguments(kernel);

	origin->argument_count = count_arguments(origin->original);
	origin->takes_launch = count == origin->argument_count + HIDDEN_ARGUMENTS;
	if (!origin->takes_launch)
		return count == origin->argument_count;
	atomic_store_explicit(&launches.has_hidden, true, memory_order_relaxed);
	return set_hidden(origin, kernel, unknown);
}

/* The origin of a kernel with hidden arguments; NULL: it has none. */
static const struct gt_cl_origin *find_launched(cl_kernel kernel)
{
	const struct gt_cl_origin *origin = NULL;

	if (atomic_load_explicit(&launches.has_hidden, memory_order_relaxed))
		origin = gt_cl_origin_of(kernel);
	return origin && origin->takes_launch ? origin : NULL;
}

static bool is_hidden(cl_kernel kernel, cl_uint index)
{
	const struct gt_cl_origin *origin = find_launched(kernel);

	return origin && index >= origin->argument_count;
}

cl_int CL_API_CALL gt_cl_set_argument(cl_kernel kernel, cl_uint index, size_t size,
				      const void *value)
{
	if (is_hidden(kernel, index))
		return CL_INVALID_ARG_INDEX;
	return gt_cl_target->clSetKernelArg(kernel, index, size, value);
}

cl_int CL_API_CALL gt_cl_set_svm_argument(cl_kernel kernel, cl_uint index, const void *value)
{
	if (is_hidden(kernel, index))
		return CL_INVALID_ARG_INDEX;
	return gt_cl_target->clSetKernelArgSVMPointer(kernel, index, value);
}

/* ---- launches ---- */

static cl_ulong local_size(const struct gt_cl_origin *origin, cl_kernel kernel,
			   cl_command_queue queue)
{
	cl_device_id device = NULL;

	if (gt_cl_target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device),
						(void *)&device, NULL))
		return 0;
	return gt_cl_original_local_memory(origin, kernel, device);
}

/* The clone of a kernel for one launch, which the caller releases. NULL: there is none. */
static cl_kernel clone_for_launch(cl_command_queue queue, cl_kernel kernel)
{
	const struct gt_cl_origin *origin = find_launched(kernel);
	cl_ulong values[HIDDEN_ARGUMENTS];
	cl_kernel clone;
	cl_int error;

	if (!origin || !gt_cl_target->clCloneKernel)
		return NULL;
	clone = gt_cl_target->clCloneKernel(kernel, &error);
	if (!clone)
		return NULL;
	values[NUMBER] = atomic_fetch_add_explicit(&launches.count, 1, memory_order_relaxed) + 1;
	values[LOCAL_SIZE] = local_size(origin, kernel, queue);
	if (set_hidden(origin, clone, values))
		return clone;
	gt_cl_target->clReleaseKernel(clone);
	return NULL;
}

static cl_int release_clone(cl_kernel clone, cl_int result)
{
	if (clone)
		gt_cl_target->clReleaseKernel(clone);
	return result;
}

cl_int CL_API_CALL gt_cl_enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
					cl_uint dimensions, const size_t *offset,
					const size_t *global, const size_t *local, cl_uint count,
					const cl_event *list, cl_event *event)
{
	cl_kernel clone = clone_for_launch(queue, kernel);

	return release_clone(clone, gt_cl_target->clEnqueueNDRangeKernel(
					    queue, clone ? clone : kernel, dimensions, offset,
					    global, local, count, list, event));
}

cl_int CL_API_CALL gt_cl_enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
				      const cl_event *list, cl_event *event)
{
	cl_kernel clone = clone_for_launch(queue, kernel);

	return release_clone(clone, gt_cl_target->clEnqueueTask(queue, clone ? clone : kernel,
								count, list, event));
}
