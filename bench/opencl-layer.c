/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the layer of OpenCL's loader costs a call, on the first OpenCL device: clSetKernelArg and
 * clEnqueueNDRangeKernel (of one work-item) of a program with 200 kernels. "plain": without gputap;
 * "unmatched": under `gputap run` with a program that matches no kernel; "patched": with one that
 * reads the number of the launch. Times are lower quartiles of short windows, in whose pauses the
 * device executes what was enqueued.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/clock.h"

enum {
	KERNELS = 200,
	CALLS = 20,     /* of a window */
	WINDOWS = 2000, /* a tenth with --quick */
	MAX_SOURCE = KERNELS * 80,
};

/* ---- the child, which makes the calls ---- */

static struct {
	cl_device_id device;
	cl_command_queue queue;
	cl_kernel kernels[KERNELS];
	cl_mem memory;
} opencl;

static bool make_kernels(cl_context context)
{
	char *source = calloc(1, MAX_SOURCE);
	cl_program program;
	cl_uint count = 0;
	size_t length = 0;

	for (int i = 0; source && i < KERNELS; i++)
		length += (size_t)snprintf(
			source + length, MAX_SOURCE - length,
			"__kernel void k%d(__global int *to, int value) { *to = value; }\n", i);
	program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, NULL);
	free(source);
	return !clBuildProgram(program, 0, NULL, NULL, NULL, NULL) &&
	       !clCreateKernelsInProgram(program, KERNELS, opencl.kernels, &count) &&
	       count == KERNELS;
}

static bool open_opencl(void)
{
	cl_platform_id platform;
	cl_context context;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &opencl.device, NULL))
		return false;
	context = clCreateContext(NULL, 1, &opencl.device, NULL, NULL, NULL);
	opencl.queue = clCreateCommandQueue(context, opencl.device, 0, NULL);
	opencl.memory = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int), NULL, NULL);
	return opencl.queue && opencl.memory && make_kernels(context);
}

static void set_value(cl_kernel kernel, int value)
{
	clSetKernelArg(kernel, 1, sizeof(value), &value);
}

static void enqueue(cl_kernel kernel, int value)
{
	const size_t one = 1;

	clEnqueueNDRangeKernel(opencl.queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* The lower quartile of the windows, ns a call. */
static double time_calls(void (*call)(cl_kernel kernel, int value), size_t windows)
{
	static double ns[WINDOWS];

	for (size_t i = 0; i < windows; i++) {
		cl_kernel kernel = opencl.kernels[i % KERNELS];
		uint64_t start = gt_clock_monotonic();

		for (int j = 0; j < CALLS; j++)
			call(kernel, j);
		ns[i] = (double)(gt_clock_monotonic() - start) / CALLS;
		clFinish(opencl.queue);
	}
	qsort(ns, windows, sizeof(*ns), compare_numbers);
	return ns[windows / 4];
}

static int run_child(size_t windows)
{
	if (!open_opencl())
		return 1;
	for (int i = 0; i < KERNELS; i++) {
		clSetKernelArg(opencl.kernels[i], 0, sizeof(opencl.memory), (void *)&opencl.memory);
		set_value(opencl.kernels[i], i);
		enqueue(opencl.kernels[i], i);
	}
	clFinish(opencl.queue);
	printf("calls %.1f %.1f\n", time_calls(set_value, windows), time_calls(enqueue, windows));
	return 0;
}

/* ---- the parent ---- */

/* Runs the child behind a prefix. 0: its times are there. */
static int run_case(const char *prefix, const char *self, size_t windows, double *ret_times)
{
	char command[2048];
	FILE *output;
	int count;

	snprintf(command, sizeof(command), "%s %s --child %zu 2>/dev/null", prefix, self, windows);
	output = popen(command, "r");
	count = output ? fscanf(output, "calls %lf %lf", &ret_times[0], &ret_times[1]) : 0;
	if (output)
		pclose(output);
	return count == 2 ? 0 : 1;
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name, *prefix;
	} cases[] = {
		{"plain", ""},
		{"unmatched", GPUTAP " run --kernel none " PROBES " --"},
		{"patched", GPUTAP " run " PROBES " --"},
	};
	size_t windows = count > 1 && !strcmp(arguments[1], "--quick") ? WINDOWS / 10 : WINDOWS;
	double plain[2], times[2];

	if (count == 3 && !strcmp(arguments[1], "--child"))
		return run_child(strtoul(arguments[2], NULL, 10) % (WINDOWS + 1));
	if (run_case("", arguments[0], windows, plain)) {
		printf("opencl-layer.plain.set_argument skip there is no OpenCL device\n");
		return 0;
	}
	for (size_t i = 0; i < gt_countof(cases); i++) {
		if (run_case(cases[i].prefix, arguments[0], windows, times))
			return 1;
		printf("opencl-layer.%s.set_argument %.1f ns a call\n", cases[i].name, times[0]);
		printf("opencl-layer.%s.enqueue %.1f ns a call\n", cases[i].name, times[1]);
	}
	return 0;
}
