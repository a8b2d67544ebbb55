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
	CUDA_ERROR_ALREADY_REGISTERED = 712,
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
	FUNCTION(cuDevicePrimaryCtxReset_v2, (int device))                                         \
	FUNCTION(cuGetProcAddress,                                                                 \
		 (const char *symbol, void **function, int version, uint64_t flags))               \
	FUNCTION(cuGetProcAddress_v2,                                                              \
		 (const char *symbol, void **function, int version, uint64_t flags, int *status))

/* Those that are called. */
#define CALLED_FUNCTIONS(FUNCTION)                                                                 \
	FUNCTION(cuCtxGetCurrent, (void **context))                                                \
	FUNCTION(cuCtxPushCurrent_v2, (void *context))                                             \
	FUNCTION(cuCtxPopCurrent_v2, (void **context))                                             \
	FUNCTION(cuDevicePrimaryCtxRetain, (void **context, int device))                           \
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

enum registration {
	NOT_REGISTERED,
	REGISTERED,
	CANNOT_REGISTER,
};
static _Atomic(enum registration) registration;

/* Let the GPUs reach the maps, in all contexts, at the address where the process has them. */
static enum registration register_memory(void *memory, size_t size)
{
	uint64_t address = 0;
	result error = driver.cuMemHostRegister_v2(memory, size,
						   CU_REGISTER_PORTABLE | CU_REGISTER_DEVICEMAP);

	if (error && error != CUDA_ERROR_ALREADY_REGISTERED)
		return NOT_REGISTERED;
	if (driver.cuMemHostGetDevicePointer_v2(&address, memory, 0) ||
	    address != (uint64_t)(uintptr_t)memory)
		return CANNOT_REGISTER;
	return REGISTERED;
}

/*
 * The same in the primary context of the first device, which stays retained: a library may be
 * loaded before there is a context, and the runtime will use this one.
 */
static enum registration register_in_primary_context(void *memory, size_t size)
{
	enum registration state;
	void *context;

	if (!driver.cuDevicePrimaryCtxRetain || !driver.cuCtxPushCurrent_v2 ||
	    !driver.cuCtxPopCurrent_v2 || driver.cuDevicePrimaryCtxRetain(&context, 0))
		return NOT_REGISTERED;
	if (driver.cuCtxPushCurrent_v2(context))
		return NOT_REGISTERED;
	state = register_memory(memory, size);
	driver.cuCtxPopCurrent_v2(&context);
	return state;
}

/* Whether patched code may be loaded: what it writes to is there. */
static bool maps_are_ready(void)
{
	enum registration state = atomic_load_explicit(&registration, memory_order_acquire);
	void *memory, *context = NULL;
	size_t size;

	if (state != NOT_REGISTERED)
		return state == REGISTERED;
	if (!driver.cuMemHostRegister_v2 || !driver.cuMemHostGetDevicePointer_v2 ||
	    !driver.cuCtxGetCurrent || !gt_agent_map_memory(&memory, &size))
		return false;
	if (!driver.cuCtxGetCurrent(&context) && context)
		state = register_memory(memory, size);
	else
		state = register_in_primary_context(memory, size);
	atomic_store_explicit(&registration, state, memory_order_release);
	return state == REGISTERED;
}

/* A context that ends takes its registrations with it: they are made again at the next load. */
result cuCtxDestroy_v2(void *context)
{
	NEED(cuCtxDestroy_v2);
	atomic_store_explicit(&registration, NOT_REGISTERED, memory_order_release);
	return driver.cuCtxDestroy_v2(context);
}

result cuDevicePrimaryCtxReset_v2(int device)
{
	NEED(cuDevicePrimaryCtxReset_v2);
	atomic_store_explicit(&registration, NOT_REGISTERED, memory_order_release);
	return driver.cuDevicePrimaryCtxReset_v2(device);
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

/* The image to load in place of the program's, or NULL. */
static const void *begin_patched(const void *image, struct gt_agent_exchange *exchange)
{
	struct gt_agent_image measured;
	uint32_t capability;

	*exchange = (struct gt_agent_exchange){.socket = -1};
	if (!gt_agent_measure(image, &measured) || !maps_are_ready())
		return NULL;
	capability = current_capability();
	if (capability)
		gt_agent_ask(&measured, capability, exchange);
	return exchange->patched;
}

/* Load the patched image; where there is none, or the driver rejects it, the original. */
#define LOAD(image, load)                                                                          \
	struct gt_agent_exchange exchange;                                                         \
	const void *patched = begin_patched(image, &exchange);                                     \
	result error = patched ? load(patched) : 0;                                                \
                                                                                                   \
	gt_agent_finish(&exchange, error);                                                         \
	return patched && !error ? 0 : load(image)

result cuModuleLoadData(void **module, const void *image)
{
	NEED(cuModuleLoadData);
#define load(data) driver.cuModuleLoadData(module, data)
	LOAD(image, load);
#undef load
}

result cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
			  void **values)
{
	NEED(cuModuleLoadDataEx);
#define load(data) driver.cuModuleLoadDataEx(module, data, count, options, values)
	LOAD(image, load);
#undef load
}

result cuModuleLoadFatBinary(void **module, const void *image)
{
	NEED(cuModuleLoadFatBinary);
#define load(data) driver.cuModuleLoadFatBinary(module, data)
	LOAD(image, load);
#undef load
}

result cuLibraryLoadData(void **library, const void *code, int *jit_options, void **jit_values,
			 unsigned jit_count, int *options, void **values, unsigned count)
{
	NEED(cuLibraryLoadData);
#define load(data)                                                                                 \
	driver.cuLibraryLoadData(library, data, jit_options, jit_values, jit_count, options,       \
				 values, count)
	LOAD(code, load);
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
	image = driver.cuLibraryLoadData ? read_file(path) : NULL;
	if (!image)
		return driver.cuLibraryLoadFromFile(library, path, jit_options, jit_values,
						    jit_count, options, values, count);
	error = cuLibraryLoadData(library, image, jit_options, jit_values, jit_count, options,
				  values, count);
	/* The driver may refer to it for as long as the library lives
	 * (CU_LIBRARY_BINARY_IS_PRESERVED).
	 */
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

/* The shim lies beside the agent. */
static void *open_shim(int mode)
{
	Dl_info self;
	char path[PATH_MAX];
	const char *slash;

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
		void *shim = open_shim(mode);

		if (shim)
			return shim;
	}
	return real_dlopen()(path, mode);
}
