/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Read-modify-write on memory. Shared memory belongs to the one thread that runs its block, unless
 * that is in a cluster; all other memory is seen by other blocks and by the host, so there it is
 * atomic for the CPU too.
 */
#include <string.h>

#include "exec/float.h"
#include "exec/half.h"
#include "exec/steps.h"

static uint64_t increment(uint64_t before, uint64_t b)
{
	return before >= b ? 0 : before + 1;
}

static uint64_t decrement(uint64_t before, uint64_t b)
{
	return before == 0 || before > b ? b : before - 1;
}

static uint64_t add(uint64_t before, uint64_t b, enum gt_ptx_type type)
{
	switch (type) {
	case GT_PTX_TYPE_F32:
		return sg_bits_f32(sg_canonical_f32(sg_float_f32((uint32_t)before) +
						    sg_float_f32((uint32_t)b)));
	case GT_PTX_TYPE_F64:
		return sg_bits_f64(sg_float_f64(before) + sg_float_f64(b));
	case GT_PTX_TYPE_F16:
	case GT_PTX_TYPE_BF16:
	case GT_PTX_TYPE_F16X2:
	case GT_PTX_TYPE_BF16X2:
		return sg_half_compute(SG_HALF_ADD, sg_half_format(type), 0, (uint32_t)before,
				       (uint32_t)b, 0);
	default:
		return before + b;
	}
}

static bool is_less(uint64_t a, uint64_t b, enum gt_ptx_type type)
{
	switch (type) {
	case GT_PTX_TYPE_S32:
		return (int32_t)a < (int32_t)b;
	case GT_PTX_TYPE_S64:
		return (int64_t)a < (int64_t)b;
	default:
		return a < b;
	}
}

static uint64_t smaller(uint64_t a, uint64_t b, enum gt_ptx_type type)
{
	enum sg_half format = sg_half_format(type);

	if (format != SG_HALF_NONE)
		return sg_half_compute(SG_HALF_MIN, format, 0, (uint32_t)a, (uint32_t)b, 0);
	return is_less(a, b, type) ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b, enum gt_ptx_type type)
{
	enum sg_half format = sg_half_format(type);

	if (format != SG_HALF_NONE)
		return sg_half_compute(SG_HALF_MAX, format, 0, (uint32_t)a, (uint32_t)b, 0);
	return is_less(a, b, type) ? b : a;
}

static uint64_t changed(const struct sg_instruction *at, uint64_t before, uint64_t b, uint64_t c)
{
	enum gt_ptx_type type = (enum gt_ptx_type)at->space;

	switch (at->selector) {
	case SG_ATOMIC_ADD:
		return add(before, b, type);
	case SG_ATOMIC_MIN:
		return smaller(before, b, type);
	case SG_ATOMIC_MAX:
		return larger(before, b, type);
	case SG_ATOMIC_AND:
		return before & b;
	case SG_ATOMIC_OR:
		return before | b;
	case SG_ATOMIC_XOR:
		return before ^ b;
	case SG_ATOMIC_EXCHANGE:
		return b;
	case SG_ATOMIC_COMPARE:
		return before == b ? c : before;
	case SG_ATOMIC_INCREMENT:
		return increment(before, b);
	default:
		return decrement(before, b);
	}
}

/* The same for memory that others see: repeats until nobody came in between. */
#define DEFINE_SEEN(T)                                                                             \
	static uint64_t change_seen_##T(T *place, const struct sg_instruction *at, uint64_t b,     \
					uint64_t c)                                                \
	{                                                                                          \
		T before = __atomic_load_n(place, __ATOMIC_RELAXED), after;                        \
		do {                                                                               \
			after = (T)changed(at, before, b, c);                                      \
		} while (!__atomic_compare_exchange_n(place, &before, after, false,                \
						      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));        \
		return before;                                                                     \
	}

DEFINE_SEEN(uint16_t)
DEFINE_SEEN(uint32_t)
DEFINE_SEEN(uint64_t)

uint64_t sg_atomic_change(const struct sg_instruction *at, void *place, bool is_private, uint64_t b,
			  uint64_t c)
{
	uint64_t before = 0, after;

	if (is_private) {
		memcpy(&before, place, at->size);
		after = changed(at, before, b, c);
		memcpy(place, &after, at->size);
		return before;
	}
	if (at->size == 4)
		return change_seen_uint32_t(place, at, b, c);
	if (at->size == 8)
		return change_seen_uint64_t(place, at, b, c);
	return change_seen_uint16_t(place, at, b, c);
}

__extension__ typedef unsigned __int128 uint128;

/* What was there; it is changed also where nothing else is written, which nobody sees. */
static uint128 change_wide(uint128 *place, bool compares, uint128 b, uint128 c)
{
	uint128 before = 0, found;

	if (compares)
		return __sync_val_compare_and_swap(place, b, c);
	while ((found = __sync_val_compare_and_swap(place, before, b)) != before)
		before = found;
	return before;
}

static uint64_t read_slot(const char *slot, uint32_t size, uint32_t lane)
{
	uint64_t value = 0;

	memcpy(&value, slot + lane * size, size);
	return value;
}

/* ---- the common ones: integers of 32 and 64 bits --------------------------------------- */

#define EACH_LANE(T, body)                                                                         \
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {                             \
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);                                    \
		T *place = (T *)(uintptr_t)access->address[lane], b = b_[lane], before;            \
		body;                                                                              \
		d_[lane] = before;                                                                 \
	}

/* An operation that a private word and one that others see do in their own ways. */
#define CHANGE(T, expression, atomic)                                                              \
	if (is_private)                                                                            \
		EACH_LANE(T, before = *place; *place = expression)                                 \
	else                                                                                       \
		EACH_LANE(T, before = atomic(place, b, __ATOMIC_SEQ_CST))                          \
	return true

#define DEFINE_QUICK(T)                                                                            \
	static bool run_quick_##T(struct sg_warp *warp, const struct sg_instruction *at,           \
				  const struct sg_access *access, bool is_private)                 \
	{                                                                                          \
		T *d_ = (T *)(void *)(warp->frame + at->d);                                        \
		const T *b_ = (T *)(void *)(warp->frame + at->b);                                  \
		const T *c_ = (T *)(void *)(warp->frame + at->c);                                  \
		switch (at->selector) {                                                            \
		case SG_ATOMIC_ADD:                                                                \
			CHANGE(T, before + b, __atomic_fetch_add);                                 \
		case SG_ATOMIC_AND:                                                                \
			CHANGE(T, before &b, __atomic_fetch_and);                                  \
		case SG_ATOMIC_OR:                                                                 \
			CHANGE(T, before | b, __atomic_fetch_or);                                  \
		case SG_ATOMIC_XOR:                                                                \
			CHANGE(T, before ^ b, __atomic_fetch_xor);                                 \
		case SG_ATOMIC_EXCHANGE:                                                           \
			CHANGE(T, b, __atomic_exchange_n);                                         \
		case SG_ATOMIC_COMPARE:                                                            \
			if (is_private) {                                                          \
				EACH_LANE(T, before = *place;                                      \
					  *place = before == b ? c_[lane] : before)                \
			} else {                                                                   \
				EACH_LANE(T, before = b; __atomic_compare_exchange_n(              \
						  place, &before, c_[lane], false,                 \
						  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))             \
			}                                                                          \
			return true;                                                               \
		default:                                                                           \
			return false;                                                              \
		}                                                                                  \
	}

DEFINE_QUICK(uint32_t)
DEFINE_QUICK(uint64_t)

static bool is_integer(enum gt_ptx_type type)
{
	return gt_ptx_type_info(type)->class != GT_PTX_CLASS_FLOAT &&
	       gt_ptx_type_info(type)->class != GT_PTX_CLASS_PACKED;
}

static bool run_quick(struct sg_warp *warp, const struct sg_instruction *at,
		      const struct sg_access *access, bool is_private)
{
	if (!is_integer((enum gt_ptx_type)at->space))
		return false;
	return at->size == 4   ? run_quick_uint32_t(warp, at, access, is_private)
	       : at->size == 8 ? run_quick_uint64_t(warp, at, access, is_private)
			       : false;
}

/* ---- all of them ----------------------------------------------------------------------- */

/* Whether that is true of all lanes. */
static bool are_private(const struct sg_warp *warp, const struct sg_access *access)
{
	bool all = true;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		all &= sg_is_private(warp, access->address[lane]);
	return all;
}

/* The elements of one lane are read before any is written: registers may be the same. */
const struct sg_instruction *sg_run_atomic_vector(struct sg_warp *warp,
						  const struct sg_instruction *at)
{
	uint64_t b[SG_MAX_ELEMENTS];
	const uint32_t *to = at->list, *from = at->list + at->count;
	struct sg_access access;

	if (!at->resolve(warp, at, &access))
		return NULL;
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = access.address[lane];
		bool is_private = sg_is_private(warp, address);

		for (uint32_t i = 0; i < at->count; i++)
			b[i] = read_slot(warp->frame + from[i], at->size, lane);
		for (uint32_t i = 0; i < at->count; i++) {
			uint64_t before = sg_atomic_change(
				at, (char *)(uintptr_t)address + i * at->size, is_private, b[i], 0);

			memcpy(warp->frame + to[i] + lane * at->size, &before, at->size);
		}
	}
	return at + 1;
}

/* The two halves of a .b128 are 256 bytes apart. */
static uint128 read_wide(const char *slot, uint32_t lane)
{
	return (uint128)read_slot(slot + 256, 8, lane) << 64 | read_slot(slot, 8, lane);
}

const struct sg_instruction *sg_run_atomic_wide(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	uint64_t *low = (uint64_t *)(void *)(warp->frame + at->d);
	struct sg_access access;

	if (!at->resolve(warp, at, &access))
		return NULL;
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint128 before = change_wide((uint128 *)(uintptr_t)access.address[lane],
					     at->selector == SG_ATOMIC_COMPARE,
					     read_wide(warp->frame + at->b, lane),
					     read_wide(warp->frame + at->c, lane));

		low[lane] = (uint64_t)before;
		low[lane + SG_WARP_SIZE] = (uint64_t)(before >> 64);
	}
	return at + 1;
}

/* d: SG_SINK for red; space: enum gt_ptx_type. */
const struct sg_instruction *sg_run_atomic(struct sg_warp *warp, const struct sg_instruction *at)
{
	struct sg_access access;

	if (!at->resolve(warp, at, &access))
		return NULL;
	if (run_quick(warp, at, &access, are_private(warp, &access)))
		return at + 1;
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = access.address[lane];
		uint64_t b = read_slot(warp->frame + at->b, at->size, lane);
		uint64_t c = read_slot(warp->frame + at->c, at->size, lane);
		uint64_t before = sg_atomic_change(at, (void *)(uintptr_t)address,
						   sg_is_private(warp, address), b, c);

		memcpy(warp->frame + at->d + lane * at->size, &before, at->size);
	}
	return at + 1;
}
