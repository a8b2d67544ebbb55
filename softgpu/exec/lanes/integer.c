/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/lanes/lanes.h"

static inline s32 sg_saturate_s32(s64 value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (s32)value;
}

static inline s64 sg_signed24(s32 value)
{
	return (s32)((u32)value << 8) >> 8;
}

static inline s32 sg_divide_s32(s32 a, s32 b)
{
	return b == 0 ? -1 : (s32)((s64)a / b);
}

static inline s32 sg_remainder_s32(s32 a, s32 b)
{
	return b == 0 ? -1 : (s32)((s64)a % b);
}

static inline s64 sg_divide_s64(s64 a, s64 b)
{
	if (b == 0)
		return -1;
	return b == -1 ? (s64) - (u64)a : a / b;
}

static inline s64 sg_remainder_s64(s64 a, s64 b)
{
	if (b == 0)
		return -1;
	return b == -1 ? 0 : a % b;
}

static inline u32 sg_join16(u32 high, u32 low)
{
	return high << 16 | (low & 0xffff);
}

static inline u32 sg_min_u16x2(u32 a, u32 b)
{
	u32 high_a = a >> 16, high_b = b >> 16, low_a = a & 0xffff, low_b = b & 0xffff;

	return sg_join16(high_a < high_b ? high_a : high_b, low_a < low_b ? low_a : low_b);
}

static inline u32 sg_max_u16x2(u32 a, u32 b)
{
	u32 high_a = a >> 16, high_b = b >> 16, low_a = a & 0xffff, low_b = b & 0xffff;

	return sg_join16(high_a > high_b ? high_a : high_b, low_a > low_b ? low_a : low_b);
}

static inline s32 sg_max_s32(s32 value, s32 min)
{
	return value < min ? min : value;
}

static inline u32 sg_min_s16x2(u32 a, u32 b, s32 min)
{
	s32 high_a = (s16)(a >> 16), high_b = (s16)(b >> 16), low_a = (s16)a, low_b = (s16)b;

	return sg_join16((u32)sg_max_s32(high_a < high_b ? high_a : high_b, min),
			 (u32)sg_max_s32(low_a < low_b ? low_a : low_b, min));
}

static inline u32 sg_max_s16x2(u32 a, u32 b, s32 min)
{
	s32 high_a = (s16)(a >> 16), high_b = (s16)(b >> 16), low_a = (s16)a, low_b = (s16)b;

	return sg_join16((u32)sg_max_s32(high_a > high_b ? high_a : high_b, min),
			 (u32)sg_max_s32(low_a > low_b ? low_a : low_b, min));
}

#define SG_UNARY SG_DEFINE_UNARY
#define SG_BINARY SG_DEFINE_BINARY
#define SG_TERNARY SG_DEFINE_TERNARY
#define SG_COMPARE SG_DEFINE_COMPARE
#include "exec/lanes/integer.def"
