/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hooks of the functions that load modules and libraries. */
#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/functions.h"
#include "agent/protocol.h"

enum {
	CU_ATTRIBUTE_MAJOR = 75,
	CU_ATTRIBUTE_MINOR = 76,
	CU_LIBRARY_BINARY_IS_PRESERVED = 1,
	MAX_JIT_OPTIONS = 64,
};

/* The compute capability of the current device, or of the first one. */
static uint32_t current_capability(void)
{
	int device = 0, major = 0, minor = 0;

	if (!gt_driver.cuDeviceGetAttribute)
		return 0;
	if (!gt_driver.cuCtxGetDevice || gt_driver.cuCtxGetDevice(&device))
		device = 0;
	if (gt_driver.cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, device) ||
	    gt_driver.cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, device))
		return 0;
	return (uint32_t)(major * 10 + minor);
}

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

/* Ask for the image in place of the program's. */
static void ask_for_patched(const void *image, struct gt_agent_exchange *exchange)
{
	struct gt_agent_image measured;
	uint32_t capability;
	void *memory;
	size_t size;

	if (!gt_agent_measure(image, &measured) || !gt_agent_map_memory(&memory, &size))
		return;
	capability = current_capability();
	if (!capability)
		return;
	gt_agent_ask(&measured, capability, exchange);
	/* Only now: it takes the driver a while, and may create a context. */
	if (!exchange->patched || gt_agent_maps_ready())
		return;
	gt_agent_finish(exchange, GT_AGENT_NO_MAPS, false);
	*exchange = (struct gt_agent_exchange){.socket = -1};
}

/* The image to load in place of the program's, or NULL. */
static const void *begin_patched(const void *image, struct gt_agent_exchange *exchange)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();

	*exchange = (struct gt_agent_exchange){.socket = -1};
	ask_for_patched(image, exchange);
	if (exchange->patched)
		gt_agent_use_maps();
	else
		gt_agent_finish(exchange, 0, false);
	gt_agent_restore_caller(&caller);
	return exchange->patched;
}

static void end_patched(struct gt_agent_exchange *exchange, CUresult error, bool keep)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();

	gt_agent_finish(exchange, error, keep);
	gt_agent_restore_caller(&caller);
}

/*
 * The values of JIT options as the program gives them. The driver writes to them, and what it wrote
 * while it rejected an image, such as the length of a log, is not for its next attempt.
 */
struct jit_values {
	void *items[MAX_JIT_OPTIONS];
};

static void copy_values(void *const *from, unsigned count, void **to)
{
	if (from && to)
		memcpy(to, from, count * sizeof(*to));
}

/*
 * Load the patched image; where there is none, or the driver rejects it, the original. keep: the
 * driver continues to read the image.
 */
#define LOAD(image, keep, values, count, load)                                                     \
	struct gt_agent_exchange exchange;                                                         \
	struct jit_values given;                                                                   \
	const void *patched = (count) <= MAX_JIT_OPTIONS ? begin_patched(image, &exchange) : NULL; \
	CUresult error;                                                                            \
                                                                                                   \
	if (!patched)                                                                              \
		return load(image);                                                                \
	copy_values(values, count, given.items);                                                   \
	error = load(patched);                                                                     \
	end_patched(&exchange, error, keep);                                                       \
	if (!error)                                                                                \
		return 0;                                                                          \
	copy_values(given.items, count, values);                                                   \
	return load(image)

CUresult cuModuleLoadData(void **module, const void *image)
{
	NEED(cuModuleLoadData);
#define load(data) gt_driver.cuModuleLoadData(module, data)
	LOAD(image, false, (void **)NULL, 0, load);
#undef load
}

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
			    void **values)
{
	NEED(cuModuleLoadDataEx);
#define load(data) gt_driver.cuModuleLoadDataEx(module, data, count, options, values)
	LOAD(image, false, values, count, load);
#undef load
}

CUresult cuModuleLoadFatBinary(void **module, const void *image)
{
	NEED(cuModuleLoadFatBinary);
#define load(data) gt_driver.cuModuleLoadFatBinary(module, data)
	LOAD(image, false, (void **)NULL, 0, load);
#undef load
}

/* Whether the program promises that the image stays, and the driver need not copy it. */
static bool is_preserved(const int *options, void *const *values, unsigned count)
{
	for (unsigned i = 0; options && values && i < count; i++)
		if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED && values[i])
			return true;
	return false;
}

CUresult cuLibraryLoadData(void **library, const void *code, int *jit_options, void **jit_values,
			   unsigned jit_count, int *options, void **values, unsigned count)
{
	NEED(cuLibraryLoadData);
#define load(data)                                                                                 \
	gt_driver.cuLibraryLoadData(library, data, jit_options, jit_values, jit_count, options,    \
				    values, count)
	LOAD(code, is_preserved(options, values, count), jit_values, jit_count, load);
#undef load
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
