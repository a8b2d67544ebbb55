/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks of operations under divergence: collective helpers, races, serialization. */
#include <errno.h>
#include <string.h>

#include "gpubpf/verify/divergence.h"

/* Print where the lanes diverge. */
static void put_divergence_cause(struct gt_strbuf *text, const struct gt_divergence *analysis,
				 uint32_t at)
{
	int32_t cause = analysis->state ? analysis->state[at].cause : GT_NO_INSN;
	const struct gt_bpf_line *line;

	if (cause == GT_NO_INSN) {
		gt_strbuf_puts(text, "in a program of this size they may diverge at any branch");
		return;
	}
	line = gt_bpf_line_of(analysis->verifier->program, (uint32_t)cause);
	gt_strbuf_printf(text, "they may diverge at insn %d", cause);
	if (line)
		gt_strbuf_printf(text, " (%s:%u)", line->file, line->line);
}

static int add_warning(struct gt_divergence *analysis, uint32_t at, const char *format, ...)
	gt_printf(3, 4);
static int add_warning(struct gt_divergence *analysis, uint32_t at, const char *format, ...)
{
	struct gt_facts *facts = analysis->facts;
	const struct gt_bpf_line *line = gt_bpf_line_of(analysis->verifier->program, at);
	struct gt_warning *grown =
		realloc(facts->warnings, (facts->warning_count + 1u) * sizeof(*grown));
	va_list arguments;

	if (!grown)
		return gt_verifier_no_memory(analysis->verifier);
	facts->warnings = grown;
	grown += facts->warning_count++;
	*grown = (struct gt_warning){.insn = at, .line = line ? line->line : 0};
	va_start(arguments, format);
	vsnprintf(grown->text, sizeof(grown->text), format, arguments);
	va_end(arguments);
	return 0;
}

static const struct gt_bpf_map *map_of_register(const struct gt_divergence *analysis, uint32_t at,
						unsigned regno)
{
	const struct gt_register_fact *fact = &analysis->facts->insns[at].registers[regno];

	return (fact->type == GT_REG_MAP_VALUE || fact->type == GT_REG_MAP) && fact->map >= 0
		       ? &analysis->verifier->object->maps[fact->map]
		       : NULL;
}

static enum gt_bpf_map_copies map_copies(const struct gt_bpf_map *map)
{
	return gt_bpf_map_kind(map->type) ? gt_bpf_map_kind(map->type)->copies : GT_COPY_ONE;
}

/* Whether runs of the program at the same time share values of the map. */
static bool is_shared_map(const struct gt_divergence *analysis, const struct gt_bpf_map *map)
{
	enum gt_bpf_map_copies copies = map_copies(map);

	return copies == GT_COPY_ONE || copies == GT_COPY_SM ||
	       (copies == GT_COPY_WARP && !analysis->single);
}

/*
 * A value read from a map, changed and stored back loses concurrent stores. Per-SM and per-warp
 * arrays suggest that there are none, as per-CPU arrays of Linux do: reject it there.
 */
static int check_update(struct gt_divergence *analysis, uint32_t at, const struct bpf_insn *insn)
{
	const struct gt_bpf_map *map = map_of_register(analysis, at, insn->dst_reg);
	int32_t map_index = analysis->facts->insns[at].registers[insn->dst_reg].map;
	const char *copy;

	if (!map || !analysis->state || BPF_CLASS(insn->code) != BPF_STX ||
	    !is_shared_map(analysis, map) ||
	    !(analysis->state[at].from[insn->src_reg] >> (map_index < 63 ? map_index : 63) & 1))
		return 0;
	if (map_copies(map) == GT_COPY_ONE)
		return add_warning(
			analysis, at,
			"R%u comes from map '%s' and is stored back to it: concurrent stores "
			"of other threads are lost; use an atomic operation",
			insn->src_reg, map->name);
	copy = map_copies(map) == GT_COPY_SM ? "the warps of an SM" : "the lanes of a warp";
	return gt_reject(analysis->verifier,
			 "R%u comes from map '%s' and is stored back to it, but its copy is shared "
			 "by %s: use an atomic operation (__sync_fetch_and_add)",
			 insn->src_reg, map->name, copy);
}

static int warn_serialized_values(struct gt_divergence *analysis, uint32_t at,
				  const struct gt_bpf_map *map)
{
	return add_warning(
		analysis, at,
		"the lanes of a warp do this atomic operation on different values of map '%s': "
		"lanes with the same value are serialized",
		map->name);
}

static int check_atomic(struct gt_divergence *analysis, uint32_t at, const struct bpf_insn *insn)
{
	const struct gt_insn_facts *facts = &analysis->facts->insns[at];
	const struct gt_bpf_map *map = map_of_register(analysis, at, insn->dst_reg);

	if (analysis->single || !map || map_copies(map) == GT_COPY_THREAD)
		return 0;
	if (facts->registers[insn->dst_reg].varying)
		return warn_serialized_values(analysis, at, map);
	if (insn->imm & BPF_FETCH)
		return add_warning(
			analysis, at,
			"all lanes of a warp do this atomic operation on the same value of map "
			"'%s' and use its result: they are serialized",
			map->name);
	return 0;
}

/* Whether a program that runs once per thread could run once per warp. */
static bool may_run_per_warp(const struct gt_divergence *analysis)
{
	const struct gt_section *section = analysis->verifier->options->section;

	return section && section->kind < GT_KIND_COUNT &&
	       (gt_section_row(section->kind)->levels & GT_AT_WARP);
}

/* Warn about serialized changes of a map. */
static int check_map_change(struct gt_divergence *analysis, uint32_t at,
			    const struct gt_helper *helper)
{
	const struct gt_bpf_map *map = map_of_register(analysis, at, 1);

	if (analysis->single || !map || !gt_bpf_map_kind(map->type) ||
	    !(helper->traits & GT_TRAIT_WRITES))
		return 0;
	if ((helper->traits & GT_TRAIT_ADDS) &&
	    gt_bpf_map_kind(map->type)->shape == GT_BPF_MAP_ARRAY &&
	    analysis->facts->insns[at].many_keys && map_copies(map) != GT_COPY_THREAD)
		return warn_serialized_values(analysis, at, map);
	if (gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_HASH)
		return 0;
	return add_warning(
		analysis, at,
		analysis->facts->insns[at].many_keys
			? "the lanes of a warp may have different keys: %s#%u on map '%s' is "
			  "serialized by lane"
		: may_run_per_warp(analysis)
			? "all lanes of a warp have the same key: %s#%u on map '%s' is "
			  "serialized by lane; a section with .warp runs it once"
			: "all lanes of a warp have the same key: %s#%u on map '%s' is "
			  "serialized by lane",
		helper->name, helper->number, map->name);
}

static int check_helper(struct gt_divergence *analysis, uint32_t at, const struct bpf_insn *insn)
{
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);
	gt_auto_strbuf cause = GT_STRBUF_INIT;

	if ((helper->traits & GT_TRAIT_COLLECTIVE) && analysis->facts->insns[at].divergent) {
		put_divergence_cause(&cause, analysis, at);
		return gt_reject(analysis->verifier,
				 "%s#%u requires the lanes of the warp to be converged: %s",
				 helper->name, helper->number, gt_strbuf_string(&cause));
	}
	if ((helper->traits & GT_TRAIT_SERIALISES) && !analysis->single)
		return add_warning(analysis, at, "%s#%u is serialized by lane", helper->name,
				   helper->number);
	return check_map_change(analysis, at, helper);
}

int gt_divergence_check(struct gt_divergence *analysis)
{
	int error = 0;

	for (uint32_t at = 0; !error && at < analysis->count; at++) {
		const struct bpf_insn *insn = &analysis->verifier->insns[at];

		if (!analysis->facts->insns[at].reached)
			continue;
		analysis->verifier->at = at;
		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg)
			error = check_helper(analysis, at, insn);
		else if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
			error = check_atomic(analysis, at, insn);
		else if (BPF_CLASS(insn->code) == BPF_STX)
			error = check_update(analysis, at, insn);
	}
	return error;
}
