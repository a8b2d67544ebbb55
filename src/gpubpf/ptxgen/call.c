/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of helpers: finds the map and calls the helper's emit function. */
#include <errno.h>

#include "gpubpf/ptxgen/private.h"

/* The register of a helper's map argument, or 0. */
static unsigned map_argument(const struct gt_helper *helper)
{
	for (unsigned i = 0; i < GT_HELPER_ARGUMENTS; i++)
		if (helper->arguments[i] == GT_ARG_MAP || helper->arguments[i] == GT_ARG_RING)
			return i + 1;
	return 0;
}

/* Whether the program loads the map into a register anywhere. */
static bool is_named(const struct gt_ptxgen *gen, uint32_t map)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	for (uint32_t at = 0; at < gen->facts->insn_count; at++)
		if (gen->facts->insns[at].reached && gt_bpf_is_wide(&insns[at]) &&
		    insns[at].src_reg == GT_BPF_IMM_MAP_INDEX && (uint32_t)insns[at].imm == map)
			return true;
	return false;
}

/* Whether the map can be the argument of a helper that takes maps, or of one that takes rings. */
static bool is_possible_map(const struct gt_ptxgen *gen, uint32_t map, bool ring)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(gen->object->maps[map].type);

	return kind && (kind->shape == GT_BPF_MAP_RING) == ring && is_named(gen, map);
}

static void emit_helper(struct gt_ptxgen *gen, const struct gt_ptxgen_helper *row)
{
	int error;

	gen->source = row->source;
	error = row->emit(gen, gen->at);
	gen->error = gen->error ? gen->error : error;
}

/* The call with each map that the argument can be. */
static void emit_for_each_map(struct gt_ptxgen *gen, const struct gt_ptxgen_helper *row,
			      unsigned argument, bool ring)
{
	struct gt_ptxgen_value done = gt_ptxgen_label(gen), next, is;
	struct gt_ptxgen_value map = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);

	gt_ptxgen_emit(gen, "mov.b64", map, gt_ptxgen_reg64(gen, argument));
	for (uint32_t i = 0; i < gen->object->map_count && !gen->error; i++) {
		if (!is_possible_map(gen, i, ring))
			continue;
		next = gt_ptxgen_label(gen);
		is = gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);
		gt_ptxgen_emit(gen, "setp.ne.s64", is, map, gt_ptxgen_map_handle(i));
		gt_ptxgen_branch_if(gen, is, next);
		gen->map = (int32_t)i;
		emit_helper(gen, row);
		gt_ptxgen_branch(gen, done);
		gt_ptxgen_emit_label(gen, next);
	}
	gt_ptxgen_emit_label(gen, done);
}

/* Registers that are optional arguments of a helper. The verifier rejects other unset reads. */
static unsigned optional_registers(void)
{
	static const enum gt_helper_argument arguments[][GT_HELPER_ARGUMENTS] = {
#define HELPER(number, name, does, source, result, lanes, traits, ...) {__VA_ARGS__},
#include "gpubpf/helpers.def"
#undef HELPER
	};
	unsigned registers = 0;

	for (size_t i = 0; i < gt_countof(arguments); i++)
		for (unsigned j = 0; j < GT_HELPER_ARGUMENTS; j++)
			registers |= (unsigned)(arguments[i][j] == GT_ARG_OPTIONAL) << (j + 1);
	return registers;
}

void gt_ptxgen_clear_unset(struct gt_ptxgen *gen, uint32_t insn, unsigned registers)
{
	if (!gen->facts->insns[insn].reached)
		return;
	registers &= gen->facts->insns[insn].live & optional_registers();
	for (unsigned i = 1; i <= GT_HELPER_ARGUMENTS; i++)
		if (registers >> i & 1)
			gt_ptxgen_emit(gen, "mov.b64", gt_ptxgen_reg64(gen, i), 0);
}

/* The registers that are a helper's arguments. */
static unsigned argument_registers(const struct gt_helper *helper)
{
	unsigned registers = 0;

	for (unsigned i = 0; i < GT_HELPER_ARGUMENTS; i++)
		registers |= (unsigned)(helper->arguments[i] != GT_ARG_NONE) << (i + 1);
	return registers;
}

void gt_ptxgen_call(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);
	const struct gt_ptxgen_helper *row = gt_ptxgen_helper((uint32_t)insn->imm);
	uint32_t at = gen->at;
	unsigned argument;

	if (!helper || !row) {
		gt_ptxgen_fail(gen, -EOPNOTSUPP, "helper %s#%d is not supported by this target",
			       helper ? helper->name : "unknown", insn->imm);
		return;
	}
	/* Those that are no arguments now: a lookup's code may branch away. */
	gt_ptxgen_clear_unset(gen, at + 1, ~argument_registers(helper));
	argument = map_argument(helper);
	gen->map = argument ? gt_ptxgen_fact(gen, argument)->map : -1;
	if (argument && gen->map < 0) {
		emit_for_each_map(gen, row, argument,
				  helper->arguments[argument - 1] == GT_ARG_RING);
	} else {
		emit_helper(gen, row);
	}
	gen->map = -1;
	gt_ptxgen_clear_unset(gen, at + 1, argument_registers(helper));
}
