/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Origins of values in widened loops: what was added to a value since the loop's header. */
#include "gpubpf/verify/widen.h"

static void drop_origin(struct gt_value *value)
{
	value->origin = 0;
	value->origin_bits = 0;
	value->shifted = false;
	value->change = 0;
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

/* The sum of a value and a constant. */
static void add_constant(const struct bpf_insn *insn, const struct gt_value *value, uint64_t number,
			 struct gt_value *result)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	int64_t added = wide ? (int64_t)number : (int32_t)number;
	__int128 min = (__int128)value->scalar.all.umin + added;
	__int128 max = (__int128)value->scalar.all.umax + added;
	bool fits = value->scalar.all.umax <= UINT32_MAX && min >= 0 && max <= UINT32_MAX;

	if (value->shifted || (wide && value->origin_bits == 32 && !fits))
		return;
	gt_origin_copy(value, result);
	result->change = (int64_t)((uint64_t)value->change + (uint64_t)added);
	if (!wide && !fits)
		result->origin_bits = 32;
	if (result->origin_bits == 32)
		result->change = (int32_t)result->change;
}

/* Shifts by 32 to the left and back are how code without 32-bit registers extends 32 bits. */
static void shift_by_half(const struct bpf_insn *insn, const struct gt_value *value,
			  struct gt_value *result)
{
	unsigned operation = BPF_OP(insn->code);

	if (operation == BPF_LSH && !value->shifted) {
		narrow_origin(value, result);
		result->shifted = true;
	} else if (value->shifted && (operation == BPF_RSH ||
				      (operation == BPF_ARSH && result->scalar.all.smin >= 0))) {
		gt_origin_copy(value, result);
		result->shifted = false;
	}
}

void gt_origin_alu(const struct bpf_insn *insn, const struct gt_value *left,
		   const struct gt_value *right, struct gt_value *result)
{
	unsigned operation = BPF_OP(insn->code);
	bool constant = gt_scalar_is_constant(&right->scalar);

	drop_origin(result);
	if (operation == BPF_ADD && left->origin && constant)
		add_constant(insn, left, right->scalar.value, result);
	else if (operation == BPF_ADD && right->origin && gt_scalar_is_constant(&left->scalar))
		add_constant(insn, right, left->scalar.value, result);
	else if (operation == BPF_SUB && left->origin && constant)
		add_constant(insn, left, -right->scalar.value, result);
	else if (left->origin && constant && right->scalar.value == 32 &&
		 BPF_CLASS(insn->code) == BPF_ALU64 &&
		 (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH))
		shift_by_half(insn, left, result);
}

static void sync_value(const struct gt_value *known, struct gt_value *value)
{
	struct bpf_insn add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	static const struct bpf_insn equal = {.code = BPF_JMP | BPF_JEQ | BPF_X};
	struct gt_scalar more, other, scalar = value->scalar;

	if (value->type != GT_REG_SCALAR || value->origin != known->origin || value->shifted)
		return;
	if (known->origin_bits != 64 || value->origin_bits != 64) {
		if (value->scalar.all.umax > UINT32_MAX)
			return;
		add.code = BPF_ALU | BPF_ADD | BPF_X;
	}
	more = gt_scalar_constant((uint64_t)value->change - (uint64_t)known->change);
	other = gt_scalar_alu(&add, &known->scalar, &more);
	if (gt_scalar_assume(&equal, true, &scalar, &other))
		value->scalar = scalar;
}

void gt_origin_sync(struct gt_state *state, const struct gt_value *known)
{
	struct gt_value source = *known;

	if (!source.origin || source.shifted || source.type != GT_REG_SCALAR)
		return;
	for (unsigned i = 0; i <= state->depth; i++) {
		struct gt_verify_frame *frame = &state->frames[i];

		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++)
			sync_value(&source, &frame->registers[j]);
		for (uint32_t j = 0; j < frame->slot_count; j++)
			if (gt_slot_width(&frame->slots[j]))
				sync_value(&source, &frame->slots[j].value);
	}
}

void gt_origin_forget(struct gt_state *state, uint32_t first)
{
	for (unsigned location = 0; location < GT_LOCATIONS; location++) {
		struct gt_value *value = gt_location_value(state, location, NULL);

		if (value && value->origin >= first && value->origin < first + GT_LOCATIONS)
			drop_origin(value);
	}
}
