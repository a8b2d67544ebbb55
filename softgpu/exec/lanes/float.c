/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/ops/float.h"
#include "exec/lanes/lanes.h"

/* .approx.ftz.f64 computes only the upper 32 bits; the lower are 0. */
static inline f64 sg_keep_high(f64 value)
{
	return sg_float_f64(sg_bits_f64(value) & 0xffffffff00000000);
}

static inline f64 sg_rsqrt_f64(f64 value)
{
	return 1.0 / __builtin_sqrt(value);
}

/* One NaN is ignored, -0 is less than +0. */
static inline f32 sg_min_f32(f32 a, f32 b)
{
	f32 equal = sg_float_f32(sg_bits_f32(a) | sg_bits_f32(b));
	f32 min = a < b ? a : b < a ? b : equal;

	min = a != a ? b : b != b ? a : min;
	return sg_canonical_f32(min);
}

static inline f32 sg_max_f32(f32 a, f32 b)
{
	f32 equal = sg_float_f32(sg_bits_f32(a) & sg_bits_f32(b));
	f32 max = a > b ? a : b > a ? b : equal;

	max = a != a ? b : b != b ? a : max;
	return sg_canonical_f32(max);
}

static inline f64 sg_min_f64(f64 a, f64 b)
{
	f64 equal = sg_float_f64(sg_bits_f64(a) | sg_bits_f64(b));
	f64 min = a < b ? a : b < a ? b : equal;

	return a != a ? b : b != b ? a : min;
}

static inline f64 sg_max_f64(f64 a, f64 b)
{
	f64 equal = sg_float_f64(sg_bits_f64(a) & sg_bits_f64(b));
	f64 max = a > b ? a : b > a ? b : equal;

	return a != a ? b : b != b ? a : max;
}

static inline f32 sg_minmax_modes(u32 flags, f32 a, f32 b, f32 (*choose)(f32, f32))
{
	f32 result;

	if (flags & SG_FLAG_FTZ) {
		a = sg_flush_f32(a);
		b = sg_flush_f32(b);
	}
	if ((flags & SG_FLAG_NAN) && (a != a || b != b))
		return sg_float_f32(SG_NAN_F32);
	if (flags & SG_FLAG_ABS) {
		u32 sign = (sg_bits_f32(a) ^ sg_bits_f32(b)) & 0x80000000;

		result = choose(__builtin_fabsf(a), __builtin_fabsf(b));
		if (flags & SG_FLAG_XORSIGN)
			result = sg_float_f32(sg_bits_f32(result) | sign);
		return result;
	}
	return choose(a, b);
}

#define SG_UNARY SG_DEFINE_UNARY
#define SG_BINARY SG_DEFINE_BINARY
#define SG_COMPARE SG_DEFINE_COMPARE
#define SG_OTHER(id)

/* Loads a source for a _modes operation; flushes subnormals with .ftz. */
#define SG_LOAD_MODES(T, name)                                                                     \
	T name##_[SG_WARP_SIZE] __attribute__((aligned(64)));                                      \
	{                                                                                          \
		const T *from = SG_SLOT(T, at->name);                                              \
		if (at->flags & SG_FLAG_FTZ) {                                                     \
			SG_LANES name##_[lane] = SG_PASTE(sg_flush_, T)(from[lane]);               \
		} else {                                                                           \
			SG_LANES name##_[lane] = from[lane];                                       \
		}                                                                                  \
	}                                                                                          \
	sg_rounding_barrier(name##_);

#define SG_STORE_MODES(T)                                                                          \
	if (at->flags & SG_FLAG_FTZ) {                                                             \
		SG_LANES result[lane] = SG_PASTE(sg_flush_, T)(result[lane]);                      \
	}                                                                                          \
	if (at->flags & SG_FLAG_SAT) {                                                             \
		SG_LANES result[lane] = SG_PASTE(sg_saturate_, T)(result[lane]);                   \
	}                                                                                          \
	sg_blend(SG_SLOT(T, at->d), result, warp->exec);                                           \
	return at + 1;

#define SG_COMPUTE_MODES(T, load, compute)                                                         \
	T result[SG_WARP_SIZE] __attribute__((aligned(64)));                                       \
	uint32_t before;                                                                           \
	load;                                                                                      \
	before = sg_rounding_begin(at->flags);                                                     \
	sg_rounding_barrier(result);                                                               \
	SG_LANES                                                                                   \
	{                                                                                          \
		compute;                                                                           \
	}                                                                                          \
	sg_rounding_barrier(result);                                                               \
	sg_rounding_end(before);                                                                   \
	SG_STORE_MODES(T)

#define SG_FLOAT_UNARY(id, T, expression)                                                          \
	SG_DEFINE_UNARY(id, T, T, SG_PASTE(sg_canonical_, T)(expression))                          \
	SG_DEFINE(id##_modes)                                                                      \
	{                                                                                          \
		SG_COMPUTE_MODES(T, SG_LOAD_MODES(T, a), T a = a_[lane];                           \
				 result[lane] = SG_PASTE(sg_canonical_, T)(expression))            \
	}

#define SG_FLOAT_BINARY(id, T, expression)                                                         \
	SG_DEFINE_BINARY(id, T, T, T, SG_PASTE(sg_canonical_, T)(expression))                      \
	SG_DEFINE(id##_modes)                                                                      \
	{                                                                                          \
		SG_COMPUTE_MODES(T, SG_LOAD_MODES(T, a) SG_LOAD_MODES(T, b), T a = a_[lane];       \
				 T b = b_[lane];                                                   \
				 result[lane] = SG_PASTE(sg_canonical_, T)(expression))            \
	}

#define SG_FLOAT_TERNARY(id, T, expression)                                                        \
	SG_DEFINE_TERNARY(id, T, T, T, T, SG_PASTE(sg_canonical_, T)(expression))                  \
	SG_DEFINE(id##_modes)                                                                      \
	{                                                                                          \
		SG_COMPUTE_MODES(T, SG_LOAD_MODES(T, a) SG_LOAD_MODES(T, b) SG_LOAD_MODES(T, c),   \
				 T a = a_[lane];                                                   \
				 T b = b_[lane]; T c = c_[lane];                                   \
				 result[lane] = SG_PASTE(sg_canonical_, T)(expression))            \
	}

#include "exec/lanes/float.def"

enum {
	TESTP_FINITE,
	TESTP_INFINITE,
	TESTP_NUMBER,
	TESTP_NOTANUMBER,
	TESTP_NORMAL,
	TESTP_SUBNORMAL,
};

/* magnitude: the bits without the sign, as are infinity and min_normal. Zero is normal. */
static inline bool sg_testp(u64 magnitude, u64 infinity, u64 min_normal, u32 test)
{
	switch (test) {
	case TESTP_FINITE:
		return magnitude < infinity;
	case TESTP_INFINITE:
		return magnitude == infinity;
	case TESTP_NUMBER:
		return magnitude <= infinity;
	case TESTP_NOTANUMBER:
		return magnitude > infinity;
	case TESTP_NORMAL:
		return magnitude == 0 || (magnitude >= min_normal && magnitude < infinity);
	default:
		return magnitude > 0 && magnitude < min_normal;
	}
}

#define SG_DEFINE_TESTP(id, T, sign, infinity, min_normal)                                         \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const T *a = SG_SLOT(T, at->a);                                                    \
		u32 *p = sg_predicate(warp, at->d), found = 0;                                     \
		for (u32 lane = 0; lane < SG_WARP_SIZE; lane++)                                    \
			found |= (u32)sg_testp(a[lane] & ~(T)sign, infinity, min_normal,           \
					       at->selector)                                       \
				 << lane;                                                          \
		*p = (*p & ~warp->exec) | (found & warp->exec);                                    \
		return at + 1;                                                                     \
	}

SG_DEFINE_TESTP(testp_f32, u32, 0x80000000, 0x7f800000, 0x00800000)
SG_DEFINE_TESTP(testp_f64, u64, 0x8000000000000000, 0x7ff0000000000000, 0x0010000000000000)
