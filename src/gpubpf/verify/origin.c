/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Origins of values in widened loops: what was added to a value since the loop's header. */
#include "gpubpf/verify/widen.h"

static void drop_origin(struct gt_value *value)
{
	value->origin = 0;
	value->origin_bits = 0;
	value->shifted = 0;
	value->change = 0;
	value->spread = 0;
	value->sum = 0;
}

/* The low half of a value, with zeros above. */
static void narrow_origin(const struct gt_value *source, struct gt_value *result)
{
	gt_origin_copy(source, result);
	if (source->scalar.all.umax <= UINT32_MAX)
		return;
	result->origin_bits = 32;
	result->change = (int32_t)source->change;
}

void gt_origin_move(const struct bpf_insn *insn, const struct gt_value *source,
		    struct gt_value *result, bool same)
{
	drop_origin(result);
	if (!source->origin)
		return;
	if (same || (BPF_CLASS(insn->code) == BPF_ALU64 && !insn->off))
		gt_origin_copy(source, result);
	else if (BPF_CLASS(insn->code) == BPF_ALU && !insn->off && !source->shifted)
		narrow_origin(source, result);
}

/* A range of what is added to a value. */
struct origin_step {
	__int128 min, max;
};

static struct origin_step step_of(const struct gt_scalar *scalar, bool wide, bool subtract)
{
	const struct gt_interval *interval = wide ? &scalar->all : &scalar->low;

	if (subtract)
		return (struct origin_step){-(__int128)interval->smax, -(__int128)interval->smin};
	return (struct origin_step){interval->smin, interval->smax};
}

static bool is_within(__int128 min, __int128 max, __int128 first, __int128 last)
{
	return min >= first && max <= last;
}

/* Add a range to what was added before. False: it is too large. */
static bool add_step(const struct gt_value *value, struct origin_step step, struct gt_value *result,
		     uint32_t *next_id)
{
	__int128 spread = value->spread + (step.max - step.min);

	if (spread > INT32_MAX)
		return false;
	gt_origin_copy(value, result);
	result->change = (int64_t)((uint64_t)value->change + (uint64_t)step.min);
	if (result->origin_bits == 32)
		result->change = (int32_t)result->change;
	result->spread = (uint32_t)spread;
	if (step.max != step.min)
		result->sum = ++*next_id;
	return true;
}

/* A constant was added to a shifted value, which is still one if the low half is 0. */
static void add_shifted(const struct gt_value *value, const struct gt_scalar *number,
			struct gt_value *result)
{
	const struct gt_interval *all = &value->scalar.all;
	int64_t high = (int64_t)number->value >> 32;

	if (!gt_scalar_is_constant(number) || (uint32_t)number->value ||
	    !add_step(value, (struct origin_step){high, high}, result, NULL))
		return;
	if (!is_within((__int128)(all->umin >> 32) + high, (__int128)(all->umax >> 32) + high, 0,
		       UINT32_MAX))
		result->shifted &= (uint8_t)~GT_SHIFTED_ZERO;
	if (!is_within((__int128)(all->smin >> 32) + high, (__int128)(all->smax >> 32) + high,
		       INT32_MIN, INT32_MAX))
		result->shifted &= (uint8_t)~GT_SHIFTED_SIGN;
}

/* The sum of a value and a scalar, or their difference. */
static void add_scalar(const struct bpf_insn *insn, const struct gt_value *value,
		       const struct gt_scalar *scalar, struct gt_value *result, uint32_t *next_id)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct origin_step step = step_of(scalar, wide, BPF_OP(insn->code) == BPF_SUB);
	bool fits = value->scalar.all.umax <= UINT32_MAX &&
		    is_within(value->scalar.all.umin + step.min, value->scalar.all.umax + step.max,
			      0, UINT32_MAX);

	if ((wide && value->origin_bits == 32 && !fits) || !add_step(value, step, result, next_id))
		return;
	if (!wide && !fits) {
		result->origin_bits = 32;
		result->change = (int32_t)result->change;
	}
}

/* Shifts by 32 to the left and back are how code without 32-bit registers extends 32 bits. */
static void shift_by_half(const struct bpf_insn *insn, const struct gt_value *value,
			  struct gt_value *result)
{
	const struct gt_interval *all = &value->scalar.all;
	unsigned operation = BPF_OP(insn->code);
	bool exact;

	if (operation == BPF_LSH && !value->shifted) {
		gt_origin_copy(value, result);
		result->shifted = GT_SHIFTED;
		if (value->origin_bits == 64 && all->umax <= UINT32_MAX)
			result->shifted |= GT_SHIFTED_ZERO;
		if (value->origin_bits == 64 &&
		    is_within(all->smin, all->smax, INT32_MIN, INT32_MAX))
			result->shifted |= GT_SHIFTED_SIGN;
		return;
	}
	exact = value->shifted & (operation == BPF_RSH ? GT_SHIFTED_ZERO : GT_SHIFTED_SIGN);
	if (!value->shifted || operation == BPF_LSH ||
	    (operation == BPF_ARSH && !exact && result->scalar.all.smin < 0))
		return;
	gt_origin_copy(value, result);
	result->shifted = 0;
	if (exact)
		return;
	result->origin_bits = 32;
	result->change = (int32_t)result->change;
}

void gt_origin_alu(const struct bpf_insn *insn, const struct gt_value *left,
		   const struct gt_value *right, struct gt_value *result, uint32_t *next_id)
{
	unsigned operation = BPF_OP(insn->code);
	bool constant = gt_scalar_is_constant(&right->scalar);

	drop_origin(result);
	if (operation == BPF_ADD && left->origin && left->shifted)
		add_shifted(left, &right->scalar, result);
	else if (operation == BPF_ADD && right->origin && right->shifted)
		add_shifted(right, &left->scalar, result);
	else if (operation == BPF_ADD && left->origin)
		add_scalar(insn, left, &right->scalar, result, next_id);
	else if (operation == BPF_ADD && right->origin)
		add_scalar(insn, right, &left->scalar, result, next_id);
	else if (operation == BPF_SUB && left->origin && !left->shifted)
		add_scalar(insn, left, &right->scalar, result, next_id);
	else if (left->origin && constant && right->scalar.value == 32 &&
		 BPF_CLASS(insn->code) == BPF_ALU64 &&
		 (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH))
		shift_by_half(insn, left, result);
}

/* The difference of two values with the same origin. */
static struct gt_scalar difference_of(const struct gt_value *value, const struct gt_value *known)
{
	static const struct bpf_insn add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	struct gt_scalar constant =
		gt_scalar_constant((uint64_t)value->change - (uint64_t)known->change);
	struct gt_scalar range = gt_scalar_unknown();

	if (known->sum == value->sum)
		return constant;
	range.all.smin = -(int64_t)known->spread;
	range.all.smax = value->spread;
	gt_scalar_sync_bounds(&range);
	return gt_scalar_alu(&add, &constant, &range);
}

void gt_narrow_number(struct gt_value *value, const struct gt_scalar *number)
{
	static const struct bpf_insn subtract = {.code = BPF_ALU64 | BPF_SUB | BPF_X},
				     equal = {.code = BPF_JMP | BPF_JEQ | BPF_X};
	struct gt_scalar fixed, part, scalar = value->scalar;

	if (value->type == GT_REG_SCALAR) {
		value->scalar = *number;
		return;
	}
	fixed = gt_scalar_constant((uint64_t)value->fixed_offset);
	part = gt_scalar_alu(&subtract, number, &fixed);
	if (gt_scalar_assume(&equal, true, &scalar, &part))
		value->scalar = scalar;
}

static void sync_value(const struct gt_value *known, struct gt_value *value)
{
	struct bpf_insn add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	static const struct bpf_insn equal = {.code = BPF_JMP | BPF_JEQ | BPF_X};
	struct gt_scalar more, other, scalar;

	if (value->type != known->type || value->origin != known->origin || value->shifted)
		return;
	scalar = value->type == GT_REG_SCALAR ? value->scalar : gt_value_offset(value);
	if (known->origin_bits != 64 || value->origin_bits != 64) {
		if (value->scalar.all.umax > UINT32_MAX)
			return;
		add.code = BPF_ALU | BPF_ADD | BPF_X;
	}
	more = difference_of(value, known);
	other = known->type == GT_REG_SCALAR ? known->scalar : gt_value_offset(known);
	other = gt_scalar_alu(&add, &other, &more);
	if (gt_scalar_assume(&equal, true, &scalar, &other))
		gt_narrow_number(value, &scalar);
}

void gt_origin_sync(struct gt_state *state, const struct gt_value *known)
{
	struct gt_value source = *known;

	if (!source.origin || source.shifted || source.type == GT_REG_UNSET || source.maybe_null)
		return;
	for (unsigned i = 0; i <= state->depth; i++) {
		struct gt_verify_frame *frame = &state->frames[i];

		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++)
			sync_value(&source, &frame->registers[j]);
		for (uint32_t j = 0; j < frame->slot_count; j++)
			if (gt_slot_width(&frame->slots[j]))
				sync_value(&source, &frame->slots[j].value);
	}
	for (unsigned i = 0; i < state->widened_count; i++)
		sync_value(&source, &state->ranked[i]);
}

void gt_origin_forget(struct gt_state *state, uint32_t first)
{
	for (unsigned location = 0; location < GT_LOCATIONS; location++) {
		struct gt_value *value = gt_location_value(state, location, NULL);

		if (value && value->origin >= first && value->origin < first + GT_LOCATIONS)
			drop_origin(value);
	}
}

void gt_origin_move_pointer(const struct bpf_insn *insn, const struct gt_value *pointer,
			    const struct gt_scalar *distance, struct gt_value *result,
			    uint32_t *next_id)
{
	struct origin_step step = step_of(distance, true, BPF_OP(insn->code) == BPF_SUB);

	drop_origin(result);
	if (pointer->origin)
		add_step(pointer, step, result, next_id);
}
