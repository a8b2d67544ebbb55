/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The vector types of CUDA C: layouts and alignments as in CUDA 13.0. */
#pragma once

#define SG_VECTORS(type, name, align2, align4)                                                     \
	struct name##1                                                                             \
	{                                                                                          \
		type x;                                                                            \
	};                                                                                         \
	struct __attribute__((aligned(align2))) name##2                                            \
	{                                                                                          \
		type x, y;                                                                         \
	};                                                                                         \
	struct name##3                                                                             \
	{                                                                                          \
		type x, y, z;                                                                      \
	};                                                                                         \
	struct __attribute__((aligned(align4))) name##4                                            \
	{                                                                                          \
		type x, y, z, w;                                                                   \
	};                                                                                         \
	typedef struct name##1 name##1;                                                            \
	typedef struct name##2 name##2;                                                            \
	typedef struct name##3 name##3;                                                            \
	typedef struct name##4 name##4;

SG_VECTORS(signed char, char, 2, 4)
SG_VECTORS(unsigned char, uchar, 2, 4)
SG_VECTORS(short, short, 4, 8)
SG_VECTORS(unsigned short, ushort, 4, 8)
SG_VECTORS(int, int, 8, 16)
SG_VECTORS(unsigned int, uint, 8, 16)
SG_VECTORS(long, long, 16, 16)
SG_VECTORS(unsigned long, ulong, 16, 16)
SG_VECTORS(long long, longlong, 16, 16)
SG_VECTORS(unsigned long long, ulonglong, 16, 16)
SG_VECTORS(float, float, 8, 16)
SG_VECTORS(double, double, 16, 16)

#undef SG_VECTORS

/* The size of a grid or a block. In C++ what is left out is 1; constexpr makes it usable on both
 * sides. */
struct dim3 {
	unsigned int x, y, z;
#ifdef __cplusplus
	constexpr dim3(unsigned int width = 1, unsigned int height = 1, unsigned int depth = 1)
	    : x(width), y(height), z(depth)
	{
	}
	constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z)
	{
	}
	constexpr operator uint3() const
	{
		return uint3{x, y, z};
	}
#endif
};
typedef struct dim3 dim3;
