/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The CUDA runtime library. It uses only the public driver API, which it finds as NVIDIA's does:
 * libcuda.so.1 by dlopen, its functions by cuGetProcAddress. NVIDIA documents the functions;
 * comments are only where something is unexpected.
 */
#pragma once

#include <stdbool.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "base/vec.h"

/* The static library's functions become local to the program that it is linked into. */
#ifdef SG_STATIC
#define SG_API __attribute__((visibility("hidden")))
#else
#define SG_API __attribute__((visibility("default")))
#endif

/* The driver's functions, once sg_start has found them. */
struct sg_driver {
#define SG_DRIVER(name) __typeof__(name) *name;
#include "runtime/driver.def"
#undef SG_DRIVER
	CUresult (*get_proc_address)(const char *name, void **address, int version,
				     cuuint64_t flags, CUdriverProcAddressQueryResult *status);
};

extern struct sg_driver sg_driver;

/* A launch's shape between __cudaPushCallConfiguration and __cudaPopCallConfiguration. */
struct sg_configuration {
	dim3 grid;
	dim3 block;
	size_t shared;
	void *stream;
};

struct sg_runtime_thread {
	cudaError_t last_error;
	int device;              /* set by cudaSetDevice */
	unsigned int generation; /* of contexts (sg_enter); 0: none is current yet */
	GT_VEC(struct sg_configuration) configurations;
};

struct sg_runtime_thread *sg_self(void);

/* Find and initialise the driver. cudaErrorInsufficientDriver: there is none. */
cudaError_t sg_start(void);
/* The same, then make the primary context of the thread's device current. */
cudaError_t sg_enter(void);
/* Note that the contexts were destroyed: every thread uses the new ones from its next call on. */
void sg_contexts_changed(void);
/* End a call: remember an error for cudaGetLastError, and return it. */
cudaError_t sg_finish(cudaError_t error);

/* Convert an error of the driver to one of the runtime. */
cudaError_t sg_error(CUresult result);

/* Run a call that is one function of the driver. */
#define SG_CALL(function, ...)                                                                     \
	({                                                                                         \
		cudaError_t sg_result = sg_enter();                                                \
		if (!sg_result)                                                                    \
			sg_result = sg_error(sg_driver.function(__VA_ARGS__));                     \
		sg_finish(sg_result);                                                              \
	})

/* Define a function of the API that is one function of the driver. */
#define SG_PASS(name, parameters, function, arguments)                                             \
	SG_API cudaError_t name parameters                                                         \
	{                                                                                          \
		return SG_CALL(function, SG_LIST arguments);                                       \
	}
#define SG_LIST(...) __VA_ARGS__

/*
 * Define a function that takes a stream, and its per-thread-stream variant, for which stream 0 is
 * the calling thread's own. In `call`, ZERO(stream) is the stream to pass on.
 */
#define SG_STREAM_VARIANTS(name, per_thread, parameters, call)                                     \
	SG_API cudaError_t name parameters                                                         \
	{                                                                                          \
		cudaStream_t zero = NULL;                                                          \
		return call;                                                                       \
	}                                                                                          \
	SG_API cudaError_t per_thread parameters;                                                  \
	SG_API cudaError_t per_thread parameters                                                   \
	{                                                                                          \
		cudaStream_t zero = cudaStreamPerThread;                                           \
		return call;                                                                       \
	}
#define ZERO(stream) ((CUstream)((stream) ? (stream) : zero))

/*
 * Find a kernel by the address of its stub or by its handle. cudaErrorInvalidDeviceFunction, or the
 * reason why its code cannot be loaded.
 */
cudaError_t sg_find_kernel(const void *stub, CUfunction *ret_function);
/* Return the stub of a kernel, or the handle itself if it has none. */
void *sg_find_stub(CUfunction function);
/* Find a variable of the device by the address of its counterpart on the host; size may be NULL. */
cudaError_t sg_find_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *size);
/* Call sg_enter, then return the address of `size` bytes of such a variable from `offset` on. */
cudaError_t sg_find_piece(const void *symbol, size_t offset, size_t size, void **ret_address);
/* Check the limits of a launch: cudaSuccess or cudaErrorInvalidConfiguration. */
cudaError_t sg_check_shape(dim3 grid, dim3 block);

/* Copies, by calls of the driver. */
cudaError_t sg_copy(void *target, const void *source, size_t size, enum cudaMemcpyKind kind);
cudaError_t sg_copy_async(void *target, const void *source, size_t size, enum cudaMemcpyKind kind,
			  CUstream stream);
/* cudaErrorInvalidMemcpyDirection, cudaErrorInvalidPitchValue … */
cudaError_t sg_convert_copy(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *ret_copy);
void sg_restore_copy(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *ret_parameters);
/* Convert the channels of elements; 0: a format that this device does not support. */
CUarray_format sg_convert_format(const struct cudaChannelFormatDesc *channels,
				 unsigned int *ret_channels);
struct cudaChannelFormatDesc sg_restore_format(CUarray_format format, unsigned int channels);
/* Return the bytes of an array's element; 0: not an array. */
size_t sg_element_size(cudaArray_const_t array);
/* Return the bytes of an array's row; 0: not an array. */
size_t sg_row_size(cudaArray_const_t array);
