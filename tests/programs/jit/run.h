/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loads images in each possible manner and runs the kernel `add` of kernels.cu. For programs that
 * tests/cli/jit.bats compiles, against the compilers of the toolkit.
 */
#pragma once

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, BLOCK = 256 };

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_) {                                                                     \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result_);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline void start_cuda(void)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
}

/* "sm_75" for this device. */
static inline const char *device_architecture(void)
{
	static char name[16];
	int major, minor;

	CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
	snprintf(name, sizeof(name), "sm_%d%d", major, minor);
	return name;
}

static inline void *read_whole(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) || !(data = malloc((size_t)size + 1)) ||
	    fread(data, 1, (size_t)size, file) != (size_t)size) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	fclose(file);
	data[size] = 0;
	*ret_size = (size_t)size;
	return data;
}

static inline void write_whole(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
		fprintf(stderr, "cannot write %s\n", path);
		exit(1);
	}
}

static inline CUfunction find_in_library(CUlibrary library, const char *kernel)
{
	CUkernel found;

	CHECK(cuLibraryGetKernel(&found, library, kernel));
	return (CUfunction)found;
}

/* Load an image by the function that `method` names. */
static inline CUfunction load_image(const char *method, const void *image, const char *kernel)
{
	CUmodule module = NULL;
	CUlibrary library;
	CUfunction function;

	if (!strcmp(method, "data")) {
		CHECK(cuModuleLoadData(&module, image));
	} else if (!strcmp(method, "data-ex")) {
		CHECK(cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	} else if (!strcmp(method, "options")) {
		CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
					  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS,
					  CU_JIT_OPTIMIZATION_LEVEL};
		char log[256];
		void *values[] = {log, (void *)sizeof(log), (void *)40, (void *)2};

		CHECK(cuModuleLoadDataEx(&module, image, 4, options, values));
	} else if (!strcmp(method, "fatbinary")) {
		CHECK(cuModuleLoadFatBinary(&module, image));
	} else {
		CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
		return find_in_library(library, kernel);
	}
	CHECK(cuModuleGetFunction(&function, module, kernel));
	return function;
}

/* The same for a file; the functions that take a path take this one. */
static inline CUfunction load_path(const char *method, const char *path, const char *kernel)
{
	CUmodule module;
	CUlibrary library;
	CUfunction function;
	size_t size;

	if (!strcmp(method, "file")) {
		CHECK(cuModuleLoad(&module, path));
		CHECK(cuModuleGetFunction(&function, module, kernel));
		return function;
	}
	if (!strcmp(method, "library-file")) {
		CHECK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
		return find_in_library(library, kernel);
	}
	return load_image(method, read_whole(path, &size), kernel);
}

/* Run add(a, b, c, COUNT) with 1024 threads, and print how many sums are right. */
static inline void run_add(CUfunction add)
{
	size_t bytes = COUNT * sizeof(float);
	float a[COUNT], b[COUNT], c[COUNT] = {0};
	CUdeviceptr memory[3];
	int count = COUNT, right = 0;
	void *arguments[] = {&memory[0], &memory[1], &memory[2], &count};

	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)i;
		b[i] = (float)(2 * i);
	}
	for (int i = 0; i < 3; i++)
		CHECK(cuMemAlloc(&memory[i], bytes));
	CHECK(cuMemcpyHtoD(memory[0], a, bytes));
	CHECK(cuMemcpyHtoD(memory[1], b, bytes));
	CHECK(cuLaunchKernel(add, (COUNT + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
			     arguments, NULL));
	CHECK(cuMemcpyDtoH(c, memory[2], bytes));
	for (int i = 0; i < 3; i++)
		CHECK(cuMemFree(memory[i]));
	for (int i = 0; i < COUNT; i++)
		right += c[i] == (float)(3 * i);
	printf("add: %d sums are right\n", right);
}
