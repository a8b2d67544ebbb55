/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A libcuda.so.1 in front of the software GPU's, for what that one has not. FRONT_LINKS=FILE:
 * append a line with the options of each link and of each of its inputs. FRONT_SECOND=75: the
 * compute capability of the second device. FRONT_REJECT=TEXT: libraries with this text cannot be
 * used on the second device (209). FRONT_FAIL=FUNCTION: it fails, one of those named here.
 *
 * tests/cli/helper.bash builds it (driver_in_front), with BEHIND, the path of the other one.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(name) *)find_real(#name))

enum { LIBRARIES = 64 };

static CUlibrary rejected[LIBRARIES];
static int rejected_count;

static void *find_real(const char *name)
{
	void *behind = dlopen(BEHIND, RTLD_NOW);

	return behind ? dlsym(behind, name) : NULL;
}

/* ---- links ------------------------------------------------------------------------------ */

/* "create 0=32 7=1" */
static void log_options(const char *what, unsigned count, const CUjit_option *options,
			void *const *values)
{
	const char *path = getenv("FRONT_LINKS");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fputs(what, file);
	for (unsigned i = 0; i < count; i++)
		fprintf(file, " %d=%u", (int)options[i], (unsigned)(size_t)values[i]);
	fputc('\n', file);
	fclose(file);
}

EXPORT CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values,
				CUlinkState *state)
{
	log_options("create", count, options, values);
	return REAL(cuLinkCreate_v2)(count, options, values, state);
}

EXPORT CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
				 const char *name, unsigned count, CUjit_option *options,
				 void **values)
{
	log_options("add", count, options, values);
	return REAL(cuLinkAddData_v2)(state, type, data, size, name, count, options, values);
}

/* ---- failures --------------------------------------------------------------------------- */

static int fails(const char *function)
{
	const char *name = getenv("FRONT_FAIL");

	return name && !strcmp(name, function);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	return fails("cuMemcpyHtoDAsync_v2") ? CUDA_ERROR_LAUNCH_FAILED
					     : REAL(cuMemcpyHtoDAsync_v2)(to, from, size, stream);
}

/* ---- the second device ------------------------------------------------------------------ */

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	const char *second = getenv("FRONT_SECOND");

	if (second && device == 1 && attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = atoi(second) / 10;
	else if (second && device == 1 && attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = atoi(second) % 10;
	else
		return REAL(cuDeviceGetAttribute)(value, attribute, device);
	return CUDA_SUCCESS;
}

static int is_rejected_on(CUlibrary library, CUdevice device)
{
	for (int i = 0; i < rejected_count && device == 1; i++)
		if (rejected[i] == library)
			return 1;
	return 0;
}

/* On the current device. */
static int is_rejected(CUlibrary library)
{
	CUdevice device = 0;

	return !REAL(cuCtxGetDevice)(&device) && is_rejected_on(library, device);
}

EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
				  void **jit_values, unsigned jit_count, CUlibraryOption *options,
				  void **values, unsigned count)
{
	const char *text = getenv("FRONT_REJECT");
	CUresult result = REAL(cuLibraryLoadData)(library, code, jit_options, jit_values, jit_count,
						  options, values, count);
	unsigned long long size;

	/* A fatbin: what follows its header has this size. */
	memcpy(&size, (const char *)code + 8, sizeof(size));
	if (!result && text && !memcmp(code, "\x50\xed\x55\xba", 4) &&
	    memmem((const char *)code + 16, size, text, strlen(text)) && rejected_count < LIBRARIES)
		rejected[rejected_count++] = *library;
	return result;
}

EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	if (is_rejected(library))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return REAL(cuLibraryGetKernel)(kernel, library, name);
}

EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	if (is_rejected(library))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return REAL(cuLibraryGetModule)(module, library);
}

EXPORT CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	CUlibrary library;

	if (!REAL(cuKernelGetLibrary)(&library, kernel) && is_rejected(library))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return REAL(cuKernelGetFunction)(function, kernel);
}

EXPORT CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
				     CUdevice device)
{
	CUlibrary library;

	if (!REAL(cuKernelGetLibrary)(&library, kernel) && is_rejected_on(library, device))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return REAL(cuKernelGetAttribute)(value, attribute, kernel, device);
}

EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
				     CUdevice device)
{
	CUlibrary library;

	if (!REAL(cuKernelGetLibrary)(&library, kernel) && is_rejected_on(library, device))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return REAL(cuKernelSetAttribute)(attribute, value, kernel, device);
}
