/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The CUDA runtime library, on nothing but the public driver API, which it finds as NVIDIA's
 * does: libcuda.so.1 by dlopen, its functions by cuGetProcAddress. The functions are documented
 * by NVIDIA; a comment stands only where something is not as a reader would expect.
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
	int device;              /* what cudaSetDevice chose */
	unsigned int generation; /* of contexts (sg_enter); 0: none is current yet */
	GT_VEC(struct sg_configuration) configurations;
};

struct sg_runtime_thread *sg_self(void);

/* Finds and initialises the driver. cudaErrorInsufficientDriver: there is none. */
cudaError_t sg_start(void);
/* The same, then makes the primary context of the thread's device current. */
cudaError_t sg_enter(void);
/* The contexts are gone: every thread finds the new ones when it next calls. */
void sg_contexts_changed(void);
/* How every call ends: remembers an error for cudaGetLastError, and returns it. */
cudaError_t sg_finish(cudaError_t error);

/* An error of the driver as one of the runtime. */
cudaError_t sg_error(CUresult result);

/* A whole call that a function of the driver answers. */
#define SG_CALL(function, ...)                                                                     \
	({                                                                                         \
		cudaError_t sg_result = sg_enter();                                                \
		if (!sg_result)                                                                    \
			sg_result = sg_error(sg_driver.function(__VA_ARGS__));                     \
		sg_finish(sg_result);                                                              \
	})

/* A function of the API that a function of the driver answers: its whole definition. */
#define SG_PASS(name, parameters, function, arguments)                                             \
	SG_API cudaError_t name parameters                                                         \
	{                                                                                          \
		return SG_CALL(function, SG_LIST arguments);                                       \
	}
#define SG_LIST(...) __VA_ARGS__

/*
 * A function that takes a stream, and its per-thread-stream variant, for which stream 0 is the
 * calling thread's own. In `call`, ZERO(stream) is the stream to pass on.
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
 * The kernel that a program means by the address of a stub or by a kernel's handle.
 * cudaErrorInvalidDeviceFunction; or why its code cannot be loaded.
 */
cudaError_t sg_find_kernel(const void *stub, CUfunction *ret_function);
/* The stub of a kernel, or what was passed if it has none. */
void *sg_find_stub(CUfunction function);
/* A variable of the device by the address of its counterpart on the host; size may be NULL. */
cudaError_t sg_find_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *size);
/* sg_enter, and where `size` bytes of such a variable from `offset` on lie (copies.c). */
cudaError_t sg_find_piece(const void *symbol, size_t offset, size_t size, void **ret_place);
/* Whether a launch of that shape is possible at all; else cudaErrorInvalidConfiguration. */
cudaError_t sg_check_shape(dim3 grid, dim3 block);

/* Copies, as the driver wants them. */
cudaError_t sg_copy(void *target, const void *source, size_t size, enum cudaMemcpyKind kind);
cudaError_t sg_copy_async(void *target, const void *source, size_t size, enum cudaMemcpyKind kind,
			  CUstream stream);
/* cudaErrorInvalidMemcpyDirection, cudaErrorInvalidPitchValue … */
cudaError_t sg_convert_copy(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *ret_copy);
void sg_restore_copy(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *ret_parameters);
/* Bytes of an array's element; 0: no array. */
size_t sg_element_size(cudaArray_const_t array);
