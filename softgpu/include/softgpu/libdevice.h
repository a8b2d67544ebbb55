/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The __nv_* functions that clang's CUDA headers implement CUDA's device functions with
 * (__clang_cuda_math.h, __clang_cuda_device_functions.h): as instructions where PTX has one, else
 * by math_core.h. The Bessel functions are missing: softcc names the function if a kernel calls
 * one.
 *
 * Single precision is computed in double precision: correct to the last bit nearly always, slow on
 * GPUs with few double units; __expf, __sinf and the like are fast.
 */
#pragma once

#include "math_special.h"

#define SOFTGPU_NV extern "C" __inline__ __attribute__((device, always_inline))

/* Integers */
SOFTGPU_NV int __nv_abs(int a)
{
	return a < 0 ? -a : a;
}

SOFTGPU_NV long long __nv_llabs(long long a)
{
	return a < 0 ? -a : a;
}

SOFTGPU_NV int __nv_brev(int a)
{
	return (int)__builtin_bitreverse32((unsigned int)a);
}

SOFTGPU_NV long long __nv_brevll(long long a)
{
	return (long long)__builtin_bitreverse64((unsigned long long)a);
}

SOFTGPU_NV int __nv_byte_perm(int a, int b, int selector)
{
	return __nvvm_prmt(a, b, selector);
}

SOFTGPU_NV int __nv_clz(int a)
{
	return a ? __builtin_clz((unsigned int)a) : 32;
}

SOFTGPU_NV int __nv_clzll(long long a)
{
	return a ? __builtin_clzll((unsigned long long)a) : 64;
}

SOFTGPU_NV int __nv_ffs(int a)
{
	return a ? __builtin_ctz((unsigned int)a) + 1 : 0;
}

SOFTGPU_NV int __nv_ffsll(long long a)
{
	return a ? __builtin_ctzll((unsigned long long)a) + 1 : 0;
}

SOFTGPU_NV int __nv_popc(int a)
{
	return __builtin_popcount((unsigned int)a);
}

SOFTGPU_NV int __nv_popcll(long long a)
{
	return __builtin_popcountll((unsigned long long)a);
}

SOFTGPU_NV int __nv_hadd(int a, int b)
{
	return (a & b) + ((a ^ b) >> 1);
}

SOFTGPU_NV int __nv_rhadd(int a, int b)
{
	return (a | b) - ((a ^ b) >> 1);
}

SOFTGPU_NV int __nv_uhadd(unsigned int a, unsigned int b)
{
	return (int)((a & b) + ((a ^ b) >> 1));
}

SOFTGPU_NV unsigned int __nv_urhadd(unsigned int a, unsigned int b)
{
	return (a | b) - ((a ^ b) >> 1);
}

SOFTGPU_NV int __nv_sad(int a, int b, int c)
{
	return __nvvm_sad_i(a, b, c);
}

SOFTGPU_NV unsigned int __nv_usad(unsigned int a, unsigned int b, unsigned int c)
{
	return __nvvm_sad_ui(a, b, c);
}

#define SOFTGPU_NV_BINARY(result, name, type, expression)                                          \
	SOFTGPU_NV result __nv_##name(type a, type b)                                              \
	{                                                                                          \
		return expression;                                                                 \
	}

SOFTGPU_NV_BINARY(int, max, int, a > b ? a : b)
SOFTGPU_NV_BINARY(int, min, int, a < b ? a : b)
SOFTGPU_NV_BINARY(unsigned int, umax, unsigned int, a > b ? a : b)
SOFTGPU_NV_BINARY(unsigned int, umin, unsigned int, a < b ? a : b)
SOFTGPU_NV_BINARY(long long, llmax, long long, a > b ? a : b)
SOFTGPU_NV_BINARY(long long, llmin, long long, a < b ? a : b)
SOFTGPU_NV_BINARY(unsigned long long, ullmax, unsigned long long, a > b ? a : b)
SOFTGPU_NV_BINARY(unsigned long long, ullmin, unsigned long long, a < b ? a : b)
SOFTGPU_NV_BINARY(int, mul24, int, __nvvm_mul24_i(a, b))
SOFTGPU_NV_BINARY(unsigned int, umul24, unsigned int, __nvvm_mul24_ui(a, b))
SOFTGPU_NV_BINARY(int, mulhi, int, __nvvm_mulhi_i(a, b))
SOFTGPU_NV_BINARY(unsigned int, umulhi, unsigned int, __nvvm_mulhi_ui(a, b))
SOFTGPU_NV_BINARY(long long, mul64hi, long long, __nvvm_mulhi_ll(a, b))
SOFTGPU_NV_BINARY(unsigned long long, umul64hi, unsigned long long, __nvvm_mulhi_ull(a, b))

/* Bits of one type read as another */
#define SOFTGPU_NV_UNARY(result, name, type, expression)                                           \
	SOFTGPU_NV result __nv_##name(type a)                                                      \
	{                                                                                          \
		return expression;                                                                 \
	}

SOFTGPU_NV_UNARY(int, float_as_int, float, __nvvm_bitcast_f2i(a))
SOFTGPU_NV_UNARY(unsigned int, float_as_uint, float, (unsigned int)__nvvm_bitcast_f2i(a))
SOFTGPU_NV_UNARY(float, int_as_float, int, __nvvm_bitcast_i2f(a))
SOFTGPU_NV_UNARY(float, uint_as_float, unsigned int, __nvvm_bitcast_i2f((int)a))
SOFTGPU_NV_UNARY(unsigned long long, double_as_longlong, double, softgpu_bits(a))
SOFTGPU_NV_UNARY(double, longlong_as_double, long long, softgpu_from_bits((unsigned long long)a))
SOFTGPU_NV_UNARY(int, double2hiint, double, (int)(softgpu_bits(a) >> 32))
SOFTGPU_NV_UNARY(int, double2loint, double, (int)softgpu_bits(a))

SOFTGPU_NV double __nv_hiloint2double(int high, int low)
{
	return softgpu_from_bits((unsigned long long)(unsigned int)high << 32 | (unsigned int)low);
}

/* Arithmetic and conversions with a rounding: PTX's m (down) and p (up) are CUDA's d and u. */
#define SOFTGPU_NV_ROUNDED(cuda, ptx)                                                              \
	SOFTGPU_NV_BINARY(float, fadd_##cuda, float, __nvvm_add_##ptx##_f(a, b))                   \
	SOFTGPU_NV_BINARY(float, fsub_##cuda, float, __nvvm_add_##ptx##_f(a, -b))                  \
	SOFTGPU_NV_BINARY(float, fmul_##cuda, float, __nvvm_mul_##ptx##_f(a, b))                   \
	SOFTGPU_NV_BINARY(float, fdiv_##cuda, float, __nvvm_div_##ptx##_f(a, b))                   \
	SOFTGPU_NV_BINARY(double, dadd_##cuda, double, __nvvm_add_##ptx##_d(a, b))                 \
	SOFTGPU_NV_BINARY(double, dsub_##cuda, double, __nvvm_add_##ptx##_d(a, -b))                \
	SOFTGPU_NV_BINARY(double, dmul_##cuda, double, __nvvm_mul_##ptx##_d(a, b))                 \
	SOFTGPU_NV_BINARY(double, ddiv_##cuda, double, __nvvm_div_##ptx##_d(a, b))                 \
	SOFTGPU_NV_UNARY(float, frcp_##cuda, float, __nvvm_rcp_##ptx##_f(a))                       \
	SOFTGPU_NV_UNARY(float, fsqrt_##cuda, float, __nvvm_sqrt_##ptx##_f(a))                     \
	SOFTGPU_NV_UNARY(double, drcp_##cuda, double, __nvvm_rcp_##ptx##_d(a))                     \
	SOFTGPU_NV_UNARY(double, dsqrt_##cuda, double, __nvvm_sqrt_##ptx##_d(a))                   \
	SOFTGPU_NV float __nv_fmaf_##cuda(float a, float b, float c)                               \
	{                                                                                          \
		return __nvvm_fma_##ptx##_f(a, b, c);                                              \
	}                                                                                          \
	SOFTGPU_NV float __nv_fmaf_ieee_##cuda(float a, float b, float c)                          \
	{                                                                                          \
		return __nvvm_fma_##ptx##_f(a, b, c);                                              \
	}                                                                                          \
	SOFTGPU_NV double __nv_fma_##cuda(double a, double b, double c)                            \
	{                                                                                          \
		return __nvvm_fma_##ptx##_d(a, b, c);                                              \
	}                                                                                          \
	SOFTGPU_NV_UNARY(float, double2float_##cuda, double, __nvvm_d2f_##ptx(a))                  \
	SOFTGPU_NV_UNARY(int, double2int_##cuda, double, __nvvm_d2i_##ptx(a))                      \
	SOFTGPU_NV_UNARY(unsigned int, double2uint_##cuda, double,                                 \
			 (unsigned int)__nvvm_d2ui_##ptx(a))                                       \
	SOFTGPU_NV_UNARY(long long, double2ll_##cuda, double, __nvvm_d2ll_##ptx(a))                \
	SOFTGPU_NV_UNARY(unsigned long long, double2ull_##cuda, double,                            \
			 (unsigned long long)__nvvm_d2ull_##ptx(a))                                \
	SOFTGPU_NV_UNARY(int, float2int_##cuda, float, __nvvm_f2i_##ptx(a))                        \
	SOFTGPU_NV_UNARY(unsigned int, float2uint_##cuda, float,                                   \
			 (unsigned int)__nvvm_f2ui_##ptx(a))                                       \
	SOFTGPU_NV_UNARY(long long, float2ll_##cuda, float, __nvvm_f2ll_##ptx(a))                  \
	SOFTGPU_NV_UNARY(unsigned long long, float2ull_##cuda, float,                              \
			 (unsigned long long)__nvvm_f2ull_##ptx(a))                                \
	SOFTGPU_NV_UNARY(float, int2float_##cuda, int, __nvvm_i2f_##ptx(a))                        \
	SOFTGPU_NV_UNARY(float, uint2float_##cuda, unsigned int, __nvvm_ui2f_##ptx(a))             \
	SOFTGPU_NV_UNARY(float, ll2float_##cuda, long long, __nvvm_ll2f_##ptx(a))                  \
	SOFTGPU_NV_UNARY(float, ull2float_##cuda, unsigned long long, __nvvm_ull2f_##ptx(a))       \
	SOFTGPU_NV_UNARY(double, ll2double_##cuda, long long, __nvvm_ll2d_##ptx(a))                \
	SOFTGPU_NV_UNARY(double, ull2double_##cuda, unsigned long long, __nvvm_ull2d_##ptx(a))

SOFTGPU_NV_ROUNDED(rn, rn)
SOFTGPU_NV_ROUNDED(rz, rz)
SOFTGPU_NV_ROUNDED(rd, rm)
SOFTGPU_NV_ROUNDED(ru, rp)
SOFTGPU_NV_UNARY(double, int2double_rn, int, (double)a)
SOFTGPU_NV_UNARY(double, uint2double_rn, unsigned int, (double)a)

SOFTGPU_NV unsigned short __nv_float2half_rn(float a)
{
	unsigned short half;

	__asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(a));
	return half;
}

SOFTGPU_NV float __nv_half2float(unsigned short a)
{
	float result;

	__asm__("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a));
	return result;
}

/* The fast, rough ones: one or two approximate instructions */
SOFTGPU_NV_UNARY(float, fast_sinf, float, __nvvm_sin_approx_f(a))
SOFTGPU_NV_UNARY(float, fast_cosf, float, __nvvm_cos_approx_f(a))
SOFTGPU_NV_UNARY(float, fast_log2f, float, __nvvm_lg2_approx_f(a))
SOFTGPU_NV_UNARY(float, fast_logf, float, __nvvm_lg2_approx_f(a) * 0x1.62e43p-1f)
SOFTGPU_NV_UNARY(float, fast_log10f, float, __nvvm_lg2_approx_f(a) * 0x1.344136p-2f)
SOFTGPU_NV_UNARY(float, fast_expf, float, __nvvm_ex2_approx_f(a * 0x1.715476p+0f))
SOFTGPU_NV_UNARY(float, fast_exp10f, float, __nvvm_ex2_approx_f(a * 0x1.a934fp+1f))
SOFTGPU_NV_UNARY(float, fast_tanf, float,
		 __nvvm_div_approx_f(__nvvm_sin_approx_f(a), __nvvm_cos_approx_f(a)))
SOFTGPU_NV_BINARY(float, fast_fdividef, float, __nvvm_div_approx_f(a, b))
SOFTGPU_NV_BINARY(float, fast_powf, float, __nvvm_ex2_approx_f(b *__nvvm_lg2_approx_f(a)))
SOFTGPU_NV_UNARY(float, frsqrt_rn, float, (float)(1 / __builtin_sqrt((double)a)))
SOFTGPU_NV_UNARY(float, saturatef, float, a > 0 ? (a < 1 ? a : 1.0f) : 0.0f)
SOFTGPU_NV_UNARY(double, rcp64h, double, __nvvm_rcp_approx_ftz_d(a))

SOFTGPU_NV void __nv_fast_sincosf(float a, float *sine, float *cosine)
{
	*sine = __nvvm_sin_approx_f(a);
	*cosine = __nvvm_cos_approx_f(a);
}

/* Functions that are alike in both precisions */
#define SOFTGPU_NV_SAME1(name, expression)                                                         \
	SOFTGPU_NV_UNARY(double, name, double, expression(a))                                      \
	SOFTGPU_NV_UNARY(float, name##f, float, expression##f(a))
#define SOFTGPU_NV_SAME2(name, expression)                                                         \
	SOFTGPU_NV_BINARY(double, name, double, expression(a, b))                                  \
	SOFTGPU_NV_BINARY(float, name##f, float, expression##f(a, b))

SOFTGPU_NV_SAME1(fabs, __builtin_fabs)
SOFTGPU_NV_SAME1(ceil, __builtin_ceil)
SOFTGPU_NV_SAME1(floor, __builtin_floor)
SOFTGPU_NV_SAME1(trunc, __builtin_trunc)
SOFTGPU_NV_SAME1(rint, __builtin_rint)
SOFTGPU_NV_SAME1(nearbyint, __builtin_nearbyint)
SOFTGPU_NV_SAME1(round, __builtin_round)
SOFTGPU_NV_SAME1(sqrt, __builtin_sqrt)
SOFTGPU_NV_SAME2(copysign, __builtin_copysign)
SOFTGPU_NV_SAME2(fmax, __builtin_fmax)
SOFTGPU_NV_SAME2(fmin, __builtin_fmin)

SOFTGPU_NV double __nv_fma(double a, double b, double c)
{
	return __nvvm_fma_rn_d(a, b, c);
}

SOFTGPU_NV float __nv_fmaf(float a, float b, float c)
{
	return __nvvm_fma_rn_f(a, b, c);
}

SOFTGPU_NV_BINARY(double, fdim, double, a <= b ? 0.0 : a - b)
SOFTGPU_NV_BINARY(float, fdimf, float, a <= b ? 0.0f : a - b)
SOFTGPU_NV_UNARY(double, rsqrt, double, 1 / __builtin_sqrt(a))
SOFTGPU_NV_UNARY(float, rsqrtf, float, __nvvm_rsqrt_approx_f(a))
SOFTGPU_NV_UNARY(long long, llrint, double, __nvvm_d2ll_rn(a))
SOFTGPU_NV_UNARY(long long, llrintf, float, __nvvm_f2ll_rn(a))
SOFTGPU_NV_UNARY(long long, llround, double, __nvvm_d2ll_rz(__builtin_round(a)))
SOFTGPU_NV_UNARY(long long, llroundf, float, __nvvm_f2ll_rz(__builtin_roundf(a)))
SOFTGPU_NV_UNARY(int, isnand, double, softgpu_isnan(a))
SOFTGPU_NV_UNARY(int, isnanf, float, a != a)
SOFTGPU_NV_UNARY(int, isinfd, double, softgpu_isinf(a))
SOFTGPU_NV_UNARY(int, isinff, float, __builtin_fabsf(a) == __builtin_inff())
SOFTGPU_NV_UNARY(int, isfinited, double, softgpu_isfinite(a))
SOFTGPU_NV_UNARY(int, finitef, float, __builtin_fabsf(a) < __builtin_inff())
SOFTGPU_NV_UNARY(int, signbitd, double, (int)(softgpu_bits(a) >> 63))
SOFTGPU_NV_UNARY(int, signbitf, float, (int)((unsigned int)__nvvm_bitcast_f2i(a) >> 31))

SOFTGPU_NV double __nv_nan(const signed char *)
{
	return SOFTGPU_NAN;
}

SOFTGPU_NV float __nv_nanf(const signed char *)
{
	return __builtin_nanf("");
}

/* Functions that single precision has from double precision */
#define SOFTGPU_NV_MATH1(name)                                                                     \
	SOFTGPU_NV_UNARY(double, name, double, softgpu_##name(a))                                  \
	SOFTGPU_NV_UNARY(float, name##f, float, (float)softgpu_##name(a))
#define SOFTGPU_NV_MATH2(name)                                                                     \
	SOFTGPU_NV_BINARY(double, name, double, softgpu_##name(a, b))                              \
	SOFTGPU_NV_BINARY(float, name##f, float, (float)softgpu_##name(a, b))

SOFTGPU_NV_MATH1(acos)
SOFTGPU_NV_MATH1(acosh)
SOFTGPU_NV_MATH1(asin)
SOFTGPU_NV_MATH1(asinh)
SOFTGPU_NV_MATH1(atan)
SOFTGPU_NV_MATH1(atanh)
SOFTGPU_NV_MATH1(cbrt)
SOFTGPU_NV_MATH1(cos)
SOFTGPU_NV_MATH1(cosh)
SOFTGPU_NV_MATH1(erf)
SOFTGPU_NV_MATH1(erfc)
SOFTGPU_NV_MATH1(erfcinv)
SOFTGPU_NV_MATH1(erfcx)
SOFTGPU_NV_MATH1(erfinv)
SOFTGPU_NV_MATH1(exp)
SOFTGPU_NV_MATH1(exp10)
SOFTGPU_NV_MATH1(exp2)
SOFTGPU_NV_MATH1(expm1)
SOFTGPU_NV_MATH1(lgamma)
SOFTGPU_NV_MATH1(log)
SOFTGPU_NV_MATH1(log10)
SOFTGPU_NV_MATH1(log1p)
SOFTGPU_NV_MATH1(log2)
SOFTGPU_NV_MATH1(normcdf)
SOFTGPU_NV_MATH1(normcdfinv)
SOFTGPU_NV_MATH1(sin)
SOFTGPU_NV_MATH1(sinh)
SOFTGPU_NV_MATH1(tan)
SOFTGPU_NV_MATH1(tanh)
SOFTGPU_NV_MATH1(tgamma)
SOFTGPU_NV_MATH2(atan2)
SOFTGPU_NV_MATH2(fmod)
SOFTGPU_NV_MATH2(hypot)
SOFTGPU_NV_MATH2(pow)

SOFTGPU_NV_UNARY(double, rcbrt, double, 1 / softgpu_cbrt(a))
SOFTGPU_NV_UNARY(float, rcbrtf, float, (float)(1 / softgpu_cbrt(a)))
SOFTGPU_NV_BINARY(double, rhypot, double, 1 / softgpu_hypot(a, b))
SOFTGPU_NV_BINARY(float, rhypotf, float, (float)(1 / softgpu_hypot(a, b)))

SOFTGPU_NV double __nv_powi(double a, int n)
{
	return softgpu_pow(a, n);
}

SOFTGPU_NV float __nv_powif(float a, int n)
{
	return (float)softgpu_pow(a, n);
}

SOFTGPU_NV void __nv_sincos(double a, double *sine, double *cosine)
{
	softgpu_sincos(a, sine, cosine);
}

SOFTGPU_NV void __nv_sincospi(double a, double *sine, double *cosine)
{
	softgpu_sincospi(a, sine, cosine);
}

SOFTGPU_NV void __nv_sincosf(float a, float *sine, float *cosine)
{
	double s, c;

	softgpu_sincos(a, &s, &c);
	*sine = (float)s;
	*cosine = (float)c;
}

SOFTGPU_NV void __nv_sincospif(float a, float *sine, float *cosine)
{
	double s, c;

	softgpu_sincospi(a, &s, &c);
	*sine = (float)s;
	*cosine = (float)c;
}

SOFTGPU_NV double __nv_sinpi(double a)
{
	double s, c;

	softgpu_sincospi(a, &s, &c);
	return s;
}

SOFTGPU_NV double __nv_cospi(double a)
{
	double s, c;

	softgpu_sincospi(a, &s, &c);
	return c;
}

SOFTGPU_NV_UNARY(float, sinpif, float, (float)__nv_sinpi(a))
SOFTGPU_NV_UNARY(float, cospif, float, (float)__nv_cospi(a))

/* Exponents and remainders */
SOFTGPU_NV double __nv_frexp(double a, int *n)
{
	return softgpu_frexp(a, n);
}

SOFTGPU_NV float __nv_frexpf(float a, int *n)
{
	return (float)softgpu_frexp(a, n);
}

SOFTGPU_NV double __nv_ldexp(double a, int n)
{
	return softgpu_scalbn(a, n);
}

SOFTGPU_NV float __nv_ldexpf(float a, int n)
{
	return (float)softgpu_scalbn(a, n);
}

SOFTGPU_NV double __nv_scalbn(double a, int n)
{
	return softgpu_scalbn(a, n);
}

SOFTGPU_NV float __nv_scalbnf(float a, int n)
{
	return (float)softgpu_scalbn(a, n);
}

SOFTGPU_NV_UNARY(int, ilogb, double, softgpu_ilogb(a))
SOFTGPU_NV_UNARY(int, ilogbf, float, softgpu_ilogb(a))
SOFTGPU_NV_UNARY(double, logb, double,
		 a == 0                ? -SOFTGPU_INFINITY
		 : softgpu_isfinite(a) ? (double)softgpu_ilogb(a)
				       : a * a)
SOFTGPU_NV_UNARY(float, logbf, float, (float)__nv_logb(a))

SOFTGPU_NV double __nv_modf(double a, double *whole)
{
	*whole = __builtin_trunc(a);
	return softgpu_copysign(softgpu_isinf(a) ? 0 : a - *whole, a);
}

SOFTGPU_NV float __nv_modff(float a, float *whole)
{
	double part, rest = __nv_modf(a, &part);

	*whole = (float)part;
	return (float)rest;
}

SOFTGPU_NV double __nv_remquo(double a, double b, int *quotient)
{
	return softgpu_remquo(a, b, quotient);
}

SOFTGPU_NV float __nv_remquof(float a, float b, int *quotient)
{
	return (float)softgpu_remquo(a, b, quotient);
}

SOFTGPU_NV double __nv_remainder(double a, double b)
{
	int quotient;

	return softgpu_remquo(a, b, &quotient);
}

SOFTGPU_NV_BINARY(float, remainderf, float, (float)__nv_remainder(a, b))

SOFTGPU_NV double __nv_nextafter(double a, double b)
{
	unsigned long long bits = softgpu_bits(a);

	if (softgpu_isnan(a) || softgpu_isnan(b))
		return a + b;
	if (a == b)
		return b;
	if (a == 0)
		return softgpu_copysign(softgpu_from_bits(1), b);
	return softgpu_from_bits((a < b) == (a > 0) ? bits + 1 : bits - 1);
}

SOFTGPU_NV float __nv_nextafterf(float a, float b)
{
	int bits = __nvvm_bitcast_f2i(a);

	if (a != a || b != b)
		return a + b;
	if (a == b)
		return b;
	if (a == 0)
		return __builtin_copysignf(__nvvm_bitcast_i2f(1), b);
	return __nvvm_bitcast_i2f((a < b) == (a > 0) ? bits + 1 : bits - 1);
}

/* Lengths of vectors */
SOFTGPU_NV double __nv_norm3d(double a, double b, double c)
{
	return softgpu_hypot(softgpu_hypot(a, b), c);
}

SOFTGPU_NV double __nv_norm4d(double a, double b, double c, double d)
{
	return softgpu_hypot(softgpu_hypot(a, b), softgpu_hypot(c, d));
}

SOFTGPU_NV double __nv_norm(int count, const double *values)
{
	double length = 0;

	for (int i = 0; i < count; i++)
		length = softgpu_hypot(length, values[i]);
	return length;
}

SOFTGPU_NV float __nv_norm3df(float a, float b, float c)
{
	return (float)__nv_norm3d(a, b, c);
}

SOFTGPU_NV float __nv_norm4df(float a, float b, float c, float d)
{
	return (float)__nv_norm4d(a, b, c, d);
}

SOFTGPU_NV float __nv_normf(int count, const float *values)
{
	double length = 0;

	for (int i = 0; i < count; i++)
		length = softgpu_hypot(length, values[i]);
	return (float)length;
}

SOFTGPU_NV double __nv_rnorm3d(double a, double b, double c)
{
	return 1 / __nv_norm3d(a, b, c);
}

SOFTGPU_NV double __nv_rnorm4d(double a, double b, double c, double d)
{
	return 1 / __nv_norm4d(a, b, c, d);
}

SOFTGPU_NV double __nv_rnorm(int count, const double *values)
{
	return 1 / __nv_norm(count, values);
}

SOFTGPU_NV float __nv_rnorm3df(float a, float b, float c)
{
	return (float)(1 / __nv_norm3d(a, b, c));
}

SOFTGPU_NV float __nv_rnorm4df(float a, float b, float c, float d)
{
	return (float)(1 / __nv_norm4d(a, b, c, d));
}

SOFTGPU_NV float __nv_rnormf(int count, const float *values)
{
	return 1 / __nv_normf(count, values);
}

#undef SOFTGPU_NV
#undef SOFTGPU_NV_UNARY
#undef SOFTGPU_NV_BINARY
#undef SOFTGPU_NV_ROUNDED
#undef SOFTGPU_NV_SAME1
#undef SOFTGPU_NV_SAME2
#undef SOFTGPU_NV_MATH1
#undef SOFTGPU_NV_MATH2
