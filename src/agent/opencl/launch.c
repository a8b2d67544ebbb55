/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches of patched kernels. Where programs read the number of the launch or the size of local
 * memory, a kernel has two hidden arguments after those of the original (patch/spirv/private.h).
 * A launch gives them its values, and they are zeros otherwise: something else may launch the
 * kernel. Threads may launch a kernel at the same time, and no lock is held while OpenCL executes a
 * launch: while one does, the others launch clones. Before OpenCL 2.1 there are no clones, and they
 * may get each other's values. A kernel with copies of the maps has one more, which never changes
 * (copies.h).
 */
#include <pthread.h>
#include <stdatomic.h>

#include "agent/opencl/copies.h"
#include "agent/opencl/layer.h"

enum {
	NUMBER,
	LOCAL_SIZE,
	HIDDEN_ARGUMENTS,
};

static struct {
	atomic_bool has_hidden; /* a kernel of the process has hidden arguments */
	pthread_mutex_t lock;   /* of hidden arguments, is_launching, and the count */
	cl_ulong count;         /* launches, from 1 */
} launches = {.lock = PTHREAD_MUTEX_INITIALIZER};

void gt_cl_launches_forked(void)
{
	pthread_mutex_init(&launches.lock, NULL);
}

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

static const cl_ulong unknown[HIDDEN_ARGUMENTS];

bool gt_cl_prepare_launches(cl_kernel kernel, struct gt_cl_origin *origin)
{
	cl_uint count = count_arguments(kernel), hidden = HIDDEN_ARGUMENTS + !!origin->copies;

	origin->argument_count = count_arguments(origin->original);
	origin->takes_launch = count == origin->argument_count + hidden;
	if (!origin->takes_launch) {
		origin->copies = NULL;
		return count == origin->argument_count;
	}
	atomic_store_explicit(&launches.has_hidden, true, memory_order_relaxed);
	if (origin->copies && !gt_cl_copies_set_argument(origin->copies, kernel,
							 origin->argument_count + HIDDEN_ARGUMENTS))
		return false;
	return set_hidden(origin, kernel, unknown);
}

/* The origin of a kernel with hidden arguments; NULL: it has none. */
static struct gt_cl_origin *find_launched(cl_kernel kernel)
{
	struct gt_cl_origin *origin = NULL;

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

cl_kernel gt_cl_clone(cl_kernel kernel, cl_int *ret_error)
{
	cl_kernel clone;

	pthread_mutex_lock(&launches.lock);
	clone = gt_cl_target->clCloneKernel(kernel, ret_error);
	pthread_mutex_unlock(&launches.lock);
	return clone;
}

/* What is launched, and what ends with the call. */
struct launch {
	cl_kernel kernel;
	struct gt_cl_origin *origin; /* of the kernel itself with hidden arguments; else NULL */
	cl_kernel clone;
	struct gt_cl_copied_launch copied;
};

/* A clone with the values of a launch, or NULL. */
static cl_kernel clone_locked(cl_kernel kernel, const struct gt_cl_origin *origin,
			      const cl_ulong values[HIDDEN_ARGUMENTS])
{
	cl_int error;
	cl_kernel clone =
		gt_cl_target->clCloneKernel ? gt_cl_target->clCloneKernel(kernel, &error) : NULL;

	if (!clone || set_hidden(origin, clone, values))
		return clone;
	gt_cl_target->clReleaseKernel(clone);
	return NULL;
}

static void begin_launch(struct launch *launch)
{
	struct gt_cl_origin *origin = find_launched(launch->kernel);
	cl_ulong values[HIDDEN_ARGUMENTS];

	if (!origin)
		return;
	values[LOCAL_SIZE] = local_size(origin, launch->kernel, launch->copied.queue);
	pthread_mutex_lock(&launches.lock);
	values[NUMBER] = ++launches.count;
	if (origin->is_launching) {
		launch->clone = clone_locked(launch->kernel, origin, values);
		launch->kernel = launch->clone ? launch->clone : launch->kernel;
	} else {
		origin->is_launching = true;
		launch->origin = origin;
		set_hidden(origin, launch->kernel, values);
	}
	pthread_mutex_unlock(&launches.lock);
	launch->copied.copies = origin->copies;
	gt_cl_copies_begin(&launch->copied);
}

static cl_int end_launch(struct launch *launch, cl_int result)
{
	gt_cl_copies_end(&launch->copied, result);
	if (launch->clone)
		gt_cl_target->clReleaseKernel(launch->clone);
	if (!launch->origin)
		return result;
	pthread_mutex_lock(&launches.lock);
	set_hidden(launch->origin, launch->kernel, unknown);
	launch->origin->is_launching = false;
	pthread_mutex_unlock(&launches.lock);
	return result;
}

cl_int CL_API_CALL gt_cl_enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
					cl_uint dimensions, const size_t *offset,
					const size_t *global, const size_t *local, cl_uint count,
					const cl_event *list, cl_event *event)
{
	struct launch launch = {
		.kernel = kernel,
		.copied = {.queue = queue, .count = count, .list = list, .event = event},
	};

	begin_launch(&launch);
	return end_launch(&launch,
			  gt_cl_target->clEnqueueNDRangeKernel(
				  queue, launch.kernel, dimensions, offset, global, local,
				  launch.copied.count, launch.copied.list, launch.copied.event));
}

cl_int CL_API_CALL gt_cl_enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
				      const cl_event *list, cl_event *event)
{
	struct launch launch = {
		.kernel = kernel,
		.copied = {.queue = queue, .count = count, .list = list, .event = event},
	};

	begin_launch(&launch);
	return end_launch(&launch,
			  gt_cl_target->clEnqueueTask(queue, launch.kernel, launch.copied.count,
						      launch.copied.list, launch.copied.event));
}
