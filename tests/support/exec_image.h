/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Images in a test's arena, and kernels that sample or access them. */
#pragma once

#include <math.h>

#include "exec/texture.h"
#include "exec_fixture.h"

/* The results of a sample kernel, as a vector. */
#define FLOATS "{%o0, %o1, %o2, %o3}"

enum {
	INPUT_WORDS = 16, /* of a thread */
	MAX_SAMPLES = 1024,
};

union input_word {
	float f;
	int32_t i;
	uint32_t u;
};

/* The inputs and results of the threads of one block. */
struct samples {
	uint32_t count;
	union input_word in[MAX_SAMPLES][INPUT_WORDS];
	union input_word out[MAX_SAMPLES][4];
};

/*
 * A kernel of three parameters: %f0 to %f15 and %r0 to %r15 are the thread's inputs, %rd1 the
 * texture or surface, and %o0 to %o3 (initially 0) the results.
 */
#define SAMPLE_KERNEL_BEGIN ".visible .entry "
#define SAMPLE_KERNEL_INPUTS                                                                       \
	"(.param .u64 in, .param .u64 texture, .param .u64 out)\n{\n"                              \
	"	.reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>, %o<4>, %t;\n"                       \
	"	.reg .f32 %f<16>; .reg .b64 %rd<8>; .reg .v4 .f32 %v; .reg .v2 .f32 %w;\n"               \
	"	mov.u32 %t, %tid.x; ld.param.u64 %rd0, [in];\n"                                          \
	"	ld.param.u64 %rd1, [texture]; ld.param.u64 %rd2, [out];\n"                               \
	"	mad.wide.u32 %rd0, %t, 64, %rd0; mad.wide.u32 %rd2, %t, 16, %rd2;\n"                     \
	"	ld.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0]; ld.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0];\n"       \
	"	ld.v4.f32 {%f4, %f5, %f6, %f7}, [%rd0+16];\n"                                            \
	"	ld.v4.u32 {%r4, %r5, %r6, %r7}, [%rd0+16];\n"                                            \
	"	ld.v4.f32 {%f8, %f9, %f10, %f11}, [%rd0+32];\n"                                          \
	"	ld.v4.u32 {%r8, %r9, %r10, %r11}, [%rd0+32];\n"                                          \
	"	ld.v4.f32 {%f12, %f13, %f14, %f15}, [%rd0+48];\n"                                        \
	"	ld.v4.u32 {%r12, %r13, %r14, %r15}, [%rd0+48];\n"                                        \
	"	mov.b32 %o0, 0; mov.b32 %o1, 0; mov.b32 %o2, 0; mov.b32 %o3, 0;\n	"
#define SAMPLE_KERNEL_END "\n	st.v4.u32 [%rd2], {%o0, %o1, %o2, %o3};\n	ret;\n}\n"

/* A kernel: its name and its instructions. */
struct sample_kernel {
	const char *name, *body;
};

static inline struct sg_module *
load_sample_kernels(struct device *device, const struct sample_kernel *kernels, size_t count)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, PTX_HEADER);
	for (size_t i = 0; i < count; i++) {
		gt_strbuf_puts(&text, SAMPLE_KERNEL_BEGIN);
		gt_strbuf_puts(&text, kernels[i].name);
		gt_strbuf_puts(&text, SAMPLE_KERNEL_INPUTS);
		gt_strbuf_puts(&text, kernels[i].body);
		gt_strbuf_puts(&text, SAMPLE_KERNEL_END);
	}
	return device_load(device, gt_strbuf_string(&text));
}
#define load_kernels(device, kernels)                                                              \
	load_sample_kernels(device, kernels, sizeof(kernels) / sizeof((kernels)[0]))

/* Runs a kernel with a thread for each sample; returns the error of the grid, 0 or -EFAULT. */
static inline int run_samples_for(struct device *device, struct sg_module *module, const char *name,
				  uint64_t handle, struct samples *samples,
				  struct sg_grid_result *result)
{
	uint64_t used = device->used, parameters[3];
	void *in = device_memory(device, sizeof(samples->in));
	void *out = device_memory(device, sizeof(samples->out));
	int error;

	memcpy(in, samples->in, sizeof(samples->in));
	parameters[0] = address_of(in);
	parameters[1] = handle;
	parameters[2] = address_of(out);
	error = device_run_with(device, module, name,
				(struct sg_launch){.shape.block = {samples->count}}, parameters, 3,
				result);
	memcpy(samples->out, out, sizeof(samples->out));
	device->used = used;
	return error;
}

/* The same; a fault fails the test. */
static inline void run_samples(struct device *device, struct sg_module *module, const char *name,
			       uint64_t handle, struct samples *samples)
{
	struct sg_grid_result result;

	if (run_samples_for(device, module, name, handle, samples, &result))
		TAP_FAIL("%s: %s", name, result.fault.text);
}

/* Adds a level of an image in new memory; rows and slices have gaps. Returns the memory. */
static inline char *add_level(struct device *device, struct sg_texture_image *image, uint32_t width,
			      uint32_t height, uint32_t slices)
{
	struct sg_texture_level *level = &image->levels[image->level_count++];
	char *memory;

	level->width = width;
	level->height = height;
	level->slices = slices;
	level->pitch = (uint64_t)width * image->element + 32;
	level->slice_pitch = level->pitch * height + 64;
	memory = device_memory(device, level->slice_pitch * slices);
	level->address = address_of(memory);
	return memory;
}

static inline char *texel_at(const struct sg_texture_image *image, uint32_t level, uint32_t x,
			     uint32_t y, uint32_t slice)
{
	const struct sg_texture_level *of = &image->levels[level];

	return (char *)(uintptr_t)(of->address + slice * of->slice_pitch + y * of->pitch +
				   x * image->element);
}

/* A texture of one channel of floats, a different one in each texel; nearest texel, clamped. */
static inline struct sg_texture float_texture(struct device *device, uint32_t width,
					      uint32_t height, uint32_t slices)
{
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_FLOAT, .channels = 1, .element = 4},
		.sampler = {.address = {SG_ADDRESS_CLAMP, SG_ADDRESS_CLAMP, SG_ADDRESS_CLAMP},
			    .max = 100},
	};

	add_level(device, &texture.image, width, height, slices);
	for (uint32_t z = 0; z < slices; z++)
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				*(float *)(void *)texel_at(&texture.image, 0, x, y, z) =
					(float)((x * 31 + y * 57 + z * 83) % 101) + 0.25f;
	return texture;
}

static inline uint64_t add_texture(struct device *device, const struct sg_texture *texture)
{
	uint64_t handle = 0;

	CHECK_INT(sg_texture_add(device->machine, texture, &handle), 0);
	return handle;
}

/* 16 × 8 texels and three smaller levels; the texels of level n are 10 n. */
static inline struct sg_texture mipmap(struct device *device)
{
	struct sg_texture texture = float_texture(device, 16, 8, 1);

	for (uint32_t level = 0; level < 4; level++) {
		if (level)
			add_level(device, &texture.image, 16u >> level, 8u >> level, 1);
		for (uint32_t y = 0; y < 8u >> level; y++)
			for (uint32_t x = 0; x < 16u >> level; x++)
				*(float *)(void *)texel_at(&texture.image, level, x, y, 0) =
					10 * (float)level;
	}
	texture.sampler.is_normalized = true;
	return texture;
}

/* Checks a value that was sampled at coordinates. */
static inline void check_near(double actual, double expected, const char *what, const float *at)
{
	if (!(fabs(actual - expected) <= 1e-6 * (1 + fabs(expected))))
		TAP_FAIL("%s at (%.9g, %.9g, %.9g) is %.9g, not %.9g", what, (double)at[0],
			 (double)at[1], (double)at[2], actual, expected);
}
