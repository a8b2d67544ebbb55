/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Samples whose work-groups share local memory. */
#include "opencl_samples.h"

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

bool run_histogram(void)
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

bool run_scan(void)
{
	uint32_t data[SCANNED], expected[SCANNED], sums[SCANNED / SCAN_GROUP] = {0}, sum = 0;
	struct argument arguments[] = {
		BUFFER_OF(data), BUFFER_OF(sums), {LOCAL, NULL, SCAN_GROUP * sizeof(*data), NULL}};
	cl_program program = build_sample(scan_text);

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

bool run_bitonic(void)
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

bool run_transpose(void)
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
bool run_reduction(void)
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
