/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA's short vectors (char1 … double4) and dim3, for C, C++ and CUDA C++, with the sizes and
 * alignments of the CUDA C++ Programming Guide, "Built-in Vector Types": vectors of two and four
 * are aligned to their whole size, up to 16 bytes; vectors of three as their element.
 */
#pragma once

#include "host_defines.h"

#define SOFTGPU_VECTOR1(name, element)                                                             \
	struct name##1                                                                             \
	{                                                                                          \
		element x;                                                                         \
	};                                                                                         \
	typedef struct name##1 name##1;
#define SOFTGPU_VECTOR2(name, element, alignment)                                                  \
	struct __attribute__((aligned(alignment))) name##2                                         \
	{                                                                                          \
		element x, y;                                                                      \
	};                                                                                         \
	typedef struct name##2 name##2;
#define SOFTGPU_VECTOR3(name, element)                                                             \
	struct name##3                                                                             \
	{                                                                                          \
		element x, y, z;                                                                   \
	};                                                                                         \
	typedef struct name##3 name##3;
#define SOFTGPU_VECTOR4(name, element, alignment)                                                  \
	struct __attribute__((aligned(alignment))) name##4                                         \
	{                                                                                          \
		element x, y, z, w;                                                                \
	};                                                                                         \
	typedef struct name##4 name##4;
#define SOFTGPU_VECTORS(name, element, alignment2, alignment4)                                     \
	SOFTGPU_VECTOR1(name, element)                                                             \
	SOFTGPU_VECTOR2(name, element, alignment2)                                                 \
	SOFTGPU_VECTOR3(name, element)                                                             \
	SOFTGPU_VECTOR4(name, element, alignment4)

SOFTGPU_VECTORS(char, signed char, 2, 4)
SOFTGPU_VECTORS(uchar, unsigned char, 2, 4)
SOFTGPU_VECTORS(short, short, 4, 8)
SOFTGPU_VECTORS(ushort, unsigned short, 4, 8)
SOFTGPU_VECTORS(int, int, 8, 16)
SOFTGPU_VECTORS(uint, unsigned int, 8, 16)
SOFTGPU_VECTORS(long, long, 16, 16)
SOFTGPU_VECTORS(ulong, unsigned long, 16, 16)
SOFTGPU_VECTORS(longlong, long long, 16, 16)
SOFTGPU_VECTORS(ulonglong, unsigned long long, 16, 16)
SOFTGPU_VECTORS(float, float, 8, 16)
SOFTGPU_VECTORS(double, double, 16, 16)

#undef SOFTGPU_VECTOR1
#undef SOFTGPU_VECTOR2
#undef SOFTGPU_VECTOR3
#undef SOFTGPU_VECTOR4
#undef SOFTGPU_VECTORS

/* The dimensions of a grid or a block; 1 by default in C++. */
struct dim3 {
	unsigned int x, y, z;
#ifdef __cplusplus
	__host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1,
					   unsigned int vz = 1)
	    : x(vx), y(vy), z(vz)
	{
	}
	__host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
	{
	}
	__host__ __device__ constexpr operator uint3() const
	{
		return uint3{x, y, z};
	}
#endif
};
typedef struct dim3 dim3;
