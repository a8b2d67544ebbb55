/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Range analysis is sound: results of the interpreter are in the sets of the analysis. */
#include <string.h>

#include "gpubpf/interp/private.h"
#include "gpubpf/verify/scalar.h"
#include "tap.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Return a random scalar, often near the limits of a type. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = {0,
					 1,
					 0x7f,
					 0x80,
					 0xff,
					 0x7fff,
					 0xffff,
					 0x7fffffff,
					 0x80000000,
					 0xffffffff,
					 0x100000000,
					 0x7fffffffffffffff,
					 0x8000000000000000,
					 0xffffffff80000000,
					 0xffffffffffffffff};
	uint64_t number = edges[random_number() % 15];

	switch (random_number() % 4) {
	case 0:
		return random_number();
	case 1:
		return number + random_number() % 17 - 8;
	case 2:
		return random_number() % 64;
	default:
		return number;
	}
}

/* Return a random set that contains `member`, built from conditional jumps. */
static struct gt_scalar around(uint64_t member)
{
	static const uint8_t operations[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,
					     BPF_JLT,  BPF_JLE,  BPF_JSGT, BPF_JSGE,
					     BPF_JSLT, BPF_JSLE, BPF_JSET};
	struct gt_scalar number = gt_scalar_unknown();

	if (!(random_number() % 5))
		return gt_scalar_constant(member);
	if (random_number() % 2) {
		number.mask = random_number();
		number.mask &= random_number(); /* fewer bits */
		number.value = member & ~number.mask;
		if (!gt_scalar_sync_bounds(&number))
			TAP_FAIL("known bits hold nothing");
	}
	for (unsigned i = random_number() % 4; i > 0; i--) {
		struct bpf_insn insn = {.code = (random_number() % 2 ? BPF_JMP : BPF_JMP32) |
						BPF_X};
		uint64_t bound = random_number() % 2 ? edge() : member + random_number() % 9 - 4;
		struct gt_scalar other = gt_scalar_constant(bound);

		insn.code |= operations[random_number() % sizeof(operations)];
		if (BPF_OP(insn.code) == BPF_JEQ && random_number() % 8)
			continue;
		if (!gt_scalar_assume(&insn, gt_interp_jumps(&insn, member, bound), &number,
				      &other))
			TAP_FAIL("opcode %02x: %llx against %llx is thought impossible", insn.code,
				 (unsigned long long)member, (unsigned long long)bound);
	}
	return number;
}

static bool holds(const struct gt_scalar *number, uint64_t value)
{
	struct gt_scalar one = gt_scalar_constant(value);

	return gt_scalar_contains(number, &one);
}

TEST("bounds from a jump contain the scalar that jumped")
{
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t member = edge();
		struct gt_scalar number = around(member);

		if (!holds(&number, member)) {
			TAP_FAIL("%llx is not held", (unsigned long long)member);
			return;
		}
	}
}

TEST("the analysis of a result contains the result, for every arithmetic instruction")
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL,  BPF_DIV, BPF_OR,
					     BPF_AND, BPF_LSH, BPF_RSH,  BPF_NEG, BPF_MOD,
					     BPF_XOR, BPF_MOV, BPF_ARSH, BPF_END};

	for (unsigned i = 0; i < 1000000; i++) {
		struct bpf_insn insn = {.code = random_number() % 2 ? BPF_ALU64 : BPF_ALU};
		uint64_t left = edge(), right = edge(), result;
		struct gt_scalar one = around(left), other = around(right), known;
		unsigned operation = operations[random_number() % sizeof(operations)];

		insn.code |= operation | BPF_X;
		if (operation == BPF_DIV || operation == BPF_MOD)
			insn.off = random_number() % 2;
		if (operation == BPF_MOV)
			insn.off = (int16_t[]){
				0, 8, 16,
				32}[random_number() % (BPF_CLASS(insn.code) == BPF_ALU64 ? 4 : 3)];
		if (operation == BPF_END)
			insn.imm = 16 << random_number() % 3;
		result = gt_interp_alu(&insn, left, right);
		known = gt_scalar_alu(&insn, &one, &other);
		if (!holds(&known, result)) {
			TAP_FAIL("opcode %02x off %d imm %d of %llx and %llx is %llx, which is not "
				 "held",
				 insn.code, insn.off, insn.imm, (unsigned long long)left,
				 (unsigned long long)right, (unsigned long long)result);
			return;
		}
	}
}

TEST("bounds from a jump between two unknown scalars contain both")
{
	for (unsigned i = 0; i < 500000; i++) {
		struct bpf_insn insn = {.code = (random_number() % 2 ? BPF_JMP : BPF_JMP32) |
						BPF_X};
		uint64_t left = edge(), right = random_number() % 2 ? edge() : left;
		struct gt_scalar one = around(left), other = around(right);
		bool taken;

		insn.code |= (uint8_t)(1 + random_number() % 13) << 4;
		if (BPF_OP(insn.code) == BPF_CALL || BPF_OP(insn.code) == BPF_EXIT)
			continue;
		taken = gt_interp_jumps(&insn, left, right);
		if (!gt_scalar_assume(&insn, taken, &one, &other) || !holds(&one, left) ||
		    !holds(&other, right)) {
			TAP_FAIL("opcode %02x of %llx and %llx is lost", insn.code,
				 (unsigned long long)left, (unsigned long long)right);
			return;
		}
	}
}

/* ---- all members of small sets ----------------------------------------------------------- */

enum {
	SET = 64,     /* max members */
	SETS = 60000, /* pairs of sets; SETS=N in the environment sets another count */
	KINDS = 64,   /* rows of the statistics */
};

struct set {
	struct gt_scalar number;
	uint64_t members[SET]; /* all of them */
	unsigned count;
};

/* The smallest known bits and intervals that contain given values. */
struct hull {
	bool used;
	uint64_t common, first; /* common: bits equal to those of the first */
	struct gt_interval all, low;
};

static void hull_add_range(struct gt_interval *range, uint64_t number, int64_t as_signed,
			   bool first)
{
	if (first || number < range->umin)
		range->umin = number;
	if (first || number > range->umax)
		range->umax = number;
	if (first || as_signed < range->smin)
		range->smin = as_signed;
	if (first || as_signed > range->smax)
		range->smax = as_signed;
}

static void hull_add(struct hull *hull, uint64_t number)
{
	if (!hull->used) {
		hull->common = UINT64_MAX;
		hull->first = number;
	}
	hull->common &= ~(number ^ hull->first);
	hull_add_range(&hull->all, number, (int64_t)number, !hull->used);
	hull_add_range(&hull->low, (uint32_t)number, (int32_t)number, !hull->used);
	hull->used = true;
}

/* How often the analysis is exact: bits, unsigned and signed intervals. */
static struct exactness {
	const char *name;
	unsigned asked, bits, of_unsigned, of_signed;
} exactness[KINDS];

static void count_exact(const char *name, const struct gt_scalar *number, const struct hull *hull)
{
	struct exactness *row = exactness;

	if (!hull->used)
		return;
	while (row->name && strcmp(row->name, name))
		row++;
	row->name = name;
	row->asked++;
	row->bits += number->mask == ~hull->common;
	row->of_unsigned +=
		number->all.umin == hull->all.umin && number->all.umax == hull->all.umax;
	row->of_signed += number->all.smin == hull->all.smin && number->all.smax == hull->all.smax;
}

static void print_exactness(const char *title)
{
	printf("# exact in %% (bits, unsigned, signed), %s:", title);
	for (struct exactness *row = exactness; row->name; row++)
		printf(" %s %u/%u/%u", row->name, 100 * row->bits / row->asked,
		       100 * row->of_unsigned / row->asked, 100 * row->of_signed / row->asked);
	printf("\n");
	memset(exactness, 0, sizeof(exactness));
}

/* A set with few members: an interval near a limit, or a few unknown bits. */
static struct set small_set(void)
{
	struct set set = {.number = gt_scalar_unknown()};
	uint64_t base = edge(), size = random_number() % 6, candidate = 0;
	bool bits = false;

	switch (random_number() % 4) {
	case 0:
		set.number = gt_scalar_constant(base);
		size = 0;
		break;
	case 1:
		bits = true;
		for (unsigned i = 0; i < 4; i++)
			set.number.value |= UINT64_C(1) << random_number() % 64;
		set.number.mask = set.number.value;
		base &= ~set.number.mask;
		set.number.value = base;
		break;
	case 2:
		if (base > UINT64_MAX - size)
			base = UINT64_MAX - size;
		set.number.all.umin = base;
		set.number.all.umax = base + size;
		break;
	default:
		if ((int64_t)base > INT64_MAX - (int64_t)size)
			base = (uint64_t)(INT64_MAX - (int64_t)size);
		set.number.all.smin = (int64_t)base;
		set.number.all.smax = (int64_t)(base + size);
	}
	if (!gt_scalar_sync_bounds(&set.number))
		TAP_FAIL("a set that was made holds nothing");
	/* All values of the unknown bits, or of the interval. */
	do {
		if (set.count == SET)
			TAP_FAIL("a set has more members than there is room for");
		else
			set.members[set.count++] = bits ? base | candidate : base + candidate;
		candidate = bits ? (candidate - set.number.mask) & set.number.mask : candidate + 1;
	} while (bits ? candidate : candidate <= size);
	return set;
}

static unsigned wanted_sets(void)
{
	return getenv("SETS") ? (unsigned)atoi(getenv("SETS")) : SETS;
}

struct form {
	const char *name;
	struct bpf_insn insn;
};

static const struct form arithmetic[] = {
#define BOTH(name, operation, off)                                                                 \
	{name, {BPF_ALU64 | BPF_X | (operation), 0, 0, off, 0}},                                   \
		{name "_32", {BPF_ALU | BPF_X | (operation), 0, 0, off, 0}},
	BOTH("add", BPF_ADD, 0) BOTH("sub", BPF_SUB, 0) BOTH("mul", BPF_MUL, 0) BOTH(
		"div", BPF_DIV, 0) BOTH("sdiv", BPF_DIV, 1) BOTH("mod", BPF_MOD, 0)
		BOTH("smod", BPF_MOD, 1) BOTH("and", BPF_AND, 0) BOTH("or", BPF_OR, 0) BOTH(
			"xor", BPF_XOR, 0) BOTH("lsh", BPF_LSH, 0) BOTH("rsh", BPF_RSH, 0)
			BOTH("arsh", BPF_ARSH, 0) BOTH("neg", BPF_NEG, 0) BOTH("mov", BPF_MOV, 0)
				BOTH("movsx8", BPF_MOV, 8) BOTH("movsx16", BPF_MOV, 16)
#undef BOTH
					{"movsx32", {BPF_ALU64 | BPF_X | BPF_MOV, 0, 0, 32, 0}},
	{"le16", {BPF_ALU | BPF_END | BPF_TO_LE, 0, 0, 0, 16}},
	{"le32", {BPF_ALU | BPF_END | BPF_TO_LE, 0, 0, 0, 32}},
	{"be16", {BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, 16}},
	{"be32", {BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, 32}},
	{"be64", {BPF_ALU | BPF_END | BPF_TO_BE, 0, 0, 0, 64}},
	{"bswap16", {BPF_ALU64 | BPF_END, 0, 0, 0, 16}},
	{"bswap32", {BPF_ALU64 | BPF_END, 0, 0, 0, 32}},
	{"bswap64", {BPF_ALU64 | BPF_END, 0, 0, 0, 64}},
};

static bool check_arithmetic(const struct form *form, const struct set *left,
			     const struct set *right)
{
	struct gt_scalar known = gt_scalar_alu(&form->insn, &left->number, &right->number);
	struct hull hull = {0};

	for (unsigned i = 0; i < left->count; i++)
		for (unsigned j = 0; j < right->count; j++) {
			uint64_t result =
				gt_interp_alu(&form->insn, left->members[i], right->members[j]);

			hull_add(&hull, result);
			if (holds(&known, result))
				continue;
			TAP_FAIL("%s of %llx and %llx is %llx, which is not held", form->name,
				 (unsigned long long)left->members[i],
				 (unsigned long long)right->members[j], (unsigned long long)result);
			return false;
		}
	count_exact(form->name, &known, &hull);
	return true;
}

TEST("results for all members of operands are in the result of the analysis")
{
	for (unsigned i = 0; i < wanted_sets(); i++) {
		struct set left = small_set(), right = small_set();

		if (!check_arithmetic(&arithmetic[i % gt_countof(arithmetic)], &left, &right))
			return;
	}
	print_exactness("results");
}

static const struct form jumps[] = {
#define BOTH(name, operation)                                                                      \
	{name, {BPF_JMP | BPF_X | (operation), 0, 0, 0, 0}},                                       \
		{name "_32", {BPF_JMP32 | BPF_X | (operation), 0, 0, 0, 0}},
	BOTH("jeq", BPF_JEQ) BOTH("jne", BPF_JNE) BOTH("jset", BPF_JSET) BOTH("jgt", BPF_JGT)
		BOTH("jge", BPF_JGE) BOTH("jlt", BPF_JLT) BOTH("jle", BPF_JLE)
			BOTH("jsgt", BPF_JSGT) BOTH("jsge", BPF_JSGE) BOTH("jslt", BPF_JSLT)
				BOTH("jsle", BPF_JSLE)
#undef BOTH
};

static bool check_jump(const struct form *form, bool taken, const struct set *left,
		       const struct set *right)
{
	struct gt_scalar one = left->number, other = right->number;
	bool possible = gt_scalar_assume(&form->insn, taken, &one, &other);
	struct hull hull = {0}, other_hull = {0};

	for (unsigned i = 0; i < left->count; i++)
		for (unsigned j = 0; j < right->count; j++) {
			if (gt_interp_jumps(&form->insn, left->members[i], right->members[j]) !=
			    taken)
				continue;
			hull_add(&hull, left->members[i]);
			hull_add(&other_hull, right->members[j]);
			if (possible && holds(&one, left->members[i]) &&
			    holds(&other, right->members[j]))
				continue;
			TAP_FAIL("%s of %llx and %llx, %staken, is lost", form->name,
				 (unsigned long long)left->members[i],
				 (unsigned long long)right->members[j], taken ? "" : "not ");
			return false;
		}
	if (possible) {
		count_exact(form->name, &one, &hull);
		count_exact(form->name, &other, &other_hull);
	}
	return true;
}

TEST("a jump keeps all members of two scalars for which it takes a branch")
{
	for (unsigned i = 0; i < wanted_sets(); i++) {
		struct set left = small_set(), right = small_set();
		bool taken = random_number() % 2;

		/* Distant sets do not bound each other. */
		if (random_number() % 2)
			right = left;
		if (!check_jump(&jumps[i % gt_countof(jumps)], taken, &left, &right))
			return;
	}
	print_exactness("jumps");
}

TEST("a contained set has no member outside")
{
	unsigned within = 0;

	for (unsigned i = 0; i < wanted_sets(); i++) {
		struct set inner = small_set();
		struct gt_scalar outer =
			random_number() % 2 ? around(inner.members[0]) : small_set().number;

		if (!gt_scalar_contains(&outer, &inner.number))
			continue;
		within++;
		for (unsigned j = 0; j < inner.count; j++)
			CHECK(holds(&outer, inner.members[j]));
	}
	CHECK(within > wanted_sets() / 20);
}

TEST("bounds narrow to the expected intervals")
{
	struct bpf_insn below = {.code = BPF_JMP | BPF_JLT | BPF_K};
	struct gt_scalar number = gt_scalar_unknown(), limit = gt_scalar_constant(16);
	struct bpf_insn times = {.code = BPF_ALU64 | BPF_LSH | BPF_K};
	struct gt_scalar shift = gt_scalar_constant(3);

	CHECK(gt_scalar_assume(&below, true, &number, &limit));
	CHECK(number.all.umin == 0 && number.all.umax == 15);
	CHECK(number.all.smin == 0 && number.all.smax == 15);
	CHECK(number.mask == 15);
	number = gt_scalar_alu(&times, &number, &shift);
	CHECK(number.all.umax == 120 && number.mask == 0x78);
	limit = gt_scalar_constant(121);
	CHECK(!gt_scalar_assume(&below, false, &number, &limit));
}

TEST("truncation keeps the low bytes of a scalar")
{
	struct gt_scalar wide = gt_scalar_constant(0x1234567890abcdef), cut;

	cut = gt_scalar_truncate(&wide, 4, false);
	CHECK(gt_scalar_is_constant(&cut) && cut.value == 0x90abcdef);
	cut = gt_scalar_truncate(&wide, 4, true);
	CHECK(gt_scalar_is_constant(&cut) && cut.value == 0xffffffff90abcdef);
	cut = gt_scalar_truncate(&wide, 1, true);
	CHECK(cut.value == 0xffffffffffffffef);
	cut = gt_scalar_truncate(&wide, 2, false);
	CHECK(cut.value == 0xcdef);
	cut = gt_scalar_truncate(&wide, 8, true);
	CHECK(cut.value == wide.value);
	wide = gt_scalar_unknown();
	cut = gt_scalar_truncate(&wide, 2, false);
	CHECK(cut.all.umax == 0xffff && cut.all.smin == 0);
	cut = gt_scalar_truncate(&wide, 1, true);
	CHECK(cut.all.smin == -128 && cut.all.smax == 127);
}

TEST_MAIN
