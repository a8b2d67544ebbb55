/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs do with the values of maps, by the facts of the verifier. */
#include "gpubpf/helpers.h"
#include "run/inject_private.h"

enum {
	MAX_STRIPES = 32,             /* several multiprocessors share one */
	MAX_STRIPED_BYTES = 32 << 20, /* of a map: they are read for each view */
};

enum map_use {
	USE_READS = 1, /* a value is read, or its address is passed on */
	USE_SETS = 2,  /* a value is changed other than by adding to it */
};

/* Whether `load` and `add` before a store make it an addition: *value += n. */
static bool is_addition(const struct bpf_insn *load, const struct bpf_insn *add,
			const struct bpf_insn *store)
{
	return BPF_CLASS(load->code) == BPF_LDX && BPF_SIZE(load->code) == BPF_SIZE(store->code) &&
	       load->src_reg == store->dst_reg && load->off == store->off &&
	       load->dst_reg == store->src_reg && BPF_OP(add->code) == BPF_ADD &&
	       BPF_CLASS(add->code) == BPF_ALU64 && add->dst_reg == store->src_reg &&
	       load->dst_reg != load->src_reg;
}

/* Whether a register may point to a value of the map. */
static bool may_point(const struct gt_register_fact *fact, uint32_t map)
{
	return fact->type == GT_REG_MIXED ||
	       (fact->type == GT_REG_MAP_VALUE && (fact->map < 0 || fact->map == (int32_t)map));
}

/* Whether a register may be the map itself. */
static bool may_be(const struct gt_register_fact *fact, uint32_t map)
{
	return fact->type == GT_REG_MIXED ||
	       (fact->type == GT_REG_MAP && (fact->map < 0 || fact->map == (int32_t)map));
}

static unsigned use_by_call(const struct bpf_insn *insn, const struct gt_register_fact *registers,
			    uint32_t map)
{
	unsigned use = 0;

	if (gt_bpf_is_subprogram_call(insn))
		return 0;
	for (unsigned i = 1; i <= 5; i++)
		if (may_point(&registers[i], map))
			use |= USE_READS;
	for (unsigned i = 1; i <= 5; i++)
		if (may_be(&registers[i], map) && insn->imm != BPF_FUNC_map_lookup_elem &&
		    insn->imm != GT_HELPER_map_add && insn->imm != GT_HELPER_hist_add)
			use |= USE_READS | USE_SETS;
	return use;
}

static unsigned use_by_store(const struct bpf_insn *insn, uint32_t at)
{
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return insn->imm == BPF_ADD                 ? 0
		       : insn->imm == (BPF_ADD | BPF_FETCH) ? USE_READS
							    : USE_READS | USE_SETS;
	if (BPF_CLASS(insn->code) == BPF_STX && at >= 2 && is_addition(insn - 2, insn - 1, insn))
		return 0; /* the load is a use of its own */
	return USE_SETS;
}

static unsigned use_by(const struct gt_patch_program *program, uint32_t at, uint32_t map)
{
	const struct bpf_insn *insn = &program->program->insns[at];
	const struct gt_register_fact *registers = program->facts->insns[at].registers;

	if (!program->facts->insns[at].reached)
		return 0;
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return may_point(&registers[insn->src_reg], map) ? USE_READS : 0;
	case BPF_ST:
	case BPF_STX:
		return may_point(&registers[insn->dst_reg], map) ? use_by_store(insn, at) : 0;
	case BPF_JMP:
		return insn->code == (BPF_JMP | BPF_CALL) ? use_by_call(insn, registers, map) : 0;
	default:
		return 0;
	}
}

static unsigned use_of(const struct gt_patch_program *programs, uint32_t count, uint32_t map)
{
	unsigned use = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct gt_bpf_program *program = programs[i].program;

		for (uint32_t at = 0; program && at < program->count; at++) {
			use |= use_by(&programs[i], at, map);
			at += gt_bpf_is_wide(&program->insns[at]);
		}
	}
	return use;
}

bool gt_inject_is_sum(const struct gt_inject_options *options, uint32_t map)
{
	return !(use_of(options->programs, options->program_count, map) & USE_SETS);
}

/* The stripes that an array has room for. */
static uint32_t stripes_of(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint32_t stripes = MAX_STRIPES;

	if (!kind || kind->shape != GT_BPF_MAP_ARRAY || kind->copies != GT_COPY_ONE ||
	    gt_bpf_map_place(map) != GT_BPF_MAP_DEVICE || map->host_only || map->internal ||
	    map->with_host)
		return 0;
	while (stripes > 1 && gt_bpf_map_stripe_bytes(map) > MAX_STRIPED_BYTES / stripes)
		stripes /= 2;
	return stripes > 1 ? stripes : 0;
}

void gt_inject_stripe_maps(struct gt_bpf_object *object, const struct gt_patch_program *programs,
			   uint32_t count)
{
	for (uint32_t i = 0; i < object->map_count; i++)
		if (!use_of(programs, count, i))
			object->maps[i].stripes = stripes_of(&object->maps[i]);
}
