/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules, libraries, kernels, functions. */
#include "device/module.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "device/clock.h"
#include "driver/api.h"

enum { MAX_FILE = 1 << 30 };

/* Write the error to the error log, and the call's duration where the program requests it. */
static void finish_jit(const struct sg_jit *jit, const struct gt_diag *diag, uint64_t start)
{
	sg_jit_report(jit, diag);
	if (jit->wall_time)
		*jit->wall_time = (float)((double)(gt_clock_monotonic() - start) / 1e6);
}

static CUresult load_module(CUcontext context, const void *image, size_t size, CUmodule *ret_module,
			    struct gt_diag *diag)
{
	CUlibrary library;
	CUresult result = sg_library_load(image, size, &library, diag);

	if (result)
		return result;
	result = sg_library_module(library, context, ret_module, diag);
	if (result)
		sg_library_unload(library);
	else
		(*ret_module)->owns_library = true;
	return result;
}

static CUresult load_with_options(CUmodule *ret_module, const void *image, size_t size,
				  unsigned int count, CUjit_option *options, void **values)
{
	struct gt_diag diag = {0};
	uint64_t start = gt_clock_monotonic();
	struct sg_jit jit;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (!result)
		result = sg_jit_options(count, options, values, &jit);
	if (result)
		return result;
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	result = load_module(context, image, size, ret_module, &diag);
	if (!result && jit.max_registers)
		(*ret_module)->library->max_registers = jit.max_registers;
	finish_jit(&jit, &diag, start);
	return result;
}

SG_API CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	gt_auto_file file = {0};

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (gt_file_read(path, MAX_FILE, &file, NULL))
		return CUDA_ERROR_FILE_NOT_FOUND;
	return load_with_options(module, file.data, file.size, 0, NULL, NULL);
}

SG_API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return load_with_options(module, image, 0, 0, NULL, NULL);
}

SG_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
				   CUjit_option *options, void **values)
{
	return load_with_options(module, image, 0, count, options, values);
}

SG_API CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return load_with_options(module, image, 0, 0, NULL, NULL);
}

static CUresult check_module(CUmodule module)
{
	return sg_check_handle(module, SG_HANDLE_MODULE, CUDA_ERROR_INVALID_HANDLE);
}

SG_API CUresult cuModuleUnload(CUmodule module)
{
	CUresult result = check_module(module);

	if (!result && !module->owns_library)
		result = CUDA_ERROR_NOT_PERMITTED;
	if (!result)
		sg_module_unload(module);
	return result;
}

SG_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	CUresult result = sg_check();

	return result ? result : SG_RETURN(mode, CU_MODULE_LAZY_LOADING);
}

SG_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult result = check_module(module);
	CUfunction found;

	if (result)
		return result;
	if (!function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	found = sg_module_find(module, name);
	if (!found)
		return CUDA_ERROR_NOT_FOUND;
	*function = found;
	return CUDA_SUCCESS;
}

SG_API CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
	CUresult result = check_module(module);

	return result ? result : SG_RETURN(count, (unsigned int)module->functions.count);
}

SG_API CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count,
					   CUmodule module)
{
	CUresult result = check_module(module);

	if (result)
		return result;
	if (!functions || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count && i < module->functions.count; i++)
		functions[i] = module->functions.items[i];
	return CUDA_SUCCESS;
}

static CUresult get_variable(CUmodule module, const char *name, CUdeviceptr *address, size_t *size)
{
	struct sg_variable_info info;

	if (!name || (!address && !size))
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_module_variable(module->code, name, &info))
		return CUDA_ERROR_NOT_FOUND;
	if (address)
		*address = info.address;
	if (size)
		*size = info.size;
	return CUDA_SUCCESS;
}

SG_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module,
				     const char *name)
{
	CUresult result = check_module(module);

	return result ? result : get_variable(module, name, address, size);
}

/* ---- libraries ------------------------------------------------------------------------- */

static CUresult check_library(CUlibrary library)
{
	return sg_check_handle(library, SG_HANDLE_LIBRARY, CUDA_ERROR_INVALID_HANDLE);
}

static CUresult load_library(CUlibrary *ret_library, const void *image, size_t size,
			     unsigned int count, CUjit_option *options, void **values)
{
	struct gt_diag diag = {0};
	uint64_t start = gt_clock_monotonic();
	struct sg_jit jit;
	CUresult result = sg_check();

	if (!result)
		result = sg_jit_options(count, options, values, &jit);
	if (result)
		return result;
	if (!ret_library || !image)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_library_load(image, size, ret_library, &diag);
	if (!result && jit.max_registers)
		(*ret_library)->max_registers = jit.max_registers;
	finish_jit(&jit, &diag, start);
	return result;
}

SG_API CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *jit_options,
				  void **jit_values, unsigned int jit_count,
				  CUlibraryOption *options, void **values, unsigned int count)
{
	return load_library(library, image, 0, jit_count, jit_options, jit_values);
}

SG_API CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path,
				      CUjit_option *jit_options, void **jit_values,
				      unsigned int jit_count, CUlibraryOption *options,
				      void **values, unsigned int count)
{
	gt_auto_file file = {0};

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (gt_file_read(path, MAX_FILE, &file, NULL))
		return CUDA_ERROR_FILE_NOT_FOUND;
	return load_library(library, file.data, file.size, jit_count, jit_options, jit_values);
}

SG_API CUresult cuLibraryUnload(CUlibrary library)
{
	CUresult result = check_library(library);

	if (!result)
		sg_library_unload(library);
	return result;
}

SG_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult result = check_library(library);
	CUkernel found;

	if (result)
		return result;
	if (!kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	found = sg_library_kernel(library, name);
	if (!found)
		return CUDA_ERROR_NOT_FOUND;
	*kernel = found;
	return CUDA_SUCCESS;
}

SG_API CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
	CUresult result = check_library(library);

	return result ? result : SG_RETURN(count, (unsigned int)library->kernels.count);
}

SG_API CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library)
{
	CUresult result = check_library(library);

	if (result)
		return result;
	if (!kernels || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count && i < library->kernels.count; i++)
		kernels[i] = library->kernels.items[i];
	return CUDA_SUCCESS;
}

static CUresult use_library(CUlibrary library, CUmodule *ret_module)
{
	struct gt_diag diag = {0};
	CUcontext context;
	CUresult result = check_library(library);

	if (!result)
		result = sg_context_use(&context);
	return result ? result : sg_library_module(library, context, ret_module, &diag);
}

SG_API CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	return use_library(library, module);
}

SG_API CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library,
				   const char *name)
{
	CUmodule module;
	CUresult result = use_library(library, &module);

	return result ? result : get_variable(module, name, address, size);
}

SG_API CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary library,
				    const char *name)
{
	CUmodule module;
	CUresult result = use_library(library, &module);

	return result ? result : get_variable(module, name, address, size);
}

/* ---- kernels --------------------------------------------------------------------------- */

static CUresult check_kernel(CUkernel kernel)
{
	return sg_check_handle(kernel, SG_HANDLE_KERNEL, CUDA_ERROR_INVALID_HANDLE);
}

SG_API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	CUcontext context;
	CUresult result = check_kernel(kernel);

	if (!result)
		result = sg_context_use(&context);
	if (result)
		return result;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_function_resolve(context, (CUfunction)kernel, function);
}

SG_API CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	CUresult result = check_kernel(kernel);

	return result ? result : SG_RETURN(library, kernel->library);
}

SG_API CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	CUresult result = check_kernel(kernel);

	return result ? result : SG_RETURN(name, kernel->name);
}

/* Return the function of a kernel in a device's current or primary context. */
static CUresult resolve_for_device(CUkernel kernel, CUdevice device, CUfunction *ret_function)
{
	CUcontext context = sg_context_current();
	CUresult result = check_kernel(kernel);

	if (result)
		return result;
	if (!sg_device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!context || context->device != device)
		context = sg_device_find(device)->primary;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_function_resolve(context, (CUfunction)kernel, ret_function);
}

SG_API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
				     CUdevice device)
{
	CUfunction function;
	CUresult result = resolve_for_device(kernel, device, &function);

	if (result)
		return result;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_function_attribute(function, attribute, value);
}

SG_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
				     CUdevice device)
{
	CUfunction function;
	CUresult result = resolve_for_device(kernel, device, &function);

	if (!result)
		result = sg_function_set(function, attribute, value);
	if (result)
		return result;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		kernel->max_dynamic_shared = value;
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		kernel->carveout = value;
	if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
		kernel->non_portable_cluster = value;
	return CUDA_SUCCESS;
}

SG_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	CUresult result = check_kernel(kernel);

	if (!result)
		kernel->cache_config = config;
	return result;
}

/* ---- functions ------------------------------------------------------------------------- */

/* The handle of a kernel is accepted for a function, too. */
static CUresult resolve_function(CUfunction handle, CUfunction *ret_function)
{
	CUcontext context;
	CUresult result = sg_check();

	if (result)
		return result;
	if (sg_handle_is(handle, SG_HANDLE_FUNCTION)) {
		*ret_function = handle;
		return CUDA_SUCCESS;
	}
	result = sg_context_use(&context);
	return result ? result : sg_function_resolve(context, handle, ret_function);
}

SG_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	if (result)
		return result;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_function_attribute(function, attribute, value);
}

SG_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	return result ? result : sg_function_set(function, attribute, value);
}

SG_API CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	if (!result)
		function->cache_config = config;
	return result;
}

SG_API CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	CUfunction function;

	return resolve_function(handle, &function);
}

SG_API CUresult cuFuncGetModule(CUmodule *module, CUfunction handle)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	return result ? result : SG_RETURN(module, function->module);
}

SG_API CUresult cuFuncGetName(const char **name, CUfunction handle)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	return result ? result : SG_RETURN(name, function->info.name);
}

static CUresult describe_parameter(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	if (result)
		return result;
	if (!offset || index >= function->info.parameter_count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = function->parameters[index].offset;
	if (size)
		*size = function->parameters[index].size;
	return CUDA_SUCCESS;
}

SG_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
	return describe_parameter(function, index, offset, size);
}

SG_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return describe_parameter((CUfunction)kernel, index, offset, size);
}

SG_API CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	CUfunction function;
	CUresult result = resolve_function(handle, &function);

	return result ? result : SG_RETURN(state, CU_FUNCTION_LOADING_STATE_LOADED);
}

SG_API CUresult cuFuncLoad(CUfunction handle)
{
	CUfunction function;

	return resolve_function(handle, &function);
}
