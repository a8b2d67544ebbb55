/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Check that a run of one thread agrees with the facts of the verifier: reached instructions, taken
 * branches, contents of registers, and uses of stacks. Translators depend on each of these.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "gpubpf/facts.h"
#include "gpubpf/helpers.h"
#include "gpubpf/interp/private.h"

struct claims {
	const struct gt_interp_options *options;
	const struct gt_bpf_program *program;
	const struct gt_facts *facts;
	unsigned depth;
	const struct gt_subprogram_facts *functions[GT_BPF_MAX_FRAMES];
	bool written[GT_BPF_MAX_FRAMES][GT_BPF_STACK_SIZE];
	int64_t last; /* instruction; -1: none */
	uint32_t at;
	char wrong[256]; /* "" while the run agrees with the facts */
};

static inline void claims_begin(struct claims *claims, const struct gt_interp_options *options,
				const struct gt_bpf_program *program, const struct gt_facts *facts)
{
	*claims = (struct claims){options, program, facts, .last = -1};
	claims->functions[0] = gt_facts_subprogram(facts, 0);
}

static inline void claims_fail(struct claims *claims, const char *what, unsigned number,
			       uint64_t value)
{
	if (!claims->wrong[0])
		snprintf(claims->wrong, sizeof(claims->wrong), "insn %u: %s: %u, 0x%llx",
			 claims->at, what, number, (unsigned long long)value);
}

static inline void claims_enter(struct claims *claims)
{
	claims->depth++;
	claims->functions[claims->depth] = gt_facts_subprogram(claims->facts, claims->at);
	memset(claims->written[claims->depth], 0, sizeof(claims->written[0]));
}

/* Update the call depth after the last instruction. */
static inline void claims_follow(struct claims *claims)
{
	const struct bpf_insn *insn = &claims->program->insns[claims->last];
	uint32_t last = (uint32_t)claims->last;
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);
	int64_t target;

	if (gt_bpf_is_subprogram_call(insn)) {
		claims_enter(claims);
	} else if (gt_bpf_is_loop_call(insn)) {
		if (claims->at != last + 1)
			claims_enter(claims);
	} else if (insn->code == (BPF_JMP | BPF_EXIT)) {
		claims->depth--;
		/* bpf_loop calls its function again. */
		if (gt_facts_subprogram(claims->facts, claims->at)->start == claims->at)
			claims_enter(claims);
	} else if ((class == BPF_JMP || class == BPF_JMP32) && operation != BPF_JA &&
		   operation != BPF_CALL) {
		target = gt_bpf_jump_target(claims->program->insns, last);
		if (target != last + 1 &&
		    !(claims->facts->insns[last].branch >> (claims->at == target) & 1))
			claims_fail(claims, "an impossible branch is taken", last, 0);
	}
}

static inline bool claims_in_range(const struct gt_register_fact *fact, uint64_t offset)
{
	return (int64_t)offset >= fact->min && (int64_t)offset <= fact->max &&
	       !(offset & (fact->alignment - 1u));
}

/* Whether it is a pointer to a value or record of a map, moved as far as the fact says. */
static inline bool claims_hold_map(const struct claims *claims, const struct gt_register_fact *fact,
				   uint64_t value)
{
	const struct gt_bpf_object *object = claims->options->object;

	if (value & (fact->alignment - 1u))
		return false;
	for (uint32_t i = 0; i < object->map_count; i++) {
		uint64_t start = gt_region_address(claims->options, GT_REGION_MAPS + i, 0), room;
		uint32_t copies = claims->options->map_copies ? claims->options->map_copies[i] : 1;

		if (fact->map >= 0 && fact->map != (int32_t)i)
			continue;
		if (__builtin_add_overflow((uint64_t)fact->max - (uint64_t)fact->min,
					   gt_bpf_map_bytes(&object->maps[i], copies), &room) ||
		    value - start - (uint64_t)fact->min <= room)
			return true;
	}
	return false;
}

static inline bool claims_hold(const struct claims *claims, const struct gt_register_fact *fact,
			       uint64_t value)
{
	const struct gt_interp_options *options = claims->options;

	if (fact->maybe_null && !value)
		return true;
	switch (fact->type) {
	case GT_REG_SCALAR:
		return (int64_t)value >= fact->min && (int64_t)value <= fact->max;
	case GT_REG_STACK:
		return fact->frame == UINT8_MAX ||
		       (fact->frame <= claims->depth &&
			claims_in_range(fact,
					value - gt_region_address(options,
								  GT_REGION_STACK + claims->depth -
									  fact->frame,
								  GT_BPF_STACK_SIZE)));
	case GT_REG_MEMORY:
		return claims_in_range(fact,
				       value - gt_region_address(options, GT_REGION_MEMORY, 0));
	case GT_REG_CONTEXT:
		return claims_in_range(fact,
				       value - gt_region_address(options, GT_REGION_CONTEXT, 0));
	case GT_REG_MAP:
		for (uint32_t i = 0; i < options->object->map_count; i++)
			if ((fact->map < 0 || fact->map == (int32_t)i) &&
			    value == gt_region_address(options, GT_REGION_HANDLES + i, 0))
				return true;
		return false;
	case GT_REG_MAP_VALUE:
	case GT_REG_RECORD:
		return claims_hold_map(claims, fact, value);
	default:
		return true;
	}
}

/* Record an access of bytes of stacks. */
static inline void claims_touch(struct claims *claims, uint64_t address, uint64_t size, bool reads,
				bool writes)
{
	uint64_t offset, frame = gt_region_of(claims->options, address, &offset) - GT_REGION_STACK;
	const struct gt_subprogram_facts *function;

	if (!size || frame > claims->depth || offset + size > GT_BPF_STACK_SIZE)
		return;
	function = claims->functions[frame];
	if (GT_BPF_STACK_SIZE - offset > function->stack)
		claims_fail(claims, "it uses more of the stack than was said", (unsigned)frame,
			    offset);
	for (uint64_t at = offset; at < offset + size; at++) {
		unsigned slot = (unsigned)(GT_BPF_STACK_SIZE - 1 - at) / 8;

		if ((function->plain >> slot & 1) &&
		    (size != 8 || offset % 8 || frame != claims->depth))
			claims_fail(claims, "a slot is not plain", slot, address);
		if (reads && !claims->written[frame][at] && !(function->read_early >> slot & 1))
			claims_fail(claims, "a slot is read before it is written", slot, address);
	}
	for (uint64_t at = offset; writes && at < offset + size; at++)
		claims->written[frame][at] = true;
}

static inline void claims_call(struct claims *claims, const struct gt_helper *helper,
			       const uint64_t *registers)
{
	const struct gt_bpf_object *object = claims->options->object;
	uint32_t map = 0;

	while (map < object->map_count &&
	       registers[1] != gt_region_address(claims->options, GT_REGION_HANDLES + map, 0))
		map++;
	for (unsigned i = 0; i < GT_HELPER_ARGUMENTS; i++) {
		switch (helper->arguments[i]) {
		case GT_ARG_KEY:
			claims_touch(claims, registers[i + 1], object->maps[map].key_size, true,
				     false);
			break;
		case GT_ARG_VALUE:
			claims_touch(claims, registers[i + 1], object->maps[map].value_size, true,
				     false);
			break;
		case GT_ARG_MEMORY:
			claims_touch(claims, registers[i + 1], registers[i + 2], true, false);
			break;
		case GT_ARG_RESULT_U64:
			claims_touch(claims, registers[i + 1], 8, false, true);
			break;
		default:
			break;
		}
	}
}

static inline void claims_use(struct claims *claims, const uint64_t *registers)
{
	const struct bpf_insn *insn = &claims->program->insns[claims->at];
	unsigned class = BPF_CLASS(insn->code), size = gt_bpf_access_size(insn);
	uint64_t offset = (uint64_t)(int64_t)insn->off;

	if (class == BPF_LDX)
		claims_touch(claims, registers[insn->src_reg] + offset, size, true, false);
	else if (class == BPF_ST || class == BPF_STX)
		claims_touch(claims, registers[insn->dst_reg] + offset, size,
			     class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC, true);
	else if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg)
		claims_call(claims, gt_helper((uint32_t)insn->imm), registers);
}

/* For gt_interp_options.visit, with a struct claims as its data. */
static inline void claims_visit(void *data, uint64_t run, uint32_t insn,
				const uint64_t registers[GT_BPF_REGISTERS])
{
	struct claims *claims = data;
	const struct gt_insn_facts *facts = &claims->facts->insns[insn];

	(void)run;
	claims->at = insn;
	if (claims->last >= 0)
		claims_follow(claims);
	claims->last = insn;
	if (!facts->reached)
		claims_fail(claims, "it is never reached", insn, 0);
	if (claims->depth > facts->frames)
		claims_fail(claims, "calls are deeper", claims->depth, facts->frames);
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++)
		if (!claims_hold(claims, &facts->registers[i], registers[i]))
			claims_fail(claims, "a register holds something else", i, registers[i]);
	claims_use(claims, registers);
}
