/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The limit of a widened loop's iterations: tests that leave it, and the proof on each path back.
 */
#include "gpubpf/verify/widen.h"

/* A range of integers: of a scalar, signed or unsigned, of 64 bits or of the low 32. */
struct rank_range {
	__int128 min, max;
};

static struct rank_range range_of(const struct gt_scalar *scalar, bool narrow, bool is_signed)
{
	const struct gt_interval *interval = narrow ? &scalar->low : &scalar->all;

	return is_signed ? (struct rank_range){interval->smin, interval->smax}
			 : (struct rank_range){interval->umin, interval->umax};
}

/* What a loop counts: a scalar, or the offset of a pointer. */
static struct gt_scalar number_of(const struct gt_value *value)
{
	return value->type == GT_REG_SCALAR ? value->scalar : gt_value_offset(value);
}

static bool is_countable(const struct gt_value *value)
{
	return value->type == GT_REG_SCALAR || (gt_is_pointer(value) && !value->maybe_null);
}

/* All integers of a width. */
static struct rank_range domain_of(bool narrow, bool is_signed)
{
	if (is_signed)
		return narrow ? (struct rank_range){INT32_MIN, INT32_MAX}
			      : (struct rank_range){INT64_MIN, INT64_MAX};
	return (struct rank_range){0, narrow ? UINT32_MAX : UINT64_MAX};
}

/* ---- tests ---- */

static const struct {
	uint8_t opposite, swapped;
} comparisons[16] = {
	[BPF_JEQ >> 4] = {BPF_JNE, BPF_JEQ},    [BPF_JNE >> 4] = {BPF_JEQ, BPF_JNE},
	[BPF_JGT >> 4] = {BPF_JLE, BPF_JLT},    [BPF_JGE >> 4] = {BPF_JLT, BPF_JLE},
	[BPF_JLT >> 4] = {BPF_JGE, BPF_JGT},    [BPF_JLE >> 4] = {BPF_JGT, BPF_JGE},
	[BPF_JSGT >> 4] = {BPF_JSLE, BPF_JSLT}, [BPF_JSGE >> 4] = {BPF_JSLT, BPF_JSLE},
	[BPF_JSLT >> 4] = {BPF_JSGE, BPF_JSGT}, [BPF_JSLE >> 4] = {BPF_JSGT, BPF_JSGE},
};

static bool is_signed_operation(uint8_t operation)
{
	return operation == BPF_JSGT || operation == BPF_JSGE || operation == BPF_JSLT ||
	       operation == BPF_JSLE;
}

/* Find the value of the header that a value is a sum with. *ret_change: of that sum. */
static int find_location(const struct gt_widened *widened, const struct gt_value *value,
			 int64_t *ret_change)
{
	if (!value->origin || value->shifted || !is_countable(value))
		return GT_NO_LOCATION;
	for (unsigned i = 0; i < (widened->depth + 1) * GT_FRAME_LOCATIONS; i++) {
		const struct gt_value *header = gt_location_value(widened->state, i, NULL);

		if (!header || header->origin != value->origin || header->shifted)
			continue;
		*ret_change = (int64_t)((uint64_t)value->change - (uint64_t)header->change);
		if (value->origin_bits == 32)
			*ret_change = (int32_t)*ret_change;
		return (int)i;
	}
	return GT_NO_LOCATION;
}

static void add_test(struct gt_loop *loop, const struct gt_loop_test *test)
{
	for (unsigned i = 0; i < loop->test_count; i++) {
		struct gt_loop_test *known = &loop->tests[i];

		if (known->insn != test->insn || known->location != test->location ||
		    known->change != test->change || known->spread != test->spread ||
		    known->bits != test->bits || known->operation != test->operation)
			continue;
		known->limit = gt_scalar_union(&known->limit, &test->limit);
		if (known->limit_location != test->limit_location)
			known->limit_location = GT_NO_LOCATION;
		return;
	}
	if (!loop->tests)
		loop->tests = calloc(GT_MAX_LOOP_TESTS, sizeof(*loop->tests));
	if (loop->tests && loop->test_count < GT_MAX_LOOP_TESTS)
		loop->tests[loop->test_count++] = *test;
}

static void note_operands(const struct gt_verifier *verifier, struct gt_widened *widened,
			  const struct gt_value *value, const struct gt_value *limit,
			  uint8_t operation)
{
	int64_t limit_change = 0;
	bool pointers = gt_is_pointer(value);
	struct gt_loop_test test = {
		.insn = verifier->at,
		.spread = value->spread,
		.bits = value->origin_bits,
		.narrow = BPF_CLASS(verifier->insns[verifier->at].code) == BPF_JMP32,
		.operation = operation,
		.limit = number_of(limit),
	};

	if (pointers && !gt_compares_offsets(verifier, &verifier->insns[verifier->at], value, limit,
					     &test.operation))
		return;

	test.location = find_location(widened, value, &test.change);
	if (test.location == GT_NO_LOCATION || operation == BPF_JEQ ||
	    (!pointers && limit->type != GT_REG_SCALAR))
		return;
	test.limit_location = find_location(widened, limit, &limit_change);
	if (limit_change || limit->spread || limit->origin_bits == 32)
		test.limit_location = GT_NO_LOCATION;
	add_test(widened->loop, &test);
}

void gt_rank_note_test(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	struct gt_state *state = verifier->state;
	const struct gt_verify_frame *frame = &state->frames[state->depth];
	uint8_t operation = BPF_OP(insn->code);
	struct gt_value constant =
		gt_value_scalar(gt_scalar_constant((uint64_t)(int64_t)insn->imm));
	const struct gt_value *left = &frame->registers[insn->dst_reg];
	const struct gt_value *right =
		BPF_SRC(insn->code) == BPF_X ? &frame->registers[insn->src_reg] : &constant;
	int64_t target = gt_bpf_jump_target(verifier->insns, verifier->at);

	for (unsigned i = 0; i < state->widened_count && comparisons[operation >> 4].opposite;
	     i++) {
		struct gt_widened *widened = state->widened[i];
		bool jumps = gt_loop_contains(widened->loop, (uint32_t)target);
		uint8_t holds = jumps ? operation : comparisons[operation >> 4].opposite;

		if (widened->depth != state->depth || widened->loop->is_call ||
		    jumps == gt_loop_contains(widened->loop, verifier->at + 1))
			continue;
		note_operands(verifier, widened, left, right, holds);
		note_operands(verifier, widened, right, left, comparisons[holds >> 4].swapped);
	}
}

/* ---- choosing a number of iterations ---- */

/* A test, with the first values of what it compares. */
struct rank_try {
	const struct gt_loop_test *test;
	const struct gt_loop_value *value;
	struct rank_range first, start, limit, domain; /* start: first + the test's change */
	__int128 last;                                 /* of the values at the header */
	int64_t change;                                /* from first to start */
	bool narrow, is_signed;
	__int128 step; /* the smallest, without its sign */
};

/* Mirror a try with a decreasing value to one with an increasing value. */
static struct rank_range mirror(struct rank_range range)
{
	return (struct rank_range){-range.max, -range.min};
}

/*
 * What is added between the test and the header at most. If the value is not changed but by what
 * was added before the test, nothing is.
 */
static __int128 rest_of_step(const struct rank_try *try)
{
	const struct gt_loop_test *test = try->test;
	const struct gt_loop_value *value = try->value;

	if (test->change == value->min && test->change + (__int128)test->spread == value->max)
		return 0;
	return value->max < 0 ? (__int128)try->change - value->min
			      : (__int128)value->max - try->change;
}

/* How often the test can continue the loop. Negative: it does not limit that. */
static __int128 count_iterations(struct rank_try *try)
{
	struct rank_range start = try->start, limit = try->limit, first = try->first;
	bool decreases = try->value->max < 0;
	uint8_t operation = try->test->operation;

	if (decreases) {
		start = mirror(start);
		first = mirror(first);
		limit = mirror(limit);
		operation = comparisons[operation >> 4].swapped;
	}
	switch (operation) {
	case BPF_JNE:
		/* They differ by a multiple of the step: the limit is not between two values. */
		if (start.max > limit.min + try->step - 1)
			return -1;
		/* fall through */
	case BPF_JLT:
	case BPF_JSLT:
		limit.max--;
		break;
	case BPF_JLE:
	case BPF_JSLE:
		break;
	default:
		return -1;
	}
	try->last = limit.max + rest_of_step(try);
	if (try->last < first.max)
		try->last = first.max;
	if (decreases)
		try->last = -try->last;
	return limit.max < start.min ? 0 : (limit.max - start.min) / try->step + 1;
}

/* Whether the steps divide the difference of a value and its limit. */
static bool meets_limit(const struct rank_try *try, const struct gt_scalar *first,
			const struct gt_scalar *limit)
{
	static const struct bpf_insn subtract = {.code = BPF_ALU64 | BPF_SUB | BPF_X},
				     add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	struct gt_scalar change = gt_scalar_constant((uint64_t)try->change);
	uint64_t bits = (uint64_t)try->step - 1;
	struct gt_scalar start = gt_scalar_alu(&add, first, &change), difference;

	if (try->value->min != try->value->max || try->test->spread || (bits & (uint64_t)try->step))
		return false;
	difference = gt_scalar_alu(&subtract, limit, &start);
	return !((difference.mask | difference.value) & bits);
}

static void try_test(struct gt_widened *widened, struct gt_state *first,
		     const struct gt_loop_test *test, bool is_signed, uint64_t max)
{
	const struct gt_value *value = gt_location_value(first, (unsigned)test->location, NULL);
	const struct gt_value *limit =
		test->limit_location == GT_NO_LOCATION
			? NULL
			: gt_location_value(first, (unsigned)test->limit_location, NULL);
	struct rank_try try = {.test = test, .value = &widened->loop->values[test->location]};
	struct gt_scalar limits = test->limit, number;
	bool narrow = test->narrow || try.value->bits == 32 || test->bits == 32;
	bool by_order = test->operation == BPF_JNE;
	__int128 count;

	if (!value || !is_countable(value) ||
	    (limit && (!is_countable(limit) || gt_is_pointer(limit) != gt_is_pointer(value))))
		return;
	number = number_of(value);
	if (limit)
		limits = number_of(limit);
	if (by_order && !limit && !gt_scalar_is_constant(&limits))
		return;
	/* Sums of 32 bits are not negative when they are compared as 64 bits. */
	try.narrow = narrow;
	try.is_signed = is_signed && (test->narrow || !narrow);
	if (narrow && !test->narrow && number.all.umax > UINT32_MAX)
		return;
	try.domain = domain_of(narrow, try.is_signed);
	try.first = range_of(&number, narrow, try.is_signed);
	try.limit = range_of(&limits, test->narrow, is_signed);
	/* The sum that is known best: the lowest, or the highest if the value decreases. */
	try.change = test->change + (try.value->max < 0 ? test->spread : 0);
	try.start = (struct rank_range){try.first.min + try.change, try.first.max + try.change};
	try.step = try.value->max < 0 ? -(__int128)try.value->max : try.value->min;
	if (try.start.min < try.domain.min || try.start.max > try.domain.max)
		return;
	if (by_order && (!meets_limit(&try, &number, &limits) || try.limit.min < try.domain.min ||
			 try.limit.max > try.domain.max))
		return;
	count = count_iterations(&try);
	if (count < 0 || count > max ||
	    (widened->rank.kind != GT_RANK_NONE && count >= widened->rank.iterations))
		return;
	widened->rank = (struct gt_loop_rank){
		.kind = GT_RANK_VALUE,
		.test = (struct gt_loop_test *)test,
		.is_signed = try.is_signed,
		.is_narrow = narrow,
		.last = try.last,
		.first = try.value->max < 0 ? try.first.max : try.first.min,
		.iterations = (uint64_t)count,
	};
	widened->order =
		(struct gt_loop_order){.holds = by_order, .is_signed = is_signed, .test = test};
}

void gt_rank_choose(struct gt_widened *widened, struct gt_state *first, uint64_t budget,
		    uint64_t max)
{
	const struct gt_loop *loop = widened->loop;

	if (budget)
		widened->rank = (struct gt_loop_rank){.kind = GT_RANK_BUDGET, .iterations = budget};
	for (unsigned i = 0; loop->values && i < loop->test_count; i++) {
		const struct gt_loop_test *test = &loop->tests[i];
		const struct gt_loop_value *value = &loop->values[test->location];

		if (test->useless || value->change != GT_CHANGE_STEP ||
		    (value->min <= 0 && value->max >= 0))
			continue;
		if (!is_signed_operation(test->operation))
			try_test(widened, first, test, false, max);
		if (test->operation == BPF_JNE || is_signed_operation(test->operation))
			try_test(widened, first, test, true, max);
	}
}

struct gt_value gt_rank_narrow(const struct gt_widened *widened, struct gt_state *state)
{
	const struct gt_loop_rank *rank = &widened->rank;
	const struct gt_loop_value *steps;
	struct gt_value *value;
	struct gt_scalar scalar, first, last;
	struct bpf_insn compare = {.code = BPF_X}, reverse = {.code = BPF_X};
	unsigned below, above;
	bool decreases;

	if (rank->kind != GT_RANK_VALUE)
		return (struct gt_value){0};
	steps = &widened->loop->values[rank->test->location];
	decreases = steps->max < 0;
	value = gt_location_value(state, (unsigned)rank->test->location, NULL);
	scalar = number_of(value);
	first = gt_scalar_constant((uint64_t)rank->first);
	last = gt_scalar_constant((uint64_t)rank->last);
	below = rank->is_signed ? BPF_JSLE : BPF_JLE;
	above = rank->is_signed ? BPF_JSGE : BPF_JGE;
	compare.code |= (rank->is_narrow ? BPF_JMP32 : BPF_JMP) | (decreases ? above : below);
	reverse.code |= (rank->is_narrow ? BPF_JMP32 : BPF_JMP) | (decreases ? below : above);
	if (gt_scalar_assume(&compare, true, &scalar, &last) &&
	    gt_scalar_assume(&reverse, true, &scalar, &first))
		gt_narrow_number(value, &scalar);
	return steps->min != steps->max ? *value : (struct gt_value){0};
}

/* ---- the order of a value and its limit ---- */

static bool is_value(const struct gt_widened *widened, const struct gt_value *value)
{
	const struct gt_loop_test *test = widened->order.test;

	return is_countable(value) && !value->shifted &&
	       value->origin == widened->first_origin + (uint32_t)test->location &&
	       value->change == test->change && !value->spread && value->origin_bits == test->bits;
}

static bool is_limit(const struct gt_widened *widened, const struct gt_value *value)
{
	const struct gt_loop_test *test = widened->order.test;

	if (!is_countable(value))
		return false;
	if (test->limit_location == GT_NO_LOCATION) {
		struct gt_scalar number = number_of(value);

		return gt_scalar_is_constant(&number) && number.value == test->limit.value;
	}
	return value->origin &&
	       gt_origin_is_same(value, gt_location_value(widened->state,
							  (unsigned)test->limit_location, NULL));
}

/* The comparison that the order makes of one for inequality. */
static bool assume_order(struct gt_state *state, const struct gt_widened *widened,
			 const struct bpf_insn *insn, struct gt_value *value,
			 struct gt_value *limit)
{
	const struct gt_loop_value *steps = &widened->loop->values[widened->order.test->location];
	bool decreases = steps->max < 0;
	unsigned operation = widened->order.is_signed ? (decreases ? BPF_JSGT : BPF_JSLT)
						      : (decreases ? BPF_JGT : BPF_JLT);
	struct bpf_insn compare = {
		.code = (uint8_t)(BPF_CLASS(insn->code) | operation | BPF_X),
	};
	struct gt_scalar one = number_of(value), other = number_of(limit);

	if (!gt_scalar_assume(&compare, true, &one, &other))
		return false;
	gt_narrow_number(value, &one);
	gt_narrow_number(limit, &other);
	gt_origin_sync(state, value);
	gt_origin_sync(state, limit);
	state->ordered |= 1u << widened->level;
	return true;
}

bool gt_rank_apply_order(const struct gt_verifier *verifier, struct gt_state *state,
			 const struct bpf_insn *insn, bool taken)
{
	struct gt_verify_frame *frame = &state->frames[state->depth];
	struct gt_value constant =
		gt_value_scalar(gt_scalar_constant((uint64_t)(int64_t)insn->imm));
	struct gt_value *left = &frame->registers[insn->dst_reg];
	struct gt_value *right =
		BPF_SRC(insn->code) == BPF_X ? &frame->registers[insn->src_reg] : &constant;

	if (BPF_OP(insn->code) != (taken ? BPF_JNE : BPF_JEQ))
		return true;
	for (unsigned i = state->widened_count; i-- > 0;) {
		const struct gt_widened *widened = state->widened[i];

		if (!widened->order.holds || widened->order.test->insn != verifier->at ||
		    widened->depth != state->depth)
			continue;
		if (gt_is_pointer(left) != gt_is_pointer(right) ||
		    (gt_is_pointer(left) && !gt_is_same_object(verifier, left, right)))
			continue;
		if (is_value(widened, left) && is_limit(widened, right))
			return assume_order(state, widened, insn, left, right);
		if (is_value(widened, right) && is_limit(widened, left))
			return assume_order(state, widened, insn, right, left);
	}
	return true;
}

/* ---- the proof ---- */

/*
 * The same for steps that differ: from the range of the value before the step. It did not wrap by
 * the largest one.
 */
static bool decreases_by_range(const struct gt_widened *widened, const struct gt_state *state,
			       const struct gt_value *value)
{
	const struct gt_loop_rank *rank = &widened->rank;
	const struct gt_loop_value *steps = &widened->loop->values[rank->test->location];
	const struct gt_value *ranked = &state->ranked[widened->level];
	struct rank_range domain = domain_of(rank->is_narrow, rank->is_signed);
	struct gt_scalar number = number_of(value), number_before = number_of(ranked);
	struct rank_range range = range_of(&number, rank->is_narrow, rank->is_signed);
	struct rank_range before = range_of(&number_before, rank->is_narrow, rank->is_signed);

	if (!ranked->origin)
		return false;
	if (steps->min > 0)
		return before.max + value->change + value->spread <= domain.max &&
		       range.max <= rank->last &&
		       before.max < rank->first + (__int128)steps->min * rank->iterations;
	return before.min + value->change >= domain.min && range.min >= rank->last &&
	       before.min > rank->first + (__int128)steps->max * rank->iterations;
}

static bool keeps_order(const struct gt_widened *widened, struct gt_state *state)
{
	const struct gt_loop_order *order = &widened->order;

	if (!order->holds)
		return true;
	if (!(state->ordered >> widened->level & 1))
		return false;
	if (order->test->limit_location == GT_NO_LOCATION)
		return true;
	return is_limit(widened,
			gt_location_value(state, (unsigned)order->test->limit_location, NULL));
}

bool gt_rank_decreases(const struct gt_widened *widened, struct gt_state *state)
{
	const struct gt_loop_rank *rank = &widened->rank;
	const struct gt_loop_value *steps;
	const struct gt_value *value;
	struct rank_range range, domain;
	struct gt_scalar number;
	int64_t step;

	if (rank->kind == GT_RANK_BUDGET)
		return widened->loop->is_call ||
		       state->frames[widened->depth].may_gotos >
			       widened->state->frames[widened->depth].may_gotos;
	if (rank->kind != GT_RANK_VALUE || !keeps_order(widened, state))
		return false;
	steps = &widened->loop->values[rank->test->location];
	value = gt_location_value(state, (unsigned)rank->test->location, NULL);
	if (!is_countable(value))
		return false;
	step = value->change;
	number = number_of(value);
	domain = domain_of(rank->is_narrow, rank->is_signed);
	range = range_of(&number, rank->is_narrow, rank->is_signed);
	if (value->spread)
		return decreases_by_range(widened, state, value);
	/*
	 * The value did not wrap by this step. As many steps as there were before, of the smallest
	 * size, led to the value before it.
	 */
	if (steps->min > 0)
		return range.min >= domain.min + step && range.max <= rank->last &&
		       range.max - step < rank->first + (__int128)steps->min * rank->iterations;
	return range.max <= domain.max + step && range.min >= rank->last &&
	       range.min - step > rank->first + (__int128)steps->max * rank->iterations;
}
