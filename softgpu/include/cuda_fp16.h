/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Half precision: __half and __half2, their conversions, arithmetic and comparisons, under the
 * names of the CUDA Math API. On the host there are the conversions only.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__cplusplus) && defined(__CUDA__)

#define SOFTGPU_HALF static __inline__ __host__ __device__
#define SOFTGPU_HALF_DEVICE static __inline__ __device__

struct __half;
SOFTGPU_HALF float __half2float(__half value);
SOFTGPU_HALF __half __float2half(float value);

struct __half {
	unsigned short bits;

	__half() = default;
	__host__ __device__ __half(float value) : bits(__float2half(value).bits)
	{
	}
	__host__ __device__ __half(double value) : bits(__float2half((float)value).bits)
	{
	}
	__host__ __device__ __half(int value) : bits(__float2half((float)value).bits)
	{
	}
	__host__ __device__ operator float() const
	{
		return __half2float(*this);
	}
};

struct __align__(4) __half2
{
	__half x, y;
};

typedef __half half;
typedef __half2 half2;

/* ---- bits ------------------------------------------------------------------------------ */

SOFTGPU_HALF __half __ushort_as_half(unsigned short bits)
{
	__half value;

	value.bits = bits;
	return value;
}

SOFTGPU_HALF unsigned short __half_as_ushort(__half value)
{
	return value.bits;
}

SOFTGPU_HALF uint32_t softgpu_half2_bits(__half2 value)
{
	return value.x.bits | (uint32_t)value.y.bits << 16;
}

SOFTGPU_HALF __half2 softgpu_half2_of(uint32_t bits)
{
	__half2 value;

	value.x.bits = (unsigned short)bits;
	value.y.bits = (unsigned short)(bits >> 16);
	return value;
}

/* ---- conversions ----------------------------------------------------------------------- */

SOFTGPU_HALF float __half2float(__half value)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
	return result;
#else
	uint32_t sign = (uint32_t)(value.bits & 0x8000) << 16, exponent = value.bits >> 10 & 31;
	uint32_t fraction = value.bits & 0x3ff, bits;
	float result;

	if (exponent == 31)
		bits = sign | 0x7f800000 | fraction << 13;
	else if (exponent)
		bits = sign | (exponent + 112) << 23 | fraction << 13;
	else {
		/* A multiple of 2^-24, which float holds as it is. */
		result = (float)fraction / 16777216.0f;
		return sign ? -result : result;
	}
	memcpy(&result, &bits, sizeof(result));
	return result;
#endif
}

/* To nearest even. */
SOFTGPU_HALF __half __float2half(float value)
{
#ifdef __CUDA_ARCH__
	unsigned short result;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
	return __ushort_as_half(result);
#else
	uint32_t bits, magnitude, sign, shift, rest, result;

	memcpy(&bits, &value, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	magnitude = bits & 0x7fffffff;
	if (magnitude > 0x7f800000)
		return __ushort_as_half(0x7fff);
	if (magnitude >= 0x477ff000) /* rounds to 65536 or more */
		return __ushort_as_half((unsigned short)(sign | 0x7c00));
	if (magnitude < 0x33000000) /* less than half of the least */
		return __ushort_as_half((unsigned short)sign);
	shift = magnitude < 0x38800000 ? 126 - (magnitude >> 23) : 13;
	if (shift > 13) /* the result has no leading one of its own */
		bits = (magnitude & 0x7fffff) | 0x800000;
	else
		bits = magnitude - 0x38000000;
	result = bits >> shift;
	rest = bits & ((1u << shift) - 1);
	if (rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && result & 1))
		result++;
	return __ushort_as_half((unsigned short)(sign | result));
#endif
}

SOFTGPU_HALF __half __float2half_rn(float value)
{
	return __float2half(value);
}

SOFTGPU_HALF __half __double2half(double value)
{
	return __float2half((float)value);
}

SOFTGPU_HALF __half __int2half_rn(int value)
{
	return __float2half((float)value);
}

SOFTGPU_HALF __half2 __halves2half2(__half low, __half high)
{
	__half2 value;

	value.x = low;
	value.y = high;
	return value;
}

SOFTGPU_HALF __half2 __half2half2(__half value)
{
	return __halves2half2(value, value);
}

SOFTGPU_HALF __half2 __floats2half2_rn(float low, float high)
{
	return __halves2half2(__float2half(low), __float2half(high));
}

SOFTGPU_HALF __half2 __float2half2_rn(float value)
{
	return __half2half2(__float2half(value));
}

SOFTGPU_HALF __half2 __float22half2_rn(float2 value)
{
	return __floats2half2_rn(value.x, value.y);
}

SOFTGPU_HALF __half __low2half(__half2 value)
{
	return value.x;
}

SOFTGPU_HALF __half __high2half(__half2 value)
{
	return value.y;
}

SOFTGPU_HALF float __low2float(__half2 value)
{
	return __half2float(value.x);
}

SOFTGPU_HALF float __high2float(__half2 value)
{
	return __half2float(value.y);
}

SOFTGPU_HALF float2 __half22float2(__half2 value)
{
	return make_float2(__low2float(value), __high2float(value));
}

/* ---- arithmetic ------------------------------------------------------------------------ */

#define SOFTGPU_HALF_BINARY(name, instruction)                                                     \
	SOFTGPU_HALF_DEVICE __half __h##name(__half a, __half b)                                   \
	{                                                                                          \
		unsigned short result;                                                             \
                                                                                                   \
		asm(instruction ".f16 %0, %1, %2;" : "=h"(result) : "h"(a.bits), "h"(b.bits));     \
		return __ushort_as_half(result);                                                   \
	}                                                                                          \
	SOFTGPU_HALF_DEVICE __half2 __h##name##2(__half2 a, __half2 b)                             \
	{                                                                                          \
		uint32_t result;                                                                   \
                                                                                                   \
		asm(instruction ".f16x2 %0, %1, %2;"                                               \
		    : "=r"(result)                                                                 \
		    : "r"(softgpu_half2_bits(a)), "r"(softgpu_half2_bits(b)));                     \
		return softgpu_half2_of(result);                                                   \
	}
SOFTGPU_HALF_BINARY(add, "add.rn")
SOFTGPU_HALF_BINARY(sub, "sub.rn")
SOFTGPU_HALF_BINARY(mul, "mul.rn")
#undef SOFTGPU_HALF_BINARY

SOFTGPU_HALF_DEVICE __half __hfma(__half a, __half b, __half c)
{
	unsigned short result;

	asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(result) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
	return __ushort_as_half(result);
}

SOFTGPU_HALF_DEVICE __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
	uint32_t result;

	asm("fma.rn.f16x2 %0, %1, %2, %3;"
	    : "=r"(result)
	    : "r"(softgpu_half2_bits(a)), "r"(softgpu_half2_bits(b)), "r"(softgpu_half2_bits(c)));
	return softgpu_half2_of(result);
}

SOFTGPU_HALF_DEVICE __half __hdiv(__half a, __half b)
{
	return __float2half(__half2float(a) / __half2float(b));
}

SOFTGPU_HALF_DEVICE __half __hneg(__half value)
{
	return __ushort_as_half(value.bits ^ 0x8000);
}

SOFTGPU_HALF_DEVICE __half __habs(__half value)
{
	return __ushort_as_half(value.bits & 0x7fff);
}

SOFTGPU_HALF_DEVICE __half2 __hneg2(__half2 value)
{
	return __halves2half2(__hneg(value.x), __hneg(value.y));
}

#define SOFTGPU_HALF_COMPARE(name, operator)                                                       \
	SOFTGPU_HALF_DEVICE bool __h##name(__half a, __half b)                                     \
	{                                                                                          \
		return __half2float(a) operator __half2float(b);                                   \
	}
SOFTGPU_HALF_COMPARE(eq, ==)
SOFTGPU_HALF_COMPARE(ne, !=)
SOFTGPU_HALF_COMPARE(lt, <)
SOFTGPU_HALF_COMPARE(le, <=)
SOFTGPU_HALF_COMPARE(gt, >)
SOFTGPU_HALF_COMPARE(ge, >=)
#undef SOFTGPU_HALF_COMPARE

SOFTGPU_HALF_DEVICE bool __hisnan(__half value)
{
	return (value.bits & 0x7fff) > 0x7c00;
}

#define SOFTGPU_HALF_OPERATORS(sign, name)                                                         \
	SOFTGPU_HALF_DEVICE __half operator sign(__half a, __half b)                               \
	{                                                                                          \
		return __h##name(a, b);                                                            \
	}                                                                                          \
	SOFTGPU_HALF_DEVICE __half2 operator sign(__half2 a, __half2 b)                            \
	{                                                                                          \
		return __h##name##2(a, b);                                                         \
	}
SOFTGPU_HALF_OPERATORS(+, add)
SOFTGPU_HALF_OPERATORS(-, sub)
SOFTGPU_HALF_OPERATORS(*, mul)
#undef SOFTGPU_HALF_OPERATORS

/* ---- between lanes --------------------------------------------------------------------- */

#define SOFTGPU_HALF_SHUFFLE(name, type)                                                           \
	SOFTGPU_HALF_DEVICE __half name(unsigned mask, __half value, type lane, int width = 32)    \
	{                                                                                          \
		return __ushort_as_half((unsigned short)name(mask, (int)value.bits, lane, width)); \
	}                                                                                          \
	SOFTGPU_HALF_DEVICE __half2 name(unsigned mask, __half2 value, type lane, int width = 32)  \
	{                                                                                          \
		return softgpu_half2_of(                                                           \
			(uint32_t)name(mask, (int)softgpu_half2_bits(value), lane, width));        \
	}
SOFTGPU_HALF_SHUFFLE(__shfl_sync, int)
SOFTGPU_HALF_SHUFFLE(__shfl_xor_sync, int)
SOFTGPU_HALF_SHUFFLE(__shfl_up_sync, unsigned)
SOFTGPU_HALF_SHUFFLE(__shfl_down_sync, unsigned)
#undef SOFTGPU_HALF_SHUFFLE

#undef SOFTGPU_HALF
#undef SOFTGPU_HALF_DEVICE

#endif
