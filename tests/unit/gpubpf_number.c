/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is known of numbers holds whatever the interpreter makes of numbers that are held. */
#include "gpubpf/interp_private.h"
#include "gpubpf/number.h"
#include "tap.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Numbers that lie near the edges of types more often than not. */
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

/* Something that holds `member`: built by what the verifier learns from jumps. */
static struct gt_number around(uint64_t member)
{
	static const uint8_t operations[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,
					     BPF_JLT,  BPF_JLE,  BPF_JSGT, BPF_JSGE,
					     BPF_JSLT, BPF_JSLE, BPF_JSET};
	struct gt_number number = gt_number_unknown();

	if (!(random_number() % 5))
		return gt_number_constant(member);
	if (random_number() % 2) {
		number.mask = random_number();
		number.mask &= random_number(); /* fewer bits */
		number.value = member & ~number.mask;
		if (!gt_number_settle(&number))
			TAP_FAIL("known bits hold nothing");
	}
	for (unsigned i = random_number() % 4; i > 0; i--) {
		struct bpf_insn insn = {.code = (random_number() % 2 ? BPF_JMP : BPF_JMP32) |
						BPF_X};
		uint64_t bound = random_number() % 2 ? edge() : member + random_number() % 9 - 4;
		struct gt_number other = gt_number_constant(bound);

		insn.code |= operations[random_number() % sizeof(operations)];
		if (BPF_OP(insn.code) == BPF_JEQ && random_number() % 8)
			continue;
		if (!gt_number_assume(&insn, gt_machine_jumps(&insn, member, bound), &number,
				      &other))
			TAP_FAIL("opcode %02x: %llx against %llx is thought impossible", insn.code,
				 (unsigned long long)member, (unsigned long long)bound);
	}
	return number;
}

static bool holds(const struct gt_number *number, uint64_t value)
{
	struct gt_number one = gt_number_constant(value);

	return gt_number_within(number, &one);
}

TEST("what is learnt from jumps holds the number that jumped")
{
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t member = edge();
		struct gt_number number = around(member);

		if (!holds(&number, member)) {
			TAP_FAIL("%llx is not held", (unsigned long long)member);
			return;
		}
	}
}

TEST("what is known of a result holds the result, for every arithmetic instruction")
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL,  BPF_DIV, BPF_OR,
					     BPF_AND, BPF_LSH, BPF_RSH,  BPF_NEG, BPF_MOD,
					     BPF_XOR, BPF_MOV, BPF_ARSH, BPF_END};

	for (unsigned i = 0; i < 1000000; i++) {
		struct bpf_insn insn = {.code = random_number() % 2 ? BPF_ALU64 : BPF_ALU};
		uint64_t left = edge(), right = edge(), result;
		struct gt_number one = around(left), other = around(right), known;
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
		result = gt_machine_alu(&insn, left, right);
		known = gt_number_alu(&insn, &one, &other);
		if (!holds(&known, result)) {
			TAP_FAIL("opcode %02x off %d imm %d of %llx and %llx is %llx, which is not "
				 "held",
				 insn.code, insn.off, insn.imm, (unsigned long long)left,
				 (unsigned long long)right, (unsigned long long)result);
			return;
		}
	}
}

TEST("what is learnt from a jump between two unknown numbers holds both")
{
	for (unsigned i = 0; i < 500000; i++) {
		struct bpf_insn insn = {.code = (random_number() % 2 ? BPF_JMP : BPF_JMP32) |
						BPF_X};
		uint64_t left = edge(), right = random_number() % 2 ? edge() : left;
		struct gt_number one = around(left), other = around(right);
		bool taken;

		insn.code |= (uint8_t)(1 + random_number() % 13) << 4;
		if (BPF_OP(insn.code) == BPF_CALL || BPF_OP(insn.code) == BPF_EXIT)
			continue;
		taken = gt_machine_jumps(&insn, left, right);
		if (!gt_number_assume(&insn, taken, &one, &other) || !holds(&one, left) ||
		    !holds(&other, right)) {
			TAP_FAIL("opcode %02x of %llx and %llx is lost", insn.code,
				 (unsigned long long)left, (unsigned long long)right);
			return;
		}
	}
}

TEST("bounds narrow to what they say")
{
	struct bpf_insn below = {.code = BPF_JMP | BPF_JLT | BPF_K};
	struct gt_number number = gt_number_unknown(), limit = gt_number_constant(16);
	struct bpf_insn times = {.code = BPF_ALU64 | BPF_LSH | BPF_K};
	struct gt_number shift = gt_number_constant(3);

	CHECK(gt_number_assume(&below, true, &number, &limit));
	CHECK(number.all.umin == 0 && number.all.umax == 15);
	CHECK(number.all.smin == 0 && number.all.smax == 15);
	CHECK(number.mask == 15);
	number = gt_number_alu(&times, &number, &shift);
	CHECK(number.all.umax == 120 && number.mask == 0x78);
	limit = gt_number_constant(121);
	CHECK(!gt_number_assume(&below, false, &number, &limit));
}

TEST("the low bytes of a number are what is left when the others are cut off")
{
	struct gt_number wide = gt_number_constant(0x1234567890abcdef), cut;

	cut = gt_number_cut(&wide, 4, false);
	CHECK(gt_number_is_constant(&cut) && cut.value == 0x90abcdef);
	cut = gt_number_cut(&wide, 4, true);
	CHECK(gt_number_is_constant(&cut) && cut.value == 0xffffffff90abcdef);
	cut = gt_number_cut(&wide, 1, true);
	CHECK(cut.value == 0xffffffffffffffef);
	cut = gt_number_cut(&wide, 2, false);
	CHECK(cut.value == 0xcdef);
	cut = gt_number_cut(&wide, 8, true);
	CHECK(cut.value == wide.value);
	wide = gt_number_unknown();
	cut = gt_number_cut(&wide, 2, false);
	CHECK(cut.all.umax == 0xffff && cut.all.smin == 0);
	cut = gt_number_cut(&wide, 1, true);
	CHECK(cut.all.smin == -128 && cut.all.smax == 127);
}

TEST_MAIN
