/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hooks of the functions that load modules and libraries. */
#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/protocol.h"

enum {
	CU_ATTRIBUTE_MAJOR = 75,
	CU_ATTRIBUTE_MINOR = 76,
	CU_LIBRARY_BINARY_IS_PRESERVED = 1,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	MAX_JIT_OPTIONS = 64,
};

/* The compute capability of a device; 0: unknown. */
static uint32_t read_capability(int device)
{
	int major = 0, minor = 0;

	if (!gt_driver.cuDeviceGetAttribute ||
	    OWN3(cuDeviceGetAttribute, &major, CU_ATTRIBUTE_MAJOR, device) ||
	    OWN3(cuDeviceGetAttribute, &minor, CU_ATTRIBUTE_MINOR, device))
		return 0;
	return (uint32_t)(major * 10 + minor);
}

/* That of the current device, or of the first one. */
static uint32_t current_capability(void)
{
	int device = 0;

	if (!gt_driver.cuCtxGetDevice || OWN1(cuCtxGetDevice, &device))
		device = 0;
	return read_capability(device);
}

/* Whether there are devices of other capabilities than this one; *ret_lowest: of all. */
static bool devices_differ(uint32_t capability, uint32_t *ret_lowest)
{
	bool differ = false;
	int count = 0;

	*ret_lowest = capability;
	if (!gt_driver.cuDeviceGetCount || OWN1(cuDeviceGetCount, &count))
		return false;
	for (int device = 0; device < count; device++) {
		uint32_t other = read_capability(device);

		differ |= other != capability;
		if (other < *ret_lowest)
			*ret_lowest = other;
	}
	return differ;
}

/* ---- calls that load ------------------------------------------------------------------- */

/* The arguments of a call. Those that a function does not have are 0. */
struct load_call {
	enum gt_agent_container kind;
	CUresult (*load)(const struct load_call *call, const void *image);
	void **handle;
	int *jit_options;
	void **jit_values;
	unsigned jit_count;
	int *options;
	void **values;
	unsigned count;
};

static CUresult load_module(const struct load_call *call, const void *image)
{
	return gt_driver.cuModuleLoadData(call->handle, image);
}

static CUresult load_module_with_options(const struct load_call *call, const void *image)
{
	return gt_driver.cuModuleLoadDataEx(call->handle, image, call->jit_count, call->jit_options,
					    call->jit_values);
}

static CUresult load_fat_binary(const struct load_call *call, const void *image)
{
	return gt_driver.cuModuleLoadFatBinary(call->handle, image);
}

static CUresult load_library(const struct load_call *call, const void *image)
{
	return gt_driver.cuLibraryLoadData(call->handle, image, call->jit_options, call->jit_values,
					   call->jit_count, call->options, call->values,
					   call->count);
}

static void unload(enum gt_agent_container kind, void *handle)
{
	gt_agent_forget_number(handle);
	if (kind == GT_AGENT_LIBRARY && gt_driver.cuLibraryUnload)
		OWN1(cuLibraryUnload, handle);
	if (kind == GT_AGENT_MODULE && gt_driver.cuModuleUnload)
		OWN1(cuModuleUnload, handle);
}

/* ---- compilation ----------------------------------------------------------------------- */

/*
 * Compile the kernels that programs match. Under lazy loading (CUDA_MODULE_LOADING, on by default)
 * the driver does so at their first use, where it is too late for the original.
 */
static CUresult compile_module(void *module, const struct gt_agent_names *kernels)
{
	const char *name = kernels->data;
	CUresult error = 0;

	if (!gt_driver.cuModuleGetFunction || !gt_driver.cuFuncGetAttribute)
		return CUDA_ERROR_NOT_FOUND;
	for (uint32_t i = 0; i < kernels->count && !error; i++, name += strlen(name) + 1) {
		void *function;
		int registers;

		error = OWN3(cuModuleGetFunction, &function, module, name);
		if (!error)
			error = OWN3(cuFuncGetAttribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
				     function);
	}
	return error;
}

/* Compile a library in the current context. */
static CUresult compile_library(void *library, const struct gt_agent_names *kernels)
{
	CUresult error;
	void *module = NULL;

	if (!gt_driver.cuLibraryGetModule)
		return CUDA_ERROR_NOT_FOUND;
	error = OWN2(cuLibraryGetModule, &module, library);
	return error ? error : compile_module(module, kernels);
}

static CUresult compile(enum gt_agent_container kind, void *handle,
			const struct gt_agent_names *kernels)
{
	void *context = NULL, *popped;
	CUresult error;

	if (kind == GT_AGENT_MODULE)
		return compile_module(handle, kernels);
	if (!OWN1(cuCtxGetCurrent, &context) && context)
		return compile_library(handle, kernels);
	/* The memory of the maps was registered there. */
	error = OWN2(cuDevicePrimaryCtxRetain, &context, 0);
	if (error)
		return error;
	error = OWN1(cuCtxPushCurrent_v2, context);
	if (!error) {
		error = compile_library(handle, kernels);
		OWN1(cuCtxPopCurrent_v2, &popped);
	}
	OWN1(cuDevicePrimaryCtxRelease_v2, 0);
	return error;
}

/* ---- patched images -------------------------------------------------------------------- */

/*
 * Whether a patched image is for all devices that need it: a module is for the device of its
 * context, a library for every device. The driver links for one of them. A side library need not be
 * for all: where it is not, the original is used.
 */
static bool suits_devices(enum gt_agent_container kind, const struct gt_agent_exchange *exchange,
			  uint32_t capability)
{
	struct gt_agent_target target;
	uint32_t lowest;

	if (kind == GT_AGENT_MODULE || !devices_differ(capability, &lowest))
		return true;
	if (exchange->is_linked)
		return false;
	target = gt_agent_target_of(exchange->patched, exchange->image_size);
	return !target.is_specific && (exchange->is_side || target.capability <= lowest);
}

/* Why a patched image is not loaded: 0 or gt_agent_error. */
static int check_patched(enum gt_agent_container kind, const struct gt_agent_exchange *exchange,
			 uint32_t capability)
{
	if (!suits_devices(kind, exchange, capability))
		return GT_AGENT_DEVICES_DIFFER;
	/* Only now: it takes the driver a while, and may create a context. */
	return gt_agent_maps_ready() ? 0 : GT_AGENT_NO_MAPS;
}

/* Ask for the image beside or in place of the program's. */
static void ask_for_patched(enum gt_agent_container kind, const void *image,
			    struct gt_agent_exchange *exchange)
{
	struct gt_agent_image measured;
	uint32_t capability;
	int error;
	void *memory;
	size_t size;

	/* Without the maps the collector hears of the image, too, and counts it as rejected. */
	if ((!gt_agent_map_memory(&memory, &size) && !gt_agent_misses_memory()) ||
	    !gt_agent_measure(image, &measured))
		return;
	capability = current_capability();
	if (capability)
		gt_agent_ask(&measured, capability, exchange);
	gt_agent_release_image(&measured);
	error = exchange->patched ? check_patched(kind, exchange, capability) : 0;
	if (!error)
		return;
	gt_agent_finish(exchange, error, false);
	*exchange = (struct gt_agent_exchange){.socket = -1};
}

/* Whether there is a patched image that can be loaded. */
static bool begin_patched(enum gt_agent_container kind, const void *image,
			  struct gt_agent_exchange *exchange)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();

	*exchange = (struct gt_agent_exchange){.socket = -1};
	ask_for_patched(kind, image, exchange);
	if (!exchange->patched)
		gt_agent_finish(exchange, 0, false);
	gt_agent_restore_caller(&caller);
	return exchange->patched;
}

static void finish_patched(struct gt_agent_exchange *exchange, int error, bool keep)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();

	gt_agent_finish(exchange, error, keep);
	gt_agent_restore_caller(&caller);
}

/*
 * Compile what the program did not ask to be compiled now, and let it know its device. On failure
 * it is unloaded.
 */
static int finish_loaded(enum gt_agent_container kind, void *handle,
			 const struct gt_agent_exchange *exchange)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	int error = compile(kind, handle, &exchange->kernels);

	if (!error && exchange->device_symbol[0] &&
	    !gt_agent_number_device(kind, handle, exchange->device_symbol))
		error = GT_AGENT_NO_NUMBER;
	if (error)
		unload(kind, handle);
	gt_agent_restore_caller(&caller);
	return error;
}

/* The original, without anything beside it. */
static CUresult load_original(const struct load_call *call, const void *image)
{
	CUresult error = call->load(call, image);

	if (!error && call->handle)
		gt_agent_forget_side(call->kind, *call->handle);
	return error;
}

/* Whether the program promises that the image stays, and the driver need not copy it. */
static bool is_preserved(const int *options, void *const *values, unsigned count)
{
	for (unsigned i = 0; options && values && i < count; i++)
		if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED && values[i])
			return true;
	return false;
}

static void copy_values(void *const *from, unsigned count, void **to)
{
	if (from && to)
		memcpy(to, from, count * sizeof(*to));
}

/* Whether a JIT option is about the code; others receive logs, or name symbols of the original. */
static bool is_code_option(int option)
{
	return option == CU_JIT_MAX_REGISTERS || option == CU_JIT_THREADS_PER_BLOCK ||
	       (option >= CU_JIT_OPTIMIZATION_LEVEL && option < CU_JIT_GLOBAL_SYMBOL_NAMES) ||
	       (option >= CU_JIT_LTO && option < CU_JIT_REFERENCED_KERNEL_NAMES) ||
	       option >= CU_JIT_POSITION_INDEPENDENT_CODE;
}

/* Options of the original that concern the code. */
struct code_options {
	int options[MAX_JIT_OPTIONS];
	void *values[MAX_JIT_OPTIONS];
	unsigned count;
};

/* Linkers take no strategy (cuda.h: it "cannot be used with cuLink* APIs"). */
static void copy_code_options(const struct load_call *call, bool links, struct code_options *copy)
{
	copy->count = 0;
	for (unsigned i = 0; i < call->jit_count; i++) {
		if (!is_code_option(call->jit_options[i]) ||
		    (links && call->jit_options[i] == CU_JIT_FALLBACK_STRATEGY))
			continue;
		copy->options[copy->count] = call->jit_options[i];
		copy->values[copy->count++] = call->jit_values[i];
	}
}

/* What is loaded: the patched image, or what the driver links of it, with these options. */
static CUresult prepare_patched(const struct load_call *call,
				const struct gt_agent_exchange *exchange,
				struct gt_agent_linked *ret_linked, const void **ret_image)
{
	struct gt_agent_caller caller;
	struct code_options copy;
	CUresult error;

	*ret_linked = (struct gt_agent_linked){0};
	*ret_image = exchange->patched;
	if (!exchange->is_linked)
		return 0;
	copy_code_options(call, true, &copy);
	caller = gt_agent_save_caller();
	error = gt_agent_link(exchange->patched, exchange->image_size,
			      &(struct gt_agent_jit){copy.count, copy.options, copy.values},
			      ret_linked);
	*ret_image = ret_linked->cubin;
	gt_agent_restore_caller(&caller);
	return error;
}

/* The patched module in the place of the original, which the driver gets where it rejects it. */
static CUresult load_whole(const struct load_call *call, const void *image,
			   struct gt_agent_exchange *exchange)
{
	/*
	 * The driver writes to the values, and what it wrote while it rejected an image, such as
	 * the length of a log, is not for its next attempt.
	 */
	void *given[MAX_JIT_OPTIONS], *handle = *call->handle;
	bool keep = is_preserved(call->options, call->values, call->count);
	struct gt_agent_linked linked;
	const void *patched;
	CUresult error;

	copy_values(call->jit_values, call->jit_count, given);
	error = prepare_patched(call, exchange, &linked, &patched);
	if (!error)
		error = call->load(call, patched);
	if (!error)
		error = finish_loaded(call->kind, *call->handle, exchange);
	if (error || !keep)
		gt_agent_end_link(&linked);
	finish_patched(exchange, error, keep);
	if (!error) {
		gt_agent_forget_side(call->kind, *call->handle);
		return 0;
	}
	*call->handle = handle;
	copy_values(given, call->jit_count, call->jit_values);
	return load_original(call, image);
}

/* The kernels that programs match, with these options. */
static CUresult load_side(const struct load_call *call, const struct gt_agent_exchange *exchange,
			  void **ret_side)
{
	struct gt_agent_linked linked;
	struct gt_agent_caller caller;
	struct code_options copy;
	const void *patched;
	CUresult error = prepare_patched(call, exchange, &linked, &patched);

	copy_code_options(call, false, &copy);
	caller = gt_agent_save_caller();
	if (!error && call->kind == GT_AGENT_LIBRARY)
		error = OWN8(cuLibraryLoadData, ret_side, patched, copy.options, copy.values,
			     copy.count, 0, 0, 0);
	else if (!error && gt_driver.cuModuleLoadDataEx)
		error = OWN5(cuModuleLoadDataEx, ret_side, patched, copy.count, copy.options,
			     copy.values);
	else if (!error)
		error = CUDA_ERROR_NOT_FOUND;
	gt_agent_end_link(&linked);
	gt_agent_restore_caller(&caller);
	return error ? error : finish_loaded(call->kind, *ret_side, exchange);
}

/* The original, and beside it the kernels that programs match. */
static CUresult load_both(const struct load_call *call, const void *image,
			  struct gt_agent_exchange *exchange)
{
	CUresult error = load_original(call, image);
	int side_error;
	void *side;

	if (error) {
		finish_patched(exchange, GT_AGENT_NO_ORIGINAL, false);
		return error;
	}
	side_error = load_side(call, exchange, &side);
	if (!side_error &&
	    !gt_agent_add_side(call->kind, *call->handle, side, &exchange->kernels)) {
		unload(call->kind, side);
		side_error = GT_AGENT_NO_MEMORY;
	}
	finish_patched(exchange, side_error, false);
	return 0;
}

static CUresult load(const struct load_call *call, const void *image)
{
	struct gt_agent_exchange exchange;

	if (!call->handle || call->jit_count > MAX_JIT_OPTIONS ||
	    (call->jit_count && (!call->jit_options || !call->jit_values)) ||
	    !begin_patched(call->kind, image, &exchange))
		return load_original(call, image);
	return exchange.is_side ? load_both(call, image, &exchange)
				: load_whole(call, image, &exchange);
}

/* ---- the hooks ------------------------------------------------------------------------- */

/*
 * A process that initializes the driver will load modules. The collector hears of it here, before
 * the first launch: its uprobes are attached in time.
 */
CUresult cuInit(unsigned flags)
{
	struct gt_agent_caller caller;
	void *memory;
	size_t size;

	NEED(cuInit);
	caller = gt_agent_save_caller();
	gt_agent_map_memory(&memory, &size);
	gt_agent_restore_caller(&caller);
	return gt_driver.cuInit(flags);
}

CUresult cuModuleLoadData(void **module, const void *image)
{
	const struct load_call call = {
		.kind = GT_AGENT_MODULE,
		.load = load_module,
		.handle = module,
	};

	NEED(cuModuleLoadData);
	return load(&call, image);
}

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
			    void **values)
{
	const struct load_call call = {
		.kind = GT_AGENT_MODULE,
		.load = load_module_with_options,
		.handle = module,
		.jit_options = options,
		.jit_values = values,
		.jit_count = count,
	};

	NEED(cuModuleLoadDataEx);
	return load(&call, image);
}

CUresult cuModuleLoadFatBinary(void **module, const void *image)
{
	const struct load_call call = {
		.kind = GT_AGENT_MODULE,
		.load = load_fat_binary,
		.handle = module,
	};

	NEED(cuModuleLoadFatBinary);
	return load(&call, image);
}

CUresult cuLibraryLoadData(void **library, const void *code, int *jit_options, void **jit_values,
			   unsigned jit_count, int *options, void **values, unsigned count)
{
	const struct load_call call = {
		.kind = GT_AGENT_LIBRARY,
		.load = load_library,
		.handle = library,
		.jit_options = jit_options,
		.jit_values = jit_values,
		.jit_count = jit_count,
		.options = options,
		.values = values,
		.count = count,
	};

	NEED(cuLibraryLoadData);
	return load(&call, code);
}

CUresult cuModuleLoad(void **module, const char *path)
{
	struct gt_agent_file file = {0};
	CUresult error;

	NEED(cuModuleLoad);
	if (gt_driver.cuModuleLoadData)
		file = gt_agent_read_file(path);
	if (!file.data)
		return gt_driver.cuModuleLoad(module, path);
	error = cuModuleLoadData(module, file.data);
	gt_agent_unmap_file(&file);
	return error;
}

CUresult cuLibraryLoadFromFile(void **library, const char *path, int *jit_options,
			       void **jit_values, unsigned jit_count, int *options, void **values,
			       unsigned count)
{
	struct gt_agent_file file = {0};
	CUresult error;

	NEED(cuLibraryLoadFromFile);
	/* The driver rejects this option for a file. */
	if (gt_driver.cuLibraryLoadData && !is_preserved(options, values, count))
		file = gt_agent_read_file(path);
	if (!file.data)
		return gt_driver.cuLibraryLoadFromFile(library, path, jit_options, jit_values,
						       jit_count, options, values, count);
	error = cuLibraryLoadData(library, file.data, jit_options, jit_values, jit_count, options,
				  values, count);
	gt_agent_unmap_file(&file);
	return error;
}
