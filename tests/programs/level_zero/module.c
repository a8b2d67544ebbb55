/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules and kernels. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

#include <CL/cl_icd.h>

enum {
	MAX_SIZE = 1 << 20, /* bytes of a module's bitcode */
};

/* A module of SPIR-V, or a native one: a word, and SPIR-V. */
struct standin_module {
	cl_program program;
	unsigned number; /* by creation, from 1 */
	bool has_imports;
	char names[1024]; /* of its kernels, once they are asked for */
	size_t size;      /* of what it was created of */
	char bytes[];
};

/* ---- SPIR-V ---- */

static bool write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");
	bool written = file && fwrite(bytes, 1, size, file) == size;

	return file && !fclose(file) && written;
}

static size_t read_file(const char *path, unsigned char *bytes)
{
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(bytes, 1, MAX_SIZE, file) : 0;

	if (file)
		fclose(file);
	return size;
}

/* SPIR-V to SPIR. The size of the bitcode; 0: none. */
static size_t convert(const void *module, size_t size, unsigned char *bitcode)
{
	const char *parent = getenv("TMPDIR");
	char directory[128], command[512], spirv[160], spir[160];
	size_t converted = 0;

	snprintf(directory, sizeof(directory), "%s/standin-XXXXXX",
		 parent && *parent ? parent : "/tmp");
	if (!mkdtemp(directory))
		return 0;
	snprintf(spirv, sizeof(spirv), "%s/module.spv", directory);
	snprintf(spir, sizeof(spir), "%s/module.bc", directory);
	snprintf(command, sizeof(command),
		 "LD_PRELOAD= llvm-spirv-14 -r --spirv-target-env=CL1.2 %s -o %s 2>/dev/null",
		 spirv, spir);
	/* NOLINTNEXTLINE(cert-env33-c): a test's own command */
	if (write_file(spirv, module, size) && !system(command))
		converted = read_file(spir, bitcode);
	unlink(spirv);
	unlink(spir);
	rmdir(directory);
	return converted;
}

static cl_program build(const void *module, size_t size)
{
	unsigned char *bitcode = malloc(MAX_SIZE);
	const unsigned char *binary = bitcode;
	size_t length = bitcode ? convert(module, size, bitcode) : 0;
	cl_program program = NULL;
	cl_int error;

	if (length)
		program = clCreateProgramWithBinary(standin.context, 1, &standin.device, &length,
						    &binary, NULL, &error);
	free(bitcode);
	if (!program ||
	    !clBuildProgram(program, 1, &standin.device, "-x spir -spir-std=1.2", NULL, NULL))
		return program;
	clReleaseProgram(program);
	return NULL;
}

/* ---- modules ---- */

static void log_module(const ze_module_desc_t *description)
{
	const ze_module_constants_t *constants = description->pConstants;

	if (!standin_is("STANDIN_LOG", "1"))
		return;
	fprintf(stderr, "module %s flags=%s constants=",
		description->format == ZE_MODULE_FORMAT_NATIVE ? "native" : "spirv",
		description->pBuildFlags ? description->pBuildFlags : "-");
	for (uint32_t i = 0; constants && i < constants->numConstants; i++)
		fprintf(stderr, "%u:%d", constants->pConstantIds[i],
			*(const int *)constants->pConstantValues[i]);
	fprintf(stderr, "\n");
}

/* Whether STANDIN_REJECT applies to another module of SPIR-V. */
static bool is_rejected(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static long count;
	const char *from = getenv("STANDIN_REJECT");
	bool rejected;

	pthread_mutex_lock(&lock);
	count++;
	rejected = from && count >= strtol(from, NULL, 10);
	pthread_mutex_unlock(&lock);
	return rejected;
}

/* Of several modules of one call, the first has the kernels. */
static cl_program create_program(const ze_module_desc_t *description)
{
	const ze_module_program_exp_desc_t *several = description->pNext;

	if (several && several->stype == ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
		return build(several->pInputModules[0], several->inputSizes[0]);
	if (description->format == ZE_MODULE_FORMAT_IL_SPIRV)
		return is_rejected() ? NULL
				     : build(description->pInputModule, description->inputSize);
	/* A "binary" has SPIR-V after its own first word. */
	return build(description->pInputModule + sizeof(int), description->inputSize - sizeof(int));
}

static atomic_uint module_count;

static ze_result_t create_module(ze_context_handle_t context, ze_device_handle_t device,
				 const ze_module_desc_t *description,
				 ze_module_handle_t *ret_module,
				 ze_module_build_log_handle_t *ret_log)
{
	cl_program program = create_program(description);
	struct standin_module *module;

	log_module(description);
	if (ret_log)
		*ret_log = (ze_module_build_log_handle_t)(program ? "built" : "not built");
	if (!program)
		return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	module = malloc(sizeof(*module) + description->inputSize);
	module->program = program;
	module->number = atomic_fetch_add(&module_count, 1) + 1;
	module->has_imports = description->format == ZE_MODULE_FORMAT_IL_SPIRV &&
			      description->pBuildFlags &&
			      strstr(description->pBuildFlags, "-library-compilation");
	module->size = description->inputSize;
	if (module->size)
		memcpy(module->bytes, description->pInputModule, module->size);
	*ret_module = (ze_module_handle_t)module;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_module(ze_module_handle_t handle)
{
	struct standin_module *module = (struct standin_module *)handle;

	clReleaseProgram(module->program);
	free(module);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t link_modules(uint32_t count, ze_module_handle_t *modules,
				ze_module_build_log_handle_t *ret_log)
{
	for (uint32_t i = 0; i < count; i++)
		((struct standin_module *)modules[i])->has_imports = false;
	if (ret_log)
		*ret_log = (ze_module_build_log_handle_t) "linked";
	return ZE_RESULT_SUCCESS;
}

static ze_result_t describe_module(ze_module_handle_t handle, ze_module_properties_t *properties)
{
	const struct standin_module *module = (const struct standin_module *)handle;

	properties->flags = module->has_imports ? ZE_MODULE_PROPERTY_FLAG_IMPORTS : 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_binary(ze_module_handle_t handle, size_t *size, uint8_t *binary)
{
	const struct standin_module *module = (const struct standin_module *)handle;
	const int magic = 1;

	if (binary) {
		memcpy(binary, &magic, sizeof(magic));
		memcpy(binary + sizeof(magic), module->bytes, module->size);
	}
	*size = sizeof(magic) + module->size;
	return ZE_RESULT_SUCCESS;
}

/* "a;b" becomes two names, which live as long as the program. */
static uint32_t split_names(char *names, const char **ret_names)
{
	uint32_t count = 0;

	for (char *name = strtok(names, ";"); name; name = strtok(NULL, ";")) {
		if (ret_names)
			ret_names[count] = name;
		count++;
	}
	return count;
}

static ze_result_t get_names(ze_module_handle_t handle, uint32_t *count, const char **names)
{
	struct standin_module *module = (struct standin_module *)handle;

	if (clGetProgramInfo(module->program, CL_PROGRAM_KERNEL_NAMES, sizeof(module->names),
			     module->names, NULL))
		return ZE_RESULT_ERROR_UNKNOWN;
	*count = split_names(module->names, *count ? names : NULL);
	return ZE_RESULT_SUCCESS;
}

/* A variable that every module has, at an address of its own. */
static ze_result_t get_variable(ze_module_handle_t handle, const char *name, size_t *size,
				void **ret_address)
{
	if (strcmp(name, "variable") != 0)
		return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
	if (standin_is("STANDIN_LOG", "1"))
		fprintf(stderr, "variable of module %u\n",
			((const struct standin_module *)handle)->number);
	if (size)
		*size = 1;
	*ret_address = handle;
	return ZE_RESULT_SUCCESS;
}

void standin_fill_module(ze_module_dditable_t *table)
{
	table->pfnCreate = create_module;
	table->pfnDestroy = destroy_module;
	table->pfnDynamicLink = link_modules;
	table->pfnGetProperties = describe_module;
	table->pfnGetKernelNames = get_names;
	table->pfnGetNativeBinary = get_binary;
	table->pfnGetGlobalPointer = get_variable;
}

/* ---- logs, which are texts ---- */

static ze_result_t destroy_log(ze_module_build_log_handle_t log)
{
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_log(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	*size = strlen((const char *)log) + 1;
	if (text)
		memcpy(text, log, *size);
	return ZE_RESULT_SUCCESS;
}

void standin_fill_build_log(ze_module_build_log_dditable_t *table)
{
	table->pfnDestroy = destroy_log;
	table->pfnGetString = get_log;
}

/* ---- kernels ---- */

/* By the implementation's function: the one of OpenCL's loader is one that tools observe. */
static cl_kernel create_implementation_kernel(cl_program program, const char *name)
{
	const struct _cl_icd_dispatch *functions = *(const struct _cl_icd_dispatch **)program;
	cl_int error;

	return functions->clCreateKernel(program, name, &error);
}

static ze_result_t create_kernel(ze_module_handle_t handle, const ze_kernel_desc_t *description,
				 ze_kernel_handle_t *ret_kernel)
{
	const struct standin_module *module = (const struct standin_module *)handle;
	struct standin_kernel *kernel = calloc(1, sizeof(*kernel));

	kernel->kernel = create_implementation_kernel(module->program, description->pKernelName);
	if (!kernel->kernel) {
		free(kernel);
		return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
	}
	snprintf(kernel->name, sizeof(kernel->name), "%s", description->pKernelName);
	*ret_kernel = (ze_kernel_handle_t)kernel;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_kernel(ze_kernel_handle_t handle)
{
	struct standin_kernel *kernel = (struct standin_kernel *)handle;

	clReleaseKernel(kernel->kernel);
	free(kernel);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t set_group_size(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z)
{
	struct standin_kernel *kernel = (struct standin_kernel *)handle;

	kernel->group[0] = x;
	kernel->group[1] = y;
	kernel->group[2] = z;
	return ZE_RESULT_SUCCESS;
}

static cl_uint count_arguments(const struct standin_kernel *kernel)
{
	cl_uint count = 0;

	clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
	return count;
}

static ze_result_t set_argument(ze_kernel_handle_t handle, uint32_t index, size_t size,
				const void *value)
{
	struct standin_kernel *kernel = (struct standin_kernel *)handle;
	struct standin_argument *argument = &kernel->arguments[index];

	if (index >= count_arguments(kernel))
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
	if (index >= STANDIN_MAX_ARGUMENTS || (value && size > STANDIN_MAX_VALUE))
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
	argument->size = size;
	argument->is_local = !value;
	if (value)
		memcpy(argument->value, value, size);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t set_indirect(ze_kernel_handle_t handle, ze_kernel_indirect_access_flags_t flags)
{
	((struct standin_kernel *)handle)->indirect = flags;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_indirect(ze_kernel_handle_t handle,
				ze_kernel_indirect_access_flags_t *ret_flags)
{
	*ret_flags = ((const struct standin_kernel *)handle)->indirect;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t describe_kernel(ze_kernel_handle_t handle, ze_kernel_properties_t *properties)
{
	const struct standin_kernel *kernel = (const struct standin_kernel *)handle;
	cl_ulong local = 0;

	clGetKernelWorkGroupInfo(kernel->kernel, standin.device, CL_KERNEL_LOCAL_MEM_SIZE,
				 sizeof(local), &local, NULL);
	properties->numKernelArgs = count_arguments(kernel);
	properties->localMemSize = (uint32_t)local;
	return ZE_RESULT_SUCCESS;
}

void standin_fill_kernel(ze_kernel_dditable_t *table)
{
	table->pfnCreate = create_kernel;
	table->pfnDestroy = destroy_kernel;
	table->pfnSetGroupSize = set_group_size;
	table->pfnSetArgumentValue = set_argument;
	table->pfnSetIndirectAccess = set_indirect;
	table->pfnGetIndirectAccess = get_indirect;
	table->pfnGetProperties = describe_kernel;
}
