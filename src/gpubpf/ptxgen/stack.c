/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stack. A slot whose bytes are only ever used at known offsets is kept in registers, of as
 * many bytes as the narrowest access has; everything else is in one array in local memory.
 */
#include <errno.h>
#include <inttypes.h>

#include "gpubpf/ptxgen/private.h"

/* ---- deciding ---- */

/* The bytes from `least` up to `end` of a function's stack, both negative or zero. */
static void mark_memory(struct gt_ptxgen_stack *stack, int64_t min, int64_t end)
{
	if (min < -GT_BPF_STACK_SIZE)
		min = -GT_BPF_STACK_SIZE;
	for (int64_t at = min & ~INT64_C(7); at < end && at < 0; at += 8)
		stack->memory |= UINT64_C(1) << (-at / 8 - 1);
}

static void mark_memory_everywhere(struct gt_ptxgen *gen, int64_t min, int64_t end)
{
	for (uint32_t i = 0; i < gen->facts->subprogram_count; i++)
		mark_memory(&gen->stacks[i], min, end);
}

static void mark_pieces(struct gt_ptxgen_stack *stack, int64_t min, int64_t end, unsigned width)
{
	for (int64_t at = min & ~INT64_C(7); at < end; at += 8) {
		uint8_t *piece = &stack->pieces[-at / 8 - 1];

		if (!*piece || *piece > width)
			*piece = (uint8_t)width;
	}
}

/* `size` bytes (0: not known how many) behind a pointer are used. */
static void use(struct gt_ptxgen *gen, struct gt_ptxgen_stack *stack,
		const struct gt_register_fact *fact, int64_t offset, uint64_t size)
{
	int64_t min = fact->min + offset, end;
	unsigned width;

	if (fact->type == GT_REG_MIXED && fact->frame == UINT8_MAX) {
		gen->generic = true;
		mark_memory_everywhere(gen, -GT_BPF_STACK_SIZE, 0);
	}
	if (fact->type != GT_REG_STACK)
		return;
	end = size ? fact->max + offset + (int64_t)size : 0;
	if (end > 0 || min < -GT_BPF_STACK_SIZE) {
		end = end > 0 ? 0 : end;
		size = 0;
	}
	width = gt_ptxgen_alignment(min | (int64_t)size);
	if (fact->frame)
		mark_memory_everywhere(gen, min, end);
	else if (fact->min != fact->max || !size || size > GT_PTXGEN_MAX_UNROLLED ||
		 size / width > 32)
		mark_memory(stack, min, end);
	else
		mark_pieces(stack, min, end, width);
}

/* The greatest size of a key or value of the maps that an argument can be. */
static uint64_t map_size(const struct gt_ptxgen *gen, int32_t map, bool key)
{
	uint64_t size = 0;

	for (uint32_t i = 0; gen->object && i < gen->object->map_count; i++) {
		const struct gt_bpf_map *one = &gen->object->maps[i];
		uint32_t bytes = key ? one->key_size : one->value_size;

		if ((map < 0 || (uint32_t)map == i) && bytes > size)
			size = bytes;
	}
	return size;
}

static void use_arguments(struct gt_ptxgen *gen, struct gt_ptxgen_stack *stack,
			  const struct gt_insn_facts *facts, const struct gt_helper *helper)
{
	const struct gt_register_fact *size;
	int32_t map = -1;

	for (unsigned i = 1; i <= GT_HELPER_ARGUMENTS; i++) {
		const struct gt_register_fact *fact = &facts->registers[i];

		switch (helper->arguments[i - 1]) {
		case GT_ARG_NONE:
		case GT_ARG_ANYTHING:
			break;
		case GT_ARG_MAP:
		case GT_ARG_RING:
			map = fact->map;
			break;
		case GT_ARG_KEY:
		case GT_ARG_VALUE:
			use(gen, stack, fact, 0,
			    map_size(gen, map, helper->arguments[i - 1] == GT_ARG_KEY));
			break;
		case GT_ARG_MEMORY:
			size = fact + 1;
			use(gen, stack, fact, 0, size->min == size->max ? (uint64_t)size->min : 0);
			break;
		case GT_ARG_RESULT_U64:
			use(gen, stack, fact, 0, 8);
			break;
		default:
			use(gen, stack, fact, 0, 0);
		}
	}
}

static void look_at(struct gt_ptxgen *gen, struct gt_ptxgen_stack *stack, uint32_t at)
{
	struct bpf_insn plain = gt_bpf_without_order(&gen->job->program->insns[at]);
	const struct bpf_insn *insn = &plain;
	const struct gt_insn_facts *facts = &gen->facts->insns[at];
	const struct gt_helper *helper;

	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		use(gen, stack, &facts->registers[insn->src_reg], insn->off,
		    gt_bpf_access_size(insn));
		break;
	case BPF_ST:
	case BPF_STX:
		use(gen, stack, &facts->registers[insn->dst_reg], insn->off,
		    gt_bpf_access_size(insn));
		break;
	case BPF_JMP:
		if (BPF_OP(insn->code) != BPF_CALL || gt_bpf_is_subprogram_call(insn))
			break;
		helper = gt_helper((uint32_t)insn->imm);
		if (helper)
			use_arguments(gen, stack, facts, helper);
		break;
	default:
		break;
	}
}

int gt_ptxgen_plan_stack(struct gt_ptxgen *gen)
{
	const struct gt_facts *facts = gen->facts;

	gen->stacks = calloc(facts->subprogram_count, sizeof(*gen->stacks));
	if (!gen->stacks)
		return gt_ptxgen_fail(gen, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		for (uint32_t at = facts->subprograms[i].start; at < facts->subprograms[i].end;
		     at++)
			if (facts->insns[at].reached)
				look_at(gen, &gen->stacks[i], at);
	for (uint32_t i = 0; i < facts->subprogram_count; i++) {
		struct gt_ptxgen_stack *stack = &gen->stacks[i];

		/* What no function uses has no place: a caller's slots are marked everywhere. */
		for (unsigned slot = 0; slot < GT_BPF_STACK_SLOTS; slot++)
			if (slot * 8 >= facts->subprograms[i].stack)
				stack->memory &= ~(UINT64_C(1) << slot);
			else if (stack->memory >> slot & 1)
				stack->bytes = 8 * (slot + 1);
	}
	return 0;
}

/* ---- using ---- */

static struct gt_ptxgen_stack *stack_of(const struct gt_ptxgen *gen)
{
	return &gen->stacks[gen->frame->subprogram];
}

/* The register of the piece at an offset of the frame. */
static struct gt_ptxgen_name piece_name(const struct gt_ptxgen *gen, int64_t offset)
{
	struct gt_ptxgen_name name;

	snprintf(name.text, sizeof(name.text), "%ss%u_%d", gen->prefix, gen->frame->number,
		 (int)-offset);
	return name;
}

static unsigned piece_at(const struct gt_ptxgen *gen, int64_t offset)
{
	unsigned slot = (unsigned)((-offset - 1) / 8);

	return stack_of(gen)->memory >> slot & 1 ? 0 : stack_of(gen)->pieces[slot];
}

static const char *stack_space(const struct gt_ptxgen *gen)
{
	return gen->generic ? "" : ".local";
}

/* The address of a byte of the frame's memory, for use in brackets. */
static struct gt_ptxgen_name memory_at(const struct gt_ptxgen *gen, int64_t offset)
{
	struct gt_ptxgen_name name, top;

	if (gen->generic) {
		top = gt_ptxgen_register(gen, 10);
		snprintf(name.text, sizeof(name.text), "%.40s+%d", top.text, (int)offset);
	} else {
		snprintf(name.text, sizeof(name.text), "%sstack+%d", gen->prefix,
			 (int)(gen->frame->top + offset));
	}
	return name;
}

static void set_top(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name top = gt_ptxgen_register(gen, 10), base;

	/* A frame without memory has an address, too: no program may find it to be NULL. */
	if (!stack_of(gen)->bytes) {
		gt_ptxgen_emit(gen, "mov.b64 %s, 0x%x", top.text,
			       (gen->frame->number + 1) * GT_BPF_STACK_SIZE * 2);
		return;
	}
	base = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "mov.u64 %s, %sstack", base.text, gen->prefix);
	if (gen->generic)
		gt_ptxgen_emit(gen, "cvta.local.u64 %s, %s", base.text, base.text);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %u", top.text, base.text, gen->frame->top);
}

void gt_ptxgen_begin_frame(struct gt_ptxgen *gen)
{
	const struct gt_ptxgen_stack *stack = stack_of(gen);
	uint64_t early = gen->facts->subprograms[gen->frame->subprogram].read_early;

	gt_ptxgen_emit(gen, ".reg .b64 %sf%u_r<%d>", gen->prefix, gen->frame->number,
		       GT_BPF_REGISTERS);
	set_top(gen);
	for (unsigned slot = 0; slot < GT_BPF_STACK_SLOTS; slot++) {
		int64_t offset = -8 * (int64_t)(slot + 1);
		unsigned piece = piece_at(gen, offset);

		for (unsigned i = 0; piece && i < 8; i += piece) {
			struct gt_ptxgen_name name = piece_name(gen, offset + i);

			gt_ptxgen_emit(gen, ".reg .b%d %s", piece == 8 ? 64 : 32, name.text);
			if (early >> slot & 1)
				gt_ptxgen_emit(gen, "mov.b%d %s, 0", piece == 8 ? 64 : 32,
					       name.text);
		}
		if ((stack->memory & early) >> slot & 1)
			gt_ptxgen_emit(gen, "st%s.b64 [%s], 0", stack_space(gen),
				       memory_at(gen, offset).text);
	}
}

struct gt_ptxgen_name gt_ptxgen_combine(struct gt_ptxgen *gen, const struct gt_ptxgen_name *parts,
					unsigned count, unsigned width)
{
	struct gt_ptxgen_name whole = parts[0];

	for (unsigned i = 1; i < count; i++) {
		struct gt_ptxgen_name moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		struct gt_ptxgen_name sum = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);

		gt_ptxgen_emit(gen, "shl.b64 %s, %s, %u", moved.text, parts[i].text, 8 * width * i);
		gt_ptxgen_emit(gen, "or.b64 %s, %s, %s", sum.text, whole.text, moved.text);
		whole = sum;
	}
	return whole;
}

/* A part of a piece that is wider. */
static struct gt_ptxgen_name load_part(struct gt_ptxgen *gen, int64_t offset, unsigned width,
				       unsigned piece)
{
	int64_t start = offset & -(int64_t)piece;
	unsigned shift = (unsigned)(offset - start) * 8;
	struct gt_ptxgen_name whole = piece_name(gen, start), moved, part;

	if (piece == 8) {
		moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "shr.u64 %s, %s, %u", moved.text, whole.text, shift);
		if (width == 8)
			return moved;
		part = gt_ptxgen_low(gen, moved.text);
	} else {
		part = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
		gt_ptxgen_emit(gen, "shr.u32 %s, %s, %u", part.text, whole.text, shift);
	}
	if (width < 4 && width < piece)
		gt_ptxgen_emit(gen, "and.b32 %s, %s, 0x%x", part.text, part.text,
			       (1u << 8 * width) - 1);
	return gt_ptxgen_widen(gen, &part);
}

struct gt_ptxgen_name gt_ptxgen_stack_load(struct gt_ptxgen *gen, int64_t offset, unsigned width)
{
	struct gt_ptxgen_name parts[8], value;
	unsigned piece = piece_at(gen, offset), part = gt_ptxgen_alignment(offset);

	part = part < width ? part : width;
	if (piece && piece < part)
		part = piece;
	if (part == width && piece)
		return load_part(gen, offset, width, piece);
	if (part == width) {
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "ld%s.u%u %s, [%s]", stack_space(gen), width * 8, value.text,
			       memory_at(gen, offset).text);
		return value;
	}
	if (piece == 4 && width == 8 && part == 4) {
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", value.text,
			       piece_name(gen, offset).text, piece_name(gen, offset + 4).text);
		return value;
	}
	for (unsigned i = 0; i < width / part; i++)
		parts[i] = gt_ptxgen_stack_load(gen, offset + (int64_t)(i * part), part);
	return gt_ptxgen_combine(gen, parts, width / part, part);
}

/* A value's lowest bytes become a part of a piece, or all of it. */
static void store_part(struct gt_ptxgen *gen, int64_t offset, unsigned width, unsigned piece,
		       const char *value)
{
	int64_t start = offset & -(int64_t)piece;
	struct gt_ptxgen_name whole = piece_name(gen, start), old, new, kept, both;
	uint64_t mask = (UINT64_C(1) << (8 * width % 64)) - 1;
	unsigned shift = (unsigned)(offset - start) * 8;

	if (width == 8) {
		gt_ptxgen_emit(gen, "mov.b64 %s, %s", whole.text, value);
		return;
	}
	if (width == piece) {
		new = gt_ptxgen_low(gen, value);
		gt_ptxgen_emit(gen, "and.b32 %s, %s, 0x%x", whole.text, new.text, (uint32_t)mask);
		return;
	}
	old = load_part(gen, start, piece, piece);
	new = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	kept = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	both = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "and.b64 %s, %s, 0x%" PRIx64, new.text, value, mask);
	gt_ptxgen_emit(gen, "shl.b64 %s, %s, %u", new.text, new.text, shift);
	gt_ptxgen_emit(gen, "and.b64 %s, %s, 0x%" PRIx64, kept.text, old.text, ~(mask << shift));
	gt_ptxgen_emit(gen, "or.b64 %s, %s, %s", both.text, kept.text, new.text);
	store_part(gen, start, piece, piece, both.text);
}

void gt_ptxgen_stack_store(struct gt_ptxgen *gen, int64_t offset, unsigned width, const char *value)
{
	unsigned piece = piece_at(gen, offset), part = gt_ptxgen_alignment(offset);
	struct gt_ptxgen_name rest;

	part = part < width ? part : width;
	if (piece && piece < part)
		part = piece;
	if (part == width && piece) {
		store_part(gen, offset, width, piece, value);
		return;
	}
	if (part == width) {
		gt_ptxgen_emit(gen, "st%s.u%u [%s], %s", stack_space(gen), width * 8,
			       memory_at(gen, offset).text, value);
		return;
	}
	for (unsigned i = 0; i < width / part; i++) {
		rest = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "shr.u64 %s, %s, %u", rest.text, value, 8 * part * i);
		gt_ptxgen_stack_store(gen, offset + (int64_t)(i * part), part, rest.text);
	}
}
