/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small OpenCL programs of the kinds that public samples have. Each checks its results, and prints
 * "NAME: right, SUM", where the sum depends on every bit of the results.
 */
#include "opencl_samples.h"

#include "opencl_device.h"

cl_context sample_context;
cl_device_id sample_device;
cl_command_queue sample_queue;

cl_program create_sample(const char *text)
{
	return create(text);
}

static bool set_argument(cl_kernel kernel, cl_uint number, struct argument *argument)
{
	if (argument->kind == LOCAL)
		return !clSetKernelArg(kernel, number, argument->bytes, NULL);
	if (argument->kind != BUFFER)
		return !clSetKernelArg(kernel, number, argument->bytes, argument->data);
	argument->buffer = clCreateBuffer(sample_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
					  argument->bytes, argument->data, NULL);
	return argument->buffer &&
	       !clSetKernelArg(kernel, number, sizeof(cl_mem), &argument->buffer);
}

static bool read_argument(struct argument *argument)
{
	return argument->kind != BUFFER ||
	       (!clEnqueueReadBuffer(sample_queue, argument->buffer, CL_TRUE, 0, argument->bytes,
				     argument->data, 0, NULL, NULL) &&
		!clReleaseMemObject(argument->buffer));
}

bool launch_sample(cl_program program, const struct sample_launch *sample)
{
	cl_kernel kernel = clCreateKernel(program, sample->name, NULL);
	bool right = kernel;

	for (cl_uint i = 0; i < sample->count && right; i++)
		right = set_argument(kernel, i, &sample->arguments[i]);
	right = right && !clEnqueueNDRangeKernel(sample_queue, kernel, sample->dimensions, NULL,
						 sample->items, sample->group, 0, NULL, NULL);
	for (cl_uint i = 0; i < sample->count && right; i++)
		right = read_argument(&sample->arguments[i]);
	return right && !clReleaseKernel(kernel);
}

cl_program build_sample(const char *text)
{
	cl_program program = create_sample(text);

	return program && !clBuildProgram(program, 1, &sample_device, NULL, NULL, NULL) ? program
											: NULL;
}

bool build_and_launch(const char *text, const struct sample_launch *sample)
{
	cl_program program = build_sample(text);

	return program && launch_sample(program, sample) && !clReleaseProgram(program);
}

/* FNV-1a over results. */
static uint64_t checksum;

void add_results(const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		checksum = (checksum ^ ((const uint8_t *)data)[i]) * 1099511628211u;
}

uint32_t random_number(void)
{
	static uint32_t state = 1;

	return state = state * 1664525 + 1013904223;
}

int main(void)
{
	static const struct named_program samples[] = {
		{"histogram", run_histogram},     {"scan", run_scan},
		{"bitonic", run_bitonic},         {"nbody", run_nbody},
		{"mandelbrot", run_mandelbrot},   {"transpose", run_transpose},
		{"stencil", run_stencil},         {"search", run_search},
		{"reduction", run_reduction},     {"pipeline", run_pipeline},
		{"convolution", run_convolution},
	};

	if (!open_device())
		return 1;
	sample_context = context;
	sample_device = device;
	sample_queue = queue;
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		bool right;

		checksum = 14695981039346656037u;
		right = samples[i].run();
		printf("%s: %s, %016" PRIx64 "\n", samples[i].name, right ? "right" : "wrong",
		       checksum);
	}
	return 0;
}
