/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic on scalars and pointers. */
#include <inttypes.h>

#include "gpubpf/verify/widen.h"

int gt_verify_read(struct gt_verifier *verifier, unsigned regno)
{
	if (gt_register(verifier, regno)->type == GT_REG_UNSET)
		return gt_reject(verifier, "R%u !read_ok", regno);
	return 0;
}

void gt_verify_assign_id(struct gt_verifier *verifier, struct gt_value *value)
{
	if (value->delta_bits)
		value->id = 0; /* as in Linux: a sum has no copies */
	value->delta_bits = 0;
	value->delta = 0;
	if (!value->id && !gt_scalar_is_constant(&value->scalar))
		value->id = ++verifier->next_id;
}

static struct gt_value address_as_scalar(bool wide)
{
	struct gt_value value =
		gt_value_scalar(wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false));

	value.address = true;
	return value;
}

static int verify_move(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	struct gt_value *target = gt_register(verifier, insn->dst_reg);
	struct gt_value *source = gt_register(verifier, insn->src_reg), result;
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64, same;

	if (BPF_SRC(insn->code) == BPF_K) {
		struct gt_scalar scalar = gt_scalar_constant((uint64_t)(int64_t)insn->imm);

		*target = gt_value_scalar(gt_scalar_alu(insn, &scalar, &scalar));
		return 0;
	}
	if (gt_is_pointer(source)) {
		*target = wide && !insn->off ? *source : address_as_scalar(wide);
		return 0;
	}
	result = gt_value_scalar(gt_scalar_alu(insn, &target->scalar, &source->scalar));
	result.address = source->address;
	same = gt_scalar_contains(&result.scalar, &source->scalar) &&
	       gt_scalar_contains(&source->scalar, &result.scalar) &&
	       (wide ? !insn->off || (source->scalar.all.smin >= -(INT64_C(1) << (insn->off - 1)) &&
				      source->scalar.all.smax < INT64_C(1) << (insn->off - 1))
		     : !insn->off && source->scalar.all.umax <= UINT32_MAX);
	if (same) {
		gt_verify_assign_id(verifier, source);
		result.id = source->id;
	}
	gt_origin_move(insn, source, &result, same);
	*target = result;
	return 0;
}

static const char *operator_sign(unsigned operation)
{
	static const char *const signs[16] = {
		"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>="};

	return signs[operation >> 4];
}

/* Reject offsets so large that sums with them might wrap, as Linux does. */
static int check_pointer_offset(struct gt_verifier *verifier, const struct gt_value *pointer,
				const struct gt_scalar *scalar, int64_t fixed)
{
	const char *name = gt_register_type_name(pointer);
	int64_t min = scalar->all.smin;

	if (gt_scalar_is_constant(scalar) && (min >= GT_MAX_OFFSET || min <= -GT_MAX_OFFSET))
		return gt_reject(verifier, "math between %s pointer and %" PRId64 " is not allowed",
				 name, min);
	if (fixed >= GT_MAX_OFFSET || fixed <= -GT_MAX_OFFSET)
		return gt_reject(verifier, "%s pointer offset %" PRId64 " is not allowed", name,
				 fixed);
	if (min == INT64_MIN)
		return gt_reject(verifier,
				 "math between %s pointer and register with unbounded min value is "
				 "not allowed",
				 name);
	if (min >= GT_MAX_OFFSET || min <= -GT_MAX_OFFSET)
		return gt_reject(verifier, "value %" PRId64 " makes %s pointer be out of bounds",
				 min, name);
	return 0;
}

/* Add a scalar to a pointer, or subtract it. */
static int move_pointer(struct gt_verifier *verifier, const struct bpf_insn *insn,
			const struct gt_value *pointer, const struct gt_value *distance,
			bool pointer_is_target)
{
	const struct gt_scalar *scalar = &distance->scalar;
	struct gt_value *target = gt_register(verifier, insn->dst_reg);
	unsigned operation = BPF_OP(insn->code), shown = insn->dst_reg;
	struct gt_value result = *pointer;
	struct bpf_insn alu = {.code = BPF_ALU64 | BPF_X | operation};
	int error;

	if (pointer->maybe_null)
		return gt_reject(verifier,
				 "R%u pointer arithmetic on %s prohibited, null-check it first",
				 shown, gt_register_type_name(pointer));
	if (pointer->type == GT_REG_FUNCTION)
		return gt_reject(verifier, "R%u pointer arithmetic on func prohibited", shown);
	if (pointer->type == GT_REG_MAP &&
	    !(operation == BPF_ADD && gt_scalar_is_constant(scalar) && !scalar->value))
		return gt_reject(verifier, "R%u pointer arithmetic on map_ptr prohibited", shown);
	error = check_pointer_offset(verifier, pointer, scalar, 0);
	if (error)
		return error;
	if (operation != BPF_ADD && operation != BPF_SUB)
		return gt_reject(verifier,
				 operation == BPF_AND || operation == BPF_OR || operation == BPF_XOR
					 ? "R%u bitwise operator %s on pointer prohibited"
					 : "R%u pointer arithmetic with %s operator prohibited",
				 shown, operator_sign(operation));
	if (operation == BPF_SUB && !pointer_is_target)
		return gt_reject(verifier, "R%u tried to subtract pointer from scalar", shown);
	if (operation == BPF_SUB && pointer->type == GT_REG_STACK)
		return gt_reject(verifier, "R%u subtraction from stack pointer prohibited", shown);
	if (gt_scalar_is_constant(scalar)) {
		result.fixed_offset += operation == BPF_ADD ? scalar->all.smin : -scalar->all.smin;
	} else {
		result.scalar = gt_scalar_alu(&alu, &pointer->scalar, scalar);
		result.address |= distance->address;
	}
	gt_origin_move_pointer(insn, pointer, scalar, &result, &verifier->next_id);
	error = check_pointer_offset(verifier, pointer, &result.scalar, result.fixed_offset);
	if (error)
		return error;
	*target = result;
	return 0;
}

/* Arithmetic with at least one pointer. */
static int verify_pointer_alu(struct gt_verifier *verifier, const struct bpf_insn *insn,
			      const struct gt_value *left, const struct gt_value *right)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	unsigned operation = BPF_OP(insn->code);

	if (gt_is_pointer(left) && gt_is_pointer(right)) {
		if (operation != BPF_SUB)
			return gt_reject(verifier, "R%u pointer %s pointer prohibited",
					 insn->dst_reg, operator_sign(operation));
		*gt_register(verifier, insn->dst_reg) = address_as_scalar(wide);
		return 0;
	}
	if (!wide) {
		if (operation != BPF_SUB)
			return gt_reject(verifier, "R%u 32-bit pointer arithmetic prohibited",
					 insn->dst_reg);
		*gt_register(verifier, insn->dst_reg) = address_as_scalar(false);
		return 0;
	}
	if (gt_is_pointer(left))
		return move_pointer(verifier, insn, left, right, true);
	return move_pointer(verifier, insn, right, left, false);
}

/* Link a scalar to its sum with a constant: bounds of one hold for the other. */
static void link_sum(struct gt_value *sum, const struct bpf_insn *insn, const struct gt_value *left,
		     const struct gt_scalar *right)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	unsigned operation = BPF_OP(insn->code);
	int64_t delta = wide ? (int64_t)right->value : (int32_t)right->value;

	if ((operation != BPF_ADD && operation != BPF_SUB) || !left->id || left->delta_bits ||
	    !gt_scalar_is_constant(right) || delta <= INT32_MIN || delta > INT32_MAX)
		return;
	sum->id = left->id;
	sum->delta_bits = wide ? 64 : 32;
	sum->delta = (int32_t)(operation == BPF_ADD ? delta : -delta);
}

static bool uses_target(const struct bpf_insn *insn)
{
	return BPF_OP(insn->code) != BPF_MOV;
}

static bool is_unary(const struct bpf_insn *insn)
{
	return BPF_OP(insn->code) == BPF_NEG || BPF_OP(insn->code) == BPF_END;
}

int gt_verify_alu(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	struct gt_value *target = gt_register(verifier, insn->dst_reg), left, right;
	int error = 0;

	if (BPF_SRC(insn->code) == BPF_X && !is_unary(insn))
		error = gt_verify_read(verifier, insn->src_reg);
	if (!error && uses_target(insn))
		error = gt_verify_read(verifier, insn->dst_reg);
	if (!error && insn->dst_reg == 10)
		error = gt_reject(verifier, "frame pointer is read only");
	if (error)
		return error;
	if (BPF_OP(insn->code) == BPF_MOV)
		return verify_move(verifier, insn);
	left = *target;
	right = BPF_SRC(insn->code) == BPF_X && !is_unary(insn)
			? *gt_register(verifier, insn->src_reg)
			: gt_value_scalar(gt_scalar_constant((uint64_t)(int64_t)insn->imm));
	if (is_unary(insn)) {
		if (gt_is_pointer(&left)) {
			*target = address_as_scalar(true);
			return 0;
		}
		right = left;
	} else if (gt_is_pointer(&left) || gt_is_pointer(&right)) {
		return verify_pointer_alu(verifier, insn, &left, &right);
	}
	*target = gt_value_scalar(gt_scalar_alu(insn, &left.scalar, &right.scalar));
	target->address = left.address || right.address;
	if (!is_unary(insn))
		link_sum(target, insn, &left, &right.scalar);
	gt_origin_alu(insn, &left, &right, target, &verifier->next_id);
	return 0;
}

int gt_verify_ld_imm64(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	struct gt_value *target = gt_register(verifier, insn->dst_reg);
	const struct gt_bpf_map *map;

	if (insn->dst_reg == 10)
		return gt_reject(verifier, "frame pointer is read only");
	if (insn->src_reg == GT_BPF_IMM_SCALAR) {
		*target = gt_value_scalar(gt_scalar_constant((uint64_t)(uint32_t)insn[1].imm << 32 |
							     (uint32_t)insn->imm));
		return 0;
	}
	if (gt_bpf_is_function(insn)) {
		*target = (struct gt_value){.type = GT_REG_FUNCTION};
		target->map =
			(int32_t)verifier->aux[gt_bpf_jump_target(verifier->insns, verifier->at)]
				.subprogram;
		target->scalar = gt_scalar_constant(0);
		return 0;
	}
	if (!verifier->object || (uint32_t)insn->imm >= verifier->object->map_count)
		return gt_reject(verifier, "invalid map index %d", insn->imm);
	map = &verifier->object->maps[insn->imm];
	if (map->problem)
		return gt_reject(verifier, "map '%s': %s", map->name, map->problem);
	*target = (struct gt_value){.type = GT_REG_MAP, .map = insn->imm};
	target->scalar = gt_scalar_constant(0);
	if (insn->src_reg == GT_BPF_IMM_MAP_INDEX)
		return 0;
	if (!gt_bpf_map_kind(map->type) || gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_ARRAY ||
	    gt_bpf_map_kind(map->type)->copies != GT_COPY_ONE)
		return gt_reject(verifier,
				 "no direct value access support for this map type: '%s' has no "
				 "value at a fixed address",
				 map->name);
	if (map->max_entries != 1 || (uint32_t)insn[1].imm >= map->value_size)
		return gt_reject(verifier,
				 "invalid access to map value pointer, value_size=%u off=%u%s",
				 map->value_size, (uint32_t)insn[1].imm,
				 map->max_entries != 1 ? ": the map has several values" : "");
	target->type = GT_REG_MAP_VALUE;
	target->fixed_offset = (uint32_t)insn[1].imm;
	return 0;
}
