/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The words that CUDA C++ adds to the language, as clang's attributes. For a compiler that
 * does not compile CUDA they are nothing, so that host code may include these headers.
 */
#pragma once

#ifdef __CUDA__

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
/* Unified variables need code on the host side that clang generates for HIP only. */
#define __managed__                                                                                \
	_Pragma("GCC error \"clang builds no __managed__ variable: use cudaMallocManaged\"")       \
		__attribute__((device))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

#else

#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __forceinline__ __inline__ __attribute__((always_inline))

#endif

/* A parameter that the kernel only reads; clang keeps parameters constant unless written. */
#define __grid_constant__

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif
