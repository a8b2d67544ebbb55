/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Samples whose work-items have loops of their own. */
#include "opencl_samples.h"

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

bool run_nbody(void)
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
bool run_mandelbrot(void)
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

/* ---- search: constant memory, a break out of a loop ---- */

enum { TEXT_BYTES = 4096 };

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

bool run_search(void)
{
	static char text[TEXT_BYTES + 4];
	static uint8_t found[TEXT_BYTES];
	char word[4] = "abba";
	uint32_t count = 0, length = sizeof(word), expected = 0;
	struct argument arguments[] = {BUFFER_OF(text),
				       BUFFER_OF(word),
				       VALUE_OF(length),
				       BUFFER_OF(found),
				       {BUFFER, &count, sizeof(count), NULL}};

	for (size_t i = 0; i < TEXT_BYTES; i++)
		text[i] = random_number() >> 31 ? 'a' : 'b';
	if (!build_and_launch(search_text, &(struct sample_launch){
						   "search", 1, {TEXT_BYTES}, {128}, arguments, 5}))
		return false;
	add_results(found, sizeof(found));
	for (size_t i = 0; i < TEXT_BYTES; i++) {
		expected += !memcmp(text + i, word, sizeof(word));
		if (found[i] != !memcmp(text + i, word, sizeof(word)))
			return false;
	}
	return expected && count == expected;
}
