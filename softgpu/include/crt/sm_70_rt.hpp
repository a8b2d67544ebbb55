/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clang's __clang_cuda_intrinsics.h includes a file of this name for what CUDA's own one brings:
 * the functions of compute capability 7.0 under the names that programs use.
 */
#pragma once

#define SOFTGPU_MATCH(type, bits)                                                                  \
	static __inline__ __device__ unsigned int __match_any_sync(unsigned int mask, type value)  \
	{                                                                                          \
		return (unsigned int)__match##bits##_any_sync(mask, SOFTGPU_BITS_##bits(value));   \
	}                                                                                          \
	static __inline__ __device__ unsigned int __match_all_sync(unsigned int mask, type value,  \
								   int *all)                       \
	{                                                                                          \
		return (unsigned int)__match##bits##_all_sync(mask, SOFTGPU_BITS_##bits(value),    \
							      all);                                \
	}
#define SOFTGPU_BITS_32(value) (unsigned int)(value)
#define SOFTGPU_BITS_64(value) (unsigned long long)(value)
SOFTGPU_MATCH(int, 32)
SOFTGPU_MATCH(unsigned int, 32)
SOFTGPU_MATCH(long, 64)
SOFTGPU_MATCH(unsigned long, 64)
SOFTGPU_MATCH(long long, 64)
SOFTGPU_MATCH(unsigned long long, 64)
#undef SOFTGPU_BITS_32
#undef SOFTGPU_BITS_64
#define SOFTGPU_BITS_32(value) __nv_float_as_uint(value)
#define SOFTGPU_BITS_64(value) __nv_double_as_longlong(value)
SOFTGPU_MATCH(float, 32)
SOFTGPU_MATCH(double, 64)
#undef SOFTGPU_BITS_32
#undef SOFTGPU_BITS_64
#undef SOFTGPU_MATCH

static __inline__ __device__ void __nanosleep(unsigned int ns)
{
	__asm__ volatile("nanosleep.u32 %0;" ::"r"(ns));
}
