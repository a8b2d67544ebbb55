/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations on 32 lanes at once. The files of this folder are compiled once for each set of
 * vector instructions (SG_VARIANT); the machine selects the table that the CPU can run.
 *
 * An operation computes all 32 lanes, then stores those that are active. Since it computes
 * inactive lanes too, nothing here may trap.
 */
#pragma once

#include <string.h>

#include "exec/engine/engine.h"

/* Every operation, in the order of the .def files. */
enum sg_lane_op {
	SG_LANE_NONE,
#define SG_OPERATION(id) SG_LANE_##id,
#include "exec/lanes/all.def"
	SG_LANE_COUNT,
};

/* The operations, compiled for one set of vector instructions. */
struct sg_lane_table {
	sg_run *run[SG_LANE_COUNT];
	sg_resolve *global; /* .global, .const and generic addresses */
	sg_resolve *shared;
};

extern const struct sg_lane_table sg_lanes_baseline;
#ifdef SG_HAS_V3
extern const struct sg_lane_table sg_lanes_v3;
#endif

/* Returns the table for this CPU. */
const struct sg_lane_table *sg_lanes_select(void);

#ifdef SG_VARIANT

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;

#define SG_PASTE_(a, b) a##b
#define SG_PASTE(a, b) SG_PASTE_(a, b)
#define SG_NAME(id) SG_PASTE(SG_PASTE(sg_lane_, id##_), SG_VARIANT)

#define SG_OPERATION(id) sg_run SG_NAME(id);
#include "exec/lanes/all.def"

sg_resolve SG_NAME(resolve_global), SG_NAME(resolve_shared);

/* The loop over lanes; its stores overlap its loads at most lane for lane. */
#ifdef __clang__
#define SG_LANES                                                                                   \
	_Pragma("clang loop vectorize(assume_safety)") for (unsigned lane = 0;                     \
							    lane < SG_WARP_SIZE; lane++)
#else
#define SG_LANES _Pragma("GCC ivdep") for (unsigned lane = 0; lane < SG_WARP_SIZE; lane++)
#endif

#define SG_DEFINE(id)                                                                              \
	const struct sg_instruction *SG_NAME(id)(struct sg_warp * warp,                            \
						 const struct sg_instruction *at)

#define SG_SLOT(type, slot) ((type *)__builtin_assume_aligned(warp->frame + (slot), 64))

static inline u32 *sg_predicate(struct sg_warp *warp, u32 slot)
{
	return (u32 *)(warp->frame + slot);
}

/* One bit per lane, in elements of each width. */
extern const u32 SG_PASTE(sg_bits32_, SG_VARIANT)[SG_WARP_SIZE];
extern const u64 SG_PASTE(sg_bits64_, SG_VARIANT)[SG_WARP_SIZE];
#define SG_BIT(lane) SG_PASTE(sg_bits32_, SG_VARIANT)[lane]
#define SG_BIT64(lane) SG_PASTE(sg_bits64_, SG_VARIANT)[lane]

/* Stores the lanes of `from` that are in the mask. */
static inline void sg_blend16(u16 *to, const u16 *from, u32 mask)
{
	SG_LANES to[lane] = (mask & SG_BIT(lane)) ? from[lane] : to[lane];
}

static inline void sg_blend32(u32 *to, const u32 *from, u32 mask)
{
	SG_LANES to[lane] = (mask & SG_BIT(lane)) ? from[lane] : to[lane];
}

static inline void sg_blend64(u64 *to, const u64 *from, u32 mask)
{
	u64 wide = mask;

	SG_LANES to[lane] = (wide & SG_BIT64(lane)) ? from[lane] : to[lane];
}

#define sg_blend(to, from, mask)                                                                   \
	do {                                                                                       \
		if (sizeof(*(to)) == 2)                                                            \
			sg_blend16((u16 *)(void *)(to), (const u16 *)(const void *)(from), mask);  \
		else if (sizeof(*(to)) == 4)                                                       \
			sg_blend32((u32 *)(void *)(to), (const u32 *)(const void *)(from), mask);  \
		else                                                                               \
			sg_blend64((u64 *)(void *)(to), (const u64 *)(const void *)(from), mask);  \
	} while (0)

/* Runs `compute`, which sets `result[lane]`, and stores the active lanes in slot d. */
#define SG_STORE(D, compute)                                                                       \
	do {                                                                                       \
		D *d_ = SG_SLOT(D, at->d);                                                         \
		if (sg_likely(warp->exec == SG_FULL)) {                                            \
			D *result = d_;                                                            \
			SG_LANES                                                                   \
			{                                                                          \
				compute;                                                           \
			}                                                                          \
		} else {                                                                           \
			D result[SG_WARP_SIZE] __attribute__((aligned(64)));                       \
			SG_LANES                                                                   \
			{                                                                          \
				compute;                                                           \
			}                                                                          \
			sg_blend(d_, result, warp->exec);                                          \
		}                                                                                  \
	} while (0)

#define SG_DEFINE_UNARY(id, D, A, expression)                                                      \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const A *a_ = SG_SLOT(A, at->a);                                                   \
		SG_STORE(D, A a = a_[lane]; result[lane] = (D)(expression));                       \
		return at + 1;                                                                     \
	}

#define SG_DEFINE_BINARY(id, D, A, B, expression)                                                  \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const A *a_ = SG_SLOT(A, at->a);                                                   \
		const B *b_ = SG_SLOT(B, at->b);                                                   \
		SG_STORE(D, A a = a_[lane]; B b = b_[lane]; result[lane] = (D)(expression));       \
		return at + 1;                                                                     \
	}

#define SG_DEFINE_TERNARY(id, D, A, B, C, expression)                                              \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const A *a_ = SG_SLOT(A, at->a);                                                   \
		const B *b_ = SG_SLOT(B, at->b);                                                   \
		const C *c_ = SG_SLOT(C, at->c);                                                   \
		SG_STORE(D, A a = a_[lane]; B b = b_[lane]; C c = c_[lane];                        \
			 result[lane] = (D)(expression));                                          \
		return at + 1;                                                                     \
	}

#define SG_DEFINE_QUATERNARY(id, D, A, B, C, E, expression)                                        \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const A *a_ = SG_SLOT(A, at->a);                                                   \
		const B *b_ = SG_SLOT(B, at->b);                                                   \
		const C *c_ = SG_SLOT(C, at->c);                                                   \
		const E *e_ = SG_SLOT(E, at->e);                                                   \
		SG_STORE(D, A a = a_[lane]; B b = b_[lane]; C c = c_[lane]; E e = e_[lane];        \
			 result[lane] = (D)(expression));                                          \
		return at + 1;                                                                     \
	}

/* Stores the result of a comparison, one bit per lane, as setp does. */
static inline const struct sg_instruction *
sg_set_predicates(struct sg_warp *warp, const struct sg_instruction *at, u32 compared)
{
	u32 exec = warp->exec, first, second, *p = sg_predicate(warp, at->d);
	u32 *q = sg_predicate(warp, at->e);

	if (at->flags & SG_FLAG_NEGATE)
		compared = ~compared;
	first = compared;
	second = ~compared;
	if (at->selector) {
		u32 c = *sg_predicate(warp, at->c) ^ (u32)at->immediate;

		if (at->selector == SG_BOOLEAN_AND) {
			first &= c;
			second &= c;
		} else if (at->selector == SG_BOOLEAN_OR) {
			first |= c;
			second |= c;
		} else {
			first ^= c;
			second ^= c;
		}
	}
	*q = (*q & ~exec) | (second & exec);
	*p = (*p & ~exec) | (first & exec);
	return at + 1;
}

#define SG_COMPARE_LOOP(A, expression)                                                             \
	u32 compared = 0;                                                                          \
	const A *a_ = SG_SLOT(A, at->a);                                                           \
	const A *b_ = SG_SLOT(A, at->b);                                                           \
	if (sizeof(A) == 8) {                                                                      \
		u64 wide = 0;                                                                      \
		SG_LANES                                                                           \
		{                                                                                  \
			A a = a_[lane], b = b_[lane];                                              \
			wide |= (expression) ? SG_BIT64(lane) : 0;                                 \
		}                                                                                  \
		compared = (u32)wide;                                                              \
	} else {                                                                                   \
		SG_LANES                                                                           \
		{                                                                                  \
			A a = a_[lane], b = b_[lane];                                              \
			compared |= (expression) ? SG_BIT(lane) : 0;                               \
		}                                                                                  \
	}

#define SG_DEFINE_COMPARE(id, A, expression)                                                       \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		SG_COMPARE_LOOP(A, expression)                                                     \
		return sg_set_predicates(warp, at, compared);                                      \
	}

#endif
