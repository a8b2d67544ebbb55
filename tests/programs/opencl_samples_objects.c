/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Samples of images, parts of buffers, queues, events, and programs that are linked. */
#include "opencl_samples.h"

/* ---- stencil: images and a sampler ---- */

enum { SIDE = 32 };

static const char stencil_text[] =
	"__constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |\n"
	"			    CLK_FILTER_NEAREST;\n"
	"__kernel void stencil(__read_only image2d_t from, __write_only image2d_t to) {\n"
	"	int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"	uint4 sum = (uint4)(0);\n"
	"	for (int y = -1; y <= 1; y++)\n"
	"		for (int x = -1; x <= 1; x++)\n"
	"			sum += read_imageui(from, edge, at + (int2)(x, y));\n"
	"	write_imageui(to, at, sum + (uint4)(get_image_width(from)));\n"
	"}\n";

static cl_mem create_image(uint32_t (*pixels)[4])
{
	static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT32};
	const cl_image_desc shape = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};

	return clCreateImage(sample_context, CL_MEM_COPY_HOST_PTR, &format, &shape, pixels, NULL);
}

static uint32_t sum_around(uint32_t (*from)[4], int at_x, int at_y, int channel)
{
	uint32_t sum = SIDE;

	for (int y = at_y - 1; y <= at_y + 1; y++)
		for (int x = at_x - 1; x <= at_x + 1; x++) {
			int column = x < 0 ? 0 : x < SIDE ? x : SIDE - 1;
			int row = y < 0 ? 0 : y < SIDE ? y : SIDE - 1;

			sum += from[row * SIDE + column][channel];
		}
	return sum;
}

bool run_stencil(void)
{
	static uint32_t from[SIDE * SIDE][4], to[SIDE * SIDE][4];
	const size_t origin[3] = {0}, region[3] = {SIDE, SIDE, 1};
	cl_mem images[2];
	struct argument arguments[] = {OBJECT_OF(images[0]), OBJECT_OF(images[1])};

	for (size_t i = 0; i < SIDE * SIDE; i++)
		for (int k = 0; k < 4; k++)
			from[i][k] = random_number() >> 8;
	images[0] = create_image(from);
	images[1] = create_image(to);
	if (!images[0] || !images[1] ||
	    !build_and_launch(
		    stencil_text,
		    &(struct sample_launch){"stencil", 2, {SIDE, SIDE}, {8, 8}, arguments, 2}) ||
	    clEnqueueReadImage(sample_queue, images[1], CL_TRUE, origin, region, 0, 0, to, 0, NULL,
			       NULL))
		return false;
	add_results(to, sizeof(to));
	for (int i = 0; i < SIDE * SIDE; i++)
		for (int k = 0; k < 4; k++)
			if (to[i][k] != sum_around(from, i % SIDE, i / SIDE, k))
				return false;
	return !clReleaseMemObject(images[0]) && !clReleaseMemObject(images[1]);
}

/* ---- pipeline: two queues, events, and parts of a buffer ---- */

enum { PART = 1024, PARTS = 2 };

static const char pipeline_text[] = "__kernel void scale(__global uint *data, uint factor) {\n"
				    "	data[get_global_id(0)] *= factor;\n"
				    "}\n";

/* Write a part in one queue, multiply it twice in the other, and read it in the first. */
static cl_event pass_part(cl_command_queue other, cl_kernel kernel, cl_mem part, uint32_t *data)
{
	const size_t items = PART, group = 64;
	cl_event written, scaled[2], read = NULL;

	if (clEnqueueWriteBuffer(sample_queue, part, CL_FALSE, 0, PART * sizeof(*data), data, 0,
				 NULL, &written) ||
	    clSetKernelArg(kernel, 0, sizeof(part), &part) ||
	    clEnqueueNDRangeKernel(other, kernel, 1, NULL, &items, &group, 1, &written,
				   &scaled[0]) ||
	    clEnqueueNDRangeKernel(other, kernel, 1, NULL, &items, &group, 1, &scaled[0],
				   &scaled[1]) ||
	    clEnqueueReadBuffer(sample_queue, part, CL_FALSE, 0, PART * sizeof(*data), data, 1,
				&scaled[1], &read) ||
	    clFlush(other) || clFlush(sample_queue) || clReleaseEvent(written) ||
	    clReleaseEvent(scaled[0]) || clReleaseEvent(scaled[1]))
		return NULL;
	return read;
}

bool run_pipeline(void)
{
	static uint32_t data[PARTS][PART], expected[PARTS][PART];
	uint32_t factor = 12345;
	cl_command_queue other = clCreateCommandQueue(sample_context, sample_device, 0, NULL);
	cl_mem whole = clCreateBuffer(sample_context, CL_MEM_READ_WRITE, sizeof(data), NULL, NULL);
	cl_program program = build_sample(pipeline_text);
	cl_kernel kernel = program ? clCreateKernel(program, "scale", NULL) : NULL;
	cl_event read[PARTS];
	cl_mem parts[PARTS];
	bool right = kernel && !clSetKernelArg(kernel, 1, sizeof(factor), &factor);

	for (int i = 0; i < PARTS && right; i++) {
		const cl_buffer_region region = {i * sizeof(data[0]), sizeof(data[0])};

		for (int j = 0; j < PART; j++) {
			data[i][j] = random_number();
			expected[i][j] = data[i][j] * factor * factor;
		}
		parts[i] = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
		read[i] = parts[i] ? pass_part(other, kernel, parts[i], data[i]) : NULL;
		right = read[i];
	}
	if (!right || clWaitForEvents(PARTS, read) || memcmp(data, expected, sizeof(data)))
		return false;
	add_results(data, sizeof(data));
	for (int i = 0; i < PARTS; i++)
		right = right && !clReleaseMemObject(parts[i]) && !clReleaseEvent(read[i]);
	return right && !clReleaseMemObject(whole) && !clReleaseKernel(kernel) &&
	       !clReleaseProgram(program) && !clReleaseCommandQueue(other);
}

/* ---- convolution: a kernel of three programs that are linked ---- */

enum { CONVOLVED = 512 };

static const char *const linked_texts[] = {
	"uint sum_of(__local uint *part, __constant uint *weights, uint at);\n"
	"void fill(__local uint *part, __global const uint *from, uint count);\n"
	"__kernel void convolve(__global const uint *from, __constant uint *weights,\n"
	"		       __global uint *to) {\n"
	"	__local uint part[68];\n"
	"	fill(part, from + get_group_id(0) * 64, 68);\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	to[get_global_id(0)] = sum_of(part, weights, get_local_id(0));\n"
	"}\n",
	"uint sum_of(__local uint *part, __constant uint *weights, uint at) {\n"
	"	uint sum = 0;\n"
	"	for (uint i = 0; i < 5; i++) sum += part[at + i] * weights[i];\n"
	"	return sum;\n"
	"}\n",
	"void fill(__local uint *part, __global const uint *from, uint count) {\n"
	"	for (uint i = get_local_id(0); i < count; i += get_local_size(0))\n"
	"		part[i] = from[i];\n"
	"}\n",
};

static cl_program link_texts(void)
{
	cl_program programs[3], linked;

	for (int i = 0; i < 3; i++) {
		programs[i] = create_sample(linked_texts[i]);
		if (clCompileProgram(programs[i], 1, &sample_device, NULL, 0, NULL, NULL, NULL,
				     NULL))
			return NULL;
	}
	linked = clLinkProgram(sample_context, 1, &sample_device, NULL, 3, programs, NULL, NULL,
			       NULL);
	for (int i = 0; i < 3; i++)
		clReleaseProgram(programs[i]);
	return linked;
}

bool run_convolution(void)
{
	uint32_t from[CONVOLVED + 4], to[CONVOLVED] = {0}, weights[5] = {1, 4, 6, 4, 1};
	struct argument arguments[] = {BUFFER_OF(from), BUFFER_OF(weights), BUFFER_OF(to)};
	cl_program program = link_texts();

	for (size_t i = 0; i < CONVOLVED + 4; i++)
		from[i] = random_number() >> 8;
	if (!program ||
	    !launch_sample(program,
			   &(struct sample_launch){"convolve", 1, {CONVOLVED}, {64}, arguments, 3}))
		return false;
	add_results(to, sizeof(to));
	for (size_t i = 0; i < CONVOLVED; i++)
		if (to[i] !=
		    from[i] + 4 * from[i + 1] + 6 * from[i + 2] + 4 * from[i + 3] + from[i + 4])
			return false;
	return !clReleaseProgram(program);
}
