/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What arithmetic makes of what is known of numbers. */
#include "gpubpf/verify/scalar.h"

/* Known bits. */
struct bits {
	uint64_t value, mask;
};

static struct bits add_bits(struct bits left, struct bits right)
{
	uint64_t masks = left.mask + right.mask, values = left.value + right.value;
	uint64_t unknown = ((masks + values) ^ values) | left.mask | right.mask;

	return (struct bits){values & ~unknown, unknown};
}

static struct bits subtract_bits(struct bits left, struct bits right)
{
	uint64_t difference = left.value - right.value;
	uint64_t unknown =
		((difference + left.mask) ^ (difference - right.mask)) | left.mask | right.mask;

	return (struct bits){difference & ~unknown, unknown};
}

static struct bits multiply_bits(struct bits left, struct bits right)
{
	struct bits unknown = {0, 0};
	uint64_t product = left.value * right.value;

	if (!left.mask && !right.mask)
		return (struct bits){product, 0};
	while ((left.value || left.mask) && unknown.mask != UINT64_MAX) {
		if (left.value & 1)
			unknown = add_bits(unknown, (struct bits){0, right.mask});
		else if (left.mask & 1)
			unknown = add_bits(unknown, (struct bits){0, right.value | right.mask});
		left = (struct bits){left.value >> 1, left.mask >> 1};
		right = (struct bits){right.value << 1, right.mask << 1};
	}
	return add_bits((struct bits){product, 0}, unknown);
}

static struct bits combine_bits(unsigned operation, struct bits left, struct bits right)
{
	uint64_t value, unknown;

	switch (operation) {
	case BPF_AND:
		value = left.value & right.value;
		unknown = (left.value | left.mask) & (right.value | right.mask) & ~value;
		return (struct bits){value, unknown};
	case BPF_OR:
		value = left.value | right.value;
		return (struct bits){value, (left.mask | right.mask) & ~value};
	default:
		unknown = left.mask | right.mask;
		return (struct bits){(left.value ^ right.value) & ~unknown, unknown};
	}
}

static struct bits shift_bits(unsigned operation, struct bits bits, unsigned shift, unsigned width)
{
	switch (operation) {
	case BPF_LSH:
		return (struct bits){bits.value << shift, bits.mask << shift};
	case BPF_RSH:
		return (struct bits){bits.value >> shift, bits.mask >> shift};
	default:
		if (width == 32)
			return (struct bits){(uint32_t)((int32_t)bits.value >> shift),
					     (uint32_t)((int32_t)bits.mask >> shift)};
		return (struct bits){(uint64_t)((int64_t)bits.value >> shift),
				     (uint64_t)((int64_t)bits.mask >> shift)};
	}
}

/* Sums of the ends of ranges, and which of them did not fit in 64 bits. */
struct ends {
	struct gt_interval at;
	bool umin_wraps, umax_wraps, smin_wraps, smax_wraps;
};

/* The range of results, where both ends wrap in the width, or none; else what is there stays. */
static void set_range(struct gt_interval *range, const struct ends *ends, unsigned width)
{
	struct gt_interval at = ends->at;
	bool is_unsigned = ends->umin_wraps == ends->umax_wraps;
	bool is_signed = !ends->smin_wraps && !ends->smax_wraps;

	if (width == 32) {
		is_unsigned = at.umin >> 32 == at.umax >> 32;
		is_signed = at.smin >= INT32_MIN && at.smax <= INT32_MAX;
		at.umin = (uint32_t)at.umin;
		at.umax = (uint32_t)at.umax;
	}
	if (is_unsigned) {
		range->umin = at.umin;
		range->umax = at.umax;
	}
	if (is_signed) {
		range->smin = at.smin;
		range->smax = at.smax;
	}
}

static void add_range(struct gt_interval *result, const struct gt_interval *left,
		      const struct gt_interval *right, unsigned width)
{
	struct ends ends;

	ends.umin_wraps = __builtin_add_overflow(left->umin, right->umin, &ends.at.umin);
	ends.umax_wraps = __builtin_add_overflow(left->umax, right->umax, &ends.at.umax);
	ends.smin_wraps = __builtin_add_overflow(left->smin, right->smin, &ends.at.smin);
	ends.smax_wraps = __builtin_add_overflow(left->smax, right->smax, &ends.at.smax);
	set_range(result, &ends, width);
}

static void subtract_range(struct gt_interval *result, const struct gt_interval *left,
			   const struct gt_interval *right, unsigned width)
{
	struct ends ends;

	ends.umin_wraps = __builtin_sub_overflow(left->umin, right->umax, &ends.at.umin);
	ends.umax_wraps = __builtin_sub_overflow(left->umax, right->umin, &ends.at.umax);
	ends.smin_wraps = __builtin_sub_overflow(left->smin, right->smax, &ends.at.smin);
	ends.smax_wraps = __builtin_sub_overflow(left->smax, right->smin, &ends.at.smax);
	set_range(result, &ends, width);
}

static void multiply_range(struct gt_interval *result, const struct gt_interval *left,
			   const struct gt_interval *right, unsigned width)
{
	__int128 corners[4] = {
		(__int128)left->smin * right->smin, (__int128)left->smin * right->smax,
		(__int128)left->smax * right->smin, (__int128)left->smax * right->smax};
	__int128 min = corners[0], max = corners[0], half = (__int128)1 << (width - 1);
	unsigned __int128 product = (unsigned __int128)left->umax * right->umax;

	if (product < (unsigned __int128)1 << width) {
		result->umin = left->umin * right->umin;
		result->umax = (uint64_t)product;
	}
	for (unsigned i = 1; i < 4; i++) {
		if (corners[i] < min)
			min = corners[i];
		if (corners[i] > max)
			max = corners[i];
	}
	if (min < -half || max >= half)
		return;
	result->smin = (int64_t)min;
	result->smax = (int64_t)max;
}

static struct gt_interval operate_on_range(unsigned operation, const struct gt_interval *left,
					   const struct gt_interval *right, unsigned width)
{
	struct gt_scalar unknown = gt_scalar_unknown();
	struct gt_interval result = width == 64 ? unknown.all : unknown.low;
	unsigned shift = (unsigned)right->umin & (width - 1);

	switch (operation) {
	case BPF_ADD:
		add_range(&result, left, right, width);
		break;
	case BPF_SUB:
		subtract_range(&result, left, right, width);
		break;
	case BPF_MUL:
		multiply_range(&result, left, right, width);
		break;
	case BPF_AND:
		result.umax = left->umax < right->umax ? left->umax : right->umax;
		break;
	case BPF_OR:
		result.umin = left->umin > right->umin ? left->umin : right->umin;
		break;
	case BPF_LSH:
		if (left->umax <= (width == 64 ? UINT64_MAX : UINT32_MAX) >> shift) {
			result.umin = left->umin << shift;
			result.umax = left->umax << shift;
		}
		break;
	case BPF_RSH:
		result.umin = left->umin >> shift;
		result.umax = left->umax >> shift;
		break;
	case BPF_ARSH:
		result.smin = left->smin >> shift;
		result.smax = left->smax >> shift;
		break;
	case BPF_DIV:
		if (right->umin && right->umin == right->umax) {
			result.umin = left->umin / right->umin;
			result.umax = left->umax / right->umin;
		} else {
			result.umax = left->umax; /* a quotient is no greater, and 0 for 0 */
		}
		break;
	case BPF_MOD:
		result.umax = left->umax; /* the remainder for 0 is the dividend */
		if (right->umin && right->umax - 1 < result.umax)
			result.umax = right->umax - 1;
		break;
	}
	return result;
}

static bool is_shift(unsigned operation)
{
	return operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH;
}

static struct bits operate_on_bits(unsigned operation, struct bits left, struct bits right,
				   unsigned width)
{
	switch (operation) {
	case BPF_ADD:
		return add_bits(left, right);
	case BPF_SUB:
		return subtract_bits(left, right);
	case BPF_MUL:
		return multiply_bits(left, right);
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		return combine_bits(operation, left, right);
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return shift_bits(operation, left, right.value & (width - 1), width);
	default:
		return (struct bits){0, UINT64_MAX};
	}
}

/* The low half alone, zeros above. */
static struct gt_scalar truncate(const struct gt_scalar *scalar)
{
	struct gt_scalar result;

	if (scalar->all.umax <= UINT32_MAX)
		return *scalar;
	if (!(uint32_t)scalar->mask)
		return gt_scalar_constant((uint32_t)scalar->value);
	result = gt_scalar_loaded(4, false);
	result.value = (uint32_t)scalar->value;
	result.mask = (uint32_t)scalar->mask;
	result.low = scalar->low;
	gt_scalar_settle(&result);
	return result;
}

static struct gt_scalar operate(unsigned operation, bool wide, const struct gt_scalar *left,
				const struct gt_scalar *right)
{
	struct gt_scalar result;
	struct bits left_bits = {left->value, left->mask}, bits;
	struct bits right_bits = {right->value, right->mask};
	unsigned width = wide ? 64 : 32;

	/* As in Linux, of a shift by what is not known, or by more than there are bits. */
	if (is_shift(operation) && (right->mask || right->value >= width))
		return wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false);
	if (!wide) {
		left_bits = (struct bits){(uint32_t)left->value, (uint32_t)left->mask};
		right_bits = (struct bits){(uint32_t)right->value, (uint32_t)right->mask};
	}
	bits = operate_on_bits(operation, left_bits, right_bits, width);
	if (!wide)
		bits = (struct bits){(uint32_t)bits.value, (uint32_t)bits.mask};
	if (!bits.mask)
		return gt_scalar_constant(bits.value);
	result = wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false);
	result.value = bits.value;
	result.mask = bits.mask;
	if (wide) {
		result.all = operate_on_range(operation, &left->all, &right->all, 64);
		/* The low half of a sum or product is that of the low halves. */
		if (operation == BPF_ADD || operation == BPF_SUB || operation == BPF_MUL ||
		    operation == BPF_AND || operation == BPF_OR)
			result.low = operate_on_range(operation, &left->low, &right->low, 32);
		gt_scalar_settle(&result);
		return result;
	}
	result.low = operate_on_range(operation, &left->low, &right->low, 32);
	gt_scalar_settle(&result);
	return result;
}

/* Sign extension from the low `bits` bits, in 64 or 32 bits. */
static struct gt_scalar extend(unsigned bits, bool wide, const struct gt_scalar *scalar)
{
	struct gt_scalar shift, up, result;
	int64_t max = (INT64_C(1) << (bits - 1)) - 1;

	if (scalar->all.smin >= -max - 1 && scalar->all.smax <= max) {
		result = *scalar;
	} else {
		shift = gt_scalar_constant(64 - bits);
		up = operate(BPF_LSH, true, scalar, &shift);
		result = operate(BPF_ARSH, true, &up, &shift);
	}
	return wide ? result : truncate(&result);
}

static uint64_t swapped(const struct bpf_insn *insn, uint64_t value)
{
	bool swap = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;

	if (swap)
		value = __builtin_bswap64(value) >> (64 - insn->imm);
	return insn->imm == 64 ? value : value & ((UINT64_C(1) << insn->imm) - 1);
}

struct gt_scalar gt_scalar_alu(const struct bpf_insn *insn, const struct gt_scalar *left,
			       const struct gt_scalar *right)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	unsigned operation = BPF_OP(insn->code);
	struct gt_scalar zero, result;

	switch (operation) {
	case BPF_MOV:
		if (insn->off)
			return extend((unsigned)insn->off, wide, right);
		return wide ? *right : truncate(right);
	case BPF_NEG:
		zero = gt_scalar_constant(0);
		return operate(BPF_SUB, wide, &zero, left);
	case BPF_END:
		result = gt_scalar_unknown();
		result.value = swapped(insn, left->value);
		result.mask = swapped(insn, left->mask);
		gt_scalar_settle(&result);
		return result;
	case BPF_DIV:
	case BPF_MOD:
		if (insn->off)
			return wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false);
		break;
	}
	return operate(operation, wide, left, right);
}

struct gt_scalar gt_scalar_truncate(const struct gt_scalar *scalar, unsigned size, bool is_signed)
{
	struct gt_scalar mask = gt_scalar_constant((UINT64_C(1) << (8 * size % 64)) - 1);
	struct bpf_insn insn = {.code = BPF_ALU64 | BPF_AND | BPF_X};

	if (size == 8)
		return *scalar;
	if (!is_signed)
		return gt_scalar_alu(&insn, scalar, &mask);
	insn.code = BPF_ALU64 | BPF_MOV | BPF_X;
	insn.off = (int16_t)(8 * size);
	return gt_scalar_alu(&insn, scalar, scalar);
}
