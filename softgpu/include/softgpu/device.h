/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What kernels call, beyond what clang's own headers bring: printf, assert, malloc,
 * atomics under CUDA's names, min and max.
 */
#pragma once

#ifdef __CUDA__

#include <cstddef>

/* The device's own functions, found by name when a module is loaded; clang makes vprintf calls
 * of printf calls. */
extern "C" {
__device__ int vprintf(const char *format, const char *arguments);
__device__ int printf(const char *format, ...);
__device__ void *malloc(size_t size) __attribute__((nothrow, malloc));
__device__ void free(void *pointer) __attribute__((nothrow));
__device__ void __assertfail(const char *message, const char *file, unsigned int line,
			     const char *function, size_t char_size);

/* Sets the value of a conditional node (cudaGraphConditionalHandleCreate). */
__device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);

/* What glibc's assert() calls. */
static __inline__ __device__ void __assert_fail(const char *message, const char *file,
						unsigned int line, const char *function)
{
	__assertfail(message, file, line, function, sizeof(char));
}
}

namespace std
{
using ::free;
using ::malloc;
} // namespace std

/* Atomics: on the device, within the block (_block), with the host and other devices (_system) */
#define SOFTGPU_ATOMIC(name, type, builtin)                                                        \
	static __inline__ __device__ type name(type *address, type value)                          \
	{                                                                                          \
		return builtin(address, value);                                                    \
	}                                                                                          \
	static __inline__ __device__ type name##_block(type *address, type value)                  \
	{                                                                                          \
		return builtin##_block(address, value);                                            \
	}                                                                                          \
	static __inline__ __device__ type name##_system(type *address, type value)                 \
	{                                                                                          \
		return builtin##_system(address, value);                                           \
	}
#define SOFTGPU_ATOMIC_CAS(type, builtin)                                                          \
	static __inline__ __device__ type atomicCAS(type *address, type compare, type value)       \
	{                                                                                          \
		return builtin(address, compare, value);                                           \
	}                                                                                          \
	static __inline__ __device__ type atomicCAS_block(type *address, type compare, type value) \
	{                                                                                          \
		return builtin##_block(address, compare, value);                                   \
	}                                                                                          \
	static __inline__ __device__ type atomicCAS_system(type *address, type compare,            \
							   type value)                             \
	{                                                                                          \
		return builtin##_system(address, compare, value);                                  \
	}

SOFTGPU_ATOMIC(atomicAdd, int, __iAtomicAdd)
SOFTGPU_ATOMIC(atomicAdd, unsigned int, __uAtomicAdd)
SOFTGPU_ATOMIC(atomicAdd, unsigned long long, __ullAtomicAdd)
SOFTGPU_ATOMIC(atomicAdd, float, __fAtomicAdd)
SOFTGPU_ATOMIC(atomicAdd, double, __dAtomicAdd)
SOFTGPU_ATOMIC(atomicMin, int, __iAtomicMin)
SOFTGPU_ATOMIC(atomicMin, unsigned int, __uAtomicMin)
SOFTGPU_ATOMIC(atomicMin, long long, __illAtomicMin)
SOFTGPU_ATOMIC(atomicMin, unsigned long long, __ullAtomicMin)
SOFTGPU_ATOMIC(atomicMax, int, __iAtomicMax)
SOFTGPU_ATOMIC(atomicMax, unsigned int, __uAtomicMax)
SOFTGPU_ATOMIC(atomicMax, long long, __illAtomicMax)
SOFTGPU_ATOMIC(atomicMax, unsigned long long, __ullAtomicMax)
SOFTGPU_ATOMIC(atomicAnd, int, __iAtomicAnd)
SOFTGPU_ATOMIC(atomicAnd, unsigned int, __uAtomicAnd)
SOFTGPU_ATOMIC(atomicAnd, unsigned long long, __ullAtomicAnd)
SOFTGPU_ATOMIC(atomicOr, int, __iAtomicOr)
SOFTGPU_ATOMIC(atomicOr, unsigned int, __uAtomicOr)
SOFTGPU_ATOMIC(atomicOr, unsigned long long, __ullAtomicOr)
SOFTGPU_ATOMIC(atomicXor, int, __iAtomicXor)
SOFTGPU_ATOMIC(atomicXor, unsigned int, __uAtomicXor)
SOFTGPU_ATOMIC(atomicXor, unsigned long long, __ullAtomicXor)
SOFTGPU_ATOMIC(atomicExch, int, __iAtomicExch)
SOFTGPU_ATOMIC(atomicExch, unsigned int, __uAtomicExch)
SOFTGPU_ATOMIC(atomicExch, unsigned long long, __ullAtomicExch)
SOFTGPU_ATOMIC(atomicExch, float, __fAtomicExch)
SOFTGPU_ATOMIC(atomicInc, unsigned int, __uAtomicInc)
SOFTGPU_ATOMIC(atomicDec, unsigned int, __uAtomicDec)
SOFTGPU_ATOMIC_CAS(int, __iAtomicCAS)
SOFTGPU_ATOMIC_CAS(unsigned int, __uAtomicCAS)
SOFTGPU_ATOMIC_CAS(unsigned long long, __ullAtomicCAS)
#undef SOFTGPU_ATOMIC
#undef SOFTGPU_ATOMIC_CAS

#define SOFTGPU_ATOMIC_SUB(suffix)                                                                 \
	static __inline__ __device__ int atomicSub##suffix(int *address, int value)                \
	{                                                                                          \
		return atomicAdd##suffix(address, -value);                                         \
	}                                                                                          \
	static __inline__ __device__ unsigned int atomicSub##suffix(unsigned int *address,         \
								    unsigned int value)            \
	{                                                                                          \
		return atomicAdd##suffix(address, 0u - value);                                     \
	}
SOFTGPU_ATOMIC_SUB()
SOFTGPU_ATOMIC_SUB(_block)
SOFTGPU_ATOMIC_SUB(_system)
#undef SOFTGPU_ATOMIC_SUB

/* min and max of mixed signedness are unsigned, as in CUDA; clang's headers have those of int. */
#define SOFTGPU_MIN_MAX(type, a_type, b_type)                                                      \
	static __inline__ __device__ type min(a_type a, b_type b)                                  \
	{                                                                                          \
		return (type)a < (type)b ? (type)a : (type)b;                                      \
	}                                                                                          \
	static __inline__ __device__ type max(a_type a, b_type b)                                  \
	{                                                                                          \
		return (type)a > (type)b ? (type)a : (type)b;                                      \
	}
#define SOFTGPU_MIN_MAX_INTEGER(word)                                                              \
	SOFTGPU_MIN_MAX(unsigned word, unsigned word, unsigned word)                               \
	SOFTGPU_MIN_MAX(unsigned word, word, unsigned word)                                        \
	SOFTGPU_MIN_MAX(unsigned word, unsigned word, word)
SOFTGPU_MIN_MAX_INTEGER(int)
SOFTGPU_MIN_MAX_INTEGER(long)
SOFTGPU_MIN_MAX_INTEGER(long long)
SOFTGPU_MIN_MAX(long, long, long)
SOFTGPU_MIN_MAX(long long, long long, long long)
#undef SOFTGPU_MIN_MAX
#undef SOFTGPU_MIN_MAX_INTEGER

#define SOFTGPU_MIN_MAX_FLOAT(type, a_type, b_type, function)                                      \
	static __inline__ __device__ type min(a_type a, b_type b)                                  \
	{                                                                                          \
		return __nv_fmin##function(a, b);                                                  \
	}                                                                                          \
	static __inline__ __device__ type max(a_type a, b_type b)                                  \
	{                                                                                          \
		return __nv_fmax##function(a, b);                                                  \
	}
SOFTGPU_MIN_MAX_FLOAT(float, float, float, f)
SOFTGPU_MIN_MAX_FLOAT(double, double, double, )
SOFTGPU_MIN_MAX_FLOAT(double, float, double, )
SOFTGPU_MIN_MAX_FLOAT(double, double, float, )
#undef SOFTGPU_MIN_MAX_FLOAT

/* Sums of four products of bytes. */
static __inline__ __device__ int __dp4a(int a, int b, int c)
{
	int sum;

	asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
	return sum;
}

static __inline__ __device__ unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int sum;

	asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
	return sum;
}

/* Of all lanes that are named in the mask. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define SOFTGPU_REDUCE(name, type, operation)                                                      \
	static __inline__ __device__ type __reduce_##name##_sync(unsigned int mask, type value)    \
	{                                                                                          \
		type result;                                                                       \
                                                                                                   \
		asm volatile("redux.sync." operation " %0, %1, %2;"                                \
			     : "=r"(result)                                                        \
			     : "r"(value), "r"(mask));                                             \
		return result;                                                                     \
	}
SOFTGPU_REDUCE(add, int, "add.s32")
SOFTGPU_REDUCE(add, unsigned int, "add.u32")
SOFTGPU_REDUCE(min, int, "min.s32")
SOFTGPU_REDUCE(min, unsigned int, "min.u32")
SOFTGPU_REDUCE(max, int, "max.s32")
SOFTGPU_REDUCE(max, unsigned int, "max.u32")
SOFTGPU_REDUCE(and, unsigned int, "and.b32")
SOFTGPU_REDUCE(or, unsigned int, "or.b32")
SOFTGPU_REDUCE(xor, unsigned int, "xor.b32")
#undef SOFTGPU_REDUCE
#endif

/* threadIdx and the other indices as whole values. */
#define SOFTGPU_INDEX(name)                                                                        \
	__device__ inline __cuda_builtin_##name##_t::operator dim3() const                         \
	{                                                                                          \
		return dim3(x, y, z);                                                              \
	}                                                                                          \
	__device__ inline __cuda_builtin_##name##_t::operator uint3() const                        \
	{                                                                                          \
		return uint3{x, y, z};                                                             \
	}
SOFTGPU_INDEX(threadIdx)
SOFTGPU_INDEX(blockIdx)
SOFTGPU_INDEX(blockDim)
SOFTGPU_INDEX(gridDim)
#undef SOFTGPU_INDEX

#endif
