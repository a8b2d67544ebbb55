/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small OpenCL programs of the kinds that public samples have. Each checks its results, and prints
 * "NAME: right, SUM", where the sum depends on every bit of the results.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <inttypes.h>
#include <math.h>

#include "opencl_device.h"

/* ---- kernels ---- */

enum argument_kind {
	VALUE,
	BUFFER,
	LOCAL,
	OBJECT, /* a memory object or sampler of the sample's own */
};

/* A buffer has the bytes of `data`, which has those of the buffer after the launch. */
struct argument {
	enum argument_kind kind;
	void *data;
	size_t bytes;
	cl_mem buffer;
};

#define BUFFER_OF(array)                                                                           \
	{                                                                                          \
		BUFFER, array, sizeof(array), NULL                                                 \
	}
#define VALUE_OF(variable)                                                                         \
	{                                                                                          \
		VALUE, &(variable), sizeof(variable), NULL                                         \
	}
#define OBJECT_OF(variable)                                                                        \
	{                                                                                          \
		OBJECT, &(variable), sizeof(variable), NULL                                        \
	}

struct sample_launch {
	const char *name; /* of the kernel */
	cl_uint dimensions;
	size_t items[2], group[2];
	struct argument *arguments;
	cl_uint count;
};

static bool set_argument(cl_kernel kernel, cl_uint number, struct argument *argument)
{
	if (argument->kind == LOCAL)
		return !clSetKernelArg(kernel, number, argument->bytes, NULL);
	if (argument->kind != BUFFER)
		return !clSetKernelArg(kernel, number, argument->bytes, argument->data);
	argument->buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
					  argument->bytes, argument->data, NULL);
	return argument->buffer &&
	       !clSetKernelArg(kernel, number, sizeof(cl_mem), &argument->buffer);
}

static bool read_argument(struct argument *argument)
{
	return argument->kind != BUFFER ||
	       (!clEnqueueReadBuffer(queue, argument->buffer, CL_TRUE, 0, argument->bytes,
				     argument->data, 0, NULL, NULL) &&
		!clReleaseMemObject(argument->buffer));
}

static bool launch_sample(cl_program program, const struct sample_launch *sample)
{
	cl_kernel kernel = clCreateKernel(program, sample->name, NULL);
	bool right = kernel;

	for (cl_uint i = 0; i < sample->count && right; i++)
		right = set_argument(kernel, i, &sample->arguments[i]);
	right = right && !clEnqueueNDRangeKernel(queue, kernel, sample->dimensions, NULL,
						 sample->items, sample->group, 0, NULL, NULL);
	for (cl_uint i = 0; i < sample->count && right; i++)
		right = read_argument(&sample->arguments[i]);
	return right && !clReleaseKernel(kernel);
}

static cl_program build(const char *text)
{
	cl_program program = create(text);

	return program && !clBuildProgram(program, 1, &device, NULL, NULL, NULL) ? program : NULL;
}

static bool build_and_launch(const char *text, const struct sample_launch *sample)
{
	cl_program program = build(text);

	return program && launch_sample(program, sample) && !clReleaseProgram(program);
}

/* FNV-1a over results. */
static uint64_t checksum;

static void add_results(const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		checksum = (checksum ^ ((const uint8_t *)data)[i]) * 1099511628211u;
}

static uint32_t random_number(void)
{
	static uint32_t state = 1;

	return state = state * 1664525 + 1013904223;
}

/* ---- histogram: atomic operations in local memory ---- */

enum { BINS = 64, BYTES = 4096 };

static const char histogram_text[] =
	"__kernel void histogram(__global const uchar *data, uint count, __global uint *bins) {\n"
	"	__local uint part[64];\n"
	"	uint lid = get_local_id(0);\n"
	"	part[lid] = 0;\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	for (uint i = get_global_id(0); i < count; i += get_global_size(0))\n"
	"		atomic_inc(&part[data[i] & 63]);\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	if (part[lid])\n"
	"		atomic_add(&bins[lid], part[lid]);\n"
	"}\n";

static bool run_histogram(void)
{
	static uint8_t data[BYTES];
	uint32_t bins[BINS] = {0}, expected[BINS] = {0}, count = BYTES;
	struct argument arguments[] = {BUFFER_OF(data), VALUE_OF(count), BUFFER_OF(bins)};

	for (size_t i = 0; i < BYTES; i++) {
		data[i] = (uint8_t)(random_number() >> 24);
		expected[data[i] % BINS]++;
	}
	if (!build_and_launch(histogram_text,
			      &(struct sample_launch){"histogram", 1, {256}, {64}, arguments, 3}))
		return false;
	add_results(bins, sizeof(bins));
	return !memcmp(bins, expected, sizeof(bins));
}

/* ---- prefix sum: two sweeps over a tree in local memory, and a second kernel ---- */

enum { SCANNED = 512, SCAN_GROUP = 64 };

static const char scan_text[] =
	"__kernel void scan(__global uint *data, __global uint *sums, __local uint *part) {\n"
	"	uint lid = get_local_id(0), size = get_local_size(0), id = get_global_id(0);\n"
	"	uint own = data[id];\n"
	"	part[lid] = own;\n"
	"	for (uint d = 1; d < size; d *= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if ((lid + 1) % (2 * d) == 0) part[lid] += part[lid - d];\n"
	"	}\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	if (lid == size - 1) { sums[get_group_id(0)] = part[lid]; part[lid] = 0; }\n"
	"	for (uint d = size / 2; d; d /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if ((lid + 1) % (2 * d) == 0) {\n"
	"			uint left = part[lid - d];\n"
	"			part[lid - d] = part[lid];\n"
	"			part[lid] += left;\n"
	"		}\n"
	"	}\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	data[id] = part[lid] + own;\n"
	"}\n"
	"__kernel void add_sums(__global uint *data, __global const uint *sums) {\n"
	"	for (uint i = 0; i < get_group_id(0); i++)\n"
	"		data[get_global_id(0)] += sums[i];\n"
	"}\n";

static bool run_scan(void)
{
	uint32_t data[SCANNED], expected[SCANNED], sums[SCANNED / SCAN_GROUP] = {0}, sum = 0;
	struct argument arguments[] = {
		BUFFER_OF(data), BUFFER_OF(sums), {LOCAL, NULL, SCAN_GROUP * sizeof(*data), NULL}};
	cl_program program = build(scan_text);

	for (size_t i = 0; i < SCANNED; i++) {
		data[i] = random_number() >> 16;
		expected[i] = sum += data[i];
	}
	if (!program ||
	    !launch_sample(
		    program,
		    &(struct sample_launch){"scan", 1, {SCANNED}, {SCAN_GROUP}, arguments, 3}) ||
	    !launch_sample(program, &(struct sample_launch){
					    "add_sums", 1, {SCANNED}, {SCAN_GROUP}, arguments, 2}))
		return false;
	add_results(data, sizeof(data));
	return !memcmp(data, expected, sizeof(data)) && !clReleaseProgram(program);
}

/* ---- bitonic sort: barriers in nested loops ---- */

enum { SORTED = 128 };

static const char bitonic_text[] =
	"void sort_pair(__local int *first, __local int *second, bool up) {\n"
	"	int a = *first, b = *second;\n"
	"	if ((a > b) == up) { *first = b; *second = a; }\n"
	"}\n"
	"__kernel void bitonic(__global int *data) {\n"
	"	__local int part[128];\n"
	"	uint lid = get_local_id(0), offset = get_group_id(0) * 128;\n"
	"	part[lid] = data[offset + lid];\n"
	"	part[lid + 64] = data[offset + lid + 64];\n"
	"	for (uint size = 2; size <= 128; size *= 2)\n"
	"		for (uint stride = size / 2; stride; stride /= 2) {\n"
	"			uint at = 2 * lid - (lid & (stride - 1));\n"
	"			barrier(CLK_LOCAL_MEM_FENCE);\n"
	"			sort_pair(part + at, part + at + stride, !(lid & (size / 2)));\n"
	"		}\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	data[offset + lid] = part[lid];\n"
	"	data[offset + lid + 64] = part[lid + 64];\n"
	"}\n";

static bool run_bitonic(void)
{
	int32_t data[2 * SORTED];
	struct argument arguments[] = {BUFFER_OF(data)};
	int64_t before = 0, after = 0;

	for (size_t i = 0; i < 2 * SORTED; i++) {
		data[i] = (int32_t)random_number();
		before += data[i];
	}
	if (!build_and_launch(bitonic_text,
			      &(struct sample_launch){"bitonic", 1, {SORTED}, {64}, arguments, 1}))
		return false;
	add_results(data, sizeof(data));
	for (size_t i = 0; i < 2 * SORTED; i++) {
		after += data[i];
		if (i % SORTED && data[i - 1] > data[i])
			return false;
	}
	return before == after;
}

/* ---- n-body: vectors of floats, tiles in local memory ---- */

enum { BODIES = 128 };

static const char nbody_text[] =
	"float4 pull(float4 at, float4 other, float4 sum) {\n"
	"	float3 d = other.xyz - at.xyz;\n"
	"	float inverse = rsqrt(dot(d, d) + 0.01f);\n"
	"	sum.xyz += d * (other.w * inverse * inverse * inverse);\n"
	"	return sum;\n"
	"}\n"
	"__kernel void nbody(__global const float4 *at, __global float4 *speed, float step,\n"
	"		    __local float4 *tile) {\n"
	"	uint id = get_global_id(0), lid = get_local_id(0), size = get_local_size(0);\n"
	"	float4 own = at[id], sum = (float4)(0);\n"
	"	for (uint i = 0; i < get_num_groups(0); i++) {\n"
	"		tile[lid] = at[i * size + lid];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		for (uint j = 0; j < size; j++) sum = pull(own, tile[j], sum);\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	speed[id] += step * sum;\n"
	"}\n";

static bool is_pulled(const float (*at)[4], size_t body, const float *speed)
{
	double sum[3] = {0};

	for (size_t i = 0; i < BODIES; i++) {
		double d[3], square = 0.01;

		for (int k = 0; k < 3; k++) {
			d[k] = (double)at[i][k] - at[body][k];
			square += d[k] * d[k];
		}
		for (int k = 0; k < 3; k++)
			sum[k] += d[k] * at[i][3] / (square * sqrt(square));
	}
	for (int k = 0; k < 3; k++)
		if (fabs(sum[k] * 0.5 - speed[k]) > 1e-3 * (1 + fabs(sum[k])))
			return false;
	return true;
}

static bool run_nbody(void)
{
	static float at[BODIES][4], speed[BODIES][4];
	cl_float step = 0.5f;
	struct argument arguments[] = {
		BUFFER_OF(at), BUFFER_OF(speed), VALUE_OF(step), {LOCAL, NULL, 32 * 16, NULL}};

	for (size_t i = 0; i < BODIES; i++)
		for (int k = 0; k < 4; k++)
			at[i][k] = (float)(random_number() >> 8) / (1 << 24);
	if (!build_and_launch(nbody_text,
			      &(struct sample_launch){"nbody", 1, {BODIES}, {32}, arguments, 4}))
		return false;
	add_results(speed, sizeof(speed));
	for (size_t i = 0; i < BODIES; i++)
		if (!is_pulled((const float(*)[4])at, i, speed[i]))
			return false;
	return true;
}

/* ---- mandelbrot: loops that each work-item leaves after its own number of passes ---- */

enum { SIDE = 32 };

static const char mandelbrot_text[] =
	"__kernel void mandelbrot(__global uint *passes, uint max) {\n"
	"	uint x = get_global_id(0), y = get_global_id(1), n = 0;\n"
	"	float a = x / 16.0f - 1.5f, b = y / 16.0f - 1.0f, re = 0, im = 0;\n"
	"	while (re * re + im * im <= 4 && n < max) {\n"
	"		float next = re * re - im * im + a;\n"
	"		im = 2 * re * im + b;\n"
	"		re = next;\n"
	"		n++;\n"
	"	}\n"
	"	passes[y * get_global_size(0) + x] = n;\n"
	"}\n";

static uint32_t count_passes(int x, int y, uint32_t max)
{
	double a = x / 16.0 - 1.5, b = y / 16.0 - 1, re = 0, im = 0;
	uint32_t n = 0;

	for (; re * re + im * im <= 4 && n < max; n++) {
		double next = re * re - im * im + a;

		im = 2 * re * im + b;
		re = next;
	}
	return n;
}

/* Few points are so near the border that the precision matters. */
static bool run_mandelbrot(void)
{
	static uint32_t passes[SIDE * SIDE];
	uint32_t max = 40, others = 0;
	struct argument arguments[] = {BUFFER_OF(passes), VALUE_OF(max)};

	if (!build_and_launch(
		    mandelbrot_text,
		    &(struct sample_launch){"mandelbrot", 2, {SIDE, SIDE}, {8, 4}, arguments, 2}))
		return false;
	add_results(passes, sizeof(passes));
	for (int i = 0; i < SIDE * SIDE; i++)
		others += passes[i] != count_passes(i % SIDE, i / SIDE, max);
	return others < SIDE;
}

/* ---- transpose: a tile in local memory with a column of padding ---- */

enum { WIDTH = 48, HEIGHT = 32 };

static const char transpose_text[] =
	"__kernel void transpose(__global const double *from, __global double *to, uint2 size) {\n"
	"	__local double tile[16][17];\n"
	"	uint x = get_global_id(0), y = get_global_id(1);\n"
	"	tile[get_local_id(1)][get_local_id(0)] = from[y * size.x + x];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	x = get_group_id(1) * 16 + get_local_id(0);\n"
	"	y = get_group_id(0) * 16 + get_local_id(1);\n"
	"	to[y * size.y + x] = tile[get_local_id(0)][get_local_id(1)];\n"
	"}\n";

static bool run_transpose(void)
{
	static double from[WIDTH * HEIGHT], to[WIDTH * HEIGHT];
	uint32_t size[2] = {WIDTH, HEIGHT};
	struct argument arguments[] = {
		BUFFER_OF(from), BUFFER_OF(to), {VALUE, size, sizeof(size), NULL}};

	for (size_t i = 0; i < WIDTH * HEIGHT; i++)
		from[i] = (double)random_number() / 7;
	if (!build_and_launch(transpose_text,
			      &(struct sample_launch){
				      "transpose", 2, {WIDTH, HEIGHT}, {16, 16}, arguments, 3}))
		return false;
	add_results(to, sizeof(to));
	for (size_t i = 0; i < WIDTH * HEIGHT; i++)
		if (to[i % WIDTH * HEIGHT + i / WIDTH] != from[i])
			return false;
	return true;
}

/* ---- stencil: images and a sampler ---- */

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

	return clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &shape, pixels, NULL);
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

static bool run_stencil(void)
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
	    clEnqueueReadImage(queue, images[1], CL_TRUE, origin, region, 0, 0, to, 0, NULL, NULL))
		return false;
	add_results(to, sizeof(to));
	for (int i = 0; i < SIDE * SIDE; i++)
		for (int k = 0; k < 4; k++)
			if (to[i][k] != sum_around(from, i % SIDE, i / SIDE, k))
				return false;
	return !clReleaseMemObject(images[0]) && !clReleaseMemObject(images[1]);
}

/* ---- search: constant memory, a break out of a loop ---- */

static const char search_text[] =
	"__kernel void search(__global const char *text, __constant char *word, uint length,\n"
	"		     __global uchar *found, __global uint *count) {\n"
	"	uint at = get_global_id(0), i;\n"
	"	for (i = 0; i < length; i++)\n"
	"		if (text[at + i] != word[i]) break;\n"
	"	if (i < length) return;\n"
	"	found[at] = 1;\n"
	"	atomic_inc(count);\n"
	"}\n";

static bool run_search(void)
{
	static char text[BYTES + 4];
	static uint8_t found[BYTES];
	char word[4] = "abba";
	uint32_t count = 0, length = sizeof(word), expected = 0;
	struct argument arguments[] = {BUFFER_OF(text),
				       BUFFER_OF(word),
				       VALUE_OF(length),
				       BUFFER_OF(found),
				       {BUFFER, &count, sizeof(count), NULL}};

	for (size_t i = 0; i < BYTES; i++)
		text[i] = random_number() >> 31 ? 'a' : 'b';
	if (!build_and_launch(search_text,
			      &(struct sample_launch){"search", 1, {BYTES}, {128}, arguments, 5}))
		return false;
	add_results(found, sizeof(found));
	for (size_t i = 0; i < BYTES; i++) {
		expected += !memcmp(text + i, word, sizeof(word));
		if (found[i] != !memcmp(text + i, word, sizeof(word)))
			return false;
	}
	return expected && count == expected;
}

/* ---- reduction: a tree, then a sum of floats by compare and exchange ---- */

enum { REDUCED = 2048 };

static const char reduction_text[] =
	"void add_float(volatile __global float *to, float number) {\n"
	"	uint old, next;\n"
	"	do {\n"
	"		old = as_uint(*to);\n"
	"		next = as_uint(as_float(old) + number);\n"
	"	} while (atomic_cmpxchg((volatile __global uint *)to, old, next) != old);\n"
	"}\n"
	"__kernel void reduction(__global const float *data, __global float *sum) {\n"
	"	__local float part[64];\n"
	"	uint lid = get_local_id(0), id = get_global_id(0);\n"
	"	float4 four = vload4(id, data);\n"
	"	part[lid] = four.x + four.y + four.z + four.w;\n"
	"	for (uint d = get_local_size(0) / 2; d; d >>= 1) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (lid < d) part[lid] += part[lid + d];\n"
	"	}\n"
	"	if (!lid) add_float(sum, part[0]);\n"
	"}\n";

/* Sums of these numbers are exact, in any order. */
static bool run_reduction(void)
{
	static float data[REDUCED];
	float sum = 0, expected = 0;
	struct argument arguments[] = {BUFFER_OF(data), {BUFFER, &sum, sizeof(sum), NULL}};

	for (size_t i = 0; i < REDUCED; i++) {
		data[i] = (float)(random_number() >> 22);
		expected += data[i];
	}
	if (!build_and_launch(
		    reduction_text,
		    &(struct sample_launch){"reduction", 1, {REDUCED / 4}, {64}, arguments, 2}))
		return false;
	add_results(&sum, sizeof(sum));
	return sum == expected;
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

	if (clEnqueueWriteBuffer(queue, part, CL_FALSE, 0, PART * sizeof(*data), data, 0, NULL,
				 &written) ||
	    clSetKernelArg(kernel, 0, sizeof(part), &part) ||
	    clEnqueueNDRangeKernel(other, kernel, 1, NULL, &items, &group, 1, &written,
				   &scaled[0]) ||
	    clEnqueueNDRangeKernel(other, kernel, 1, NULL, &items, &group, 1, &scaled[0],
				   &scaled[1]) ||
	    clEnqueueReadBuffer(queue, part, CL_FALSE, 0, PART * sizeof(*data), data, 1, &scaled[1],
				&read) ||
	    clFlush(other) || clFlush(queue) || clReleaseEvent(written) ||
	    clReleaseEvent(scaled[0]) || clReleaseEvent(scaled[1]))
		return NULL;
	return read;
}

static bool run_pipeline(void)
{
	static uint32_t data[PARTS][PART], expected[PARTS][PART];
	uint32_t factor = 12345;
	cl_command_queue other = clCreateCommandQueue(context, device, 0, NULL);
	cl_mem whole = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(data), NULL, NULL);
	cl_program program = build(pipeline_text);
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
		programs[i] = create(linked_texts[i]);
		if (clCompileProgram(programs[i], 1, &device, NULL, 0, NULL, NULL, NULL, NULL))
			return NULL;
	}
	linked = clLinkProgram(context, 1, &device, NULL, 3, programs, NULL, NULL, NULL);
	for (int i = 0; i < 3; i++)
		clReleaseProgram(programs[i]);
	return linked;
}

static bool run_convolution(void)
{
	uint32_t from[SCANNED + 4], to[SCANNED] = {0}, weights[5] = {1, 4, 6, 4, 1};
	struct argument arguments[] = {BUFFER_OF(from), BUFFER_OF(weights), BUFFER_OF(to)};
	cl_program program = link_texts();

	for (size_t i = 0; i < SCANNED + 4; i++)
		from[i] = random_number() >> 8;
	if (!program ||
	    !launch_sample(program,
			   &(struct sample_launch){"convolve", 1, {SCANNED}, {64}, arguments, 3}))
		return false;
	add_results(to, sizeof(to));
	for (size_t i = 0; i < SCANNED; i++)
		if (to[i] !=
		    from[i] + 4 * from[i + 1] + 6 * from[i + 2] + 4 * from[i + 3] + from[i + 4])
			return false;
	return !clReleaseProgram(program);
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
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		bool right;

		checksum = 14695981039346656037u;
		right = samples[i].run();
		printf("%s: %s, %016" PRIx64 "\n", samples[i].name, right ? "right" : "wrong",
		       checksum);
	}
	return 0;
}
