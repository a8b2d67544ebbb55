/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Facts of the verifier. */
#include "gpubpf/facts.h"

void gt_facts_clear(struct gt_facts *facts)
{
	free(facts->insns);
	free(facts->subprograms);
	free(facts->warnings);
	*facts = (struct gt_facts){0};
}

const struct gt_subprogram_facts *gt_facts_subprogram(const struct gt_facts *facts, uint32_t insn)
{
	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		if (insn >= facts->subprograms[i].start && insn < facts->subprograms[i].end)
			return &facts->subprograms[i];
	return NULL;
}
