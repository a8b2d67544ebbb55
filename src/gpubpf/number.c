/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is known of numbers, and what instructions make of it. */
#include "gpubpf/number.h"

static const struct gt_interval any64 = {0, UINT64_MAX, INT64_MIN, INT64_MAX};
static const struct gt_interval any32 = {0, UINT32_MAX, INT32_MIN, INT32_MAX};

struct gt_number gt_number_unknown(void)
{
	return (struct gt_number){0, UINT64_MAX, any64, any32};
}

struct gt_number gt_number_constant(uint64_t value)
{
	return (struct gt_number){
		value,
		0,
		{value, value, (int64_t)value, (int64_t)value},
		{(uint32_t)value, (uint32_t)value, (int32_t)value, (int32_t)value},
	};
}

struct gt_number gt_number_loaded(unsigned size, bool is_signed)
{
	struct gt_number number = gt_number_unknown();

	if (size == 8)
		return number;
	if (is_signed) {
		number.all.smax = (INT64_C(1) << (8 * size - 1)) - 1;
		number.all.smin = -number.all.smax - 1;
	} else {
		number.mask = (UINT64_C(1) << 8 * size) - 1;
	}
	gt_number_settle(&number);
	return number;
}

static void raise_u(uint64_t *least, uint64_t value)
{
	if (value > *least)
		*least = value;
}

static void lower_u(uint64_t *greatest, uint64_t value)
{
	if (value < *greatest)
		*greatest = value;
}

static void raise_s(int64_t *least, int64_t value)
{
	if (value > *least)
		*least = value;
}

static void lower_s(int64_t *greatest, int64_t value)
{
	if (value < *greatest)
		*greatest = value;
}

static void intersect(struct gt_interval *range, const struct gt_interval *other)
{
	raise_u(&range->umin, other->umin);
	lower_u(&range->umax, other->umax);
	raise_s(&range->smin, other->smin);
	lower_s(&range->smax, other->smax);
}

static bool is_empty(const struct gt_interval *range)
{
	return range->umin > range->umax || range->smin > range->smax;
}

/* The low 32 bits, as a signed number if so asked. */
static int64_t signed_low(uint64_t value)
{
	return (int32_t)value;
}

/* Ranges from known bits, and signed from unsigned and back, in a width. */
static void settle_range(struct gt_interval *range, uint64_t value, uint64_t mask, unsigned width)
{
	uint64_t sign = UINT64_C(1) << (width - 1);
	uint64_t least = value | (mask & sign), greatest = value | (mask & ~sign);

	raise_u(&range->umin, value);
	lower_u(&range->umax, value | mask);
	raise_s(&range->smin, width == 64 ? (int64_t)least : signed_low(least));
	lower_s(&range->smax, width == 64 ? (int64_t)greatest : signed_low(greatest));
	if ((range->umin ^ range->umax) < sign) {
		bool wide = width == 64;

		raise_s(&range->smin, wide ? (int64_t)range->umin : signed_low(range->umin));
		lower_s(&range->smax, wide ? (int64_t)range->umax : signed_low(range->umax));
	}
	if ((range->smin ^ range->smax) >= 0) {
		uint64_t kept = width == 64 ? UINT64_MAX : UINT32_MAX;

		raise_u(&range->umin, (uint64_t)range->smin & kept);
		lower_u(&range->umax, (uint64_t)range->smax & kept);
	}
}

static void low_from_all(struct gt_number *number)
{
	struct gt_interval *all = &number->all, *low = &number->low;

	if (all->umin >> 32 == all->umax >> 32) {
		raise_u(&low->umin, (uint32_t)all->umin);
		lower_u(&low->umax, (uint32_t)all->umax);
	}
	if (all->smin >> 32 == all->smax >> 32) {
		raise_u(&low->umin, (uint32_t)all->smin);
		lower_u(&low->umax, (uint32_t)all->smax);
	}
	if (all->smin >= INT32_MIN && all->smax <= INT32_MAX) {
		raise_s(&low->smin, all->smin);
		lower_s(&low->smax, all->smax);
	}
}

static void all_from_low(struct gt_number *number)
{
	struct gt_interval *all = &number->all, *low = &number->low;
	uint64_t high = ~(uint64_t)UINT32_MAX;

	raise_u(&all->umin, (all->umin & high) | low->umin);
	lower_u(&all->umax, (all->umax & high) | low->umax);
	raise_s(&all->smin, (int64_t)(((uint64_t)all->smin & high) | low->umin));
	lower_s(&all->smax, (int64_t)(((uint64_t)all->smax & high) | low->umax));
	/* A number that is its low half, sign-extended. */
	if (all->smin >= INT32_MIN && all->smax <= INT32_MAX) {
		raise_s(&all->smin, low->smin);
		lower_s(&all->smax, low->smax);
	}
}

/* The bits that all of least … greatest have in common, below `width`; others are unknown. */
static bool bits_from_range(struct gt_number *number, uint64_t least, uint64_t greatest,
			    uint64_t kept)
{
	uint64_t differ = least ^ greatest, unknown, value;

	unknown = differ ? (UINT64_MAX >> __builtin_clzll(differ)) : 0;
	unknown |= ~kept;
	value = least & ~unknown;
	if ((value ^ number->value) & ~unknown & ~number->mask)
		return false;
	number->value |= value;
	number->mask &= unknown;
	number->value &= ~number->mask;
	return true;
}

bool gt_number_settle(struct gt_number *number)
{
	for (unsigned round = 0; round < 3; round++) {
		settle_range(&number->all, number->value, number->mask, 64);
		settle_range(&number->low, (uint32_t)number->value, (uint32_t)number->mask, 32);
		low_from_all(number);
		all_from_low(number);
		if (is_empty(&number->all) || is_empty(&number->low))
			return false;
		if (!bits_from_range(number, number->all.umin, number->all.umax, UINT64_MAX) ||
		    !bits_from_range(number, number->low.umin, number->low.umax, UINT32_MAX))
			return false;
	}
	return true;
}

static bool range_within(const struct gt_interval *outer, const struct gt_interval *inner)
{
	return outer->umin <= inner->umin && outer->umax >= inner->umax &&
	       outer->smin <= inner->smin && outer->smax >= inner->smax;
}

bool gt_number_within(const struct gt_number *outer, const struct gt_number *inner)
{
	return range_within(&outer->all, &inner->all) && range_within(&outer->low, &inner->low) &&
	       !(inner->mask & ~outer->mask) && !((inner->value ^ outer->value) & ~outer->mask);
}

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

	while (left.value || left.mask) {
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

/* The range of results, if it does not wrap in the width; else what is there stays. */
static void set_unsigned(struct gt_interval *range, __int128 least, __int128 greatest,
			 unsigned width)
{
	__int128 turn = (__int128)1 << width;

	if (least < 0 && greatest < 0) {
		least += turn;
		greatest += turn;
	} else if (least >= turn && greatest >= turn) {
		least -= turn;
		greatest -= turn;
	}
	if (least < 0 || greatest >= turn)
		return;
	range->umin = (uint64_t)least;
	range->umax = (uint64_t)greatest;
}

static void set_signed(struct gt_interval *range, __int128 least, __int128 greatest, unsigned width)
{
	__int128 half = (__int128)1 << (width - 1);

	if (least < -half || greatest >= half)
		return;
	range->smin = (int64_t)least;
	range->smax = (int64_t)greatest;
}

static void multiply_range(struct gt_interval *result, const struct gt_interval *left,
			   const struct gt_interval *right, unsigned width)
{
	__int128 corners[4] = {
		(__int128)left->smin * right->smin, (__int128)left->smin * right->smax,
		(__int128)left->smax * right->smin, (__int128)left->smax * right->smax};
	__int128 least = corners[0], greatest = corners[0];
	unsigned __int128 product = (unsigned __int128)left->umax * right->umax;

	if (product < (unsigned __int128)1 << width) {
		result->umin = left->umin * right->umin;
		result->umax = (uint64_t)product;
	}
	for (unsigned i = 1; i < 4; i++) {
		if (corners[i] < least)
			least = corners[i];
		if (corners[i] > greatest)
			greatest = corners[i];
	}
	set_signed(result, least, greatest, width);
}

static struct gt_interval operate_on_range(unsigned operation, const struct gt_interval *left,
					   const struct gt_interval *right, unsigned width)
{
	struct gt_interval result = width == 64 ? any64 : any32;
	unsigned shift = (unsigned)right->umin & (width - 1);

	switch (operation) {
	case BPF_ADD:
		set_unsigned(&result, (__int128)left->umin + right->umin,
			     (__int128)left->umax + right->umax, width);
		set_signed(&result, (__int128)left->smin + right->smin,
			   (__int128)left->smax + right->smax, width);
		break;
	case BPF_SUB:
		set_unsigned(&result, (__int128)left->umin - right->umax,
			     (__int128)left->umax - right->umin, width);
		set_signed(&result, (__int128)left->smin - right->smax,
			   (__int128)left->smax - right->smin, width);
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
static struct gt_number truncate(const struct gt_number *number)
{
	struct gt_number result = gt_number_unknown();

	result.value = (uint32_t)number->value;
	result.mask = (uint32_t)number->mask;
	result.low = number->low;
	gt_number_settle(&result);
	return result;
}

static struct gt_number operate(unsigned operation, bool wide, const struct gt_number *left,
				const struct gt_number *right)
{
	struct gt_number result = gt_number_unknown();
	struct bits left_bits = {left->value, left->mask}, bits;
	struct bits right_bits = {right->value, right->mask};
	unsigned width = wide ? 64 : 32;

	if (is_shift(operation) && right->mask)
		return wide ? result : truncate(&result);
	if (!wide) {
		left_bits = (struct bits){(uint32_t)left->value, (uint32_t)left->mask};
		right_bits = (struct bits){(uint32_t)right->value, (uint32_t)right->mask};
	}
	bits = operate_on_bits(operation, left_bits, right_bits, width);
	result.value = bits.value;
	result.mask = bits.mask;
	if (wide) {
		result.all = operate_on_range(operation, &left->all, &right->all, 64);
		/* The low half of a sum or product is that of the low halves. */
		if (operation == BPF_ADD || operation == BPF_SUB || operation == BPF_MUL ||
		    operation == BPF_AND || operation == BPF_OR)
			result.low = operate_on_range(operation, &left->low, &right->low, 32);
		gt_number_settle(&result);
		return result;
	}
	result.value = (uint32_t)result.value;
	result.mask = (uint32_t)result.mask;
	result.low = operate_on_range(operation, &left->low, &right->low, 32);
	gt_number_settle(&result);
	return result;
}

/* Sign extension from the low `bits` bits, in 64 or 32 bits. */
static struct gt_number extend(unsigned bits, bool wide, const struct gt_number *number)
{
	struct gt_number shift = gt_number_constant(64 - bits), up, result;
	int64_t greatest = (INT64_C(1) << (bits - 1)) - 1;

	if (number->all.smin >= -greatest - 1 && number->all.smax <= greatest) {
		result = *number;
	} else {
		up = operate(BPF_LSH, true, number, &shift);
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

struct gt_number gt_number_alu(const struct bpf_insn *insn, const struct gt_number *left,
			       const struct gt_number *right)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	unsigned operation = BPF_OP(insn->code);
	struct gt_number zero = gt_number_constant(0), result;

	switch (operation) {
	case BPF_MOV:
		if (insn->off)
			return extend((unsigned)insn->off, wide, right);
		return wide ? *right : truncate(right);
	case BPF_NEG:
		return operate(BPF_SUB, wide, &zero, left);
	case BPF_END:
		result = gt_number_unknown();
		result.value = swapped(insn, left->value);
		result.mask = swapped(insn, left->mask);
		gt_number_settle(&result);
		return result;
	case BPF_DIV:
	case BPF_MOD:
		result = gt_number_unknown();
		if (insn->off)
			return wide ? result : truncate(&result);
		break;
	}
	return operate(operation, wide, left, right);
}

struct gt_number gt_number_cut(const struct gt_number *number, unsigned size, bool is_signed)
{
	struct gt_number mask = gt_number_constant((UINT64_C(1) << (8 * size % 64)) - 1);
	struct bpf_insn insn = {.code = BPF_ALU64 | BPF_AND | BPF_X};

	if (size == 8)
		return *number;
	if (!is_signed)
		return gt_number_alu(&insn, number, &mask);
	insn.code = BPF_ALU64 | BPF_MOV | BPF_X;
	insn.off = (int16_t)(8 * size);
	return gt_number_alu(&insn, number, number);
}

static bool assume_equal(struct gt_number *left, struct gt_number *right, bool wide)
{
	uint64_t kept = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t known = ~left->mask & ~right->mask & kept;

	if ((left->value ^ right->value) & known)
		return false;
	if (wide)
		intersect(&left->all, &right->all);
	intersect(&left->low, &right->low);
	for (unsigned i = 0; i < 2; i++) {
		struct gt_number *to = i ? right : left, *from = i ? left : right;
		uint64_t learnt = to->mask & ~from->mask & kept;

		to->value |= from->value & learnt;
		to->mask &= ~learnt;
	}
	if (wide)
		right->all = left->all;
	right->low = left->low;
	return true;
}

/* Takes a constant out of the ends of a range. False: nothing is left. */
static bool exclude(struct gt_interval *range, const struct gt_interval *constant)
{
	if (constant->umin != constant->umax)
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

/* left & right is not 0 (taken), or is. */
static bool assume_common(bool taken, struct gt_number *left, struct gt_number *right, bool wide)
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

/* left < right, or <= where `equal`. False: cannot be. */
static bool assume_below(bool equal, struct gt_interval *left, struct gt_interval *right)
{
	if (!equal && (!right->umax || left->umin == UINT64_MAX))
		return false;
	lower_u(&left->umax, right->umax - !equal);
	raise_u(&right->umin, left->umin + !equal);
	return true;
}

static bool assume_signed_below(bool equal, struct gt_interval *left, struct gt_interval *right)
{
	if (!equal && (right->smax == INT64_MIN || left->smin == INT64_MAX))
		return false;
	lower_s(&left->smax, right->smax - !equal);
	raise_s(&right->smin, left->smin + !equal);
	return true;
}

bool gt_number_assume(const struct bpf_insn *insn, bool taken, struct gt_number *left,
		      struct gt_number *right)
{
	bool wide = BPF_CLASS(insn->code) == BPF_JMP, possible;
	struct gt_interval *one = wide ? &left->all : &left->low;
	struct gt_interval *other = wide ? &right->all : &right->low;

	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
	case BPF_JNE:
		possible = (BPF_OP(insn->code) == BPF_JEQ) == taken
				   ? assume_equal(left, right, wide)
				   : exclude(one, other) && exclude(other, one);
		break;
	case BPF_JSET:
		possible = assume_common(taken, left, right, wide);
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
	return possible && gt_number_settle(left) && gt_number_settle(right);
}
