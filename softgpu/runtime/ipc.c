/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Interprocess communication: memory, events, pools. */
#include <string.h>

#include "runtime/runtime.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) &&
		       sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle) &&
		       sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
	       "handles are the same bytes");

SG_PASS(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *pointer), cuIpcGetMemHandle,
	((CUipcMemHandle *)handle, (uintptr_t)pointer))

SG_API cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle,
					unsigned int flags)
{
	CUipcMemHandle same;

	memcpy(&same, &handle, sizeof(same));
	return SG_CALL(cuIpcOpenMemHandle, (CUdeviceptr *)pointer, same, flags);
}

SG_PASS(cudaIpcCloseMemHandle, (void *pointer), cuIpcCloseMemHandle, ((uintptr_t)pointer))

SG_PASS(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
	cuIpcGetEventHandle, ((CUipcEventHandle *)handle, event))

SG_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle same;

	memcpy(&same, &handle, sizeof(same));
	return SG_CALL(cuIpcOpenEventHandle, event, same);
}

SG_PASS(cudaMemPoolExportToShareableHandle,
	(void *shareable, cudaMemPool_t pool, enum cudaMemAllocationHandleType type,
	 unsigned int flags),
	cuMemPoolExportToShareableHandle, (shareable, pool, (CUmemAllocationHandleType)type, flags))
SG_PASS(cudaMemPoolImportFromShareableHandle,
	(cudaMemPool_t * pool, void *shareable, enum cudaMemAllocationHandleType type,
	 unsigned int flags),
	cuMemPoolImportFromShareableHandle,
	(pool, shareable, (CUmemAllocationHandleType)type, flags))
SG_PASS(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * data, void *pointer),
	cuMemPoolExportPointer, ((CUmemPoolPtrExportData *)data, (uintptr_t)pointer))
SG_PASS(cudaMemPoolImportPointer,
	(void **pointer, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data),
	cuMemPoolImportPointer, ((CUdeviceptr *)pointer, pool, (CUmemPoolPtrExportData *)data))
