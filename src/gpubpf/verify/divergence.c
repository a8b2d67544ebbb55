/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What differs between the lanes of a warp: the flow of values, until nothing changes any more. */
#include "gpubpf/verify/divergence.h"

#include <string.h>

enum {
	MAX_TEXT = 1 << 16, /* above it, all that can differ is said to */
	MAX_WORK = 1 << 25,
};

struct gt_units gt_units_range(int64_t min, int64_t end)
{
	struct gt_units units = {0};

	for (int64_t at = min & ~(int64_t)3; at < end && at < 0; at += 4)
		if (at >= -GT_BPF_STACK_SIZE)
			units.bits[(-at / 4 - 1) / 64] |= UINT64_C(1) << (-at / 4 - 1) % 64;
	return units;
}

static const struct gt_register_fact *fact(const struct gt_lanes *lanes, uint32_t at,
					   unsigned number)
{
	return &lanes->facts->insns[at].registers[number];
}

static bool varies(const struct gt_lanes *lanes, uint32_t at, unsigned number)
{
	return lanes->state[at].varying >> number & 1;
}

static const struct gt_bpf_map *map_of(const struct gt_lanes *lanes,
				       const struct gt_register_fact *pointer)
{
	return pointer->map < 0 ? NULL : &lanes->verifier->object->maps[pointer->map];
}

/* Units of the stack behind a register at bytes offset … offset + size - 1. */
static struct gt_units units_behind(const struct gt_register_fact *pointer, int64_t offset,
				    uint64_t size)
{
	return gt_units_range(pointer->min + offset, pointer->max + offset + (int64_t)size);
}

static bool stack_varies(const struct gt_lanes *lanes, uint32_t at,
			 const struct gt_register_fact *pointer, const struct gt_units *units)
{
	uint32_t own = lanes->verifier->flow[at].subprogram;

	if (!pointer->frame)
		return gt_units_any(&lanes->state[at].units, units) ||
		       gt_units_any(&lanes->functions[own].poisoned, units);
	for (uint32_t i = 0; i < lanes->facts->subprogram_count; i++)
		if (gt_units_any(&lanes->functions[i].ever, units) ||
		    gt_units_any(&lanes->functions[i].poisoned, units))
			return true;
	return false;
}

static bool context_varies(const struct gt_lanes *lanes, int64_t offset, uint64_t size)
{
	const struct gt_section *section = lanes->verifier->options->section;
	struct gt_context_load load;

	return !section || gt_context_find(section, (uint32_t)offset, (uint32_t)size, &load) ||
	       load.field->lanes == GT_FIELD_VARYING;
}

bool gt_lanes_memory_varies(const struct gt_lanes *lanes, uint32_t at, unsigned number,
			    int64_t offset, uint64_t size)
{
	const struct gt_register_fact *pointer = fact(lanes, at, number);
	const struct gt_bpf_map *map;
	struct gt_units units;

	if (varies(lanes, at, number))
		return true;
	switch (pointer->type) {
	case GT_REG_STACK:
		units = units_behind(pointer, offset, size);
		return stack_varies(lanes, at, pointer, &units);
	case GT_REG_CONTEXT:
		return context_varies(lanes, pointer->min + offset, size);
	case GT_REG_MAP_VALUE:
		map = map_of(lanes, pointer);
		return !map || !map->constant;
	default:
		return true;
	}
}

/* Which maps a load reads numbers from, as bits. */
static uint64_t maps_read(const struct gt_lanes *lanes, const struct gt_register_fact *pointer)
{
	if (pointer->type == GT_REG_MIXED)
		return UINT64_MAX;
	if (pointer->type != GT_REG_MAP_VALUE)
		return 0;
	if (pointer->map < 0)
		return UINT64_MAX;
	return map_of(lanes, pointer)->read_only
		       ? 0
		       : UINT64_C(1) << (pointer->map < 63 ? pointer->map : 63);
}

static int written_by_helper(const struct bpf_insn *insn)
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

struct gt_units gt_lanes_written(const struct gt_lanes *lanes, uint32_t at, bool *ret_all)
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	unsigned class = BPF_CLASS(insn->code), size = gt_bpf_access_size(insn);
	const struct gt_register_fact *pointer = fact(lanes, at, insn->dst_reg);
	struct gt_units units = {0}, more;

	*ret_all = false;
	if (class == BPF_ST || class == BPF_STX) {
		if (pointer->type != GT_REG_STACK || pointer->frame)
			return units;
		*ret_all = BPF_MODE(insn->code) == BPF_MEM && size >= 4 &&
			   pointer->min == pointer->max;
		return units_behind(pointer, insn->off, size);
	}
	for (int i = written_by_helper(insn); i > 0; i--) {
		pointer = fact(lanes, at, (unsigned)i);
		if (pointer->type != GT_REG_STACK || pointer->frame)
			continue;
		more = units_behind(pointer, 0, 8);
		gt_units_add(&units, &more);
	}
	return units;
}

static void poison(struct gt_lanes *lanes, const struct gt_units *units)
{
	for (uint32_t i = 0; i < lanes->facts->subprogram_count; i++)
		lanes->changed |= gt_units_add(&lanes->functions[i].poisoned, units);
}

/* What an instruction that writes to memory leaves on stacks. */
static void write_memory(struct gt_lanes *lanes, uint32_t at, unsigned number, int64_t offset,
			 uint64_t size, bool varying, bool all, struct gt_lane_state *out)
{
	const struct gt_register_fact *pointer = fact(lanes, at, number);
	struct gt_units units, everything = {{UINT64_MAX, UINT64_MAX}};

	varying |= varies(lanes, at, number);
	if (pointer->type == GT_REG_MIXED) {
		poison(lanes, &everything);
		return;
	}
	if (pointer->type != GT_REG_STACK)
		return;
	units = pointer->frame == UINT8_MAX ? everything : units_behind(pointer, offset, size);
	if (pointer->frame) {
		if (varying || lanes->facts->insns[at].divergent)
			poison(lanes, &units);
		return;
	}
	if (varying) {
		gt_units_add(&out->units, &units);
	} else if (all && size >= 4) {
		out->units.bits[0] &= ~units.bits[0];
		out->units.bits[1] &= ~units.bits[1];
	}
}

static void set(struct gt_lane_state *state, unsigned number, bool varying, uint64_t from)
{
	state->varying =
		(uint16_t)((state->varying & ~(1u << number)) | (unsigned)varying << number);
	state->from[number] = from;
}

static void flow_alu(const struct gt_lanes *lanes, uint32_t at, struct gt_lane_state *out)
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	unsigned operation = BPF_OP(insn->code), target = insn->dst_reg, source = insn->src_reg;
	const struct gt_lane_state *in = &lanes->state[at];
	bool from_register =
		BPF_SRC(insn->code) == BPF_X && operation != BPF_END && operation != BPF_NEG;

	if (operation == BPF_MOV) {
		set(out, target, from_register && varies(lanes, at, source),
		    from_register ? in->from[source] : 0);
		return;
	}
	if (!from_register)
		return;
	if ((operation == BPF_XOR || operation == BPF_SUB) && target == source)
		set(out, target, false, 0);
	else
		set(out, target, varies(lanes, at, target) || varies(lanes, at, source),
		    in->from[target] | in->from[source]);
}

static void flow_memory(struct gt_lanes *lanes, uint32_t at, struct gt_lane_state *out)
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	unsigned class = BPF_CLASS(insn->code), size = gt_bpf_access_size(insn);
	bool all, atomic = class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC;

	if (class == BPF_LDX) {
		set(out, insn->dst_reg,
		    gt_lanes_memory_varies(lanes, at, insn->src_reg, insn->off, size),
		    maps_read(lanes, fact(lanes, at, insn->src_reg)));
		return;
	}
	gt_lanes_written(lanes, at, &all);
	write_memory(lanes, at, insn->dst_reg, insn->off, size,
		     class == BPF_STX && varies(lanes, at, insn->src_reg), all, out);
	if (atomic && (insn->imm & BPF_FETCH))
		set(out, insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg, true, 0);
}

/* Whether a lookup may find different things in different lanes. */
static bool lookup_varies(const struct gt_lanes *lanes, uint32_t at)
{
	const struct gt_bpf_map *map = map_of(lanes, fact(lanes, at, 1));
	const struct gt_bpf_map_kind *kind = map ? gt_bpf_map_kind(map->type) : NULL;

	/* In a hash, others insert and delete meanwhile. */
	return !kind || kind->shape != GT_BPF_MAP_ARRAY || kind->copies == GT_COPY_THREAD ||
	       lanes->facts->insns[at].many_keys;
}

static void find_keys(struct gt_lanes *lanes, uint32_t at, const struct gt_helper *helper)
{
	const struct gt_bpf_map *map;

	for (unsigned i = 1; i <= GT_HELPER_ARGUMENTS; i++) {
		if (helper->arguments[i - 1] == GT_ARG_KEY_SCALAR)
			lanes->facts->insns[at].many_keys = !lanes->single && varies(lanes, at, i);
		if (helper->arguments[i - 1] != GT_ARG_KEY)
			continue;
		map = map_of(lanes, fact(lanes, at, i - 1));
		lanes->facts->insns[at].many_keys =
			!lanes->single &&
			(!map || gt_lanes_memory_varies(lanes, at, i, 0, map->key_size));
	}
}

static void flow_helper(struct gt_lanes *lanes, uint32_t at, struct gt_lane_state *out)
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	const struct gt_helper *helper = gt_helper((uint32_t)insn->imm);
	bool varying = helper->lanes != GT_LANES_SAME || (helper->traits & GT_TRAIT_WRITES);

	find_keys(lanes, at, helper);
	if (helper->lanes == GT_LANES_INPUTS)
		varying = lookup_varies(lanes, at);
	for (int i = written_by_helper(insn); i > 0; i--)
		write_memory(lanes, at, (unsigned)i, 0, 8, helper->traits & GT_TRAIT_LANES_DIFFER,
			     fact(lanes, at, (unsigned)i)->min == fact(lanes, at, (unsigned)i)->max,
			     out);
	for (unsigned i = 0; i <= 5; i++)
		set(out, i, !i && varying, 0);
}

static void enter(struct gt_lanes *lanes, uint32_t at, const struct gt_lane_state *in);

static void flow_call(struct gt_lanes *lanes, uint32_t at, struct gt_lane_state *out)
{
	uint32_t target = (uint32_t)gt_bpf_jump_target(lanes->verifier->insns, at);
	const struct gt_lane_function *function =
		&lanes->functions[lanes->verifier->flow[target].subprogram];
	struct gt_lane_state arguments = {0};

	arguments.varying = lanes->state[at].varying & 0x3e;
	memcpy(&arguments.from[1], &lanes->state[at].from[1], 5 * sizeof(arguments.from[0]));
	enter(lanes, target, &arguments);
	for (unsigned i = 1; i <= 5; i++)
		set(out, i, false, 0);
	set(out, 0, function->varying || function->joined, function->from);
}

/* Lanes go on to an instruction, or to a function's end. */
static void enter(struct gt_lanes *lanes, uint32_t at, const struct gt_lane_state *in)
{
	struct gt_lane_state *state = &lanes->state[at];
	struct gt_lane_function *function;
	uint16_t varying = lanes->single ? 0 : in->varying | state->joined;
	struct gt_units units = in->units;

	if (at >= lanes->count) {
		function = &lanes->functions[at - lanes->count];
		lanes->changed |= (varying & 1) && !function->varying;
		function->varying |= varying & 1;
		lanes->changed |= (in->from[0] & ~function->from) != 0;
		function->from |= in->from[0];
		return;
	}
	function = &lanes->functions[lanes->verifier->flow[at].subprogram];
	gt_units_add(&units, &state->joined_units);
	if (lanes->single)
		units = (struct gt_units){0};
	lanes->changed |= (varying & ~state->varying) != 0;
	state->varying |= varying;
	lanes->changed |= gt_units_add(&state->units, &units);
	gt_units_add(&function->ever, &units);
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
		lanes->changed |= (in->from[i] & ~state->from[i]) != 0;
		state->from[i] |= in->from[i];
	}
}

static void flow(struct gt_lanes *lanes, uint32_t at)
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	struct gt_lane_state out = lanes->state[at];
	uint32_t next[2];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		flow_alu(lanes, at, &out);
		break;
	case BPF_LD:
		set(&out, insn->dst_reg, false, 0);
		break;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		flow_memory(lanes, at, &out);
		break;
	default:
		if (gt_bpf_is_subprogram_call(insn))
			flow_call(lanes, at, &out);
		else if (BPF_OP(insn->code) == BPF_CALL)
			flow_helper(lanes, at, &out);
	}
	for (unsigned i = gt_lanes_successors(lanes, at, next); i-- > 0;)
		enter(lanes, next[i], &out);
}

static void check_call(struct gt_lanes *lanes, uint32_t at)
{
	if (lanes->single || lanes->state[at].parted ||
	    !gt_bpf_is_subprogram_call(&lanes->verifier->insns[at]) ||
	    !gt_lanes_call_parts(lanes, at))
		return;
	lanes->state[at].parted = true;
	lanes->changed = true;
	gt_lanes_part(lanes, at);
}

static void check_branch(struct gt_lanes *lanes, uint32_t at)
{
	const struct bpf_insn *insn = &lanes->verifier->insns[at];
	struct gt_insn_facts *facts = &lanes->facts->insns[at];

	if (facts->branch != 3 || facts->diverges || lanes->single)
		return;
	if (!varies(lanes, at, insn->dst_reg) &&
	    (BPF_SRC(insn->code) != BPF_X || !varies(lanes, at, insn->src_reg)))
		return;
	facts->diverges = true;
	gt_lanes_part(lanes, at);
}

/* True, or false where it was given up. */
static bool find_fixed_point(struct gt_lanes *lanes)
{
	lanes->changed = true;
	while (lanes->changed) {
		lanes->changed = false;
		for (uint32_t at = 0; at < lanes->count; at++) {
			if (!lanes->facts->insns[at].reached)
				continue;
			/* Lanes that meet here differ whoever comes in. */
			lanes->state[at].varying |= lanes->single ? 0 : lanes->state[at].joined;
			if (!lanes->single)
				gt_units_add(&lanes->state[at].units,
					     &lanes->state[at].joined_units);
			flow(lanes, at);
			check_branch(lanes, at);
			check_call(lanes, at);
			if (++lanes->work > MAX_WORK)
				return false;
		}
	}
	return true;
}

/* Where nothing can be told apart. */
static void differ_everywhere(struct gt_lanes *lanes)
{
	for (uint32_t at = 0; at < lanes->count; at++) {
		struct gt_insn_facts *facts = &lanes->facts->insns[at];

		facts->divergent = !lanes->single;
		facts->many_keys = facts->diverges = false;
		for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
			facts->registers[i].varying = !lanes->single;
	}
}

static void hand_on(struct gt_lanes *lanes)
{
	for (uint32_t at = 0; at < lanes->count; at++)
		for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
			lanes->facts->insns[at].registers[i].varying = varies(lanes, at, i);
}

static int prepare(struct gt_lanes *lanes)
{
	lanes->state = calloc(lanes->nodes, sizeof(*lanes->state));
	lanes->functions = calloc(lanes->facts->subprogram_count, sizeof(*lanes->functions));
	lanes->stack = calloc(2u * lanes->nodes + 4, sizeof(uint32_t));
	lanes->found = calloc(lanes->nodes, sizeof(uint32_t));
	lanes->mark = calloc(lanes->nodes, sizeof(uint32_t));
	if (!lanes->state || !lanes->functions || !lanes->stack || !lanes->found || !lanes->mark)
		return gt_verifier_no_memory(lanes->verifier);
	for (uint32_t at = 0; at < lanes->nodes; at++)
		lanes->state[at].cause = GT_LANES_NO_INSN;
	return gt_lanes_find_meets(lanes);
}

static void clear(struct gt_lanes *lanes)
{
	free(lanes->state);
	free(lanes->functions);
	free(lanes->before);
	free(lanes->first_before);
	free(lanes->meets);
	free(lanes->stack);
	free(lanes->found);
	free(lanes->mark);
}

int gt_verify_divergence(struct gt_verifier *verifier)
{
	const struct gt_section *section = verifier->options->section;
	struct gt_lanes lanes = {
		.verifier = verifier,
		.facts = &verifier->facts,
		.count = verifier->count,
		.nodes = verifier->count + verifier->facts.subprogram_count,
		.single = section && section->level != GT_LEVEL_THREAD,
	};
	int error = 0;

	if (lanes.count <= MAX_TEXT)
		error = prepare(&lanes);
	if (!error && lanes.count <= MAX_TEXT && find_fixed_point(&lanes))
		hand_on(&lanes);
	else if (!error)
		differ_everywhere(&lanes);
	if (!error)
		error = gt_lanes_check(&lanes);
	clear(&lanes);
	return error;
}
