/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomics: atom and red. Shared memory is private to the CPU thread that runs its block, unless the
 * block is in a cluster. Other memory is visible to other blocks and to the host, so there the
 * operations are atomic on the CPU too.
 */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"

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

static uint64_t minimum(uint64_t a, uint64_t b, enum gt_ptx_type type)
{
	enum sg_half format = sg_half_format(type);

	if (format != SG_HALF_NONE)
		return sg_half_compute(SG_HALF_MIN, format, 0, (uint32_t)a, (uint32_t)b, 0);
	return is_less(a, b, type) ? a : b;
}

static uint64_t maximum(uint64_t a, uint64_t b, enum gt_ptx_type type)
{
	enum sg_half format = sg_half_format(type);

	if (format != SG_HALF_NONE)
		return sg_half_compute(SG_HALF_MAX, format, 0, (uint32_t)a, (uint32_t)b, 0);
	return is_less(a, b, type) ? b : a;
}

static uint64_t apply_operation(const struct sg_instruction *at, uint64_t before, uint64_t b,
				uint64_t c)
{
	enum gt_ptx_type type = (enum gt_ptx_type)at->space;

	switch (at->selector) {
	case SG_ATOMIC_ADD:
		return add(before, b, type);
	case SG_ATOMIC_MIN:
		return minimum(before, b, type);
	case SG_ATOMIC_MAX:
		return maximum(before, b, type);
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

/* The same for memory that is not private: a compare-and-swap loop. */
#define DEFINE_SHARED(T)                                                                           \
	static uint64_t change_shared_##T(T *memory, const struct sg_instruction *at, uint64_t b,  \
					  uint64_t c)                                              \
	{                                                                                          \
		T before = __atomic_load_n(memory, __ATOMIC_RELAXED), after;                       \
		do {                                                                               \
			after = (T)apply_operation(at, before, b, c);                              \
		} while (!__atomic_compare_exchange_n(memory, &before, after, false,               \
						      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));        \
		return before;                                                                     \
	}

DEFINE_SHARED(uint16_t)
DEFINE_SHARED(uint32_t)
DEFINE_SHARED(uint64_t)

uint64_t sg_atomic_change(const struct sg_instruction *at, void *memory, bool is_private,
			  uint64_t b, uint64_t c)
{
	uint64_t before = 0, after;

	if (is_private) {
		memcpy(&before, memory, at->size);
		after = apply_operation(at, before, b, c);
		memcpy(memory, &after, at->size);
		return before;
	}
	if (at->size == 4)
		return change_shared_uint32_t(memory, at, b, c);
	if (at->size == 8)
		return change_shared_uint64_t(memory, at, b, c);
	return change_shared_uint16_t(memory, at, b, c);
}

__extension__ typedef unsigned __int128 uint128;

/* Returns the old value. A failed comparison writes the old value back. */
static uint128 change_wide(uint128 *memory, bool compares, uint128 b, uint128 c)
{
	uint128 before = 0, found;

	if (compares)
		return __sync_val_compare_and_swap(memory, b, c);
	while ((found = __sync_val_compare_and_swap(memory, before, b)) != before)
		before = found;
	return before;
}

/* ---- fast paths: integers of 32 and 64 bits -------------------------------------------- */

#define EACH_LANE(T, body)                                                                         \
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {                             \
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);                                    \
		T *memory = (T *)(uintptr_t)access->address[lane], b = b_[lane], before;           \
		body;                                                                              \
		d_[lane] = before;                                                                 \
	}

/* An operation on private memory, or an atomic one. */
#define CHANGE(T, expression, atomic)                                                              \
	if (is_private)                                                                            \
		EACH_LANE(T, before = *memory; *memory = expression)                               \
	else                                                                                       \
		EACH_LANE(T, before = atomic(memory, b, __ATOMIC_SEQ_CST))                         \
	return true

#define DEFINE_FAST(T)                                                                             \
	static bool run_fast_##T(struct sg_warp *warp, const struct sg_instruction *at,            \
				 const struct sg_access *access, bool is_private)                  \
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
				EACH_LANE(T, before = *memory;                                     \
					  *memory = before == b ? c_[lane] : before)               \
			} else {                                                                   \
				EACH_LANE(T, before = b; __atomic_compare_exchange_n(              \
						  memory, &before, c_[lane], false,                \
						  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))             \
			}                                                                          \
			return true;                                                               \
		default:                                                                           \
			return false;                                                              \
		}                                                                                  \
	}

DEFINE_FAST(uint32_t)
DEFINE_FAST(uint64_t)

static bool is_integer(enum gt_ptx_type type)
{
	return gt_ptx_type_info(type)->class != GT_PTX_CLASS_FLOAT &&
	       gt_ptx_type_info(type)->class != GT_PTX_CLASS_PACKED;
}

static bool run_fast(struct sg_warp *warp, const struct sg_instruction *at,
		     const struct sg_access *access, bool is_private)
{
	if (!is_integer((enum gt_ptx_type)at->space))
		return false;
	return at->size == 4   ? run_fast_uint32_t(warp, at, access, is_private)
	       : at->size == 8 ? run_fast_uint64_t(warp, at, access, is_private)
			       : false;
}

/* ---- all types ------------------------------------------------------------------------- */

/* Whether the memory of all lanes is private. */
static bool are_private(const struct sg_warp *warp, const struct sg_access *access)
{
	bool all = true;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		all &= sg_is_private(warp, access->address[lane]);
	return all;
}

/*
 * Changes count elements one after the other; list: their d, then their b. The operands of a lane
 * are read before its results are written, since registers may be the same.
 */
static const struct sg_instruction *run_atomic_vector(struct sg_warp *warp,
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
			b[i] = sg_read_lane(warp, from[i], at->size, lane);
		for (uint32_t i = 0; i < at->count; i++) {
			uint64_t before = sg_atomic_change(
				at, (char *)(uintptr_t)address + i * at->size, is_private, b[i], 0);

			memcpy(warp->frame + to[i] + lane * at->size, &before, at->size);
		}
	}
	return at + 1;
}

/* The two halves of a .b128 are 256 bytes apart. */
static uint128 read_wide(const struct sg_warp *warp, uint32_t slot, uint32_t lane)
{
	return (uint128)sg_read_lane(warp, slot + 256, 8, lane) << 64 |
	       sg_read_lane(warp, slot, 8, lane);
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
		uint128 before =
			change_wide((uint128 *)(uintptr_t)access.address[lane],
				    at->selector == SG_ATOMIC_COMPARE, read_wide(warp, at->b, lane),
				    read_wide(warp, at->c, lane));

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
	if (run_fast(warp, at, &access, are_private(warp, &access)))
		return at + 1;
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = access.address[lane];
		uint64_t b = sg_read_lane(warp, at->b, at->size, lane);
		uint64_t c = sg_read_lane(warp, at->c, at->size, lane);
		uint64_t before = sg_atomic_change(at, (void *)(uintptr_t)address,
						   sg_is_private(warp, address), b, c);

		memcpy(warp->frame + at->d + lane * at->size, &before, at->size);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

static const struct {
	enum gt_ptx_modifier_id id;
	enum sg_atomic operation;
} atomics[] = {
	{GT_PTX_MOD_ADD, SG_ATOMIC_ADD},       {GT_PTX_MOD_MIN, SG_ATOMIC_MIN},
	{GT_PTX_MOD_MAX, SG_ATOMIC_MAX},       {GT_PTX_MOD_AND, SG_ATOMIC_AND},
	{GT_PTX_MOD_OR, SG_ATOMIC_OR},         {GT_PTX_MOD_XOR, SG_ATOMIC_XOR},
	{GT_PTX_MOD_EXCH, SG_ATOMIC_EXCHANGE}, {GT_PTX_MOD_CAS, SG_ATOMIC_COMPARE},
	{GT_PTX_MOD_INC, SG_ATOMIC_INCREMENT}, {GT_PTX_MOD_DEC, SG_ATOMIC_DECREMENT},
};

static bool is_atomic_modifier(enum gt_ptx_modifier_id id)
{
	for (size_t i = 0; i < gt_countof(atomics); i++)
		if (atomics[i].id == id)
			return true;
	return false;
}

static bool is_red_async_modifier(enum gt_ptx_modifier_id id)
{
	return is_atomic_modifier(id) || sg_is_async_modifier(id);
}

bool sg_find_atomic(const struct gt_ptx_form *form, enum sg_atomic *ret_operation)
{
	for (size_t i = 0; i < gt_countof(atomics); i++)
		if (gt_ptx_form_has(form, atomics[i].id)) {
			*ret_operation = atomics[i].operation;
			return true;
		}
	return false;
}

/* PTX ISA 9.0, 9.7.13.5. */
bool sg_has_atomic(enum sg_atomic operation, enum gt_ptx_type type)
{
	bool is_sum = operation == SG_ATOMIC_ADD;
	bool is_order = operation == SG_ATOMIC_MIN || operation == SG_ATOMIC_MAX;
	bool is_count = operation == SG_ATOMIC_INCREMENT || operation == SG_ATOMIC_DECREMENT;

	switch (type) {
	case GT_PTX_TYPE_B16:
		return operation == SG_ATOMIC_COMPARE;
	case GT_PTX_TYPE_B128:
		return operation == SG_ATOMIC_COMPARE || operation == SG_ATOMIC_EXCHANGE;
	case GT_PTX_TYPE_B32:
	case GT_PTX_TYPE_B64:
		return !is_sum && !is_order && !is_count;
	case GT_PTX_TYPE_U32:
		return is_sum || is_order || is_count;
	case GT_PTX_TYPE_S32:
	case GT_PTX_TYPE_U64:
	case GT_PTX_TYPE_S64:
		return is_sum || is_order;
	case GT_PTX_TYPE_F32:
	case GT_PTX_TYPE_F64:
		return is_sum;
	default:
		return sg_half_format(type) != SG_HALF_NONE && (is_sum || is_order);
	}
}

/* atom.global.v2.f32.add {d, e}, [a], {b, c}: floating point only, each element separately. */
static int decode_atomic_vector(struct sg_decoder *decoder, struct sg_instruction *step,
				uint32_t first, enum gt_ptx_type type)
{
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t count = sg_decode_form(decoder)->vector, found = count, width, slot = SG_SINK;
	uint32_t *list = sg_decode_list(decoder, 2 * count);
	int error = list ? 0 : -ENOMEM;

	if (!error && first)
		error = sg_decode_elements(decoder, 0, items, &found);
	for (uint32_t i = 0; i < count && found == count && !error; i++) {
		if (first)
			error = sg_decode_destination_operand(decoder, items[i], 0, type, false,
							      &slot, &width);
		list[i] = slot;
	}
	if (!error && found == count)
		error = sg_decode_elements(decoder, first + 1, items, &found);
	if (!error && found != count)
		return sg_decode_bad_operand(decoder, first + 1);
	for (uint32_t i = 0; i < count && !error; i++)
		error = sg_decode_source_operand(decoder, items[i], first + 1, type, false,
						 &list[count + i], &width);
	step->list = list;
	step->count = (uint8_t)count;
	return error;
}

/* Whether there are vectors of a type: at most 16 bytes of .f32 and smaller elements. */
static bool has_vector(enum gt_ptx_type type, uint32_t count)
{
	const struct gt_ptx_type_info *info = gt_ptx_type_info(type);

	return count == 1 ||
	       ((info->class == GT_PTX_CLASS_FLOAT || info->class == GT_PTX_CLASS_PACKED) &&
		info->bits <= 32 && count * info->bits <= 128);
}

int sg_decode_atom(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_red = form->opcode == GT_PTX_OP_RED;
	bool is_async = is_red && gt_ptx_form_has(form, GT_PTX_MOD_ASYNC);
	uint32_t first = is_red ? 0 : 1;
	enum sg_atomic operation;
	enum gt_ptx_type type = sg_decode_type(decoder);
	struct sg_instruction wanted = {.d = SG_SINK, .b = SG_SINK, .c = SG_SINK, .count = 1};
	struct sg_address address;
	struct sg_memory_modifiers modifiers;
	int error = 0;

	if (!sg_find_atomic(form, &operation) ||
	    !sg_decode_memory_modifiers(form, is_async ? is_red_async_modifier : is_atomic_modifier,
					&modifiers) ||
	    !sg_has_atomic(operation, type) || !has_vector(type, form->vector) ||
	    (modifiers.space != GT_PTX_SPACE_NONE && modifiers.space != GT_PTX_SPACE_GLOBAL &&
	     modifiers.space != GT_PTX_SPACE_SHARED))
		return sg_decode_bad_form(decoder);
	wanted.selector = (uint8_t)operation;
	wanted.size = (uint8_t)(gt_ptx_type_info(type)->bits / 8);
	wanted.space = (uint8_t)type;
	wanted.flags = modifiers.flags;
	error = sg_decode_address(decoder, first, &address);
	if (!error && form->vector > 1)
		error = decode_atomic_vector(decoder, &wanted, first, type);
	else if (!error && !is_red)
		error = sg_decode_destination(decoder, 0, type, &wanted.d);
	if (!error && form->vector == 1)
		error = sg_decode_source(decoder, first + 1, type, &wanted.b);
	if (!error && operation == SG_ATOMIC_COMPARE)
		error = sg_decode_source(decoder, first + 2, type, &wanted.c);
	if (!error)
		error = sg_decode_access(decoder, &wanted, modifiers.space, &address);
	if (!error)
		error = sg_decode_emit_step(decoder,
					    form->vector > 1    ? run_atomic_vector
					    : wanted.size == 16 ? sg_run_atomic_wide
								: sg_run_atomic,
					    &wanted);
	return error ? error : sg_decode_async_completion(decoder, wanted.size);
}
