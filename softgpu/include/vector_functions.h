/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* make_int2(x, y) and the like, for host and device. */
#pragma once

#include "vector_types.h"

#ifdef __cplusplus
#define SOFTGPU_MAKE(type, ...)                                                                    \
	static __inline__ __host__ __device__ constexpr type make_##type(__VA_ARGS__)
#define SOFTGPU_LITERAL(type, ...) (type{__VA_ARGS__})
#else
#define SOFTGPU_MAKE(type, ...) static __inline__ type make_##type(__VA_ARGS__)
#define SOFTGPU_LITERAL(type, ...) ((type){__VA_ARGS__})
#endif

#define SOFTGPU_MAKERS(name, element)                                                              \
	SOFTGPU_MAKE(name##1, element x)                                                           \
	{                                                                                          \
		return SOFTGPU_LITERAL(name##1, x);                                                \
	}                                                                                          \
	SOFTGPU_MAKE(name##2, element x, element y)                                                \
	{                                                                                          \
		return SOFTGPU_LITERAL(name##2, x, y);                                             \
	}                                                                                          \
	SOFTGPU_MAKE(name##3, element x, element y, element z)                                     \
	{                                                                                          \
		return SOFTGPU_LITERAL(name##3, x, y, z);                                          \
	}                                                                                          \
	SOFTGPU_MAKE(name##4, element x, element y, element z, element w)                          \
	{                                                                                          \
		return SOFTGPU_LITERAL(name##4, x, y, z, w);                                       \
	}

SOFTGPU_MAKERS(char, signed char)
SOFTGPU_MAKERS(uchar, unsigned char)
SOFTGPU_MAKERS(short, short)
SOFTGPU_MAKERS(ushort, unsigned short)
SOFTGPU_MAKERS(int, int)
SOFTGPU_MAKERS(uint, unsigned int)
SOFTGPU_MAKERS(long, long)
SOFTGPU_MAKERS(ulong, unsigned long)
SOFTGPU_MAKERS(longlong, long long)
SOFTGPU_MAKERS(ulonglong, unsigned long long)
SOFTGPU_MAKERS(float, float)
SOFTGPU_MAKERS(double, double)

#undef SOFTGPU_MAKE
#undef SOFTGPU_LITERAL
#undef SOFTGPU_MAKERS
