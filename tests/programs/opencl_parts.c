/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs of OpenCL that are not built from their source alone: compiled and linked, or created
 * from binaries. Each checks the results of a kernel of 64 work-items, and prints "right".
 */
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "opencl_device.h"

#include <stdlib.h>

static const char main_text[] = "#include \"parts/first.h\"\n"
				"#include \"second.h\"\n"
				"int scale(int i);\n"
				"__kernel void number(__global int *numbers, int first) {\n"
				"	int i = get_global_id(0);\n"
				"	numbers[i] = START(first) + scale(i) * FACTOR;\n"
				"}\n";
static const char scale_text[] = "int scale(int i) { return i * STEP; }\n";

static bool compile(cl_program program, const char *options)
{
	const cl_program headers[] = {create("#define START(first) (first)\n"),
				      create("#define FACTOR 2\n")};
	const char *names[] = {"parts/first.h", "second.h"};
	bool done = !clCompileProgram(program, 1, &device, options, 2, headers, names, NULL, NULL);

	return !clReleaseProgram(headers[0]) && !clReleaseProgram(headers[1]) && done;
}

static cl_program link_programs(const char *options, cl_uint count, const cl_program *programs)
{
	return clLinkProgram(context, 1, &device, options, count, programs, NULL, NULL, NULL);
}

/* Two programs, of which one has headers; they are released before the kernel is created. */
static bool run_linked(void)
{
	const cl_program programs[] = {create(main_text), create(scale_text)};
	cl_program linked;

	if (!compile(programs[0], NULL) || !compile(programs[1], "-DSTEP=3"))
		return false;
	linked = link_programs(NULL, 2, programs);
	return linked && !clReleaseProgram(programs[0]) && !clReleaseProgram(programs[1]) &&
	       launch_by_name(linked, "number", 5, 6) && !clReleaseProgram(linked);
}

static bool run_library(void)
{
	cl_program scale = create(scale_text);
	cl_program programs[] = {create(main_text), NULL};
	cl_program linked;

	if (!compile(programs[0], NULL) || !compile(scale, "-DSTEP=5"))
		return false;
	programs[1] = link_programs("-create-library", 1, &scale);
	if (!programs[1] || clReleaseProgram(scale))
		return false;
	linked = link_programs("", 2, programs);
	return linked && launch_by_name(linked, "number", 5, 10);
}

static void CL_CALLBACK launch_linked(cl_program program, void *data)
{
	*(bool *)data = launch_by_name(program, "number", 1, 2);
}

/* The callback's launch is over when PoCL returns: it links at once. */
static bool run_link_callback(void)
{
	const cl_program programs[] = {create(main_text), create(scale_text)};
	bool right = false;
	cl_program linked;

	if (!compile(programs[0], NULL) || !compile(programs[1], "-DSTEP=1"))
		return false;
	linked = clLinkProgram(context, 1, &device, NULL, 2, programs, launch_linked, &right, NULL);
	return linked && right && launch_by_name(linked, "number", 2, 2);
}

/* Nothing defines the function. */
static bool run_unlinked(void)
{
	cl_program program = create(main_text);

	return compile(program, NULL) && !link_programs(NULL, 1, &program);
}

/* ---- binaries ---- */

static bool build_binary(const unsigned char *binary, size_t size, const char *options, int step)
{
	cl_int status, error;
	cl_program program =
		clCreateProgramWithBinary(context, 1, &device, &size, &binary, &status, &error);

	return program && !error && !clBuildProgram(program, 1, &device, options, NULL, NULL) &&
	       launch_by_name(program, "number", 5, step) && !clReleaseProgram(program);
}

/* The device's own, of a program from source. */
static bool run_binary(void)
{
	cl_program program = create(source);
	unsigned char *binary = NULL;
	size_t size = 0;
	bool right = !clBuildProgram(program, 1, &device, NULL, NULL, NULL) &&
		     !clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);

	binary = malloc(size);
	right = right && binary &&
		!clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL) &&
		!clReleaseProgram(program) && build_binary(binary, size, NULL, 1);
	free(binary);
	return right;
}

/* A file's bytes, which the caller frees, or NULL. */
static unsigned char *read_file(const char *path, size_t *ret_size)
{
	enum { MAX = 1 << 20 };
	unsigned char *bytes = malloc(MAX);
	FILE *file = fopen(path, "rb");

	*ret_size = bytes && file ? fread(bytes, 1, MAX, file) : 0;
	if (file)
		fclose(file);
	return bytes;
}

/* SPIR, of the file number.bc. */
static bool run_bitcode(void)
{
	size_t size;
	unsigned char *bytes = read_file("number.bc", &size);
	bool right = bytes && build_binary(bytes, size, "-x spir -spir-std=1.2", 1);

	free(bytes);
	return right;
}

/* SPIR-V, of the file number.spv: alone, and with options. */
static bool run_spirv(void)
{
	size_t size;
	unsigned char *bytes = read_file("number.spv", &size);
	cl_int error = -1;
	cl_program program = bytes ? clCreateProgramWithIL(context, bytes, size, &error) : NULL;
	bool right = program && !error && !clBuildProgram(program, 1, &device, NULL, NULL, NULL) &&
		     launch_by_name(program, "number", 5, 1) && !clReleaseProgram(program);

	free(bytes);
	return right;
}

/* ---- kernels ---- */

/* A task is one work-item; a clone has the arguments of its kernel, and others of its own. */
static bool run_clone(void)
{
	cl_program program = create(source);
	cl_kernel kernel, clone;
	cl_int error;
	bool right;

	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL))
		return false;
	kernel = clCreateKernel(program, "number", NULL);
	right = launch(kernel, 7, 1);
	clone = clCloneKernel(kernel, &error);
	return right && clone && !clReleaseKernel(kernel) && launch(clone, 8, 1) &&
	       !clReleaseKernel(clone) && !clReleaseProgram(program);
}

/* One work-item, without sizes; and an argument that the kernel does not have. */
static bool run_task(void)
{
	cl_program program = create(source);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int), NULL, NULL);
	int first = 12, number = 0;
	cl_kernel kernel;

	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL))
		return false;
	kernel = clCreateKernel(program, "number", NULL);
	return !clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) &&
	       !clSetKernelArg(kernel, 1, sizeof(first), &first) &&
	       clSetKernelArg(kernel, 2, sizeof(first), &first) == CL_INVALID_ARG_INDEX &&
	       !clEnqueueTask(queue, kernel, 0, NULL, NULL) &&
	       !clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(number), &number, 0, NULL,
				    NULL) &&
	       number == 12 && !clReleaseKernel(kernel) && !clReleaseMemObject(buffer);
}

int main(int count, char **arguments)
{
	static const struct named_program programs[] = {
		{"linked", run_linked},
		{"library", run_library},
		{"callback", run_link_callback},
		{"unlinked", run_unlinked},
		{"binary", run_binary},
		{"bitcode", run_bitcode},
		{"spirv", run_spirv},
		{"clone", run_clone},
		{"task", run_task},
	};

	return run_named(programs, sizeof(programs) / sizeof(*programs),
			 count == 2 ? arguments[1] : NULL);
}
