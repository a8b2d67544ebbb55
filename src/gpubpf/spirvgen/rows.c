/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instructions of PTX as SPIR-V: a table by operation, that is the opcode without its last part,
 * which is the type. Semantics: PTX ISA 8.0, chapter 9; SPIR-V 1.6, 3.49.
 */
#include <errno.h>
#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/helpers.h"
#include "gpubpf/spirvgen/private.h"

/* How an operation is lowered. */
struct gt_spirvgen_operation {
	const char *name;
	void (*lower)(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
		      struct gt_spirvgen_type type);
	unsigned opcode;        /* of SPIR-V */
	unsigned signed_opcode; /* where the type is signed; 0: the same */
	const char *needs;      /* it is not available: what it needs */
};

static struct gt_ptxgen_value operand(const struct gt_spirvgen *gen, unsigned index)
{
	return gen->row->operands[index].value;
}

static uint32_t read_operand(struct gt_spirvgen *gen, unsigned index, struct gt_spirvgen_type type)
{
	return gt_spirvgen_read(gen, operand(gen, index), type.bits);
}

static void write_result(struct gt_spirvgen *gen, uint32_t id, struct gt_spirvgen_type type)
{
	gt_spirvgen_write(gen, operand(gen, 0), id, type.bits, type.letter == 's');
}

static uint32_t emit_test(struct gt_spirvgen *gen, unsigned opcode, uint32_t left, uint32_t right)
{
	return gt_spirvgen_emit(gen, opcode, gt_spirv_type_bool(gen->builder), left, right);
}

static uint32_t emit_select(struct gt_spirvgen *gen, unsigned bits, uint32_t condition,
			    uint32_t holds, uint32_t otherwise)
{
	return gt_spirvgen_emit(gen, SpvOpSelect, gt_spirvgen_int(gen, bits), condition, holds,
				otherwise);
}

static unsigned opcode_of(const struct gt_spirvgen_operation *operation,
			  struct gt_spirvgen_type type)
{
	return type.letter == 's' && operation->signed_opcode ? operation->signed_opcode
							      : operation->opcode;
}

/* ---- arithmetic ---- */

static void lower_binary(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			 struct gt_spirvgen_type type)
{
	uint32_t left = read_operand(gen, 1, type), right = read_operand(gen, 2, type);

	write_result(gen, gt_spirvgen_binary(gen, operation->opcode, type.bits, left, right), type);
}

static void lower_unary(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			struct gt_spirvgen_type type)
{
	uint32_t value = read_operand(gen, 1, type);

	write_result(
		gen,
		gt_spirvgen_emit(gen, operation->opcode, gt_spirvgen_int(gen, type.bits), value),
		type);
}

static void lower_minimum(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			  struct gt_spirvgen_type type)
{
	uint32_t left = read_operand(gen, 1, type), right = read_operand(gen, 2, type);
	uint32_t chosen = emit_test(gen, opcode_of(operation, type), left, right);

	write_result(gen, emit_select(gen, type.bits, chosen, left, right), type);
}

/*
 * A divisor of 0, or -1 of the lowest number, traps on CPUs; 1 divides in its place. The code that
 * is lowered replaces the results of these divisors.
 */
static void lower_division(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			   struct gt_spirvgen_type type)
{
	uint32_t left = read_operand(gen, 1, type), right = read_operand(gen, 2, type);
	uint32_t one = gt_spirvgen_constant(gen, type.bits, 1), is_special;
	uint32_t biased = right, limit = gt_spirvgen_constant(gen, type.bits, 0);

	/* Unsigned, right + 1 is at most 1 for the divisors -1 and 0. */
	if (type.letter == 's') {
		biased = gt_spirvgen_binary(gen, SpvOpIAdd, type.bits, right, one);
		limit = one;
	}
	is_special = emit_test(gen, SpvOpULessThanEqual, biased, limit);
	right = emit_select(gen, type.bits, is_special, one, right);
	write_result(gen,
		     gt_spirvgen_binary(gen, opcode_of(operation, type), type.bits, left, right),
		     type);
}

/*
 * A shift by fewer bits than the value has. LLVM's converters want the amount to have the value's
 * type.
 */
static uint32_t emit_shift(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			   struct gt_spirvgen_type type, uint32_t value, uint32_t amount)
{
	amount = gt_spirvgen_convert(gen, amount, 32, type.bits, false);
	return gt_spirvgen_binary(gen, opcode_of(operation, type), type.bits, value, amount);
}

/* Shifts by the number of bits or more give 0, or the sign in each bit. */
static void lower_shift(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			struct gt_spirvgen_type type)
{
	struct gt_ptxgen_value by = operand(gen, 2);
	uint32_t value = read_operand(gen, 1, type), amount, shifted, fits, last;

	if (by.class >= GT_PTXGEN_REGISTER_CLASSES && by.id < type.bits) {
		amount = gt_spirvgen_constant(gen, type.bits, by.id);
		write_result(gen,
			     gt_spirvgen_binary(gen, opcode_of(operation, type), type.bits, value,
						amount),
			     type);
		return;
	}
	amount = gt_spirvgen_read(gen, by, 32);
	last = gt_spirvgen_constant(gen, 32, type.bits - 1);
	fits = emit_test(gen, SpvOpULessThanEqual, amount, last);
	amount = emit_select(gen, 32, fits, amount, last);
	shifted = emit_shift(gen, operation, type, value, amount);
	if (type.letter != 's')
		shifted = emit_select(gen, type.bits, fits, shifted,
				      gt_spirvgen_constant(gen, type.bits, 0));
	write_result(gen, shifted, type);
}

/* mul.wide and mad.wide: factors of 32 bits, a product of 64. */
static uint32_t emit_wide_product(struct gt_spirvgen *gen, struct gt_spirvgen_type type)
{
	uint32_t factors[2];

	for (unsigned i = 0; i < 2; i++)
		factors[i] = gt_spirvgen_convert(gen, read_operand(gen, i + 1, type), type.bits, 64,
						 type.letter == 's');
	return gt_spirvgen_binary(gen, SpvOpIMul, 64, factors[0], factors[1]);
}

static void lower_wide_product(struct gt_spirvgen *gen,
			       const struct gt_spirvgen_operation *operation,
			       struct gt_spirvgen_type type)
{
	gt_spirvgen_write(gen, operand(gen, 0), emit_wide_product(gen, type), 64, false);
}

static void lower_wide_sum(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			   struct gt_spirvgen_type type)
{
	uint32_t product = emit_wide_product(gen, type);
	uint32_t addend = gt_spirvgen_read(gen, operand(gen, 3), 64);

	gt_spirvgen_write(gen, operand(gen, 0),
			  gt_spirvgen_binary(gen, SpvOpIAdd, 64, product, addend), 64, false);
}

static void lower_product_sum(struct gt_spirvgen *gen,
			      const struct gt_spirvgen_operation *operation,
			      struct gt_spirvgen_type type)
{
	uint32_t product = gt_spirvgen_binary(gen, SpvOpIMul, type.bits, read_operand(gen, 1, type),
					      read_operand(gen, 2, type));

	write_result(
		gen,
		gt_spirvgen_binary(gen, SpvOpIAdd, type.bits, product, read_operand(gen, 3, type)),
		type);
}

static uint32_t emit_leading_zeros(struct gt_spirvgen *gen, struct gt_spirvgen_type type)
{
	uint32_t value = read_operand(gen, 1, type);
	uint32_t count = gt_spirvgen_emit(gen, SpvOpExtInst, gt_spirvgen_int(gen, type.bits),
					  gt_spirv_extended(gen->builder), OpenCLstd_Clz, value);

	return gt_spirvgen_convert(gen, count, type.bits, 32, false);
}

/* The highest bit that is set; of 0: all ones. */
static void lower_highest_bit(struct gt_spirvgen *gen,
			      const struct gt_spirvgen_operation *operation,
			      struct gt_spirvgen_type type)
{
	uint32_t last = gt_spirvgen_constant(gen, 32, type.bits - 1);

	gt_spirvgen_write(
		gen, operand(gen, 0),
		gt_spirvgen_binary(gen, SpvOpISub, 32, last, emit_leading_zeros(gen, type)), 32,
		false);
}

/* Population count of a word of any width, as 32 bits. */
static void lower_population(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			     struct gt_spirvgen_type type)
{
	uint32_t count = gt_spirvgen_emit(gen, SpvOpExtInst, gt_spirvgen_int(gen, type.bits),
					  gt_spirv_extended(gen->builder), OpenCLstd_Popcount,
					  read_operand(gen, 1, type));

	gt_spirvgen_write(gen, operand(gen, 0), count, type.bits, false);
}

/* prmt: each byte of the result is one of the eight of two words, by a constant selector. */
static void lower_permutation(struct gt_spirvgen *gen,
			      const struct gt_spirvgen_operation *operation,
			      struct gt_spirvgen_type type)
{
	uint32_t words[2] = {read_operand(gen, 1, type), read_operand(gen, 2, type)};
	uint32_t result = gt_spirvgen_constant(gen, 32, 0);
	uint32_t mask = gt_spirvgen_constant(gen, 32, 0xff);

	for (unsigned i = 0; i < 4; i++) {
		unsigned selected = operand(gen, 3).id >> 4 * i & 7;
		uint32_t part =
			gt_spirvgen_binary(gen, SpvOpShiftRightLogical, 32, words[selected / 4],
					   gt_spirvgen_constant(gen, 32, 8 * (selected % 4)));

		part = gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, part, mask);
		part = gt_spirvgen_binary(gen, SpvOpShiftLeftLogical, 32, part,
					  gt_spirvgen_constant(gen, 32, 8 * i));
		result = gt_spirvgen_binary(gen, SpvOpBitwiseOr, 32, result, part);
	}
	write_result(gen, result, type);
}

/* ---- moves, predicates ---- */

/* mov.b64 between a wide register and a pair. */
static void lower_move(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
		       struct gt_spirvgen_type type)
{
	const struct gt_ptxgen_operand *operands = gen->row->operands;
	uint32_t shift = gt_spirvgen_constant(gen, 64, 32), low, high, wide;

	if (type.bits == 1) {
		gt_spirvgen_write(gen, operands[0].value,
				  gt_spirvgen_read_predicate(gen, operands[1].value), 1, false);
	} else if (operands[0].form == GT_PTXGEN_PAIR_FIRST) {
		wide = gt_spirvgen_read(gen, operands[2].value, 64);
		high = gt_spirvgen_binary(gen, SpvOpShiftRightLogical, 64, wide, shift);
		gt_spirvgen_write(gen, operands[0].value, wide, 64, false);
		gt_spirvgen_write(gen, operands[1].value, high, 64, false);
	} else if (operands[1].form == GT_PTXGEN_PAIR_FIRST) {
		low = gt_spirvgen_read(gen, operands[1].value, 64);
		high = gt_spirvgen_read(gen, operands[2].value, 64);
		high = gt_spirvgen_binary(gen, SpvOpShiftLeftLogical, 64, high, shift);
		gt_spirvgen_write(gen, operands[0].value,
				  gt_spirvgen_binary(gen, SpvOpBitwiseOr, 64, low, high), 64,
				  false);
	} else {
		write_result(gen, read_operand(gen, 1, type), type);
	}
}

static void lower_comparison(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			     struct gt_spirvgen_type type)
{
	uint32_t left = read_operand(gen, 1, type), right = read_operand(gen, 2, type);

	gt_spirvgen_write(gen, operand(gen, 0),
			  emit_test(gen, opcode_of(operation, type), left, right), 1, false);
}

static void lower_selection(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			    struct gt_spirvgen_type type)
{
	uint32_t holds = read_operand(gen, 1, type), otherwise = read_operand(gen, 2, type);
	uint32_t condition = gt_spirvgen_read_predicate(gen, operand(gen, 3));

	write_result(gen, emit_select(gen, type.bits, condition, holds, otherwise), type);
}

static void lower_logic(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			struct gt_spirvgen_type type)
{
	uint32_t left, right;

	if (type.bits > 1) {
		lower_binary(gen, operation, type);
		return;
	}
	left = gt_spirvgen_read_predicate(gen, operand(gen, 1));
	right = gt_spirvgen_read_predicate(gen, operand(gen, 2));
	gt_spirvgen_write(
		gen, operand(gen, 0),
		emit_test(gen,
			  operation->opcode == SpvOpBitwiseAnd ? SpvOpLogicalAnd : SpvOpLogicalOr,
			  left, right),
		1, false);
}

static void lower_not(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
		      struct gt_spirvgen_type type)
{
	uint32_t value;

	if (type.bits > 1) {
		lower_unary(gen, operation, type);
		return;
	}
	value = gt_spirvgen_read_predicate(gen, operand(gen, 1));
	gt_spirvgen_write(
		gen, operand(gen, 0),
		gt_spirvgen_emit(gen, SpvOpLogicalNot, gt_spirv_type_bool(gen->builder), value), 1,
		false);
}

/* cvt.<to>.<from>: `operation` has the bits of the result. */
static void lower_conversion(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			     struct gt_spirvgen_type type)
{
	uint32_t value = read_operand(gen, 1, type);

	value = gt_spirvgen_convert(gen, value, type.bits, operation->opcode, type.letter == 's');
	gt_spirvgen_write(gen, operand(gen, 0), value, operation->opcode, false);
}

static void lower_is_local(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			   struct gt_spirvgen_type type)
{
	uint32_t address = gt_spirvgen_read(gen, operand(gen, 1), 64);

	gt_spirvgen_write(gen, operand(gen, 0), gt_spirvgen_is_local(gen, address), 1, false);
}

/* ---- memory ---- */

static void lower_load(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
		       struct gt_spirvgen_type type)
{
	gt_spirvgen_load(gen, type);
}

static void lower_store(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			struct gt_spirvgen_type type)
{
	gt_spirvgen_store(gen, type);
}

static void lower_atomic(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			 struct gt_spirvgen_type type)
{
	gt_spirvgen_atomic(gen, type, operation->opcode);
}

static void lower_fence(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			struct gt_spirvgen_type type)
{
	gt_spirvgen_fence(gen, operation->opcode);
}

/* ---- control ---- */

/* The kernel returns where the function of a program says so: what ends that ends no work-item. */
static void lower_end_of_item(struct gt_spirvgen *gen,
			      const struct gt_spirvgen_operation *operation,
			      struct gt_spirvgen_type type)
{
	if (!gen->is_called) {
		gt_spirvgen_return(gen);
		return;
	}
	if (gen->in_body)
		gt_spirvgen_fail(gen, -EOPNOTSUPP,
				 "programs end work-items at the entry and exit of OpenCL kernels "
				 "only (bpf_exit)");
	gt_spirvgen_return_value(gen, gt_spirv_bool(gen->builder, true));
}

/* Declarations of registers, and hints. */
static void lower_nothing(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			  struct gt_spirvgen_type type)
{
}

static void lower_unavailable(struct gt_spirvgen *gen,
			      const struct gt_spirvgen_operation *operation,
			      struct gt_spirvgen_type type)
{
	const struct bpf_insn *insn = &gen->job->program->insns[gen->row->insn];
	const struct gt_helper *helper =
		insn->code == (BPF_JMP | BPF_CALL) ? gt_helper((uint32_t)insn->imm) : NULL;

	if (helper)
		gt_spirvgen_fail(gen, -EOPNOTSUPP,
				 "the target spirv does not support %s, which needs %s",
				 helper->name, operation->needs);
	else
		gt_spirvgen_fail(gen, -EOPNOTSUPP, "the target spirv does not support %s",
				 operation->needs);
}

/* ---- values of other lanes ---- */

/*
 * Without sub-groups, in the body of a kernel, work-items do not execute an instruction together:
 * each is a group of one lane, which exchanges values with itself alone. The lanes of the group of
 * a warp at the entry and exit are several, whose values are not known.
 */

/* Whether the operation is lowered to one of sub-groups; else as that of a lane alone. */
static bool exchanges(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
		      struct gt_spirvgen_type type)
{
	if (gt_spirvgen_has_sub_groups(gen))
		return true;
	if (!gen->in_body)
		lower_unavailable(gen, operation, type);
	return false;
}

static void write_lanes(struct gt_spirvgen *gen, uint32_t lanes)
{
	gt_spirvgen_write(gen, operand(gen, 0), lanes, 32, false);
}

/* Whether all work-items of a sub-group are known to be at the instruction, or need not be. */
static bool may_be_divergent(const struct gt_spirvgen *gen)
{
	return gen->options->features & GT_SPIRV_SUB_GROUPS ||
	       !gen->job->facts->insns[gen->row->insn].divergent;
}

static void lower_active_lanes(struct gt_spirvgen *gen,
			       const struct gt_spirvgen_operation *operation,
			       struct gt_spirvgen_type type)
{
	if (!exchanges(gen, operation, type))
		write_lanes(gen, gt_spirvgen_special(gen, "%lanemask_eq", 32));
	else if (may_be_divergent(gen))
		write_lanes(gen, gt_spirvgen_active_lanes(gen));
	else
		gt_spirvgen_fail(gen, -EOPNOTSUPP,
				 "the target spirv does not have the mask of active lanes where "
				 "they diverge (the device has uniform-sub-groups)");
}

static void lower_ballot(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			 struct gt_spirvgen_type type)
{
	uint32_t votes = gt_spirvgen_read_predicate(gen, operand(gen, 1));

	if (exchanges(gen, operation, type))
		write_lanes(gen, gt_spirvgen_ballot(gen, votes));
	else
		write_lanes(gen, emit_select(gen, 32, votes,
					     gt_spirvgen_special(gen, "%lanemask_eq", 32),
					     gt_spirvgen_constant(gen, 32, 0)));
}

/* The lanes whose value is this one's: one after the other, as there is no such operation. */
static uint32_t emit_match(struct gt_spirvgen *gen, struct gt_spirvgen_type type)
{
	uint32_t own = read_operand(gen, 1, type), none = gt_spirvgen_constant(gen, 32, 0);
	uint32_t group = gt_spirvgen_read(gen, operand(gen, 2), 32), same = none;

	for (unsigned lane = 0; lane < 32; lane++) {
		uint32_t bit = gt_spirvgen_constant(gen, 32, UINT32_C(1) << lane), other;

		other = gt_spirvgen_shuffle(gen, own, type.bits,
					    gt_spirvgen_constant(gen, 32, lane));
		other = emit_select(gen, 32, emit_test(gen, SpvOpIEqual, own, other), bit, none);
		same = gt_spirvgen_binary(gen, SpvOpBitwiseOr, 32, same, other);
	}
	return gt_spirvgen_binary(gen, SpvOpBitwiseAnd, 32, same, group);
}

static void lower_match(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			struct gt_spirvgen_type type)
{
	if (exchanges(gen, operation, type))
		write_lanes(gen, emit_match(gen, type));
	else
		write_lanes(gen, gt_spirvgen_special(gen, "%lanemask_eq", 32));
}

/* The value of a lane of the group. Alone: this one's. */
static void lower_shuffle(struct gt_spirvgen *gen, const struct gt_spirvgen_operation *operation,
			  struct gt_spirvgen_type type)
{
	uint32_t value = read_operand(gen, 1, type);

	if (exchanges(gen, operation, type))
		value = gt_spirvgen_shuffle(gen, value, type.bits,
					    gt_spirvgen_read(gen, operand(gen, 2), 32));
	write_result(gen, value, type);
}

/* ---- the table, sorted by name ---- */

#define OTHER_LANES .needs = "values of other lanes"

static const struct gt_spirvgen_operation operations[] = {
	{".reg ", lower_nothing},
	{"activemask", lower_active_lanes, OTHER_LANES},
	{"add", lower_binary, SpvOpIAdd},
	{"and", lower_logic, SpvOpBitwiseAnd},
	{"atom.add", lower_atomic, SpvOpAtomicIAdd},
	{"atom.and", lower_atomic, SpvOpAtomicAnd},
	{"atom.cas", lower_atomic, SpvOpAtomicCompareExchange},
	{"atom.exch", lower_atomic, SpvOpAtomicExchange},
	{"atom.or", lower_atomic, SpvOpAtomicOr},
	{"atom.xor", lower_atomic, SpvOpAtomicXor},
	{"bfind", lower_highest_bit},
	{"cvt.s32", lower_conversion, 32},
	{"cvt.s64", lower_conversion, 64},
	{"cvt.u32", lower_conversion, 32},
	{"cvt.u64", lower_conversion, 64},
	{"cvta.local", lower_move},
	{"cvta.to.global", lower_move},
	{"div", lower_division, SpvOpUDiv, SpvOpSDiv},
	{"exit", lower_end_of_item},
	{"fence.acq_rel.gl", lower_fence, false},
	{"fence.acq_rel.gpu", lower_fence, false},
	{"fence.acq_rel.sys", lower_fence, true},
	{"isspacep.local", lower_is_local},
	{"ld", lower_load},
	{"mad.lo", lower_product_sum},
	{"mad.wide", lower_wide_sum},
	{"match.any.sync", lower_match, OTHER_LANES},
	{"max", lower_minimum, SpvOpUGreaterThan, SpvOpSGreaterThan},
	{"membar.gl", lower_fence, false},
	{"membar.sys", lower_fence, true},
	{"min", lower_minimum, SpvOpULessThan, SpvOpSLessThan},
	{"mov", lower_move},
	{"mul.lo", lower_binary, SpvOpIMul},
	{"mul.wide", lower_wide_product},
	{"nanosleep", lower_nothing},
	{"neg", lower_unary, SpvOpSNegate},
	{"not", lower_not, SpvOpNot},
	{"or", lower_logic, SpvOpBitwiseOr},
	{"popc", lower_population},
	{"prefetch.L1", lower_nothing},
	{"prefetch.L2", lower_nothing},
	{"prmt", lower_permutation},
	{"red.add", lower_atomic, SpvOpAtomicIAdd},
	{"red.and", lower_atomic, SpvOpAtomicAnd},
	{"red.or", lower_atomic, SpvOpAtomicOr},
	{"red.xor", lower_atomic, SpvOpAtomicXor},
	{"rem", lower_division, SpvOpUMod, SpvOpSRem},
	{"selp", lower_selection},
	{"setp.eq", lower_comparison, SpvOpIEqual},
	{"setp.ge", lower_comparison, SpvOpUGreaterThanEqual, SpvOpSGreaterThanEqual},
	{"setp.gt", lower_comparison, SpvOpUGreaterThan, SpvOpSGreaterThan},
	{"setp.le", lower_comparison, SpvOpULessThanEqual, SpvOpSLessThanEqual},
	{"setp.lt", lower_comparison, SpvOpULessThan, SpvOpSLessThan},
	{"setp.ne", lower_comparison, SpvOpINotEqual},
	{"shfl.sync.idx", lower_shuffle, OTHER_LANES},
	{"shl", lower_shift, SpvOpShiftLeftLogical},
	{"shr", lower_shift, SpvOpShiftRightLogical, SpvOpShiftRightArithmetic},
	{"st", lower_store},
	{"sub", lower_binary, SpvOpISub},
	{"vote.sync.ballot", lower_ballot, OTHER_LANES},
	{"xor", lower_logic, SpvOpBitwiseXor},
};

/* "u32": letter and bits. False: the text is no type. */
static bool read_type(const char *text, struct gt_spirvgen_type *ret_type)
{
	const char *digit;

	if (!strcmp(text, "pred")) {
		*ret_type = (struct gt_spirvgen_type){'b', 1};
		return true;
	}
	if (!*text || !strchr("bus", *text))
		return false;
	ret_type->letter = *text;
	ret_type->bits = 0;
	for (digit = text + 1; *digit >= '0' && *digit <= '9'; digit++)
		ret_type->bits = ret_type->bits * 10 + (unsigned)(*digit - '0');
	return digit != text + 1 && !*digit;
}

static int compare_name(const void *name, const void *operation)
{
	const char *left = name, *right = ((const struct gt_spirvgen_operation *)operation)->name;

	/* Most comparisons end at the first letter. */
	return *left != *right ? *left - *right : strcmp(left, right);
}

/* "<name>[.<suffix>]", truncated. Returns the last '.' in it, or NULL. */
static char *join_name(const struct gt_ptxgen_opcode *opcode, char *name, size_t size)
{
	const char *parts[] = {opcode->name, opcode->suffix ? "." : "",
			       opcode->suffix ? opcode->suffix : ""};
	char *last = NULL;
	size_t at = 0;

	for (size_t i = 0; i < gt_countof(parts); i++)
		for (const char *from = parts[i]; *from && at + 1 < size; from++) {
			last = *from == '.' ? name + at : last;
			name[at++] = *from;
		}
	name[at] = 0;
	return last;
}

/* The operation and the type of an opcode. */
static void find_operation(struct gt_spirvgen_seen *seen, const struct gt_ptxgen_opcode *opcode)
{
	char name[64], *last = join_name(opcode, name, sizeof(name));

	*seen = (struct gt_spirvgen_seen){opcode->name, opcode->suffix, NULL, {'b', 64}};
	if (last && read_type(last + 1, &seen->type))
		*last = 0;
	seen->operation = bsearch(name, operations, gt_countof(operations), sizeof(*operations),
				  compare_name);
}

void gt_spirvgen_lower(struct gt_spirvgen *gen)
{
	const struct gt_ptxgen_opcode *opcode = &gen->row->opcode;
	uintptr_t key = (uintptr_t)opcode->name * 7 + (uintptr_t)opcode->suffix;
	struct gt_spirvgen_seen *seen = &gen->seen[(key ^ key >> 6) % GT_SPIRVGEN_SEEN];

	if (seen->name != opcode->name || seen->suffix != opcode->suffix)
		find_operation(seen, opcode);
	if (seen->operation)
		seen->operation->lower(gen, seen->operation, seen->type);
	else
		gt_spirvgen_fail(gen, -EOPNOTSUPP, "the target spirv does not support '%s%s%s'",
				 opcode->name, opcode->suffix ? "." : "",
				 opcode->suffix ? opcode->suffix : "");
}
