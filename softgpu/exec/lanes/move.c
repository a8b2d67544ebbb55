/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/lanes/lanes.h"
#include "exec/ops/float.h"

#define SG_UNARY SG_DEFINE_UNARY
#define SG_BINARY SG_DEFINE_BINARY
#define SG_TERNARY SG_DEFINE_TERNARY
#define SG_OTHER(id)
#include "exec/lanes/move.def"

SG_DEFINE(mov_b128)
{
	sg_blend64(SG_SLOT(u64, at->d), SG_SLOT(u64, at->a), warp->exec);
	sg_blend64(SG_SLOT(u64, at->d + 256), SG_SLOT(u64, at->a + 256), warp->exec);
	return at + 1;
}

#define SG_DEFINE_SELECT(id, T, bit)                                                               \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const T *a_ = SG_SLOT(T, at->a), *b_ = SG_SLOT(T, at->b);                          \
		T p = *sg_predicate(warp, at->c);                                                  \
		SG_STORE(T, result[lane] = (p & bit) ? a_[lane] : b_[lane]);                       \
		return at + 1;                                                                     \
	}

SG_DEFINE_SELECT(selp_b32, u32, SG_BIT(lane))
SG_DEFINE_SELECT(selp_b64, u64, SG_BIT64(lane))

SG_DEFINE(selp_b16)
{
	const u16 *a_ = SG_SLOT(u16, at->a), *b_ = SG_SLOT(u16, at->b);
	u32 p = *sg_predicate(warp, at->c);

	SG_STORE(u16, result[lane] = (p & SG_BIT(lane)) ? a_[lane] : b_[lane]);
	return at + 1;
}
