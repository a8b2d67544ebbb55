/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Range analysis: sets of scalars, and their bounds after conditional jumps. */
#include "gpubpf/verify/scalar.h"

#include <string.h>

static const struct gt_interval any64 = {0, UINT64_MAX, INT64_MIN, INT64_MAX};
static const struct gt_interval any32 = {0, UINT32_MAX, INT32_MIN, INT32_MAX};

struct gt_scalar gt_scalar_unknown(void)
{
	return (struct gt_scalar){0, UINT64_MAX, any64, any32};
}

struct gt_scalar gt_scalar_constant(uint64_t value)
{
	return (struct gt_scalar){
		value,
		0,
		{value, value, (int64_t)value, (int64_t)value},
		{(uint32_t)value, (uint32_t)value, (int32_t)value, (int32_t)value},
	};
}

struct gt_scalar gt_scalar_loaded(unsigned size, bool is_signed)
{
	struct gt_scalar scalar = gt_scalar_unknown();
	int64_t max = (int64_t)(UINT64_MAX >> (64 - 8 * size + is_signed));

	if (size == 8)
		return scalar;
	if (is_signed) {
		scalar.all.smax = max;
		scalar.all.smin = -max - 1;
	} else {
		scalar.mask = (uint64_t)max;
		scalar.all = (struct gt_interval){0, (uint64_t)max, 0, max};
	}
	if (size == 4)
		return scalar;
	if (is_signed) {
		scalar.low.smax = max;
		scalar.low.smin = -max - 1;
	} else {
		scalar.low = scalar.all;
	}
	return scalar;
}

static void raise_umin(uint64_t *min, uint64_t value)
{
	if (value > *min)
		*min = value;
}

static void lower_umax(uint64_t *max, uint64_t value)
{
	if (value < *max)
		*max = value;
}

static void raise_smin(int64_t *min, int64_t value)
{
	if (value > *min)
		*min = value;
}

static void lower_smax(int64_t *max, int64_t value)
{
	if (value < *max)
		*max = value;
}

static void intersect_intervals(struct gt_interval *range, const struct gt_interval *other)
{
	raise_umin(&range->umin, other->umin);
	lower_umax(&range->umax, other->umax);
	raise_smin(&range->smin, other->smin);
	lower_smax(&range->smax, other->smax);
}

static bool is_empty_interval(const struct gt_interval *range)
{
	return range->umin > range->umax || range->smin > range->smax;
}

/* Sign-extend the low 32 bits. */
static int64_t sign_extend_low(uint64_t value)
{
	return (int32_t)value;
}

/*
 * The signed interval contains negative values and others, which are the two ends of the unsigned
 * values: if the unsigned interval overlaps one end only, derive the sign.
 */
static void sync_one_sign(struct gt_interval *range, unsigned width)
{
	uint64_t negative = (uint64_t)range->smin & (width == 64 ? UINT64_MAX : UINT32_MAX);
	uint64_t umin = range->umin, umax = range->umax;

	if (umax < negative) {
		lower_umax(&range->umax, (uint64_t)range->smax);
		range->smin = (int64_t)umin;
	} else if ((uint64_t)range->smax < umin) {
		raise_umin(&range->umin, negative);
		range->smax = width == 64 ? (int64_t)umax : sign_extend_low(umax);
	}
}

/* Derive an interval from known bits, and signed and unsigned bounds from each other. */
static void sync_interval(struct gt_interval *range, uint64_t value, uint64_t mask, unsigned width)
{
	uint64_t sign = UINT64_C(1) << (width - 1);
	uint64_t min = value | (mask & sign), max = value | (mask & ~sign);
	uint64_t kept = width == 64 ? UINT64_MAX : UINT32_MAX;

	raise_umin(&range->umin, value);
	lower_umax(&range->umax, value | mask);
	raise_smin(&range->smin, width == 64 ? (int64_t)min : sign_extend_low(min));
	lower_smax(&range->smax, width == 64 ? (int64_t)max : sign_extend_low(max));
	if ((range->umin ^ range->umax) < sign) {
		bool wide = width == 64;

		raise_smin(&range->smin,
			   wide ? (int64_t)range->umin : sign_extend_low(range->umin));
		lower_smax(&range->smax,
			   wide ? (int64_t)range->umax : sign_extend_low(range->umax));
	}
	if ((range->smin ^ range->smax) >= 0) {
		raise_umin(&range->umin, (uint64_t)range->smin & kept);
		lower_umax(&range->umax, (uint64_t)range->smax & kept);
	} else {
		sync_one_sign(range, width);
	}
}

static void sync_low_from_all(struct gt_scalar *scalar)
{
	struct gt_interval *all = &scalar->all, *low = &scalar->low;

	if (all->umin >> 32 == all->umax >> 32) {
		raise_umin(&low->umin, (uint32_t)all->umin);
		lower_umax(&low->umax, (uint32_t)all->umax);
	}
	if (all->smin >> 32 == all->smax >> 32) {
		raise_umin(&low->umin, (uint32_t)all->smin);
		lower_umax(&low->umax, (uint32_t)all->smax);
	}
	if (all->smin >= INT32_MIN && all->smax <= INT32_MAX) {
		raise_smin(&low->smin, all->smin);
		lower_smax(&low->smax, all->smax);
	}
}

static void sync_all_from_low(struct gt_scalar *scalar)
{
	struct gt_interval *all = &scalar->all, *low = &scalar->low;
	uint64_t high = ~(uint64_t)UINT32_MAX;

	raise_umin(&all->umin, (all->umin & high) | low->umin);
	lower_umax(&all->umax, (all->umax & high) | low->umax);
	raise_smin(&all->smin, (int64_t)(((uint64_t)all->smin & high) | low->umin));
	lower_smax(&all->smax, (int64_t)(((uint64_t)all->smax & high) | low->umax));
	/* The scalar is its sign-extended low half. */
	if (all->smin >= INT32_MIN && all->smax <= INT32_MAX) {
		raise_smin(&all->smin, low->smin);
		lower_smax(&all->smax, low->smax);
	}
}

/* Derive known bits: those that all of min to max have in common, among the bits of kept. */
static bool sync_bits_from_range(struct gt_scalar *scalar, uint64_t min, uint64_t max,
				 uint64_t kept)
{
	uint64_t differ = min ^ max, unknown, value;

	unknown = differ ? (UINT64_MAX >> __builtin_clzll(differ)) : 0;
	unknown |= ~kept;
	value = min & ~unknown;
	if ((value ^ scalar->value) & ~unknown & ~scalar->mask)
		return false;
	scalar->value |= value;
	scalar->mask &= unknown;
	scalar->value &= ~scalar->mask;
	return true;
}

static bool sync_constant(struct gt_scalar *scalar)
{
	struct gt_scalar known = *scalar;

	*scalar = gt_scalar_constant(known.value);
	return gt_scalar_contains(&known, scalar);
}

bool gt_scalar_sync_bounds(struct gt_scalar *scalar)
{
	struct gt_scalar before;

	if (!scalar->mask)
		return sync_constant(scalar);
	for (unsigned round = 0; round < 3; round++) {
		before = *scalar;
		sync_interval(&scalar->all, scalar->value, scalar->mask, 64);
		sync_interval(&scalar->low, (uint32_t)scalar->value, (uint32_t)scalar->mask, 32);
		sync_low_from_all(scalar);
		sync_all_from_low(scalar);
		if (is_empty_interval(&scalar->all) || is_empty_interval(&scalar->low))
			return false;
		if (!sync_bits_from_range(scalar, scalar->all.umin, scalar->all.umax, UINT64_MAX) ||
		    !sync_bits_from_range(scalar, scalar->low.umin, scalar->low.umax, UINT32_MAX))
			return false;
		if (!memcmp(&before, scalar, sizeof(before)))
			break;
	}
	return true;
}

static bool interval_contains(const struct gt_interval *outer, const struct gt_interval *inner)
{
	return outer->umin <= inner->umin && outer->umax >= inner->umax &&
	       outer->smin <= inner->smin && outer->smax >= inner->smax;
}

bool gt_scalar_contains(const struct gt_scalar *outer, const struct gt_scalar *inner)
{
	return interval_contains(&outer->all, &inner->all) &&
	       interval_contains(&outer->low, &inner->low) && !(inner->mask & ~outer->mask) &&
	       !((inner->value ^ outer->value) & ~outer->mask);
}

static bool assume_equal(struct gt_scalar *left, struct gt_scalar *right, bool wide)
{
	uint64_t kept = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t known = ~left->mask & ~right->mask & kept;

	if ((left->value ^ right->value) & known)
		return false;
	if (wide)
		intersect_intervals(&left->all, &right->all);
	intersect_intervals(&left->low, &right->low);
	for (unsigned i = 0; i < 2; i++) {
		struct gt_scalar *to = i ? right : left, *from = i ? left : right;
		uint64_t learned = to->mask & ~from->mask & kept;

		to->value |= from->value & learned;
		to->mask &= ~learned;
	}
	if (wide)
		right->all = left->all;
	right->low = left->low;
	return true;
}

/* Exclude a constant at either end of an interval. False: it is empty. */
static bool exclude_constant(struct gt_interval *range, const struct gt_interval *constant)
{
	if (constant->umin != constant->umax || constant->smin != constant->smax)
		return true;
	if (range->umin == range->umax && range->umin == constant->umin)
		return false;
	if (range->umin == constant->umin)
		range->umin++;
	else if (range->umax == constant->umin)
		range->umax--;
	if (range->smin == constant->smin && range->smin < range->smax)
		range->smin++;
	else if (range->smax == constant->smin && range->smin < range->smax)
		range->smax--;
	return true;
}

/* left & right is not 0 (taken), or is 0. */
static bool assume_common_bits(bool taken, struct gt_scalar *left, struct gt_scalar *right,
			       bool wide)
{
	uint64_t kept = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t both = (left->value | left->mask) & (right->value | right->mask) & kept;

	if (taken) {
		if (!both)
			return false;
		if (!right->mask && !(both & (both - 1)) && (left->mask & both)) {
			left->value |= both;
			left->mask &= ~both;
		}
		return true;
	}
	if (left->value & right->value & kept)
		return false;
	left->mask &= ~(right->value & kept);
	right->mask &= ~(left->value & kept);
	return true;
}

/* left < right, or <= if `equal`. False: impossible. */
static bool assume_below(bool equal, struct gt_interval *left, struct gt_interval *right)
{
	if (!equal && (!right->umax || left->umin == UINT64_MAX))
		return false;
	lower_umax(&left->umax, right->umax - !equal);
	raise_umin(&right->umin, left->umin + !equal);
	return true;
}

static bool assume_signed_below(bool equal, struct gt_interval *left, struct gt_interval *right)
{
	if (!equal && (right->smax == INT64_MIN || left->smin == INT64_MAX))
		return false;
	lower_smax(&left->smax, right->smax - !equal);
	raise_smin(&right->smin, left->smin + !equal);
	return true;
}

bool gt_scalar_assume(const struct bpf_insn *insn, bool taken, struct gt_scalar *left,
		      struct gt_scalar *right)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP, possible;
	struct gt_interval *one = wide ? &left->all : &left->low;
	struct gt_interval *other = wide ? &right->all : &right->low;

	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
	case BPF_JNE:
		possible = (BPF_OP(insn->code) == BPF_JEQ) == taken
				   ? assume_equal(left, right, wide)
				   : exclude_constant(one, other) && exclude_constant(other, one);
		break;
	case BPF_JSET:
		possible = assume_common_bits(taken, left, right, wide);
		break;
	case BPF_JLT:
		possible = taken ? assume_below(false, one, other) : assume_below(true, other, one);
		break;
	case BPF_JLE:
		possible = taken ? assume_below(true, one, other) : assume_below(false, other, one);
		break;
	case BPF_JGT:
		possible = taken ? assume_below(false, other, one) : assume_below(true, one, other);
		break;
	case BPF_JGE:
		possible = taken ? assume_below(true, other, one) : assume_below(false, one, other);
		break;
	case BPF_JSLT:
		possible = taken ? assume_signed_below(false, one, other)
				 : assume_signed_below(true, other, one);
		break;
	case BPF_JSLE:
		possible = taken ? assume_signed_below(true, one, other)
				 : assume_signed_below(false, other, one);
		break;
	case BPF_JSGT:
		possible = taken ? assume_signed_below(false, other, one)
				 : assume_signed_below(true, one, other);
		break;
	default:
		possible = taken ? assume_signed_below(true, other, one)
				 : assume_signed_below(false, one, other);
	}
	return possible && gt_scalar_sync_bounds(left) && gt_scalar_sync_bounds(right);
}

static struct gt_interval union_of_intervals(const struct gt_interval *one,
					     const struct gt_interval *other)
{
	return (struct gt_interval){
		.umin = one->umin < other->umin ? one->umin : other->umin,
		.umax = one->umax > other->umax ? one->umax : other->umax,
		.smin = one->smin < other->smin ? one->smin : other->smin,
		.smax = one->smax > other->smax ? one->smax : other->smax,
	};
}

struct gt_scalar gt_scalar_union(const struct gt_scalar *one, const struct gt_scalar *other)
{
	uint64_t mask = one->mask | other->mask | (one->value ^ other->value);
	struct gt_scalar both = {
		.value = one->value & ~mask,
		.mask = mask,
		.all = union_of_intervals(&one->all, &other->all),
		.low = union_of_intervals(&one->low, &other->low),
	};

	gt_scalar_sync_bounds(&both);
	return both;
}
