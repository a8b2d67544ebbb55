/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the driver that the agent takes the place of, and how programs get to them.
 *
 * A program that is linked with libcuda.so.1 finds them here first, since the agent is preloaded.
 * One that opens it by dlopen, as NVIDIA's runtime does, gets libgputap-driver.so: it is empty and
 * needs the agent and libcuda.so.1, in this order, and dlsym on its handle looks into both. What
 * cuGetProcAddress returns is replaced by name.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/protocol.h"

#define EXPORT __attribute__((visibility("default")))
#define DRIVER "libcuda.so.1"
#define DRIVER_SHIM "libgputap-driver.so"

typedef int result; /* CUresult */

enum {
	CUDA_ERROR_NOT_FOUND = 500,
	CU_ATTRIBUTE_MAJOR = 75,
	CU_ATTRIBUTE_MINOR = 76,
	CU_REGISTER_PORTABLE = 1,
	CU_REGISTER_DEVICEMAP = 2,
	CU_LIBRARY_BINARY_IS_PRESERVED = 1,
	MAX_JIT_OPTIONS = 64,
};

/* ---- the driver's own functions -------------------------------------------------------- */

/* Those that are hooked. */
#define HOOKED_FUNCTIONS(FUNCTION)                                                                 \
	FUNCTION(cuModuleLoad, (void **module, const char *path))                                  \
	FUNCTION(cuModuleLoadData, (void **module, const void *image))                             \
	FUNCTION(cuModuleLoadDataEx,                                                               \
		 (void **module, const void *image, unsigned count, int *options, void **values))  \
	FUNCTION(cuModuleLoadFatBinary, (void **module, const void *image))                        \
	FUNCTION(cuLibraryLoadData,                                                                \
		 (void **library, const void *code, int *jit_options, void **jit_values,           \
		  unsigned jit_count, int *options, void **values, unsigned count))                \
	FUNCTION(cuLibraryLoadFromFile,                                                            \
		 (void **library, const char *path, int *jit_options, void **jit_values,           \
		  unsigned jit_count, int *options, void **values, unsigned count))                \
	FUNCTION(cuCtxDestroy_v2, (void *context))                                                 \
	FUNCTION(cuCtxSetCurrent, (void *context))                                                 \
	FUNCTION(cuCtxPushCurrent_v2, (void *context))                                             \
	FUNCTION(cuDevicePrimaryCtxRetain, (void **context, int device))                           \
	FUNCTION(cuDevicePrimaryCtxRelease_v2, (int device))                                       \
	FUNCTION(cuDevicePrimaryCtxReset_v2, (int device))                                         \
	FUNCTION(cuGetProcAddress,                                                                 \
		 (const char *symbol, void **function, int version, uint64_t flags))               \
	FUNCTION(cuGetProcAddress_v2,                                                              \
		 (const char *symbol, void **function, int version, uint64_t flags, int *status))

/* Those that are called. */
#define CALLED_FUNCTIONS(FUNCTION)                                                                 \
	FUNCTION(cuCtxGetCurrent, (void **context))                                                \
	FUNCTION(cuCtxPopCurrent_v2, (void **context))                                             \
	FUNCTION(cuCtxGetDevice, (int *device))                                                    \
	FUNCTION(cuDeviceGetAttribute, (int *value, int attribute, int device))                    \
	FUNCTION(cuMemHostRegister_v2, (void *memory, size_t size, unsigned flags))                \
	FUNCTION(cuMemHostGetDevicePointer_v2, (uint64_t * address, void *memory, unsigned flags))

#define FUNCTION(name, parameters) EXPORT result name parameters;
HOOKED_FUNCTIONS(FUNCTION)
#undef FUNCTION

static struct {
#define FUNCTION(name, parameters) result(*name) parameters;
	HOOKED_FUNCTIONS(FUNCTION)
	CALLED_FUNCTIONS(FUNCTION)
#undef FUNCTION
} driver;

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

typedef void *dlopen_function(const char *path, int mode);

static dlopen_function *real_dlopen(void)
{
	static _Atomic(dlopen_function *) found;
	dlopen_function *function = atomic_load_explicit(&found, memory_order_relaxed);

	if (!function) {
		function = (dlopen_function *)dlsym(RTLD_NEXT, "dlopen");
		atomic_store_explicit(&found, function, memory_order_relaxed);
	}
	return function;
}

static void find_driver(void)
{
	void *library = real_dlopen()(DRIVER, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
#define FUNCTION(name, parameters) driver.name = (result(*) parameters)dlsym(library, #name);
	HOOKED_FUNCTIONS(FUNCTION)
	CALLED_FUNCTIONS(FUNCTION)
#undef FUNCTION
}

/* Each hook begins with it: a function that the driver does not have is not found. */
#define NEED(name)                                                                                 \
	pthread_once(&driver_once, find_driver);                                                   \
	if (!driver.name)                                                                          \
	return CUDA_ERROR_NOT_FOUND

/* ---- the memory of the maps ------------------------------------------------------------ */

/* Patched code was loaded, so the maps must be reachable from every context from now on. */
static atomic_bool maps_are_used;
/* A context has ended since the maps were last seen to be reachable. */
static atomic_bool maps_may_be_lost;

/* Whether the GPUs reach the maps, at the address where the process has them. */
static bool is_registered(void *memory)
{
	uint64_t address = 0;

	return !driver.cuMemHostGetDevicePointer_v2(&address, memory, 0) &&
	       address == (uint64_t)(uintptr_t)memory;
}

/* Let the GPUs reach the maps, in all contexts. */
static bool register_memory(void *memory, size_t size)
{
	/* Another thread may be first: only the outcome counts. */
	if (!is_registered(memory))
		driver.cuMemHostRegister_v2(memory, size,
					    CU_REGISTER_PORTABLE | CU_REGISTER_DEVICEMAP);
	return is_registered(memory);
}

/*
 * The same in the primary context of the first device, which stays retained: a library may be
 * loaded before there is a context, and the runtime will use this one.
 */
static bool register_in_primary_context(void *memory, size_t size)
{
	bool before = false, after = false;
	void *context;

	if (!driver.cuDevicePrimaryCtxRetain || !driver.cuDevicePrimaryCtxRelease_v2 ||
	    !driver.cuCtxPushCurrent_v2 || !driver.cuCtxPopCurrent_v2 ||
	    driver.cuDevicePrimaryCtxRetain(&context, 0))
		return false;
	if (!driver.cuCtxPushCurrent_v2(context)) {
		before = is_registered(memory);
		after = before || register_memory(memory, size);
		driver.cuCtxPopCurrent_v2(&context);
	}
	if (before || !after)
		driver.cuDevicePrimaryCtxRelease_v2(0);
	return after;
}

static bool has_context(void)
{
	void *context = NULL;

	return !driver.cuCtxGetCurrent(&context) && context;
}

/* Whether patched code may be loaded: what it writes to is there. */
static bool maps_are_ready(void)
{
	void *memory;
	size_t size;

	if (!driver.cuMemHostRegister_v2 || !driver.cuMemHostGetDevicePointer_v2 ||
	    !driver.cuCtxGetCurrent || !gt_agent_map_memory(&memory, &size))
		return false;
	return has_context() ? register_memory(memory, size)
			     : register_in_primary_context(memory, size);
}

/*
 * A context that ends takes its registrations with it, while libraries and the modules of other
 * contexts live on. The maps are registered again in the next context that becomes current.
 */
static void restore_maps(void)
{
	void *memory;
	size_t size;

	if (!atomic_load(&maps_may_be_lost) || !has_context() ||
	    !gt_agent_map_memory(&memory, &size))
		return;
	if (register_memory(memory, size))
		atomic_store(&maps_may_be_lost, false);
}

static void lose_maps(void)
{
	if (!atomic_load(&maps_are_used))
		return;
	atomic_store(&maps_may_be_lost, true);
	restore_maps();
}

result cuCtxDestroy_v2(void *context)
{
	result error;

	NEED(cuCtxDestroy_v2);
	error = driver.cuCtxDestroy_v2(context);
	if (!error)
		lose_maps();
	return error;
}

result cuDevicePrimaryCtxReset_v2(int device)
{
	result error;

	NEED(cuDevicePrimaryCtxReset_v2);
	error = driver.cuDevicePrimaryCtxReset_v2(device);
	if (!error)
		lose_maps();
	return error;
}

result cuDevicePrimaryCtxRelease_v2(int device)
{
	result error;

	NEED(cuDevicePrimaryCtxRelease_v2);
	error = driver.cuDevicePrimaryCtxRelease_v2(device);
	if (!error)
		lose_maps();
	return error;
}

result cuCtxSetCurrent(void *context)
{
	result error;

	NEED(cuCtxSetCurrent);
	error = driver.cuCtxSetCurrent(context);
	restore_maps();
	return error;
}

result cuCtxPushCurrent_v2(void *context)
{
	result error;

	NEED(cuCtxPushCurrent_v2);
	error = driver.cuCtxPushCurrent_v2(context);
	restore_maps();
	return error;
}

/* The runtime does so after a reset, and may not make the context current by name. */
result cuDevicePrimaryCtxRetain(void **context, int device)
{
	result error;
	void *popped;

	NEED(cuDevicePrimaryCtxRetain);
	error = driver.cuDevicePrimaryCtxRetain(context, device);
	if (!error && atomic_load(&maps_may_be_lost) && driver.cuCtxPushCurrent_v2 &&
	    driver.cuCtxPopCurrent_v2 && !driver.cuCtxPushCurrent_v2(*context)) {
		restore_maps();
		driver.cuCtxPopCurrent_v2(&popped);
	}
	return error;
}

/* ---- loading --------------------------------------------------------------------------- */

/* The compute capability of the current device, or of the first one. */
static uint32_t current_capability(void)
{
	int device = 0, major = 0, minor = 0;

	if (!driver.cuDeviceGetAttribute)
		return 0;
	if (!driver.cuCtxGetDevice || driver.cuCtxGetDevice(&device))
		device = 0;
	if (driver.cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, device) ||
	    driver.cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, device))
		return 0;
	return (uint32_t)(major * 10 + minor);
}

/* What the program would notice of the agent's system calls. */
struct caller_state {
	int error, cancel;
};

static struct caller_state save_caller(void)
{
	struct caller_state state = {.error = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state.cancel);
	return state;
}

static void restore_caller(const struct caller_state *state)
{
	pthread_setcancelstate(state->cancel, NULL);
	errno = state->error;
}

/* The image to load in place of the program's, or NULL. */
static const void *begin_patched(const void *image, struct gt_agent_exchange *exchange)
{
	const struct caller_state caller = save_caller();
	struct gt_agent_image measured;
	uint32_t capability;

	*exchange = (struct gt_agent_exchange){.socket = -1};
	if (gt_agent_measure(image, &measured) && maps_are_ready()) {
		capability = current_capability();
		if (capability)
			gt_agent_ask(&measured, capability, exchange);
	}
	if (exchange->patched)
		atomic_store(&maps_are_used, true);
	else
		gt_agent_finish(exchange, 0, false);
	restore_caller(&caller);
	return exchange->patched;
}

static void end_patched(struct gt_agent_exchange *exchange, result error, bool keep)
{
	const struct caller_state caller = save_caller();

	gt_agent_finish(exchange, error, keep);
	restore_caller(&caller);
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
	result error;                                                                              \
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

result cuModuleLoadData(void **module, const void *image)
{
	NEED(cuModuleLoadData);
#define load(data) driver.cuModuleLoadData(module, data)
	LOAD(image, false, (void **)NULL, 0, load);
#undef load
}

result cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
			  void **values)
{
	NEED(cuModuleLoadDataEx);
#define load(data) driver.cuModuleLoadDataEx(module, data, count, options, values)
	LOAD(image, false, values, count, load);
#undef load
}

result cuModuleLoadFatBinary(void **module, const void *image)
{
	NEED(cuModuleLoadFatBinary);
#define load(data) driver.cuModuleLoadFatBinary(module, data)
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

result cuLibraryLoadData(void **library, const void *code, int *jit_options, void **jit_values,
			 unsigned jit_count, int *options, void **values, unsigned count)
{
	NEED(cuLibraryLoadData);
#define load(data)                                                                                 \
	driver.cuLibraryLoadData(library, data, jit_options, jit_values, jit_count, options,       \
				 values, count)
	LOAD(code, is_preserved(options, values, count), jit_values, jit_count, load);
#undef load
}

/* A file's bytes and a NUL, or NULL. */
static void *read_file(const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char *data = NULL;
	long size = -1;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size > 0 && size < GT_AGENT_MAX_IMAGE && !fseek(file, 0, SEEK_SET))
		data = malloc((size_t)size + 1);
	if (data && fread(data, 1, (size_t)size, file) != (size_t)size) {
		free(data);
		data = NULL;
	}
	if (data)
		data[size] = 0;
	if (file)
		fclose(file);
	return data;
}

result cuModuleLoad(void **module, const char *path)
{
	void *image;
	result error;

	NEED(cuModuleLoad);
	image = driver.cuModuleLoadData ? read_file(path) : NULL;
	if (!image)
		return driver.cuModuleLoad(module, path);
	error = cuModuleLoadData(module, image);
	free(image);
	return error;
}

result cuLibraryLoadFromFile(void **library, const char *path, int *jit_options, void **jit_values,
			     unsigned jit_count, int *options, void **values, unsigned count)
{
	void *image;
	result error;

	NEED(cuLibraryLoadFromFile);
	/* The driver rejects this option for a file. */
	image = driver.cuLibraryLoadData && !is_preserved(options, values, count) ? read_file(path)
										  : NULL;
	if (!image)
		return driver.cuLibraryLoadFromFile(library, path, jit_options, jit_values,
						    jit_count, options, values, count);
	error = cuLibraryLoadData(library, image, jit_options, jit_values, jit_count, options,
				  values, count);
	free(image);
	return error;
}

/* ---- getting here ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	void *function;
} hooks[] = {
#define FUNCTION(name, parameters) {#name, (void *)name},
	HOOKED_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* cuGetProcAddress takes names without their version. */
static bool names_hook(const char *hook, const char *symbol)
{
	size_t length = strlen(symbol);

	return !strncmp(hook, symbol, length) && (!hook[length] || !strcmp(hook + length, "_v2"));
}

static void replace_function(const char *symbol, void **function)
{
	if (!symbol || !function || !*function)
		return;
	if (!strcmp(symbol, "cuGetProcAddress")) {
		*function = *function == (void *)driver.cuGetProcAddress
				    ? (void *)cuGetProcAddress
				    : (void *)cuGetProcAddress_v2;
		return;
	}
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (names_hook(hooks[i].name, symbol))
			*function = hooks[i].function;
}

result cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	result error;

	NEED(cuGetProcAddress);
	error = driver.cuGetProcAddress(symbol, function, version, flags);
	if (!error)
		replace_function(symbol, function);
	return error;
}

result cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			   int *status)
{
	result error;

	NEED(cuGetProcAddress_v2);
	error = driver.cuGetProcAddress_v2(symbol, function, version, flags, status);
	if (!error)
		replace_function(symbol, function);
	return error;
}

/* "libcuda.so.1" and "libcuda.so", with any directory. */
static bool is_driver(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return name && (!strcmp(name, DRIVER) || !strcmp(name, "libcuda.so"));
}

/*
 * The shim lies beside the agent. It gets the driver by its name, which is the one at `driver_path`
 * once this is loaded.
 */
static void *open_shim(const char *driver_path, int mode)
{
	Dl_info self;
	char path[PATH_MAX];
	const char *slash;

	if (strchr(driver_path, '/') && !real_dlopen()(driver_path, mode))
		return NULL;
	if (!dladdr((void *)open_shim, &self) || !self.dli_fname)
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	if (!slash || (size_t)(slash - self.dli_fname) > sizeof(path) - sizeof("/" DRIVER_SHIM))
		return NULL;
	snprintf(path, sizeof(path), "%.*s/" DRIVER_SHIM, (int)(slash - self.dli_fname),
		 self.dli_fname);
	return real_dlopen()(path, mode);
}

/*
 * The driver's shim in place of the driver. All other calls leave by a jump (-O2), not by a call:
 * the loader uses the return address to find out whose RUNPATH counts.
 */
EXPORT void *dlopen(const char *path, int mode)
{
	if (is_driver(path)) {
		void *shim = open_shim(path, mode);

		if (shim)
			return shim;
	}
	return real_dlopen()(path, mode);
}
