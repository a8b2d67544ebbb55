/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libcuda.so.1 of a driver whose JIT compiler rejects the modules that gputap patched, which are
 * fatbins. All else is that of the driver, the file `driver` in this library's directory.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FATBIN_MAGIC 0xba55ed50U

typedef void *dlsym_function(void *handle, const char *name);

/* Of the driver; the C library's dlsym, since the agent's returns the agent's function. */
static void *find_next(const char *name)
{
	dlsym_function *find = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

	if (!find)
		find = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return find ? find(RTLD_NEXT, name) : NULL;
}

/* The program's own modules are text. */
static bool is_patched(const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	return magic == FATBIN_MAGIC;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
			    CUjit_option *options, void **values)
{
	__typeof__(cuModuleLoadDataEx) *load = find_next(__func__);

	if (is_patched(image))
		return CUDA_ERROR_INVALID_PTX;
	return load ? load(module, image, count, options, values) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options,
			   void **values, unsigned count, CUlibraryOption *library_options,
			   void **library_values, unsigned library_count)
{
	__typeof__(cuLibraryLoadData) *load = find_next(__func__);

	if (is_patched(image))
		return CUDA_ERROR_INVALID_PTX;
	return load ? load(library, image, options, values, count, library_options, library_values,
			   library_count)
		    : CUDA_ERROR_NOT_FOUND;
}
