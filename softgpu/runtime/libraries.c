/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Libraries of kernels, and the driver's functions by name. */
#include "runtime/runtime.h"

enum { DRIVER_API = 13000 };

SG_PASS(cudaLibraryLoadData,
	(cudaLibrary_t * library, const void *image, enum cudaJitOption *jit_options,
	 void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options, void **values,
	 unsigned int count),
	cuLibraryLoadData,
	(library, image, (CUjit_option *)jit_options, jit_values, jit_count,
	 (CUlibraryOption *)options, values, count))
SG_PASS(cudaLibraryLoadFromFile,
	(cudaLibrary_t * library, const char *path, enum cudaJitOption *jit_options,
	 void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options, void **values,
	 unsigned int count),
	cuLibraryLoadFromFile,
	(library, path, (CUjit_option *)jit_options, jit_values, jit_count,
	 (CUlibraryOption *)options, values, count))
SG_PASS(cudaLibraryUnload, (cudaLibrary_t library), cuLibraryUnload, (library))
SG_PASS(cudaLibraryGetKernel, (cudaKernel_t * kernel, cudaLibrary_t library, const char *name),
	cuLibraryGetKernel, (kernel, library, name))
SG_PASS(cudaLibraryGetKernelCount, (unsigned int *count, cudaLibrary_t library),
	cuLibraryGetKernelCount, (count, library))
SG_PASS(cudaLibraryEnumerateKernels,
	(cudaKernel_t * kernels, unsigned int count, cudaLibrary_t library),
	cuLibraryEnumerateKernels, (kernels, count, library))
SG_PASS(cudaLibraryGetGlobal,
	(void **pointer, size_t *size, cudaLibrary_t library, const char *name), cuLibraryGetGlobal,
	((CUdeviceptr *)pointer, size, library, name))
SG_PASS(cudaLibraryGetManaged,
	(void **pointer, size_t *size, cudaLibrary_t library, const char *name),
	cuLibraryGetManaged, ((CUdeviceptr *)pointer, size, library, name))

/* ---- the driver's functions ------------------------------------------------------------ */

static cudaError_t entry_point(const char *name, void **address, unsigned int version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status, bool per_thread)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t error = sg_start();
	CUresult result;

	if (error)
		return sg_finish(error);
	if (!flags && per_thread)
		flags = cudaEnablePerThreadDefaultStream;
	result = sg_driver.get_proc_address(name, address, (int)version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	/* An unknown name is reported in the status and is not an error. */
	if (result == CUDA_ERROR_NOT_FOUND)
		result = CUDA_SUCCESS;
	return sg_finish(sg_error(result));
}

#define ENTRY_POINT_PARAMETERS                                                                     \
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *status

SG_STREAM_VARIANTS(cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz,
		   (const char *name, void **address, ENTRY_POINT_PARAMETERS),
		   entry_point(name, address, DRIVER_API, flags, status, zero))
SG_STREAM_VARIANTS(cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz,
		   (const char *name, void **address, unsigned int version, ENTRY_POINT_PARAMETERS),
		   entry_point(name, address, version, flags, status, zero))

SG_API cudaError_t cudaGetExportTable(const void **table, const cudaUUID_t *id);
SG_API cudaError_t cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
	/* There are no functions outside of the public API. */
	return sg_finish(cudaErrorSymbolNotFound);
}
