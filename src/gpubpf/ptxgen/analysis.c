/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The forward analyses over eBPF instructions: one walk for all of them. */
#include <errno.h>

#include "gpubpf/ptxgen/private.h"

static void forget_all(struct gt_ptxgen *gen)
{
	gt_ptxgen_forget_ranges(gen);
	gt_ptxgen_forget_strength(gen);
}

static void follow_insn(struct gt_ptxgen *gen, uint32_t at)
{
	const struct bpf_insn *insn = &gen->job->program->insns[at];
	struct bpf_insn plain = gt_bpf_without_order(insn);

	gen->at = at;
	if (gt_bpf_is_ordered(insn))
		insn = &plain;
	gt_ptxgen_record_ranges(gen);
	gt_ptxgen_follow_strength(gen, insn);
	gt_ptxgen_follow_ranges(gen, insn);
}

/* A converted jump and its region, whose last instruction may be a jump. Returns the region's end.
 */
static uint32_t follow_region(struct gt_ptxgen *gen, uint32_t jump)
{
	uint32_t end = gen->if_conversion.ends[jump];
	unsigned written = gt_ptxgen_region_written(gen, jump);

	follow_insn(gen, jump);
	for (uint32_t at = jump + 1; at < end; at++) {
		if (gt_ptxgen_is_alu(&gen->job->program->insns[at])) {
			follow_insn(gen, at);
		} else {
			gen->at = at;
			gt_ptxgen_record_ranges(gen);
		}
	}
	gen->at = jump;
	gt_ptxgen_leave_region_ranges(gen, written);
	gt_ptxgen_leave_region_strength(gen, written);
	return end;
}

static void follow_function(struct gt_ptxgen *gen, const struct gt_subprogram_facts *function)
{
	const struct gt_ptxgen_null_test *tests = gen->null_tests;

	forget_all(gen);
	for (uint32_t at = function->start; at < function->end; at++) {
		if (!gen->facts->insns[at].reached || tests[at].is_early)
			continue;
		if (gen->targets[at])
			forget_all(gen);
		if (gen->if_conversion.ends[at]) {
			at = follow_region(gen, at) - 1;
			continue;
		}
		for (uint32_t i = at + 1; i < tests[at].test; i++)
			if (tests[i].is_early)
				follow_insn(gen, i);
		follow_insn(gen, at);
	}
}

int gt_ptxgen_analyse(struct gt_ptxgen *gen)
{
	const struct gt_facts *facts = gen->facts;

	gen->ranges.rows = calloc(facts->insn_count + 1, sizeof(*gen->ranges.rows));
	gen->strength.rows = calloc(facts->insn_count + 1, sizeof(*gen->strength.rows));
	gen->strength.values = calloc(facts->insn_count + 1, sizeof(*gen->strength.values));
	if (!gen->ranges.rows || !gen->strength.rows || !gen->strength.values)
		return -ENOMEM;
	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		follow_function(gen, &facts->subprograms[i]);
	gt_ptxgen_mark_needed(gen);
	return 0;
}

/* ---- the stack ---- */

int gt_ptxgen_find_slot(const struct gt_ptxgen_slot *slots, int64_t offset, unsigned width)
{
	for (int i = 0; i < GT_PTXGEN_STACK_SLOTS; i++)
		if (slots[i].width == width && slots[i].offset == offset)
			return i;
	return -1;
}

int gt_ptxgen_write_slot(struct gt_ptxgen_slot *slots, int64_t offset, unsigned width)
{
	int unused = 0;

	for (int i = 0; i < GT_PTXGEN_STACK_SLOTS; i++) {
		struct gt_ptxgen_slot *slot = &slots[i];

		if (slot->offset < offset + (int64_t)width && offset < slot->offset + slot->width)
			slot->width = 0;
		if (!slot->width)
			unused = i;
	}
	slots[unused] = (struct gt_ptxgen_slot){(int16_t)offset, (uint8_t)width};
	return unused;
}
