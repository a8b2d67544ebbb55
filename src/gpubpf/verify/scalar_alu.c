/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Range analysis: arithmetic on sets of scalars. */
#include "gpubpf/verify/scalar.h"

#include <stddef.h>

/* Known bits; the operations are those of kernel/bpf/tnum.c. */
struct tnum {
	uint64_t value, mask;
};

static struct tnum tnum_add(struct tnum left, struct tnum right)
{
	uint64_t masks = left.mask + right.mask, values = left.value + right.value;
	uint64_t unknown = ((masks + values) ^ values) | left.mask | right.mask;

	return (struct tnum){values & ~unknown, unknown};
}

static struct tnum tnum_sub(struct tnum left, struct tnum right)
{
	uint64_t difference = left.value - right.value;
	uint64_t unknown =
		((difference + left.mask) ^ (difference - right.mask)) | left.mask | right.mask;

	return (struct tnum){difference & ~unknown, unknown};
}

static struct tnum tnum_mul(struct tnum left, struct tnum right)
{
	struct tnum unknown = {0, 0};
	uint64_t product = left.value * right.value;

	if (!left.mask && !right.mask)
		return (struct tnum){product, 0};
	while ((left.value || left.mask) && unknown.mask != UINT64_MAX) {
		if (left.value & 1)
			unknown = tnum_add(unknown, (struct tnum){0, right.mask});
		else if (left.mask & 1)
			unknown = tnum_add(unknown, (struct tnum){0, right.value | right.mask});
		left = (struct tnum){left.value >> 1, left.mask >> 1};
		right = (struct tnum){right.value << 1, right.mask << 1};
	}
	return tnum_add((struct tnum){product, 0}, unknown);
}

static struct tnum tnum_bitwise(unsigned operation, struct tnum left, struct tnum right)
{
	uint64_t value, unknown;

	switch (operation) {
	case BPF_AND:
		value = left.value & right.value;
		unknown = (left.value | left.mask) & (right.value | right.mask) & ~value;
		return (struct tnum){value, unknown};
	case BPF_OR:
		value = left.value | right.value;
		return (struct tnum){value, (left.mask | right.mask) & ~value};
	default:
		unknown = left.mask | right.mask;
		return (struct tnum){(left.value ^ right.value) & ~unknown, unknown};
	}
}

static struct tnum tnum_shift(unsigned operation, struct tnum tnum, unsigned shift, unsigned width)
{
	switch (operation) {
	case BPF_LSH:
		return (struct tnum){tnum.value << shift, tnum.mask << shift};
	case BPF_RSH:
		return (struct tnum){tnum.value >> shift, tnum.mask >> shift};
	default:
		if (width == 32)
			return (struct tnum){(uint32_t)((int32_t)tnum.value >> shift),
					     (uint32_t)((int32_t)tnum.mask >> shift)};
		return (struct tnum){(uint64_t)((int64_t)tnum.value >> shift),
				     (uint64_t)((int64_t)tnum.mask >> shift)};
	}
}

/* Ends of an interval after an operation, and which of them overflowed 64 bits. */
struct interval_ends {
	struct gt_interval at;
	bool umin_wraps, umax_wraps, smin_wraps, smax_wraps;
};

/* Set an interval to the results if both ends wrap in the width, or none; else leave it. */
static void set_interval(struct gt_interval *range, const struct interval_ends *ends,
			 unsigned width)
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

static void interval_add(struct gt_interval *result, const struct gt_interval *left,
			 const struct gt_interval *right, unsigned width)
{
	struct interval_ends ends;

	ends.umin_wraps = __builtin_add_overflow(left->umin, right->umin, &ends.at.umin);
	ends.umax_wraps = __builtin_add_overflow(left->umax, right->umax, &ends.at.umax);
	ends.smin_wraps = __builtin_add_overflow(left->smin, right->smin, &ends.at.smin);
	ends.smax_wraps = __builtin_add_overflow(left->smax, right->smax, &ends.at.smax);
	set_interval(result, &ends, width);
}

static void interval_sub(struct gt_interval *result, const struct gt_interval *left,
			 const struct gt_interval *right, unsigned width)
{
	struct interval_ends ends;

	ends.umin_wraps = __builtin_sub_overflow(left->umin, right->umax, &ends.at.umin);
	ends.umax_wraps = __builtin_sub_overflow(left->umax, right->umin, &ends.at.umax);
	ends.smin_wraps = __builtin_sub_overflow(left->smin, right->smax, &ends.at.smin);
	ends.smax_wraps = __builtin_sub_overflow(left->smax, right->smin, &ends.at.smax);
	set_interval(result, &ends, width);
}

static void interval_mul(struct gt_interval *result, const struct gt_interval *left,
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

static struct gt_interval interval_alu(unsigned operation, const struct gt_interval *left,
				       const struct gt_interval *right, unsigned width)
{
	struct gt_scalar unknown = gt_scalar_unknown();
	struct gt_interval result = width == 64 ? unknown.all : unknown.low;
	unsigned shift = (unsigned)right->umin & (width - 1);

	switch (operation) {
	case BPF_ADD:
		interval_add(&result, left, right, width);
		break;
	case BPF_SUB:
		interval_sub(&result, left, right, width);
		break;
	case BPF_MUL:
		interval_mul(&result, left, right, width);
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
			result.umax = left->umax; /* a quotient is not larger; division by 0 is 0 */
		}
		break;
	case BPF_MOD:
		result.umax = left->umax; /* the remainder by 0 is the dividend */
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

static struct tnum tnum_alu(unsigned operation, struct tnum left, struct tnum right, unsigned width)
{
	switch (operation) {
	case BPF_ADD:
		return tnum_add(left, right);
	case BPF_SUB:
		return tnum_sub(left, right);
	case BPF_MUL:
		return tnum_mul(left, right);
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		return tnum_bitwise(operation, left, right);
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return tnum_shift(operation, left, right.value & (width - 1), width);
	default:
		return (struct tnum){0, UINT64_MAX};
	}
}

/* Zero-extend the low half. */
static struct gt_scalar truncate_low(const struct gt_scalar *scalar)
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
	gt_scalar_sync_bounds(&result);
	return result;
}

static struct gt_scalar scalar_alu(unsigned operation, bool wide, const struct gt_scalar *left,
				   const struct gt_scalar *right)
{
	struct gt_scalar result;
	struct tnum left_bits = {left->value, left->mask}, tnum;
	struct tnum right_bits = {right->value, right->mask};
	unsigned width = wide ? 64 : 32;

	/* As in Linux, a shift by an unknown scalar, or by the width or more, is unknown. */
	if (is_shift(operation) && (right->mask || right->value >= width))
		return wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false);
	if (!wide) {
		left_bits = (struct tnum){(uint32_t)left->value, (uint32_t)left->mask};
		right_bits = (struct tnum){(uint32_t)right->value, (uint32_t)right->mask};
	}
	tnum = tnum_alu(operation, left_bits, right_bits, width);
	if (!wide)
		tnum = (struct tnum){(uint32_t)tnum.value, (uint32_t)tnum.mask};
	if (!tnum.mask)
		return gt_scalar_constant(tnum.value);
	result = wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false);
	result.value = tnum.value;
	result.mask = tnum.mask;
	if (wide) {
		result.all = interval_alu(operation, &left->all, &right->all, 64);
		/* The low half depends on the low halves only. */
		if (operation == BPF_ADD || operation == BPF_SUB || operation == BPF_MUL ||
		    operation == BPF_AND || operation == BPF_OR)
			result.low = interval_alu(operation, &left->low, &right->low, 32);
		gt_scalar_sync_bounds(&result);
		return result;
	}
	result.low = interval_alu(operation, &left->low, &right->low, 32);
	gt_scalar_sync_bounds(&result);
	return result;
}

/* Zero-extend the low `bits` bits: 8, 16 or 32. */
static struct gt_scalar zero_extend(unsigned bits, const struct gt_scalar *scalar)
{
	uint64_t kept = (UINT64_C(1) << bits) - 1;
	const struct gt_interval *range = NULL;
	struct gt_scalar result;

	if (bits == 32 || scalar->all.umax <= kept)
		return truncate_low(scalar);
	result = gt_scalar_loaded(bits / 8, false);
	result.value = scalar->value & kept;
	result.mask = scalar->mask & kept;
	if (scalar->all.umin >> bits == scalar->all.umax >> bits)
		range = &scalar->all;
	else if (scalar->low.umin >> bits == scalar->low.umax >> bits)
		range = &scalar->low;
	if (range) {
		result.all.umin = range->umin & kept;
		result.all.umax = range->umax & kept;
	}
	gt_scalar_sync_bounds(&result);
	return result;
}

/* Set the signed bounds of a sign-extended scalar, if all its values have the same upper bits. */
static void bound_sign_extended(unsigned bits, const struct gt_scalar *scalar,
				struct gt_scalar *result)
{
	unsigned shift = 64 - bits;
	int64_t min = (int64_t)((uint64_t)scalar->all.smin << shift) >> shift;
	int64_t max = (int64_t)((uint64_t)scalar->all.smax << shift) >> shift;

	if (scalar->all.smin >> bits != scalar->all.smax >> bits || min > max)
		return;
	result->all.smin = min > result->all.smin ? min : result->all.smin;
	result->all.smax = max < result->all.smax ? max : result->all.smax;
	gt_scalar_sync_bounds(result);
}

/* Sign-extend the low `bits` bits to 64 or 32 bits. */
static struct gt_scalar sign_extend(unsigned bits, bool wide, const struct gt_scalar *scalar)
{
	struct gt_scalar shift, up, result;
	int64_t max = (INT64_C(1) << (bits - 1)) - 1;

	if (scalar->all.smin >= -max - 1 && scalar->all.smax <= max) {
		result = *scalar;
	} else {
		shift = gt_scalar_constant(64 - bits);
		up = scalar_alu(BPF_LSH, true, scalar, &shift);
		result = scalar_alu(BPF_ARSH, true, &up, &shift);
		bound_sign_extended(bits, scalar, &result);
	}
	return wide ? result : truncate_low(&result);
}

static uint64_t swap_bytes(const struct bpf_insn *insn, uint64_t value)
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
			return sign_extend((unsigned)insn->off, wide, right);
		return wide ? *right : truncate_low(right);
	case BPF_NEG:
		zero = gt_scalar_constant(0);
		return scalar_alu(BPF_SUB, wide, &zero, left);
	case BPF_END:
		result = gt_scalar_unknown();
		result.value = swap_bytes(insn, left->value);
		result.mask = swap_bytes(insn, left->mask);
		gt_scalar_sync_bounds(&result);
		return result;
	case BPF_DIV:
	case BPF_MOD:
		if (insn->off)
			return wide ? gt_scalar_unknown() : gt_scalar_loaded(4, false);
		break;
	}
	return scalar_alu(operation, wide, left, right);
}

struct gt_scalar gt_scalar_truncate(const struct gt_scalar *scalar, unsigned size, bool is_signed)
{
	if (size == 8)
		return *scalar;
	return is_signed ? sign_extend(8 * size, true, scalar) : zero_extend(8 * size, scalar);
}
