/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of helpers. */
#include "gpubpf/helpers.h"

#include <stddef.h>

#include "base/clean.h"

static const struct gt_helper helpers[] = {
#define HELPER(number, name, does, source, result, lanes, traits, ...)                             \
	{(number), #name, GT_SOURCE_##source, result, lanes, traits, {__VA_ARGS__}},
#include "gpubpf/helpers.def"
#undef HELPER
};

const struct gt_helper *gt_helper(uint32_t number)
{
	for (size_t i = 0; i < gt_countof(helpers); i++)
		if (helpers[i].number == number)
			return &helpers[i];
	return NULL;
}

bool gt_helpers_used(const struct gt_bpf_program *program, const struct gt_facts *facts,
		     unsigned traits)
{
	for (uint32_t at = 0; at < facts->insn_count; at++) {
		const struct bpf_insn *insn = &program->insns[at];
		const struct gt_helper *helper =
			insn->code == (BPF_JMP | BPF_CALL) && !gt_bpf_is_subprogram_call(insn)
				? gt_helper((uint32_t)insn->imm)
				: NULL;

		if (facts->insns[at].reached && helper && helper->traits & traits)
			return true;
	}
	return false;
}
