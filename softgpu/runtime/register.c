/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registration: compiled programs register device code, kernels and variables before main. The code
 * is passed to the driver at the first use of anything in it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/runtime.h"

/* Device code of one compilation unit, or of a linked program. */
struct registered_binary {
	void *wrapper;
	CUlibrary library; /* once loaded */
	cudaError_t error; /* why it cannot be loaded; set once */
	bool tried;
	GT_VEC(struct managed_variable *) managed;
};

struct registered_kernel {
	struct registered_binary *binary;
	const void *stub;
	char *name;
	CUkernel handle; /* once its binary is loaded */
};

struct registered_variable {
	struct registered_binary *binary;
	char *name;
	size_t size;
};

/* A __managed__ variable: the program reads its address from *pointer. */
struct managed_variable {
	void **pointer;
	char *name;
};

static struct {
	pthread_mutex_t lock;
	struct gt_hash *kernels;   /* stub → struct registered_kernel */
	struct gt_hash *handles;   /* CUkernel → struct registered_kernel */
	struct gt_hash *variables; /* host address → struct registered_variable */
	cudaError_t kernel_error;  /* the last error of __cudaGetKernel */
} program = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool make_maps(void)
{
	if (!program.kernels)
		program.kernels = gt_hash_new();
	if (!program.handles)
		program.handles = gt_hash_new();
	if (!program.variables)
		program.variables = gt_hash_new();
	return program.kernels && program.handles && program.variables;
}

/* ---- registration ---------------------------------------------------------------------- */

SG_API void **__cudaRegisterFatBinary(void *wrapper)
{
	struct registered_binary *binary = calloc(1, sizeof(*binary));

	if (binary)
		binary->wrapper = wrapper;
	return (void **)binary;
}

SG_API void __cudaRegisterFatBinaryEnd(void **handle)
{
}

static void free_kernels(struct registered_binary *binary)
{
	size_t cursor = 0;
	void *value;

	while (program.kernels && gt_hash_next(program.kernels, &cursor, NULL, NULL, &value)) {
		struct registered_kernel *kernel = value;

		if (kernel->binary != binary)
			continue;
		if (kernel->handle)
			gt_hash_remove_u64(program.handles, (uintptr_t)kernel->handle);
		gt_hash_remove_u64(program.kernels, (uintptr_t)kernel->stub);
		free(kernel->name);
		free(kernel);
	}
}

static void free_variables(struct registered_binary *binary)
{
	const void *key;
	size_t cursor = 0;
	void *value;

	while (program.variables && gt_hash_next(program.variables, &cursor, &key, NULL, &value)) {
		struct registered_variable *variable = value;
		uint64_t address;

		if (variable->binary != binary)
			continue;
		memcpy(&address, key, sizeof(address));
		gt_hash_remove_u64(program.variables, address);
		free(variable->name);
		free(variable);
	}
}

/*
 * Called at the end of the process or when a library is unloaded. The driver keeps the code:
 * kernels may still run.
 */
SG_API void __cudaUnregisterFatBinary(void **handle)
{
	struct registered_binary *binary = (struct registered_binary *)handle;

	if (!binary)
		return;
	pthread_mutex_lock(&program.lock);
	free_kernels(binary);
	free_variables(binary);
	gt_vec_each (managed, &binary->managed) {
		free((*managed)->name);
		free(*managed);
	}
	gt_vec_free(&binary->managed);
	free(binary);
	pthread_mutex_unlock(&program.lock);
}

static void add_kernel(struct registered_binary *binary, const void *stub, const char *name)
{
	struct registered_kernel *kernel = calloc(1, sizeof(*kernel));
	struct registered_kernel *before;

	if (!kernel || !make_maps()) {
		free(kernel);
		return;
	}
	kernel->binary = binary;
	kernel->stub = stub;
	kernel->name = strdup(name);
	before = gt_hash_get_u64(program.kernels, (uintptr_t)stub);
	if (before || !kernel->name || gt_hash_set_u64(program.kernels, (uintptr_t)stub, kernel)) {
		free(kernel->name);
		free(kernel);
	}
}

SG_API void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
				   const char *name, int thread_limit, uint3 *thread, uint3 *block,
				   dim3 *block_size, dim3 *grid_size, int *warp_size)
{
	if (!handle || !name)
		return;
	pthread_mutex_lock(&program.lock);
	add_kernel((struct registered_binary *)handle, stub, name);
	pthread_mutex_unlock(&program.lock);
}

static void add_variable(struct registered_binary *binary, const void *host, const char *name,
			 size_t size)
{
	struct registered_variable *variable = calloc(1, sizeof(*variable));

	if (!variable || !make_maps()) {
		free(variable);
		return;
	}
	variable->binary = binary;
	variable->name = strdup(name);
	variable->size = size;
	if (!variable->name || gt_hash_get_u64(program.variables, (uintptr_t)host) ||
	    gt_hash_set_u64(program.variables, (uintptr_t)host, variable)) {
		free(variable->name);
		free(variable);
	}
}

SG_API void __cudaRegisterVar(void **handle, char *host, char *address, const char *name,
			      int is_extern, size_t size, int constant, int global)
{
	if (!handle || !name)
		return;
	pthread_mutex_lock(&program.lock);
	add_variable((struct registered_binary *)handle, host, name, size);
	pthread_mutex_unlock(&program.lock);
}

static void add_managed(struct registered_binary *binary, void **pointer, const char *name)
{
	struct managed_variable *managed = calloc(1, sizeof(*managed));

	if (!managed)
		return;
	managed->pointer = pointer;
	managed->name = strdup(name);
	if (!managed->name || gt_vec_push(&binary->managed, managed)) {
		free(managed->name);
		free(managed);
	}
}

SG_API void __cudaRegisterManagedVar(void **handle, void **pointer, char *address, const char *name,
				     int is_extern, size_t size, int constant, int global)
{
	if (!handle || !name)
		return;
	pthread_mutex_lock(&program.lock);
	add_managed((struct registered_binary *)handle, pointer, name);
	add_variable((struct registered_binary *)handle, pointer, name, size);
	pthread_mutex_unlock(&program.lock);
}

SG_API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	/* Device code that reads host variables by name needs hardware that shares pages. */
}

SG_API void __cudaRegisterUnifiedTable(void **handle, void *table);
SG_API void __cudaRegisterUnifiedTable(void **handle, void *table)
{
	/* Unified function pointers: the same. */
}

/* ---- loading --------------------------------------------------------------------------- */

static cudaError_t set_managed_pointers(struct registered_binary *binary)
{
	gt_vec_each (managed, &binary->managed) {
		CUdeviceptr address;
		size_t size;
		CUresult result = sg_driver.cuLibraryGetManaged(&address, &size, binary->library,
								(*managed)->name);

		if (result)
			return sg_error(result);
		*(*managed)->pointer = (void *)(uintptr_t)address;
		/* The program passes this address as the symbol. */
		add_variable(binary, (void *)(uintptr_t)address, (*managed)->name, size);
	}
	return cudaSuccess;
}

static cudaError_t load_binary_locked(struct registered_binary *binary)
{
	if (binary->tried)
		return binary->error;
	binary->tried = true;
	binary->error = sg_error(sg_driver.cuLibraryLoadData(&binary->library, binary->wrapper,
							     NULL, NULL, 0, NULL, NULL, 0));
	if (!binary->error)
		binary->error = set_managed_pointers(binary);
	return binary->error;
}

SG_API char __cudaInitModule(void **handle)
{
	cudaError_t error = sg_enter();

	if (!error && handle) {
		pthread_mutex_lock(&program.lock);
		error = load_binary_locked((struct registered_binary *)handle);
		pthread_mutex_unlock(&program.lock);
	}
	sg_finish(error);
	return error == cudaSuccess;
}

static cudaError_t load_kernel_locked(struct registered_kernel *kernel)
{
	cudaError_t error = load_binary_locked(kernel->binary);

	if (error || kernel->handle)
		return error;
	error = sg_error(sg_driver.cuLibraryGetKernel(&kernel->handle, kernel->binary->library,
						      kernel->name));
	if (!error)
		gt_hash_set_u64(program.handles, (uintptr_t)kernel->handle, kernel);
	return error == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : error;
}

static cudaError_t find_kernel_locked(const void *stub, CUfunction *ret_function)
{
	struct registered_kernel *kernel = NULL;
	const char *name;
	cudaError_t error;

	if (program.kernels)
		kernel = gt_hash_get_u64(program.kernels, (uintptr_t)stub);
	if (kernel) {
		error = load_kernel_locked(kernel);
		if (!error)
			*ret_function = (CUfunction)kernel->handle;
		return error;
	}
	/* __cudaGetKernel failed and returned no handle: the launch returns its error. */
	if (!stub && program.kernel_error)
		return program.kernel_error;
	if (!stub || sg_driver.cuKernelGetName(&name, (CUkernel)(uintptr_t)stub)) {
		if (!stub || sg_driver.cuFuncGetName(&name, (CUfunction)(uintptr_t)stub))
			return cudaErrorInvalidDeviceFunction;
	}
	*ret_function = (CUfunction)(uintptr_t)stub;
	return cudaSuccess;
}

cudaError_t sg_find_kernel(const void *stub, CUfunction *ret_function)
{
	cudaError_t error;

	pthread_mutex_lock(&program.lock);
	if (program.handles && gt_hash_get_u64(program.handles, (uintptr_t)stub)) {
		*ret_function = (CUfunction)(uintptr_t)stub;
		error = cudaSuccess;
	} else {
		error = find_kernel_locked(stub, ret_function);
	}
	pthread_mutex_unlock(&program.lock);
	return error;
}

void *sg_find_stub(CUfunction function)
{
	struct registered_kernel *kernel = NULL;

	pthread_mutex_lock(&program.lock);
	if (program.handles)
		kernel = gt_hash_get_u64(program.handles, (uintptr_t)function);
	pthread_mutex_unlock(&program.lock);
	return kernel ? (void *)(uintptr_t)kernel->stub : (void *)function;
}

cudaError_t sg_find_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *size)
{
	struct registered_variable *variable = NULL;
	cudaError_t error = cudaErrorInvalidSymbol;

	pthread_mutex_lock(&program.lock);
	if (program.variables)
		variable = gt_hash_get_u64(program.variables, (uintptr_t)symbol);
	if (variable)
		error = load_binary_locked(variable->binary);
	if (variable && !error)
		error = sg_error(sg_driver.cuLibraryGetGlobal(
			ret_address, size, variable->binary->library, variable->name));
	pthread_mutex_unlock(&program.lock);
	return error == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : error;
}

/* ---- kernels by their stubs ------------------------------------------------------------ */

SG_API cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *stub)
{
	cudaError_t error = sg_enter();
	CUfunction function;

	if (!error)
		error = sg_find_kernel(stub, &function);
	if (!error)
		*handle = (cudaKernel_t)function;
	else
		program.kernel_error = error;
	return sg_finish(error);
}

SG_API cudaError_t cudaGetKernel(cudaKernel_t *handle, const void *stub)
{
	cudaError_t error = sg_enter();
	CUfunction function;

	if (!error && (!handle || !stub))
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_find_kernel(stub, &function);
	if (!error)
		*handle = (cudaKernel_t)function;
	return sg_finish(error);
}

SG_API cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol)
{
	cudaError_t error = sg_enter();
	CUdeviceptr address;

	if (!error && !pointer)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_find_symbol(symbol, &address, NULL);
	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return sg_finish(error);
}

SG_API cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	cudaError_t error = sg_enter();
	CUdeviceptr address;

	if (!error && !size)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_find_symbol(symbol, &address, size);
	return sg_finish(error);
}
