/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Three functions of cuDNN, as its header declares them; the result is all zeros. */
#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

enum { STATUS_SUCCESS = 0, STATUS_BAD_PARAM = 2000, STATUS_EXECUTION_FAILED = 5000 };

EXPORT int cudnnCreate(void **handle);
EXPORT int cudnnDestroy(void *handle);
EXPORT int cudnnConvolutionForward(void *handle, const void *alpha, void *xDesc, const void *x,
				   void *wDesc, const void *w, void *convDesc, int algo,
				   void *workSpace, size_t workSpaceSizeInBytes, const void *beta,
				   void *yDesc, void *y);

static int library;

int cudnnCreate(void **handle)
{
	*handle = &library;
	return STATUS_SUCCESS;
}

int cudnnDestroy(void *handle)
{
	return handle == &library ? STATUS_SUCCESS : STATUS_BAD_PARAM;
}

int cudnnConvolutionForward(void *handle, const void *alpha, void *xDesc, const void *x,
			    void *wDesc, const void *w, void *convDesc, int algo, void *workSpace,
			    size_t workSpaceSizeInBytes, const void *beta, void *yDesc, void *y)
{
	(void)alpha, (void)xDesc, (void)x, (void)wDesc, (void)w, (void)convDesc, (void)algo;
	(void)workSpace, (void)beta, (void)yDesc;
	if (handle != &library)
		return STATUS_BAD_PARAM;
	return cudaMemset(y, 0, workSpaceSizeInBytes) ? STATUS_EXECUTION_FAILED : STATUS_SUCCESS;
}
