/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/lanes/lanes.h"
#include "exec/ops/float.h"

/* Values out of range are clamped; NaN becomes 0. */
static inline s32 sg_truncate_s32(f32 a)
{
	s32 inside = (s32)(a > -2147483648.0f && a < 2147483648.0f ? a : 0.0f);

	inside = a >= 2147483648.0f ? INT32_MAX : inside;
	return a <= -2147483648.0f ? INT32_MIN : inside;
}

static inline u32 sg_truncate_u32(f32 a)
{
	f32 inside = a > 0.0f && a < 4294967296.0f ? a : 0.0f;
	u32 high = inside >= 2147483648.0f ? 0x80000000 : 0;
	u32 result = (u32)(s32)(inside - (high ? 2147483648.0f : 0.0f)) + high;

	return a >= 4294967296.0f ? UINT32_MAX : result;
}

#define SG_UNARY SG_DEFINE_UNARY
#include "exec/lanes/convert.def"
