/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The speed of the software GPU: thread-instructions per second of one core, and its time relative
 * to plain C on one core, for five kernels (softgpu-exec.cu). The
 * results are compared with those of C.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "exec/exec.h"
#include "exec/texture.h"

static const char kernels[] = {
#include "softgpu-exec.ptx.inc"
};

enum {
	ARENA = 512 << 20,
	MATRIX = 512,
	IMAGE = 1024,
	MAX_STEPS = 256,
	VALUES = 16 << 20,
	ROUNDS = 20000, /* of barriers */
};

struct bench {
	struct sg_machine *machine;
	struct sg_module *module;
	char *arena;
	size_t used;
	bool is_wrong;
};

static double cpu_seconds(void)
{
	return (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
}

static void *take(struct bench *bench, size_t size)
{
	void *memory = bench->arena + bench->used;

	bench->used += (size + SG_GRANULE - 1) & ~(size_t)(SG_GRANULE - 1);
	sg_memory_allow(bench->machine, (uint64_t)(uintptr_t)memory, size);
	return memory;
}

/* Runs a kernel and prints its line; plain: seconds of the same in C. */
static void run(struct bench *bench, const char *name, struct sg_launch launch, double plain)
{
	struct sg_grid_result result = {0};
	double start, taken;

	launch.function = sg_module_function(bench->module, name);
	start = cpu_seconds();
	if (sg_grid_run(bench->machine, &launch, &result)) {
		printf("%s skip %s\n", name, result.fault.text);
		bench->is_wrong = true;
		return;
	}
	taken = cpu_seconds() - start;
	printf("exec_%s %.0f M/s\n", name, (double)result.thread_instructions / taken * 1e-6);
	printf("exec_%s_ratio %.2f x\n", name, taken / plain);
}

static void check(struct bench *bench, const char *name, bool good)
{
	if (good)
		return;
	fprintf(stderr, "softgpu-exec: %s gives a wrong result\n", name);
	bench->is_wrong = true;
}

/* ---- the same in C --------------------------------------------------------------------- */

static void plain_matmul(const float *a, const float *b, float *product)
{
	memset(product, 0, sizeof(float) * MATRIX * MATRIX);
	for (int row = 0; row < MATRIX; row++)
		for (int k = 0; k < MATRIX; k++)
			for (int column = 0; column < MATRIX; column++)
				product[row * MATRIX + column] +=
					a[row * MATRIX + k] * b[k * MATRIX + column];
}

static void plain_mandelbrot(unsigned *counts)
{
	for (int y = 0; y < IMAGE; y++)
		for (int x = 0; x < IMAGE; x++) {
			float real = -2.0f + 3.0f * (float)x / IMAGE;
			float imaginary = -1.5f + 3.0f * (float)y / IMAGE, a = 0, b = 0;
			unsigned count = 0;

			while (count < MAX_STEPS && a * a + b * b < 4.0f) {
				float next = a * a - b * b + real;

				b = 2.0f * a * b + imaginary;
				a = next;
				count++;
			}
			counts[y * IMAGE + x] = count;
		}
}

static double plain_sum(const float *values)
{
	double sum = 0;

	for (int i = 0; i < VALUES; i++)
		sum += values[i];
	return sum;
}

/* ---- measurements ---------------------------------------------------------------------- */

static void bench_matmul(struct bench *bench)
{
	size_t size = sizeof(float) * MATRIX * MATRIX;
	float *a = take(bench, size), *b = take(bench, size), *c = take(bench, size);
	float *expected = malloc(size);
	struct {
		float *a, *b, *c;
		int n;
	} parameters = {a, b, c, MATRIX};
	double start, plain, worst = 0;

	for (int i = 0; i < MATRIX * MATRIX; i++) {
		a[i] = (float)(i % 13) - 6;
		b[i] = (float)(i % 7) - 3;
	}
	start = cpu_seconds();
	plain_matmul(a, b, expected);
	plain = cpu_seconds() - start;
	run(bench, "matmul",
	    (struct sg_launch){.shape.grid = {MATRIX / 16, MATRIX / 16, 1},
			       .shape.block = {16, 16, 1},
			       .parameters = &parameters,
			       .parameter_size = sizeof(parameters)},
	    plain);
	for (int i = 0; i < MATRIX * MATRIX; i++)
		worst = fmax(worst, fabs((double)c[i] - (double)expected[i]));
	check(bench, "matmul", worst < 1e-3);
	free(expected);
}

static void bench_mandelbrot(struct bench *bench)
{
	size_t size = sizeof(unsigned) * IMAGE * IMAGE, different = 0;
	unsigned *counts = take(bench, size), *expected = malloc(size);
	struct {
		unsigned *counts;
		int width, height, most;
	} parameters = {counts, IMAGE, IMAGE, MAX_STEPS};
	double start, plain;

	start = cpu_seconds();
	plain_mandelbrot(expected);
	plain = cpu_seconds() - start;
	run(bench, "mandelbrot",
	    (struct sg_launch){.shape.grid = {IMAGE / 32, IMAGE / 8, 1},
			       .shape.block = {32, 8, 1},
			       .parameters = &parameters,
			       .parameter_size = sizeof(parameters)},
	    plain);
	for (int i = 0; i < IMAGE * IMAGE; i++)
		different += counts[i] != expected[i];
	/* Where the last bits differ, a few points at the border do. */
	check(bench, "mandelbrot", different < IMAGE * IMAGE / 100);
	free(expected);
}

static void bench_reduce(struct bench *bench, const float *values)
{
	float *sum = take(bench, sizeof(float));
	struct {
		const float *values;
		float *sum;
		int count;
	} parameters = {values, sum, VALUES};
	double start = cpu_seconds(), expected = plain_sum(values), plain = cpu_seconds() - start;

	*sum = 0;
	run(bench, "reduce",
	    (struct sg_launch){.shape.grid = {256, 1, 1},
			       .shape.block = {256, 1, 1},
			       .parameters = &parameters,
			       .parameter_size = sizeof(parameters)},
	    plain);
	check(bench, "reduce", fabs((double)*sum - expected) < 1e-3 * fabs(expected));
}

static void bench_copy(struct bench *bench, const float *values)
{
	float *to = take(bench, sizeof(float) * VALUES);
	struct {
		const float *from;
		float *to;
		int count;
	} parameters = {values, to, VALUES};
	double start, plain;

	memset(to, 1, sizeof(float) * VALUES);
	start = cpu_seconds();
	memcpy(to, values, sizeof(float) * VALUES);
	plain = cpu_seconds() - start;
	memset(to, 0, sizeof(float) * VALUES);
	run(bench, "copy",
	    (struct sg_launch){.shape.grid = {VALUES / 256, 1, 1},
			       .shape.block = {256, 1, 1},
			       .parameters = &parameters,
			       .parameter_size = sizeof(parameters)},
	    plain);
	check(bench, "copy",
	      memcmp((const char *)to, (const char *)values, sizeof(float) * VALUES) == 0);
}

static void plain_texture(const float *from, float *to)
{
	for (int y = 0; y < IMAGE; y++)
		for (int x = 0; x < IMAGE; x++) {
			int next = x + 1 < IMAGE ? x + 1 : x;

			to[y * IMAGE + x] =
				0.75f * from[y * IMAGE + x] + 0.25f * from[y * IMAGE + next];
		}
}

/* A linear filter in two dimensions: four texels for each fetch. */
static void bench_texture(struct bench *bench, const float *values)
{
	size_t size = sizeof(float) * IMAGE * IMAGE;
	float *to = take(bench, size), *expected = malloc(size), worst = 0;
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_FLOAT,
			  .channels = 1,
			  .element = sizeof(float),
			  .level_count = 1,
			  .levels = {{.address = (uint64_t)(uintptr_t)values,
				      .pitch = sizeof(float) * IMAGE,
				      .width = IMAGE,
				      .height = IMAGE,
				      .slices = 1}}},
		.sampler = {.address = {SG_ADDRESS_CLAMP, SG_ADDRESS_CLAMP}, .is_linear = true}};
	struct {
		uint64_t image;
		float *to;
		int width;
	} parameters = {0, to, IMAGE};
	double start, plain;

	if (sg_texture_add(bench->machine, &texture, &parameters.image)) {
		check(bench, "texture", false);
		return;
	}
	plain_texture(values, expected);
	start = cpu_seconds();
	plain_texture(values, expected);
	plain = cpu_seconds() - start;
	run(bench, "texture",
	    (struct sg_launch){.shape.grid = {IMAGE / 32, IMAGE / 8, 1},
			       .shape.block = {32, 8, 1},
			       .parameters = &parameters,
			       .parameter_size = sizeof(parameters)},
	    plain);
	for (int i = 0; i < IMAGE * IMAGE; i++)
		worst = fmaxf(worst, fabsf(to[i] - expected[i]));
	check(bench, "texture", worst < 1e-5f);
	free(expected);
}

/* The time that a launch of one block takes; 0: it fails. */
static double time_rounds(struct bench *bench, const char *name, unsigned threads)
{
	int rounds = ROUNDS;
	struct sg_launch launch = {.shape.grid = {1, 1, 1},
				   .shape.block = {threads, 1, 1},
				   .parameters = &rounds,
				   .parameter_size = sizeof(rounds)};
	struct sg_grid_result result = {0};
	double start;

	launch.function = sg_module_function(bench->module, name);
	start = cpu_seconds();
	return sg_grid_run(bench->machine, &launch, &result) ? 0 : cpu_seconds() - start;
}

/* Print what waiting at an mbarrier costs, relative to __syncthreads. */
static void bench_mbarrier(struct bench *bench, unsigned threads)
{
	double barriers, mbarriers;

	time_rounds(bench, "mbarriers", threads);
	barriers = time_rounds(bench, "barriers", threads);
	mbarriers = time_rounds(bench, "mbarriers", threads);
	if (barriers > 0 && mbarriers > 0)
		printf("exec_mbarrier_%u_ratio %.2f x (goal: 3)\n", threads, mbarriers / barriers);
	else
		printf("exec_mbarrier_%u_ratio skip the kernel fails\n", threads);
}

int main(void)
{
	struct bench bench = {0};
	struct gt_diag diag = {0};
	struct sg_machine_options options = {.arena_size = ARENA};
	float *values;

	bench.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	options.arena_address = (uint64_t)(uintptr_t)bench.arena;
	if (bench.arena == MAP_FAILED || sg_machine_new(&options, &bench.machine, &diag) ||
	    sg_module_load_text(bench.machine, kernels, sizeof(kernels), &bench.module, &diag)) {
		fprintf(stderr, "softgpu-exec: %s %s\n", diag.place, diag.text);
		return 1;
	}
	values = take(&bench, sizeof(float) * VALUES);
	for (int i = 0; i < VALUES; i++)
		values[i] = (float)(i % 1000) * 0.001f;
	bench_matmul(&bench);
	bench_mandelbrot(&bench);
	bench_reduce(&bench, values);
	bench_copy(&bench, values);
	bench_texture(&bench, values);
	bench_mbarrier(&bench, 256);
	bench_mbarrier(&bench, 1024);
	sg_module_free(bench.module);
	sg_machine_free(bench.machine);
	return bench.is_wrong;
}
