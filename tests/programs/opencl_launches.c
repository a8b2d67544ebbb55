/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Launches of OpenCL kernels as GPU programs number them: of one kernel by several threads, of
 * clones, on a part of a device, many before an event. Each program checks its results, and prints
 * "right".
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <pthread.h>

#include "opencl_device.h"

enum {
	THREADS = 4,
	LAUNCHES = 8, /* of each thread */
};

static const char launch_text[] =
	"void put(__global int *to, int number) { *to = number; }\n"
	"__kernel void number(__global int *numbers, int first) {\n"
	"	int i = get_global_id(0);\n"
	"	put(numbers + i, first + i);\n"
	"}\n"
	"__kernel void local_sum(__global int *sum, __local int *part) {\n"
	"	__local int more[4];\n"
	"	part[get_local_id(0)] = more[get_local_id(0) & 3] = 1;\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	atomic_add(sum, part[0] + more[0]);\n"
	"}\n";

static cl_kernel make_kernel_of(const char *text, cl_context of, const char *name)
{
	cl_program program = clCreateProgramWithSource(of, 1, &text, NULL, NULL);
	cl_kernel kernel;

	if (clBuildProgram(program, 0, NULL, NULL, NULL, NULL))
		return NULL;
	kernel = clCreateKernel(program, name, NULL);
	clReleaseProgram(program);
	return kernel;
}

static cl_kernel make_kernel(cl_context of, const char *name)
{
	return make_kernel_of(launch_text, of, name);
}

/* ---- threads ---- */

/* The kernel, and the results of all launches. */
static struct {
	cl_kernel kernel;
	cl_mem numbers;
} shared;

static void *launch_often(void *thread)
{
	cl_command_queue own =
		clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
	const size_t items = ITEMS, group = 16;
	bool right = own;

	for (size_t i = 0; i < LAUNCHES && right; i++) {
		size_t offset = ((size_t)thread * LAUNCHES + i) * ITEMS;

		right = !clEnqueueNDRangeKernel(own, shared.kernel, 1, &offset, &items, &group, 0,
						NULL, NULL);
	}
	return (void *)(uintptr_t)(right && !clFinish(own) && !clReleaseCommandQueue(own));
}

static bool run_threads(void)
{
	enum { COUNT = THREADS * LAUNCHES * ITEMS };
	static int numbers[COUNT];
	pthread_t threads[THREADS];
	const int first = 5;
	bool right = true;
	void *result;

	shared.kernel = make_kernel(context, "number");
	shared.numbers = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, NULL);
	clSetKernelArg(shared.kernel, 0, sizeof(cl_mem), &shared.numbers);
	clSetKernelArg(shared.kernel, 1, sizeof(first), &first);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_often, (void *)i);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		right &= result != NULL;
	}
	if (clEnqueueReadBuffer(queue, shared.numbers, CL_TRUE, 0, sizeof(numbers), numbers, 0,
				NULL, NULL))
		return false;
	for (int i = 0; i < COUNT; i++)
		right &= numbers[i] == first + i;
	return right && !clReleaseMemObject(shared.numbers) && !clReleaseKernel(shared.kernel);
}

/* ---- clones ---- */

/* A clone has the arguments of its original, and arguments of its own; a task is a launch. */
static bool run_clones(void)
{
	const size_t items = ITEMS;
	const int other = 90;
	int numbers[ITEMS];
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, NULL);
	cl_kernel kernel = make_kernel(context, "number"), clone;

	if (!launch(kernel, 3, 1))
		return false;
	clone = clCloneKernel(kernel, NULL);
	if (!clone || clSetKernelArg(clone, 0, sizeof(buffer), &buffer) ||
	    clEnqueueNDRangeKernel(queue, clone, 1, NULL, &items, NULL, 0, NULL, NULL) ||
	    clSetKernelArg(clone, 1, sizeof(other), &other) ||
	    clEnqueueTask(queue, clone, 0, NULL, NULL) ||
	    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL, NULL))
		return false;
	for (int i = 1; i < ITEMS; i++)
		if (numbers[i] != 3 + i)
			return false;
	return numbers[0] == 90 && !clReleaseKernel(clone) && launch(kernel, 4, 1) &&
	       !clReleaseKernel(kernel) && !clReleaseMemObject(buffer);
}

/* ---- arguments ---- */

/* A kernel has two arguments, and no launch has others. */
static bool run_arguments(void)
{
	const size_t items = ITEMS;
	const cl_ulong number = 1;
	cl_kernel kernel = make_kernel(context, "number");
	char name[16];
	bool right = kernel;

	for (cl_uint i = 2; i < 5; i++)
		right = right &&
			clSetKernelArg(kernel, i, sizeof(number), &number) ==
				CL_INVALID_ARG_INDEX &&
			clSetKernelArgSVMPointer(kernel, i, NULL) == CL_INVALID_ARG_INDEX &&
			clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof(name), name,
					   NULL) == CL_INVALID_ARG_INDEX;
	return right &&
	       clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL) ==
		       CL_INVALID_KERNEL_ARGS &&
	       launch(kernel, 5, 1) && !clReleaseKernel(kernel);
}

/* Local memory of 16 bytes, and of 256 as an argument. */
static bool run_local(void)
{
	const size_t items = ITEMS;
	int sum = 0;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(sum), &sum, NULL);
	cl_kernel kernel = make_kernel(context, "local_sum");

	return kernel && !clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) &&
	       !clSetKernelArg(kernel, 1, 256, NULL) &&
	       !clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL) &&
	       !clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(sum), &sum, 0, NULL, NULL) &&
	       sum == 2 * ITEMS && !clReleaseKernel(kernel) && !clReleaseMemObject(buffer);
}

/* ---- a part of the device ---- */

static bool run_part(void)
{
	const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0};
	cl_kernel kernel;
	cl_device_id part;

	if (clCreateSubDevices(device, parts, 1, &part, NULL))
		part = device;
	context = clCreateContext(NULL, 1, &part, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, part, 0, NULL);
	kernel = make_kernel(context, "number");
	return kernel && launch(kernel, 5, 1) && launch(kernel, 6, 1) && !clReleaseKernel(kernel);
}

/* ---- many launches, the first of which waits for an event ---- */

static const char count_text[] = "__kernel void count(__global int *counter) {\n"
				 "	atomic_inc(counter);\n"
				 "}\n";

/* Enqueue launches of the kernel `count`; gate: the first one waits for it; NULL: for none. */
static bool enqueue_counts(cl_kernel kernel, int launches, const cl_event *gate)
{
	const size_t items = ITEMS, group = 16;

	for (int i = 0; i < launches; i++) {
		const cl_event *list = i ? NULL : gate;

		if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, list ? 1 : 0,
					   list, NULL))
			return false;
	}
	return true;
}

/* Launches before the event is set, and others after it, in a context of their own. */
static bool run_queued_in(cl_context of)
{
	cl_kernel kernel = make_kernel_of(count_text, of, "count");
	cl_event gate = clCreateUserEvent(of, NULL);
	cl_mem counter = clCreateBuffer(of, CL_MEM_READ_WRITE, sizeof(cl_int), NULL, NULL);
	cl_int counted = 0;
	bool right;

	queue = clCreateCommandQueue(of, device, 0, NULL);
	right = kernel && !clSetKernelArg(kernel, 0, sizeof(counter), (void *)&counter) &&
		!clEnqueueWriteBuffer(queue, counter, CL_TRUE, 0, sizeof(counted), &counted, 0,
				      NULL, NULL) &&
		enqueue_counts(kernel, 40, &gate) && !clSetUserEventStatus(gate, CL_COMPLETE) &&
		!clFinish(queue) && enqueue_counts(kernel, 60, NULL) &&
		!clEnqueueReadBuffer(queue, counter, CL_TRUE, 0, sizeof(counted), &counted, 0, NULL,
				     NULL);
	return right && counted == 100 * ITEMS && !clReleaseEvent(gate) &&
	       !clReleaseKernel(kernel) && !clReleaseMemObject(counter) &&
	       !clReleaseCommandQueue(queue) && !clReleaseContext(of);
}

static bool run_queued(void)
{
	for (int i = 0; i < 2; i++)
		if (!run_queued_in(clCreateContext(NULL, 1, &device, NULL, NULL, NULL)))
			return false;
	return true;
}

int main(int count, char **arguments)
{
	static const struct named_program programs[] = {
		{"threads", run_threads}, {"clones", run_clones}, {"arguments", run_arguments},
		{"local", run_local},     {"part", run_part},     {"queued", run_queued},
	};

	return run_named(programs, sizeof(programs) / sizeof(*programs),
			 count == 2 ? arguments[1] : NULL);
}
