/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Range analysis: upper bounds of registers and of bytes of the stack, without a sign. The verifier
 * keeps the ranges that its checks depend on; the others (the index of a lookup) are found here, by
 * a forward analysis that starts anew at each label.
 */
#include <string.h>

#include "gpubpf/ptxgen/private.h"

void gt_ptxgen_forget_ranges(struct gt_ptxgen *gen)
{
	memset(gen->ranges.max, 0xff, sizeof(gen->ranges.max));
	memset(gen->ranges.slots, 0, sizeof(gen->ranges.slots));
	memset(gen->ranges.sources, GT_SOURCE_NONE, sizeof(gen->ranges.sources));
	gen->ranges.known = 0;
}

static uint64_t all_ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t min_of(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* The largest number with as many bits. */
static uint64_t round_up(uint64_t number)
{
	return number ? all_ones(64 - (unsigned)__builtin_clzll(number)) : 0;
}

/* ---- queries ---- */

/* A bound that the analysis found, together with the verifier's before the instruction `at`. */
static uint64_t combine(const struct gt_ptxgen *gen, uint32_t at, unsigned number, uint64_t max)
{
	const struct gt_register_fact *fact = &gen->facts->insns[at].registers[number];

	if (fact->type != GT_REG_SCALAR)
		return UINT64_MAX;
	return fact->min >= 0 ? min_of(max, (uint64_t)fact->max) : max;
}

static uint64_t max_before(const struct gt_ptxgen *gen, uint32_t at, unsigned number)
{
	return combine(gen, at, number, gen->ranges.rows[at].max[number]);
}

uint64_t gt_ptxgen_max(const struct gt_ptxgen *gen, unsigned number)
{
	return max_before(gen, gen->at, number);
}

uint64_t gt_ptxgen_max_key(const struct gt_ptxgen *gen)
{
	return gen->ranges.rows[gen->at].key_max;
}

bool gt_ptxgen_known(const struct gt_ptxgen *gen, unsigned number, uint64_t *ret_number)
{
	const struct gt_ptxgen_range_row *row = &gen->ranges.rows[gen->at];

	*ret_number = row->max[number];
	return row->known >> number & 1;
}

enum gt_context_source gt_ptxgen_stored_source(const struct gt_ptxgen *gen)
{
	return (enum gt_context_source)gen->ranges.rows[gen->at].source;
}

/* The largest result of an operation of `bits` bits. */
static uint64_t max_of_result(const struct bpf_insn *insn, uint64_t left, uint64_t right,
			      unsigned bits)
{
	uint64_t ones = all_ones(bits), result = ones;
	bool constant = BPF_SRC(insn->code) == BPF_K;
	uint64_t number = (uint64_t)(int64_t)insn->imm & ones;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return insn->off ? ones : right;
	case BPF_AND:
		return min_of(left, right);
	case BPF_OR:
	case BPF_XOR:
		return round_up(left > right ? left : right);
	case BPF_ADD:
		return __builtin_add_overflow(left, right, &result) || result > ones ? ones
										     : result;
	case BPF_MUL:
		return __builtin_mul_overflow(left, right, &result) || result > ones ? ones
										     : result;
	case BPF_LSH:
		return constant && left <= ones >> (number & (bits - 1))
			       ? left << (number & (bits - 1))
			       : ones;
	case BPF_RSH:
		return constant ? left >> (number & (bits - 1)) : left;
	case BPF_DIV:
		return insn->off ? ones : left;
	case BPF_MOD:
		return insn->off ? ones : constant && number ? min_of(left, number - 1) : left;
	case BPF_END:
		return all_ones((unsigned)insn->imm);
	default:
		return ones;
	}
}

static uint64_t max_of_insn(const struct gt_ptxgen *gen, uint32_t at, const struct bpf_insn *insn)
{
	unsigned bits = BPF_CLASS(insn->code) == BPF_ALU64 ? 64 : 32;
	uint64_t ones = all_ones(bits), left = max_before(gen, at, insn->dst_reg), right;

	if (BPF_SRC(insn->code) == BPF_K || BPF_OP(insn->code) == BPF_END)
		right = (uint64_t)(int64_t)insn->imm & ones;
	else
		right = min_of(max_before(gen, at, insn->src_reg), ones);
	/* The lower half of a larger value can be anything. */
	return max_of_result(insn, min_of(left, ones), right, bits);
}

uint64_t gt_ptxgen_max_result(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return max_of_insn(gen, gen->at, insn);
}

uint64_t gt_ptxgen_max_after(const struct gt_ptxgen *gen, uint32_t last, unsigned number)
{
	const struct bpf_insn *insn = &gen->job->program->insns[last];
	bool written = gt_ptxgen_is_alu(insn) && insn->dst_reg == number;

	return combine(gen, gen->at, number,
		       written ? max_of_insn(gen, last, insn) : gen->ranges.rows[last].max[number]);
}

bool gt_ptxgen_known_right(const struct gt_ptxgen *gen, const struct bpf_insn *insn,
			   uint64_t *ret_number)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->src_reg);
	bool constant = BPF_SRC(insn->code) == BPF_K;
	uint64_t ones = all_ones(BPF_CLASS(insn->code) == BPF_JMP ? 64 : 32);

	if (!constant && (fact->type != GT_REG_SCALAR || fact->min != fact->max))
		return false;
	*ret_number = (uint64_t)(constant ? insn->imm : fact->min) & ones;
	return true;
}

/* The comparison that holds where a jump is taken, or not. */
static unsigned comparison(const struct bpf_insn *insn, bool taken)
{
	if (taken)
		return BPF_OP(insn->code);
	switch (BPF_OP(insn->code)) {
	case BPF_JNE:
		return BPF_JEQ;
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JGE:
		return BPF_JLT;
	default:
		return BPF_JA; /* no upper bound */
	}
}

/* The bound of a register where the jump at gen->at is taken, or not. */
static uint64_t max_at_jump(const struct gt_ptxgen *gen, const struct bpf_insn *insn,
			    unsigned number, bool taken)
{
	uint64_t max = gen->ranges.rows[gen->at].max[number], right;
	unsigned holds = comparison(insn, taken);

	if (number != insn->dst_reg || !gt_ptxgen_known_right(gen, insn, &right) ||
	    (BPF_CLASS(insn->code) == BPF_JMP32 && !gt_ptxgen_fits_32(gen, insn->dst_reg)))
		return max;
	if (holds == BPF_JEQ || holds == BPF_JLE)
		return min_of(max, right);
	if (holds == BPF_JLT && right)
		return min_of(max, right - 1);
	return max;
}

uint64_t gt_ptxgen_max_taken(const struct gt_ptxgen *gen, unsigned number)
{
	return combine(gen, gen->at, number, max_at_jump(gen, gt_ptxgen_insn(gen), number, true));
}

/* ---- the analysis ---- */

/* The bound of `width` bytes at an offset behind a pointer in a register. */
static uint64_t max_of_memory(const struct gt_ptxgen *gen, unsigned number, int64_t offset,
			      unsigned width)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	int slot = gt_ptxgen_is_own_stack(fact)
			   ? gt_ptxgen_find_slot(gen->ranges.slots, fact->min + offset, width)
			   : -1;

	return slot >= 0 ? gen->ranges.slot_max[slot] : all_ones(8 * width);
}

void gt_ptxgen_record_ranges(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_range_row *row = &gen->ranges.rows[gen->at];

	memcpy(row->max, gen->ranges.max, sizeof(row->max));
	row->known = gen->ranges.known;
	row->source = gen->ranges.sources[gt_ptxgen_insn(gen)->src_reg];
	if (gt_ptxgen_insn(gen)->code == (BPF_JMP | BPF_CALL))
		row->key_max = max_of_memory(gen, 2, 0, 4);
}

/* Bytes behind a pointer are written with a value that is at most `max`. */
static void write_memory(struct gt_ptxgen *gen, unsigned number, int64_t offset, unsigned width,
			 uint64_t max)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	int slot;

	if (gt_ptxgen_is_own_stack(fact)) {
		slot = gt_ptxgen_write_slot(gen->ranges.slots, fact->min + offset, width);
		gen->ranges.slot_max[slot] = min_of(max, all_ones(8 * width));
	} else if (fact->type == GT_REG_STACK || fact->type == GT_REG_MIXED) {
		memset(gen->ranges.slots, 0, sizeof(gen->ranges.slots));
	}
}

static void follow_store(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned width = gt_bpf_access_size(insn);
	bool atomic = BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC;
	uint64_t max = BPF_CLASS(insn->code) == BPF_ST
			       ? (uint64_t)(int64_t)insn->imm & all_ones(8 * width)
			       : gt_ptxgen_max(gen, insn->src_reg);

	if (atomic) {
		gen->ranges.max[0] = gen->ranges.max[insn->src_reg] = UINT64_MAX;
		max = UINT64_MAX;
	}
	/* The lower bytes of a larger value can be anything. */
	write_memory(gen, insn->dst_reg, insn->off, width, max);
}

/* The largest result of a helper. */
static uint64_t max_of_helper(uint32_t number)
{
	switch (number) {
	case GT_HELPER_warp_distinct:
	case GT_HELPER_warp_bank_passes:
		return 32;
	case GT_HELPER_get_lane_id:
		return 31;
	case GT_HELPER_get_prandom_u32:
	case GT_HELPER_warp_active_mask:
	case GT_HELPER_warp_ballot:
		return UINT32_MAX;
	default:
		return UINT64_MAX;
	}
}

static void follow_call(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);

	if (gt_bpf_is_subprogram_call(insn) || gt_bpf_is_loop_call(insn)) {
		gt_ptxgen_forget_ranges(gen);
		return;
	}
	memset(gen->ranges.max, 0xff, 6 * sizeof(gen->ranges.max[0]));
	gen->ranges.max[0] = max_of_helper((uint32_t)insn->imm);
	for (unsigned i = 0; helper && i < GT_HELPER_ARGUMENTS; i++)
		if (helper->arguments[i] == GT_ARG_RESULT_U64)
			write_memory(gen, i + 1, 0, 8, UINT64_MAX);
}

/* The context field that a load reads, if it is an index of the thread or its block. */
static uint8_t loaded_source(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->src_reg);
	unsigned width = gt_bpf_access_size(insn);
	struct gt_context_load load;

	if (fact->type != GT_REG_CONTEXT || !gen->job->section || width != 4 ||
	    BPF_MODE(insn->code) == BPF_MEMSX ||
	    gt_context_find(gen->job->section, (uint32_t)(fact->min + insn->off), width, &load) ||
	    load.field->size != width || load.field->source > GT_SOURCE_BLOCK_Z)
		return GT_SOURCE_NONE;
	return (uint8_t)load.field->source;
}

/* Which registers are constants after an instruction. */
static void follow_constants(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code);
	uint16_t *known = &gen->ranges.known, bit = (uint16_t)(1u << insn->dst_reg);
	bool moves = gt_ptxgen_is_alu(insn) && BPF_OP(insn->code) == BPF_MOV && !insn->off;
	bool from_known = (*known >> insn->src_reg & 1) &&
			  (class == BPF_ALU64 || gen->ranges.max[insn->src_reg] <= UINT32_MAX);

	if (moves && (BPF_SRC(insn->code) == BPF_K || from_known))
		*known |= bit;
	else if (gt_ptxgen_is_alu(insn) || class == BPF_LDX || class == BPF_LD)
		*known &= (uint16_t)~bit;
	else if (class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		*known &= (uint16_t) ~(1u | 1u << insn->src_reg);
	else if ((class == BPF_JMP || class == BPF_JMP32) && BPF_OP(insn->code) == BPF_CALL)
		*known &= (uint16_t)~0x3fu;
}

/* Which registers hold context fields after an instruction. */
static void follow_sources(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	uint8_t *sources = gen->ranges.sources;
	bool moves = BPF_OP(insn->code) == BPF_MOV && BPF_SRC(insn->code) == BPF_X && !insn->off;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		sources[insn->dst_reg] = moves ? sources[insn->src_reg] : GT_SOURCE_NONE;
		return;
	case BPF_LDX:
		sources[insn->dst_reg] = loaded_source(gen, insn);
		return;
	case BPF_LD:
		sources[insn->dst_reg] = GT_SOURCE_NONE;
		return;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			sources[0] = sources[insn->src_reg] = GT_SOURCE_NONE;
		return;
	default:
		if (BPF_OP(insn->code) == BPF_CALL)
			memset(sources, GT_SOURCE_NONE, 6);
	}
}

void gt_ptxgen_follow_ranges(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	uint64_t *max = &gen->ranges.max[insn->dst_reg];

	follow_constants(gen, insn);
	follow_sources(gen, insn);

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		*max = gt_ptxgen_max_result(gen, insn);
		return;
	case BPF_LD:
		*max = insn->src_reg ? UINT64_MAX
				     : (uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm;
		return;
	case BPF_LDX:
		*max = BPF_MODE(insn->code) == BPF_MEMSX
			       ? UINT64_MAX
			       : max_of_memory(gen, insn->src_reg, insn->off,
					       gt_bpf_access_size(insn));
		return;
	case BPF_ST:
	case BPF_STX:
		follow_store(gen, insn);
		return;
	default:
		if (BPF_OP(insn->code) == BPF_CALL)
			follow_call(gen, insn);
		else if (BPF_OP(insn->code) != BPF_JA && BPF_OP(insn->code) != BPF_EXIT &&
			 BPF_OP(insn->code) != BPF_JCOND)
			*max = max_at_jump(gen, insn, insn->dst_reg, false);
	}
}

void gt_ptxgen_leave_region_ranges(struct gt_ptxgen *gen, unsigned written)
{
	gen->ranges.known = 0;
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
		uint64_t *max = &gen->ranges.max[i], taken = gt_ptxgen_max_taken(gen, i);

		gen->ranges.sources[i] = GT_SOURCE_NONE;
		if (!(written >> i & 1))
			*max = gen->ranges.rows[gen->at].max[i];
		else if (*max < taken)
			*max = taken;
	}
}
