/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A layer of OpenCL's loader that makes another device of PoCL's: it takes SPIR-V, which PoCL 3.1
 * does not. STANDIN_DEVICE=system: no CPU, with fine-grain system SVM; =separate: no CPU, with
 * buffers alone. It prints what clSetKernelExecInfo gets to standard error.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum {
	MAX_PROGRAMS = 16,
	MAX_SIZE = 1 << 20,
};

static const struct _cl_icd_dispatch *target;

/* Programs with SPIR-V. */
static struct spirv_program {
	cl_program program;
	void *module;
	size_t size;
} programs[MAX_PROGRAMS];
static size_t program_count;

static struct spirv_program *find_program(cl_program program)
{
	for (size_t i = 0; i < program_count; i++)
		if (programs[i].program == program)
			return &programs[i];
	return NULL;
}

/* A new program may have the address of one that is no more. */
static cl_program forget_program(cl_program program)
{
	struct spirv_program *found = find_program(program);

	if (found) {
		free(found->module);
		*found = programs[--program_count];
	}
	return program;
}

static cl_int answer(const void *bytes, size_t size, size_t given, void *value, size_t *ret_size)
{
	if (value && given < size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, bytes, size);
	if (ret_size)
		*ret_size = size;
	return CL_SUCCESS;
}

static bool is_device(const char *name)
{
	const char *wanted = getenv("STANDIN_DEVICE");

	return wanted && !strcmp(wanted, name);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info which, size_t size,
					  void *value, size_t *ret_size)
{
	static const char version[] = "SPIR-V_1.0";
	const cl_device_type type = CL_DEVICE_TYPE_GPU;
	const cl_device_svm_capabilities svm =
		is_device("system") ? CL_DEVICE_SVM_FINE_GRAIN_SYSTEM : 0;
	bool is_cpu = !is_device("system") && !is_device("separate");

	if (which == CL_DEVICE_IL_VERSION)
		return answer(version, sizeof(version), size, value, ret_size);
	if (which == CL_DEVICE_TYPE && !is_cpu)
		return answer(&type, sizeof(type), size, value, ret_size);
	if (which == CL_DEVICE_SVM_CAPABILITIES && !is_cpu)
		return answer(&svm, sizeof(svm), size, value, ret_size);
	return target->clGetDeviceInfo(device, which, size, value, ret_size);
}

/* SPIR-V to SPIR, which PoCL takes. The size of the bitcode; 0: none. */
static size_t convert(const void *module, size_t size, unsigned char *bitcode)
{
	FILE *file = fopen("standin.spv", "wb");
	size_t got;

	if (!file)
		return 0;
	fwrite(module, 1, size, file);
	fclose(file);
	if (system("(llvm-spirv-14 -r --spirv-target-env=CL1.2 standin.spv -o standin.bc || "
		   "llvm-spirv -r --spirv-target-env=CL1.2 standin.spv -o standin.bc) 2>/dev/null"))
		return 0;
	file = fopen("standin.bc", "rb");
	if (!file)
		return 0;
	got = fread(bitcode, 1, MAX_SIZE, file);
	fclose(file);
	return got;
}

static cl_program CL_API_CALL create_with_il(cl_context context, const void *module, size_t size,
					     cl_int *ret_error)
{
	static unsigned char bitcode[MAX_SIZE];
	const unsigned char *binary = bitcode;
	size_t length = convert(module, size, bitcode);
	struct spirv_program *kept;
	cl_program program;
	cl_device_id device;

	if (!length || program_count == MAX_PROGRAMS ||
	    target->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL)) {
		*ret_error = CL_INVALID_VALUE;
		return NULL;
	}
	program = forget_program(target->clCreateProgramWithBinary(context, 1, &device, &length,
								   &binary, NULL, ret_error));
	kept = &programs[program_count];
	kept->program = program;
	kept->module = malloc(size);
	kept->size = size;
	memcpy(kept->module, module, size);
	program_count++;
	return kept->program;
}

static cl_program CL_API_CALL create_with_source(cl_context context, cl_uint count,
						 const char **texts, const size_t *lengths,
						 cl_int *ret_error)
{
	return forget_program(
		target->clCreateProgramWithSource(context, count, texts, lengths, ret_error));
}

static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info which, size_t size,
					   void *value, size_t *ret_size)
{
	const struct spirv_program *found = find_program(program);

	if (which == CL_PROGRAM_IL)
		return answer(found ? found->module : NULL, found ? found->size : 0, size, value,
			      ret_size);
	return target->clGetProgramInfo(program, which, size, value, ret_size);
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count,
					const cl_device_id *devices, const char *options,
					void(CL_CALLBACK *notify)(cl_program program, void *data),
					void *data)
{
	if (find_program(program))
		options = "-x spir -spir-std=1.2";
	return target->clBuildProgram(program, count, devices, options, notify, data);
}

static cl_int CL_API_CALL set_exec_info(cl_kernel kernel, cl_kernel_exec_info which, size_t size,
					const void *value)
{
	if (which == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM && size == sizeof(cl_bool))
		fprintf(stderr, "system memory %d\n", (int)*(const cl_bool *)value);
	return CL_SUCCESS;
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info which, size_t size,
							void *value, size_t *ret_size)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	return which == CL_LAYER_API_VERSION
		       ? answer(&version, sizeof(version), size, value, ret_size)
		       : answer("standin", sizeof("standin"), size, value, ret_size);
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
						     const struct _cl_icd_dispatch *next,
						     cl_uint *ret_count,
						     const struct _cl_icd_dispatch **ret_dispatch)
{
	static const struct _cl_icd_dispatch functions = {
		.clGetDeviceInfo = get_device_info,
		.clCreateProgramWithIL = create_with_il,
		.clCreateProgramWithSource = create_with_source,
		.clGetProgramInfo = get_program_info,
		.clBuildProgram = build_program,
		.clSetKernelExecInfo = set_exec_info,
	};

	target = next;
	*ret_dispatch = &functions;
	*ret_count = sizeof(functions) / sizeof(void *);
	return count < *ret_count ? CL_INVALID_VALUE : CL_SUCCESS;
}
