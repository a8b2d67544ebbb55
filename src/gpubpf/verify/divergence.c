/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Divergence analysis: propagate varying values to a fixed point. */
#include "gpubpf/verify/divergence.h"

#include <string.h>

enum {
	MAX_ANALYSED = 1 << 16, /* instructions; larger programs diverge everywhere */
	MAX_STEPS = 1 << 25,
};

struct gt_units gt_units_range(int64_t min, int64_t end)
{
	struct gt_units units = {0};

	for (int64_t at = min & ~(int64_t)3; at < end && at < 0; at += 4)
		if (at >= -GT_BPF_STACK_SIZE)
			units.bits[(-at / 4 - 1) / 64] |= UINT64_C(1) << (-at / 4 - 1) % 64;
	return units;
}

static const struct gt_register_fact *register_fact(const struct gt_divergence *analysis,
						    uint32_t at, unsigned regno)
{
	return &analysis->facts->insns[at].registers[regno];
}

static bool varies(const struct gt_divergence *analysis, uint32_t at, unsigned regno)
{
	return analysis->state[at].varying >> regno & 1;
}

static const struct gt_bpf_map *map_of_pointer(const struct gt_divergence *analysis,
					       const struct gt_register_fact *pointer)
{
	return pointer->map < 0 ? NULL : &analysis->verifier->object->maps[pointer->map];
}

/* Return the units at bytes offset to offset + size - 1 from a pointer. */
static struct gt_units units_at_pointer(const struct gt_register_fact *pointer, int64_t offset,
					uint64_t size)
{
	return gt_units_range(pointer->min + offset, pointer->max + offset + (int64_t)size);
}

static bool stack_varies(const struct gt_divergence *analysis, uint32_t at,
			 const struct gt_register_fact *pointer, const struct gt_units *units)
{
	uint32_t own = analysis->verifier->aux[at].subprogram;

	if (!pointer->frame)
		return gt_units_any(&analysis->state[at].units, units) ||
		       gt_units_any(&analysis->functions[own].poisoned, units);
	for (uint32_t i = 0; i < analysis->facts->subprogram_count; i++)
		if (gt_units_any(&analysis->functions[i].ever, units) ||
		    gt_units_any(&analysis->functions[i].poisoned, units))
			return true;
	return false;
}

static bool context_varies(const struct gt_divergence *analysis, int64_t offset, uint64_t size)
{
	const struct gt_section *section = analysis->verifier->options->section;
	struct gt_context_load load;

	return !section || gt_context_find(section, (uint32_t)offset, (uint32_t)size, &load) ||
	       load.field->lanes == GT_FIELD_VARYING;
}

bool gt_divergence_memory_varies(const struct gt_divergence *analysis, uint32_t at, unsigned regno,
				 int64_t offset, uint64_t size)
{
	const struct gt_register_fact *pointer = register_fact(analysis, at, regno);
	const struct gt_bpf_map *map;
	struct gt_units units;

	if (varies(analysis, at, regno))
		return true;
	switch (pointer->type) {
	case GT_REG_STACK:
		units = units_at_pointer(pointer, offset, size);
		return stack_varies(analysis, at, pointer, &units);
	case GT_REG_CONTEXT:
		return context_varies(analysis, pointer->min + offset, size);
	case GT_REG_MAP_VALUE:
		map = map_of_pointer(analysis, pointer);
		return !map || !map->constant;
	default:
		return true;
	}
}

/* Return the maps that a load may read from, as bits. */
static uint64_t maps_read(const struct gt_divergence *analysis,
			  const struct gt_register_fact *pointer)
{
	if (pointer->type == GT_REG_MIXED)
		return UINT64_MAX;
	if (pointer->type != GT_REG_MAP_VALUE)
		return 0;
	if (pointer->map < 0)
		return UINT64_MAX;
	return map_of_pointer(analysis, pointer)->read_only
		       ? 0
		       : UINT64_C(1) << (pointer->map < 63 ? pointer->map : 63);
}

static int helper_results(const struct bpf_insn *insn)
{
	const struct gt_helper *helper = insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg
						 ? gt_helper((uint32_t)insn->imm)
						 : NULL;
	int count = 0;

	while (helper && count < GT_HELPER_ARGUMENTS &&
	       helper->arguments[count] == GT_ARG_RESULT_U64)
		count++;
	return count;
}

struct gt_units gt_divergence_stack_writes(const struct gt_divergence *analysis, uint32_t at,
					   bool *ret_all)
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	unsigned class = BPF_CLASS(insn->code), size = gt_bpf_access_size(insn);
	const struct gt_register_fact *pointer = register_fact(analysis, at, insn->dst_reg);
	struct gt_units units = {0}, more;

	*ret_all = false;
	if (class == BPF_ST || class == BPF_STX) {
		if (pointer->type != GT_REG_STACK || pointer->frame)
			return units;
		*ret_all = BPF_MODE(insn->code) == BPF_MEM && size >= 4 &&
			   pointer->min == pointer->max;
		return units_at_pointer(pointer, insn->off, size);
	}
	for (int i = helper_results(insn); i > 0; i--) {
		pointer = register_fact(analysis, at, (unsigned)i);
		if (pointer->type != GT_REG_STACK || pointer->frame)
			continue;
		more = units_at_pointer(pointer, 0, 8);
		gt_units_add(&units, &more);
	}
	return units;
}

static void poison_units(struct gt_divergence *analysis, const struct gt_units *units)
{
	for (uint32_t i = 0; i < analysis->facts->subprogram_count; i++)
		analysis->changed |= gt_units_add(&analysis->functions[i].poisoned, units);
}

/* A store through r<regno>; varying: of a value that varies; whole: it always writes all bytes. */
struct lane_store {
	unsigned regno;
	int64_t offset;
	uint64_t size;
	bool varying, whole;
};

/* Apply a store to the units of stacks. */
static void write_memory(struct gt_divergence *analysis, uint32_t at,
			 const struct lane_store *store, struct gt_lane_state *out)
{
	const struct gt_register_fact *pointer = register_fact(analysis, at, store->regno);
	bool varying = store->varying || varies(analysis, at, store->regno);
	struct gt_units units, everything = {{UINT64_MAX, UINT64_MAX}};

	if (pointer->type == GT_REG_MIXED) {
		poison_units(analysis, &everything);
		return;
	}
	if (pointer->type != GT_REG_STACK)
		return;
	units = pointer->frame == UINT8_MAX ? everything
					    : units_at_pointer(pointer, store->offset, store->size);
	if (pointer->frame) {
		if (varying || analysis->facts->insns[at].divergent)
			poison_units(analysis, &units);
		return;
	}
	if (varying) {
		gt_units_add(&out->units, &units);
	} else if (store->whole && store->size >= 4) {
		out->units.bits[0] &= ~units.bits[0];
		out->units.bits[1] &= ~units.bits[1];
	}
}

static void set_register(struct gt_lane_state *state, unsigned regno, bool varying, uint64_t from)
{
	state->varying = (uint16_t)((state->varying & ~(1u << regno)) | (unsigned)varying << regno);
	state->from[regno] = from;
}

static void flow_alu(const struct gt_divergence *analysis, uint32_t at, struct gt_lane_state *out)
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	unsigned operation = BPF_OP(insn->code), target = insn->dst_reg, source = insn->src_reg;
	const struct gt_lane_state *in = &analysis->state[at];
	bool from_register =
		BPF_SRC(insn->code) == BPF_X && operation != BPF_END && operation != BPF_NEG;

	if (operation == BPF_MOV) {
		set_register(out, target, from_register && varies(analysis, at, source),
			     from_register ? in->from[source] : 0);
		return;
	}
	if (!from_register)
		return;
	if ((operation == BPF_XOR || operation == BPF_SUB) && target == source)
		set_register(out, target, false, 0);
	else
		set_register(out, target,
			     varies(analysis, at, target) || varies(analysis, at, source),
			     in->from[target] | in->from[source]);
}

static void flow_memory(struct gt_divergence *analysis, uint32_t at, struct gt_lane_state *out)
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	struct lane_store store = {
		.regno = insn->dst_reg,
		.offset = insn->off,
		.size = gt_bpf_access_size(insn),
		.varying = BPF_CLASS(insn->code) == BPF_STX && varies(analysis, at, insn->src_reg),
	};

	if (BPF_CLASS(insn->code) == BPF_LDX) {
		set_register(out, insn->dst_reg,
			     gt_divergence_memory_varies(analysis, at, insn->src_reg, insn->off,
							 store.size),
			     maps_read(analysis, register_fact(analysis, at, insn->src_reg)));
		return;
	}
	gt_divergence_stack_writes(analysis, at, &store.whole);
	write_memory(analysis, at, &store, out);
	if (gt_insn_is_atomic(insn) && (insn->imm & BPF_FETCH))
		set_register(out, insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg, true, 0);
}

/* Whether lanes may get different results of a lookup. */
static bool lookup_varies(const struct gt_divergence *analysis, uint32_t at)
{
	const struct gt_bpf_map *map = map_of_pointer(analysis, register_fact(analysis, at, 1));
	const struct gt_bpf_map_kind *kind = map ? gt_bpf_map_kind(map->type) : NULL;

	/* Others may insert into a hash and delete from it at the same time. */
	return !kind || kind->shape != GT_BPF_MAP_ARRAY || kind->copies == GT_COPY_THREAD ||
	       analysis->facts->insns[at].many_keys;
}

static void find_divergent_keys(struct gt_divergence *analysis, uint32_t at,
				const struct gt_helper *helper)
{
	const struct gt_bpf_map *map;

	for (unsigned i = 1; i <= GT_HELPER_ARGUMENTS; i++) {
		if (helper->arguments[i - 1] == GT_ARG_KEY_SCALAR)
			analysis->facts->insns[at].many_keys =
				!analysis->single && varies(analysis, at, i);
		if (helper->arguments[i - 1] != GT_ARG_KEY)
			continue;
		map = map_of_pointer(analysis, register_fact(analysis, at, i - 1));
		analysis->facts->insns[at].many_keys =
			!analysis->single &&
			(!map || gt_divergence_memory_varies(analysis, at, i, 0, map->key_size));
	}
}

static void flow_helper(struct gt_divergence *analysis, uint32_t at, struct gt_lane_state *out)
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);
	bool varying = helper->lanes != GT_LANES_SAME || (helper->traits & GT_TRAIT_WRITES);

	find_divergent_keys(analysis, at, helper);
	if (helper->lanes == GT_LANES_INPUTS)
		varying = lookup_varies(analysis, at);
	for (unsigned i = (unsigned)helper_results(insn); i > 0; i--) {
		const struct gt_register_fact *pointer = register_fact(analysis, at, i);
		struct lane_store store = {
			.regno = i,
			.size = 8,
			.varying = helper->traits & GT_TRAIT_LANES_DIFFER,
			.whole = pointer->min == pointer->max,
		};

		write_memory(analysis, at, &store, out);
	}
	for (unsigned i = 0; i <= 5; i++)
		set_register(out, i, !i && varying, 0);
}

static void merge_state(struct gt_divergence *analysis, uint32_t at,
			const struct gt_lane_state *in);

static void flow_call(struct gt_divergence *analysis, uint32_t at, struct gt_lane_state *out)
{
	uint32_t target = (uint32_t)gt_bpf_jump_target(analysis->verifier->insns, at);
	const struct gt_lane_function *function =
		&analysis->functions[analysis->verifier->aux[target].subprogram];
	struct gt_lane_state arguments = {0};

	arguments.varying = analysis->state[at].varying & 0x3e;
	memcpy(&arguments.from[1], &analysis->state[at].from[1], 5 * sizeof(arguments.from[0]));
	merge_state(analysis, target, &arguments);
	for (unsigned i = 1; i <= 5; i++)
		set_register(out, i, false, 0);
	set_register(out, 0, function->varying || function->merged, function->from);
}

/*
 * bpf_loop: its function may return at different iterations in different lanes, so that only some
 * of them execute it again.
 */
static void flow_loop_call(struct gt_divergence *analysis, uint32_t at, struct gt_lane_state *out)
{
	int32_t only = register_fact(analysis, at, 2)->map;
	struct gt_lane_state arguments = {.varying = 1u << 1};

	arguments.varying |= (uint16_t)(varies(analysis, at, 3) << 2);
	arguments.from[2] = analysis->state[at].from[3];
	for (uint32_t i = 0; i < analysis->facts->subprogram_count; i++) {
		/* If it differs between paths, each of them may be called. */
		if ((only >= 0 && (uint32_t)only != i) ||
		    !analysis->facts->insns[analysis->facts->subprograms[i].start].reached)
			continue;
		merge_state(analysis, analysis->facts->subprograms[i].start, &arguments);
		if (!analysis->single)
			gt_divergence_of_function(analysis, i, (int32_t)at);
	}
	for (unsigned i = 0; i <= 5; i++)
		set_register(out, i, !i, 0);
}

/* Merge a state into that before an instruction, or at a function's end. */
static void merge_state(struct gt_divergence *analysis, uint32_t at, const struct gt_lane_state *in)
{
	struct gt_lane_state *state = &analysis->state[at];
	struct gt_lane_function *function;
	uint16_t varying = analysis->single ? 0 : in->varying | state->merged;
	struct gt_units units = in->units;

	if (at >= analysis->count) {
		function = &analysis->functions[at - analysis->count];
		analysis->changed |= (varying & 1) && !function->varying;
		function->varying |= varying & 1;
		analysis->changed |= (in->from[0] & ~function->from) != 0;
		function->from |= in->from[0];
		return;
	}
	function = &analysis->functions[analysis->verifier->aux[at].subprogram];
	gt_units_add(&units, &state->merged_units);
	if (analysis->single)
		units = (struct gt_units){0};
	analysis->changed |= (varying & ~state->varying) != 0;
	state->varying |= varying;
	analysis->changed |= gt_units_add(&state->units, &units);
	gt_units_add(&function->ever, &units);
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
		analysis->changed |= (in->from[i] & ~state->from[i]) != 0;
		state->from[i] |= in->from[i];
	}
}

static void flow_insn(struct gt_divergence *analysis, uint32_t at)
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	struct gt_lane_state out = analysis->state[at];
	uint32_t next[2];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		flow_alu(analysis, at, &out);
		break;
	case BPF_LD:
		set_register(&out, insn->dst_reg, false, 0);
		break;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		flow_memory(analysis, at, &out);
		break;
	default:
		if (gt_bpf_is_subprogram_call(insn))
			flow_call(analysis, at, &out);
		else if (gt_bpf_is_loop_call(insn))
			flow_loop_call(analysis, at, &out);
		else if (BPF_OP(insn->code) == BPF_CALL)
			flow_helper(analysis, at, &out);
	}
	for (unsigned i = gt_divergence_successors(analysis, at, next); i-- > 0;)
		merge_state(analysis, next[i], &out);
}

static void check_call_divergence(struct gt_divergence *analysis, uint32_t at)
{
	if (analysis->single || analysis->state[at].diverged_call ||
	    !gt_bpf_is_subprogram_call(&analysis->verifier->insns[at]) ||
	    !gt_divergence_of_call(analysis, at))
		return;
	analysis->state[at].diverged_call = true;
	analysis->changed = true;
	gt_divergence_at(analysis, at);
}

static void check_branch_divergence(struct gt_divergence *analysis, uint32_t at)
{
	const struct bpf_insn *insn = &analysis->verifier->insns[at];
	struct gt_insn_facts *facts = &analysis->facts->insns[at];

	if (facts->branch != 3 || facts->diverges || analysis->single)
		return;
	/* may_goto counts in each lane. */
	if (!gt_bpf_is_may_goto(insn) && !varies(analysis, at, insn->dst_reg) &&
	    (BPF_SRC(insn->code) != BPF_X || !varies(analysis, at, insn->src_reg)))
		return;
	facts->diverges = true;
	gt_divergence_at(analysis, at);
}

/* Whether a fixed point was found within MAX_STEPS. */
static bool find_fixed_point(struct gt_divergence *analysis)
{
	analysis->changed = true;
	while (analysis->changed) {
		analysis->changed = false;
		for (uint32_t at = 0; at < analysis->count; at++) {
			if (!analysis->facts->insns[at].reached)
				continue;
			/* Values merged here vary, whatever the predecessors' states. */
			analysis->state[at].varying |=
				analysis->single ? 0 : analysis->state[at].merged;
			if (!analysis->single)
				gt_units_add(&analysis->state[at].units,
					     &analysis->state[at].merged_units);
			flow_insn(analysis, at);
			check_branch_divergence(analysis, at);
			check_call_divergence(analysis, at);
			if (++analysis->work > MAX_STEPS)
				return false;
		}
	}
	return true;
}

/* Fallback: everything may vary. */
static void set_all_divergent(struct gt_divergence *analysis)
{
	for (uint32_t at = 0; at < analysis->count; at++) {
		struct gt_insn_facts *facts = &analysis->facts->insns[at];

		facts->divergent = !analysis->single;
		facts->many_keys = facts->diverges = false;
		for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
			facts->registers[i].varying = !analysis->single;
	}
}

static void store_facts(struct gt_divergence *analysis)
{
	for (uint32_t at = 0; at < analysis->count; at++)
		for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
			analysis->facts->insns[at].registers[i].varying = varies(analysis, at, i);
}

static int allocate_analysis(struct gt_divergence *analysis)
{
	analysis->state = calloc(analysis->nodes, sizeof(*analysis->state));
	analysis->functions =
		calloc(analysis->facts->subprogram_count, sizeof(*analysis->functions));
	analysis->stack = calloc(2u * analysis->nodes + 4, sizeof(uint32_t));
	analysis->found = calloc(analysis->nodes, sizeof(uint32_t));
	analysis->visited = calloc(analysis->nodes, sizeof(uint32_t));
	if (!analysis->state || !analysis->functions || !analysis->stack || !analysis->found ||
	    !analysis->visited)
		return gt_verifier_no_memory(analysis->verifier);
	for (uint32_t at = 0; at < analysis->nodes; at++)
		analysis->state[at].cause = GT_NO_INSN;
	return gt_divergence_find_reconvergence(analysis);
}

static void free_analysis(struct gt_divergence *analysis)
{
	free(analysis->state);
	free(analysis->functions);
	free(analysis->predecessors);
	free(analysis->first_predecessor);
	free(analysis->reconvergence);
	free(analysis->stack);
	free(analysis->found);
	free(analysis->visited);
}

int gt_verify_divergence(struct gt_verifier *verifier)
{
	const struct gt_section *section = verifier->options->section;
	struct gt_divergence analysis = {
		.verifier = verifier,
		.facts = &verifier->facts,
		.count = verifier->count,
		.nodes = verifier->count + verifier->facts.subprogram_count,
		.single = section && section->level != GT_LEVEL_THREAD,
	};
	int error = 0;

	if (analysis.count <= MAX_ANALYSED)
		error = allocate_analysis(&analysis);
	if (!error && analysis.count <= MAX_ANALYSED && find_fixed_point(&analysis))
		store_facts(&analysis);
	else if (!error)
		set_all_divergent(&analysis);
	if (!error)
		error = gt_divergence_check(&analysis);
	free_analysis(&analysis);
	return error;
}
