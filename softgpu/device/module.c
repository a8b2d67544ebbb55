/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/module.h"

#include "device/reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/handles.h"
#include "device/image.h"
#include "device/memory.h"
#include "device/report.h"
#include "ptx/ptx.h"

enum {
	DEFAULT_SHARED = 48 << 10, /* bytes that a block may use without opting in */
	MAX_PTX_MAJOR = 9,         /* the PTX of CUDA 13; its minor versions only add forms */
};

/* ---- libraries ------------------------------------------------------------------------- */

static void free_library(CUlibrary library)
{
	gt_vec_each (kernel, &library->kernels) {
		sg_handle_remove(*kernel);
		free(*kernel);
	}
	gt_vec_each (parsed, &library->parsed)
		gt_ptx_free(*parsed);
	gt_vec_free(&library->kernels);
	gt_vec_free(&library->parsed);
	gt_vec_free(&library->modules);
	if (library->managed.size)
		sg_memory_host_release(NULL, library->managed.address, library->managed.size);
	pthread_mutex_destroy(&library->lock);
	free(library);
}

static bool add_kernel(CUlibrary library, const char *name)
{
	CUkernel kernel;

	if (sg_library_kernel(library, name))
		return true;
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel || gt_vec_push(&library->kernels, kernel)) {
		free(kernel);
		return false;
	}
	kernel->library = library;
	kernel->name = name;
	kernel->max_dynamic_shared = -1;
	kernel->carveout = -1;
	return sg_handle_add(kernel, SG_HANDLE_KERNEL);
}

static bool add_kernels(CUlibrary library, const struct gt_ptx_module *parsed)
{
	for (const struct gt_ptx_function *function = parsed->functions; function;
	     function = function->next) {
		if (function->is_entry && function->body && !add_kernel(library, function->name))
			return false;
	}
	return true;
}

CUresult sg_library_from_parsed(struct gt_ptx_module **parsed, size_t count, CUlibrary *ret_library)
{
	CUlibrary library = calloc(1, sizeof(*library));
	bool complete = library != NULL;

	if (!library)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&library->lock, NULL);
	for (size_t i = 0; i < count && complete; i++)
		complete = !gt_vec_push(&library->parsed, parsed[i]) &&
			   add_kernels(library, parsed[i]);
	if (!complete || !sg_handle_add(library, SG_HANDLE_LIBRARY)) {
		library->parsed.count = 0;
		free_library(library);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_library = library;
	return CUDA_SUCCESS;
}

static CUresult parse_all(const struct sg_image *image, struct gt_ptx_module **parsed,
			  struct gt_diag *diag)
{
	for (size_t i = 0; i < image->texts.count; i++) {
		const struct sg_image_text *text = &image->texts.items[i];
		int error = gt_ptx_parse(text->text, text->length, &parsed[i], diag);

		if (error == -ENOMEM)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (error)
			return CUDA_ERROR_INVALID_PTX;
		if (parsed[i]->version_major > MAX_PTX_MAJOR) {
			gt_diag(diag, -EINVAL, "ptx", NULL,
				"the PTX is of version %u.%u, this device knows those up to %d",
				parsed[i]->version_major, parsed[i]->version_minor, MAX_PTX_MAJOR);
			return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
		}
		if (parsed[i]->sm > sg_state.config.arch && !image->is_newer) {
			gt_diag(diag, -EINVAL, "ptx", NULL,
				"the PTX is for sm_%u, this device is sm_%u (SOFTGPU_ARCH)",
				parsed[i]->sm, sg_state.config.arch);
			return CUDA_ERROR_NO_BINARY_FOR_GPU;
		}
	}
	return CUDA_SUCCESS;
}

CUresult sg_library_load(const void *image, size_t size, CUlibrary *ret_library,
			 struct gt_diag *diag)
{
	struct sg_image texts;
	struct gt_ptx_module **parsed;
	CUresult result = sg_image_read(image, size, &texts, diag);

	if (result) {
		sg_report_error((int)result, diag);
		return result;
	}
	parsed = calloc(texts.texts.count, sizeof(*parsed));
	result = parsed ? parse_all(&texts, parsed, diag) : CUDA_ERROR_OUT_OF_MEMORY;
	if (!result)
		result = sg_library_from_parsed(parsed, texts.texts.count, ret_library);
	if (!result)
		(*ret_library)->max_registers = texts.max_registers;
	if (result)
		sg_report_error((int)result, diag);
	for (size_t i = 0; result && parsed && i < texts.texts.count; i++)
		gt_ptx_free(parsed[i]);
	free(parsed);
	sg_image_free(&texts);
	return result;
}

void sg_library_unload(CUlibrary library)
{
	sg_handle_remove(library);
	while (library->modules.count)
		sg_module_unload(library->modules.items[library->modules.count - 1]);
	free_library(library);
}

CUkernel sg_library_kernel(CUlibrary library, const char *name)
{
	gt_vec_each (kernel, &library->kernels) {
		if (!strcmp((*kernel)->name, name))
			return *kernel;
	}
	return NULL;
}

/* ---- modules --------------------------------------------------------------------------- */

static void free_module(CUmodule module)
{
	sg_references_free(module);
	gt_vec_each (function, &module->functions) {
		sg_handle_remove(*function);
		free((*function)->parameters);
		free(*function);
	}
	gt_vec_free(&module->functions);
	sg_module_free(module->code);
	free(module);
}

static bool add_function(CUmodule module, const struct sg_function *code)
{
	CUfunction function = calloc(1, sizeof(*function));

	if (!function || gt_vec_push(&module->functions, function)) {
		free(function);
		return false;
	}
	function->module = module;
	function->code = code;
	sg_function_describe(code, &function->info);
	function->parameters =
		calloc(function->info.parameter_count + 1, sizeof(*function->parameters));
	if (!function->parameters)
		return false;
	for (uint32_t i = 0; i < function->info.parameter_count; i++)
		sg_function_parameter(code, i, &function->parameters[i]);
	function->max_dynamic_shared = function->info.static_shared < DEFAULT_SHARED
					       ? DEFAULT_SHARED - function->info.static_shared
					       : 0;
	function->carveout = -1;
	return sg_handle_add(function, SG_HANDLE_FUNCTION);
}

/* SOFTGPU_REJECT: like a JIT compiler that cannot compile a library, which appears at first use. */
static bool is_rejected(const struct CUlib_st *library, struct gt_diag *diag)
{
	const char *text = sg_state.config.reject;

	gt_vec_each (parsed, &library->parsed) {
		if (!text || !strstr((*parsed)->text, text))
			continue;
		gt_diag(diag, -EINVAL, "ptx", NULL, "the PTX contains '%s' (SOFTGPU_REJECT)", text);
		return true;
	}
	return false;
}

static CUresult load_code(CUlibrary library, CUmodule module, struct gt_diag *diag)
{
	const struct sg_function *code;
	int error;

	if (is_rejected(library, diag))
		return CUDA_ERROR_INVALID_PTX;
	error = sg_module_load(sg_state.machine,
			       (const struct gt_ptx_module *const *)library->parsed.items,
			       library->parsed.count, &library->managed, &module->code, diag);
	if (error == -ENOMEM)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (error)
		return CUDA_ERROR_INVALID_PTX;
	for (size_t i = 0; (code = sg_module_function_at(module->code, i)); i++) {
		if (!add_function(module, code))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

/* Register a loaded module with its context and its library. */
static CUresult register_module(CUmodule module)
{
	CUcontext context = module->context;
	bool known;

	pthread_mutex_lock(&context->lock);
	known = !gt_vec_push(&context->modules, module);
	pthread_mutex_unlock(&context->lock);
	if (!known)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!gt_vec_push(&module->library->modules, module)) {
		if (sg_handle_add(module, SG_HANDLE_MODULE))
			return CUDA_SUCCESS;
		module->library->modules.count--;
	}
	pthread_mutex_lock(&context->lock);
	context->modules.count--;
	pthread_mutex_unlock(&context->lock);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult load_locked(CUlibrary library, CUcontext context, CUmodule *ret_module,
			    struct gt_diag *diag)
{
	CUmodule module = calloc(1, sizeof(*module));
	CUresult result;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->context = context;
	module->library = library;
	result = load_code(library, module, diag);
	if (!result)
		result = register_module(module);
	if (result) {
		sg_report_error((int)result, diag);
		free_module(module);
		return result;
	}
	*ret_module = module;
	return CUDA_SUCCESS;
}

CUresult sg_library_module(CUlibrary library, CUcontext context, CUmodule *ret_module,
			   struct gt_diag *diag)
{
	CUmodule found = NULL;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&library->lock);
	gt_vec_each (module, &library->modules) {
		if ((*module)->context == context)
			found = *module;
	}
	if (found)
		*ret_module = found;
	else
		result = load_locked(library, context, ret_module, diag);
	pthread_mutex_unlock(&library->lock);
	return result;
}

static void forget_module(CUmodule module)
{
	CUcontext context = module->context;
	CUlibrary library = module->library;

	sg_handle_remove(module);
	pthread_mutex_lock(&context->lock);
	for (size_t i = 0; i < context->modules.count; i++) {
		if (context->modules.items[i] == module)
			context->modules.items[i] =
				context->modules.items[--context->modules.count];
	}
	pthread_mutex_unlock(&context->lock);
	pthread_mutex_lock(&library->lock);
	for (size_t i = 0; i < library->modules.count; i++) {
		if (library->modules.items[i] == module)
			library->modules.items[i] =
				library->modules.items[--library->modules.count];
	}
	pthread_mutex_unlock(&library->lock);
}

void sg_module_unload(CUmodule module)
{
	CUlibrary library = module->library;
	bool with_library = module->owns_library;

	/* No kernel of it may run when its code is freed. */
	sg_context_synchronize(module->context);
	forget_module(module);
	free_module(module);
	if (with_library)
		sg_library_unload(library);
}

CUfunction sg_module_find(CUmodule module, const char *name)
{
	gt_vec_each (function, &module->functions) {
		if (!strcmp((*function)->info.name, name))
			return *function;
	}
	return NULL;
}

/* ---- functions ------------------------------------------------------------------------- */

static CUresult apply_kernel(CUkernel kernel, CUfunction function)
{
	if (kernel->max_dynamic_shared >= 0)
		function->max_dynamic_shared = (uint32_t)kernel->max_dynamic_shared;
	if (kernel->carveout >= 0)
		function->carveout = kernel->carveout;
	if (kernel->non_portable_cluster)
		function->non_portable_cluster = true;
	return CUDA_SUCCESS;
}

CUresult sg_function_resolve(CUcontext context, CUfunction handle, CUfunction *ret_function)
{
	CUkernel kernel = (CUkernel)handle;
	struct gt_diag diag = {0};
	CUmodule module;
	CUfunction function;
	CUresult result;

	switch (sg_handle_kind(handle)) {
	case SG_HANDLE_FUNCTION:
		if (handle->module->context != context)
			return CUDA_ERROR_INVALID_HANDLE;
		*ret_function = handle;
		return CUDA_SUCCESS;
	case SG_HANDLE_KERNEL:
		result = sg_library_module(kernel->library, context, &module, &diag);
		if (result)
			return result;
		function = sg_module_find(module, kernel->name);
		if (!function)
			return CUDA_ERROR_NOT_FOUND;
		*ret_function = function;
		return apply_kernel(kernel, function);
	default:
		return CUDA_ERROR_INVALID_HANDLE;
	}
}

static uint32_t limited_registers(const struct CUfunc_st *function)
{
	uint32_t limit = function->module->library->max_registers;

	return limit && function->info.registers > limit ? limit : function->info.registers;
}

uint32_t sg_function_max_threads(const struct CUfunc_st *function)
{
	enum { UNIT = 8, WARP = 32 }; /* registers of a thread are allocated in units */
	uint32_t units = (limited_registers(function) + UNIT - 1) / UNIT;
	uint32_t max = function->info.max_threads, limit;

	if (!sg_state.config.registers || !units)
		return max;
	limit = sg_state.config.registers / (units * UNIT * WARP) * WARP;
	return limit < max ? limit : max;
}

CUresult sg_function_attribute(const struct CUfunc_st *function, CUfunction_attribute attribute,
			       int *ret_value)
{
	const struct sg_function_info *info = &function->info;

	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = (int)sg_function_max_threads(function);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret_value = (int)info->static_shared;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*ret_value = (int)info->const_size;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret_value = (int)info->local_size;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret_value = (int)limited_registers(function);
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret_value = (int)info->target;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret_value = (int)sg_state.config.arch;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret_value = (int)function->max_dynamic_shared;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*ret_value = function->carveout;
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
		*ret_value = info->required_cluster[0] != 0;
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*ret_value = (int)info->required_cluster[attribute -
							 CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*ret_value = function->non_portable_cluster;
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*ret_value = 0;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult sg_function_set(CUfunction function, CUfunction_attribute attribute, int value)
{
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 ||
		    (uint32_t)value + function->info.static_shared > SG_MAX_SHARED_SIZE)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_dynamic_shared = (uint32_t)value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		function->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		function->non_portable_cluster = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
