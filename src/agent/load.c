/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hooks of the functions that load modules and libraries. */
#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/compile.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/protocol.h"

enum {
	CU_ATTRIBUTE_MAJOR = 75,
	CU_ATTRIBUTE_MINOR = 76,
	CU_LIBRARY_BINARY_IS_PRESERVED = 1,
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

/*
 * Load an image for the agent, with these options. Modules of fatbins, too, are loaded by the
 * functions that take options.
 */
static CUresult load_beside(const struct load_call *call, const void *image, void **ret_handle)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	CUresult error = CUDA_ERROR_NOT_FOUND;
	struct code_options copy;

	copy_code_options(call, false, &copy);
	if (call->kind == GT_AGENT_LIBRARY)
		error = OWN8(cuLibraryLoadData, ret_handle, image, copy.options, copy.values,
			     copy.count, 0, 0, 0);
	else if (gt_driver.cuModuleLoadDataEx)
		error = OWN5(cuModuleLoadDataEx, ret_handle, image, copy.count, copy.options,
			     copy.values);
	gt_agent_restore_caller(&caller);
	return error;
}

/* A patched image that is loaded, once or twice, in place of the original or beside it. */
struct patched_load {
	const struct load_call *call;
	const void *image; /* the program's */
	const struct gt_agent_exchange *exchange;
	CUresult (*load)(struct patched_load *load, const void *patched);
	void *original; /* what the driver made of the program's image; NULL: not loaded yet */
	void *handle;
	unsigned register_limit; /* the lowest one that is in its text; 0: none */
	struct gt_agent_linked linked;
	/*
	 * The driver writes to the values, and what it wrote while it loaded an image, such as the
	 * length of a log, is not for its next attempt.
	 */
	void *given[MAX_JIT_OPTIONS];
};

static CUresult load_in_place(struct patched_load *load, const void *patched)
{
	const struct load_call *call = load->call;
	CUresult error;

	copy_values(load->given, call->jit_count, call->jit_values);
	error = call->load(call, patched);
	load->handle = *call->handle;
	return error;
}

static CUresult load_side(struct patched_load *load, const void *patched)
{
	return load_beside(load->call, patched, &load->handle);
}

/* The patched image, or what the driver links of it, with these options. */
static CUresult prepare_patched(struct patched_load *load, const void **ret_image)
{
	const struct gt_agent_exchange *exchange = load->exchange;
	struct code_options copy;
	CUresult error;

	load->linked = (struct gt_agent_linked){0};
	*ret_image = exchange->patched;
	if (!exchange->is_linked)
		return 0;
	copy_code_options(load->call, true, &copy);
	error = gt_agent_link(exchange->patched, exchange->image_size,
			      &(struct gt_agent_jit){
				      .count = copy.count,
				      .options = copy.options,
				      .values = copy.values,
				      .register_limit = load->register_limit,
			      },
			      &load->linked);
	*ret_image = load->linked.cubin;
	return error;
}

static void unload_patched(struct patched_load *load)
{
	unload(load->call->kind, load->handle);
	gt_agent_end_link(&load->linked);
}

/* Compile what the program did not ask to be compiled now. */
static CUresult compile_loaded(const struct patched_load *load, int *ret_threads)
{
	const struct gt_agent_loaded loaded = {load->call->kind, load->handle};
	CUresult error;
	bool entered;

	error = gt_agent_enter_context(&entered);
	if (error)
		return error;
	error = gt_agent_compile(&loaded, &load->exchange->kernels, ret_threads);
	gt_agent_leave_context(entered);
	return error;
}

/* Let what is loaded know its device. */
static int number_loaded(const struct patched_load *load)
{
	const char *symbol = load->exchange->device_symbol;

	if (symbol[0] && !gt_agent_number_device(load->call->kind, load->handle, symbol))
		return GT_AGENT_NO_NUMBER;
	return 0;
}

/* On failure nothing is loaded. *ret_threads: as gt_agent_compile. */
static int load_once(struct patched_load *load, int *ret_threads)
{
	struct gt_agent_caller caller = gt_agent_save_caller();
	const void *patched;
	int error = prepare_patched(load, &patched);

	gt_agent_restore_caller(&caller);
	if (!error)
		error = load->load(load, patched);
	if (error) {
		gt_agent_end_link(&load->linked);
		return error;
	}
	caller = gt_agent_save_caller();
	error = compile_loaded(load, ret_threads);
	if (!error)
		error = number_loaded(load);
	if (error)
		unload_patched(load);
	gt_agent_restore_caller(&caller);
	return error;
}

/*
 * Whether kernels whose registers can be limited may have smaller blocks than in the original,
 * which is loaded then.
 */
static bool needs_comparison(struct patched_load *load)
{
	const struct gt_agent_loaded patched = {load->call->kind, load->handle};

	if (!gt_agent_may_limit(load->exchange, &patched))
		return false;
	if (!load->original && load_beside(load->call, load->image, &load->original))
		load->original = NULL;
	return load->original;
}

/* Whether blocks of a patched kernel can have fewer threads than in the original. */
static bool has_smaller_blocks(const struct patched_load *load)
{
	const struct gt_agent_loaded patched = {load->call->kind, load->handle};
	const struct gt_agent_loaded original = {load->call->kind, load->original};

	return gt_agent_has_smaller_blocks(&load->exchange->kernels, &patched, &original);
}

/* What is loaded is loaded again, with fewer registers, where its blocks would be smaller. */
static int keep_block_sizes(struct patched_load *load)
{
	const struct gt_agent_loaded patched = {load->call->kind, load->handle};
	struct gt_agent_loaded original = {load->call->kind, NULL};
	int error = 0, threads;

	if (!needs_comparison(load))
		return 0;
	original.handle = load->original;
	load->register_limit = gt_agent_limit_registers(load->exchange, &patched, &original);
	if (load->register_limit) {
		unload_patched(load);
		error = load_once(load, &threads);
	}
	if (error || !has_smaller_blocks(load))
		return error;
	unload_patched(load);
	return GT_AGENT_SMALLER_BLOCKS;
}

/* On failure (the driver's CUresult or gt_agent_error) it is not loaded. */
static int load_patched(struct patched_load *load)
{
	struct gt_agent_caller caller;
	bool entered;
	int threads, error = load_once(load, &threads);

	if (error || threads >= GT_AGENT_MAX_THREADS)
		return error;
	caller = gt_agent_save_caller();
	if (!gt_agent_enter_context(&entered)) {
		error = keep_block_sizes(load);
		gt_agent_leave_context(entered);
	}
	gt_agent_restore_caller(&caller);
	return error;
}

/* That which was loaded for a comparison. */
static void unload_original(const struct patched_load *load)
{
	struct gt_agent_caller caller;

	if (!load->original)
		return;
	caller = gt_agent_save_caller();
	unload(load->call->kind, load->original);
	gt_agent_restore_caller(&caller);
}

/* The patched module in the place of the original, which the driver gets where it rejects it. */
static CUresult load_whole(const struct load_call *call, const void *image,
			   struct gt_agent_exchange *exchange)
{
	struct patched_load load = {
		.call = call,
		.image = image,
		.exchange = exchange,
		.load = load_in_place,
	};
	bool keep = is_preserved(call->options, call->values, call->count);
	void *handle = *call->handle;
	int error;

	copy_values(call->jit_values, call->jit_count, load.given);
	error = load_patched(&load);
	unload_original(&load);
	if (!error && !keep)
		gt_agent_end_link(&load.linked);
	finish_patched(exchange, error, keep);
	if (!error) {
		gt_agent_forget_side(call->kind, *call->handle);
		return 0;
	}
	*call->handle = handle;
	copy_values(load.given, call->jit_count, call->jit_values);
	return load_original(call, image);
}

/* The original, and beside it the kernels that programs match. */
static CUresult load_both(const struct load_call *call, const void *image,
			  struct gt_agent_exchange *exchange)
{
	struct patched_load load = {
		.call = call,
		.image = image,
		.exchange = exchange,
		.load = load_side,
	};
	CUresult error = load_original(call, image);
	int side_error;

	if (error) {
		finish_patched(exchange, GT_AGENT_NO_ORIGINAL, false);
		return error;
	}
	load.original = *call->handle;
	side_error = load_patched(&load);
	if (!side_error) {
		gt_agent_end_link(&load.linked);
		if (!gt_agent_add_side(call->kind, load.original, load.handle,
				       &exchange->kernels)) {
			unload(call->kind, load.handle);
			side_error = GT_AGENT_NO_MEMORY;
		}
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
