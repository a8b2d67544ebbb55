/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the samples of opencl_samples.c share: a device, launches with arguments, and results. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* opencl_samples.c */
extern cl_context sample_context;
extern cl_device_id sample_device;
extern cl_command_queue sample_queue;

cl_program create_sample(const char *text);
cl_program build_sample(const char *text);
bool launch_sample(cl_program program, const struct sample_launch *sample);
bool build_and_launch(const char *text, const struct sample_launch *sample);
/* A part of the results: the sum depends on it. */
void add_results(const void *data, size_t bytes);
uint32_t random_number(void);

/* Each returns whether its results are right. opencl_samples_local.c */
bool run_histogram(void);
bool run_scan(void);
bool run_bitonic(void);
bool run_transpose(void);
bool run_reduction(void);

/* opencl_samples_items.c */
bool run_nbody(void);
bool run_mandelbrot(void);
bool run_search(void);

/* opencl_samples_objects.c */
bool run_stencil(void);
bool run_pipeline(void);
bool run_convolution(void);
