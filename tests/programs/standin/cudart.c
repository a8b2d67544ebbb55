/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stand-in for libcudart.so.13 whose functions do nothing: for tests that count calls, and for
 * tests of calls that do not return normally. On request, cudaMalloc and cudaLaunchKernel call
 * back. Every function begins with `push %rbp`, as in NVIDIA's library, and __cudaLaunchKernel
 * jumps to cudaLaunchKernel, as it does there: both are what a tracer must cope with.
 */
#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void standin_call_back(void (*callback)(void *data), void *data);

static struct {
	void (*callback)(void *data);
	void *data;
} wanted;

/* Let cudaMalloc and cudaLaunchKernel call this; NULL ends it. */
void standin_call_back(void (*callback)(void *data), void *data)
{
	wanted.callback = callback;
	wanted.data = data;
}

static void call_back(void)
{
	if (wanted.callback)
		wanted.callback(wanted.data);
}

EXPORT cudaError_t cudaGetDevice(int *device)
{
	*device = 0;
	return cudaSuccess;
}

EXPORT cudaError_t cudaSetDevice(int device)
{
	return device ? cudaErrorInvalidDevice : cudaSuccess;
}

EXPORT cudaError_t cudaMalloc(void **pointer, size_t size)
{
	static size_t next = 0x7f0000000000;

	call_back();
	*pointer = (void *)__atomic_fetch_add(&next, (size + 511) & ~(size_t)511, __ATOMIC_RELAXED);
	return cudaSuccess;
}

EXPORT cudaError_t cudaFree(void *pointer)
{
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemcpy(void *target, const void *source, size_t count,
			      enum cudaMemcpyKind kind)
{
	return cudaSuccess;
}

EXPORT cudaError_t cudaDeviceSynchronize(void)
{
	return cudaSuccess;
}

EXPORT cudaError_t cudaGetLastError(void)
{
	return cudaSuccess;
}

EXPORT cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
				    size_t shared, cudaStream_t stream)
{
	call_back();
	return cudaSuccess;
}

EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *stub)
{
	*handle = (cudaKernel_t)(size_t)stub;
	return cudaSuccess;
}

/* In assembly, since a compiler may emit a call or omit the frame. */
#if defined(__x86_64__)
#define THUNK                                                                                      \
	"	pushq	%rbp\n"                                                                            \
	"	movq	%rsp, %rbp\n"                                                                       \
	"	popq	%rbp\n"                                                                             \
	"	jmp	cudaLaunchKernel\n"
#elif defined(__aarch64__)
#define THUNK "	b	cudaLaunchKernel\n"
#endif
__asm__(".text\n"
	"	.globl	__cudaLaunchKernel\n"
	"	.type	__cudaLaunchKernel, @function\n"
	"__cudaLaunchKernel:\n" THUNK "	.size	__cudaLaunchKernel, .-__cudaLaunchKernel\n");
