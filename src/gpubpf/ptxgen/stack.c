/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stack. A slot whose bytes are accessed at known offsets only is in registers, of as many
 * bytes as the narrowest access has ("pieces"). All other slots are in one array in local memory.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

/* ---- placement ---- */

/* The bytes from `min` up to `end` of a function's stack, both negative or zero. */
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

/* Note an access to `size` bytes (0: unknown) behind a pointer. */
static void note_access(struct gt_ptxgen *gen, struct gt_ptxgen_stack *stack,
			const struct gt_register_fact *fact, int64_t offset, uint64_t size)
{
	int64_t min = fact->min + offset, end;
	unsigned width;

	if (fact->type == GT_REG_MIXED && fact->frame == UINT8_MAX) {
		gen->generic = true;
		mark_memory_everywhere(gen, -GT_BPF_STACK_SIZE, 0);
	}
	/* Copies of values of the host are in local memory, others are not. */
	if (gen->has_calls &&
	    (fact->type == GT_REG_MIXED || (fact->type == GT_REG_MAP_VALUE && fact->map < 0)))
		gen->generic = true;
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

/* The largest key or value of the maps that an argument can be. */
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

static void note_arguments(struct gt_ptxgen *gen, struct gt_ptxgen_stack *stack,
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
			note_access(gen, stack, fact, 0,
				    map_size(gen, map, helper->arguments[i - 1] == GT_ARG_KEY));
			break;
		case GT_ARG_MEMORY:
			size = fact + 1;
			note_access(gen, stack, fact, 0,
				    size->min == size->max ? (uint64_t)size->min : 0);
			break;
		case GT_ARG_RESULT_U64:
			note_access(gen, stack, fact, 0, 8);
			break;
		default:
			note_access(gen, stack, fact, 0, 0);
		}
	}
}

static void note_insn(struct gt_ptxgen *gen, struct gt_ptxgen_stack *stack, uint32_t at)
{
	struct bpf_insn plain = gt_bpf_without_order(&gen->job->program->insns[at]);
	const struct bpf_insn *insn = &plain;
	const struct gt_insn_facts *facts = &gen->facts->insns[at];
	const struct gt_helper *helper;

	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		note_access(gen, stack, &facts->registers[insn->src_reg], insn->off,
			    gt_bpf_access_size(insn));
		break;
	case BPF_ST:
	case BPF_STX:
		note_access(gen, stack, &facts->registers[insn->dst_reg], insn->off,
			    gt_bpf_access_size(insn));
		break;
	case BPF_JMP:
		if (BPF_OP(insn->code) != BPF_CALL || gt_bpf_is_subprogram_call(insn))
			break;
		helper = gt_helper((uint32_t)insn->imm);
		if (helper)
			note_arguments(gen, stack, facts, helper);
		break;
	default:
		break;
	}
}

/* Whether the program looks up values in maps of the host. */
static bool has_calls(const struct gt_ptxgen *gen)
{
	for (uint32_t at = 0; at < gen->facts->insn_count; at++) {
		const struct bpf_insn *insn = &gen->job->program->insns[at];
		int32_t map = gen->facts->insns[at].registers[1].map;

		if (!gen->facts->insns[at].reached || insn->code != (BPF_JMP | BPF_CALL) ||
		    gt_bpf_is_subprogram_call(insn) || insn->imm != GT_HELPER_map_lookup_elem)
			continue;
		for (uint32_t i = 0; i < gen->object->map_count; i++)
			if ((map < 0 || (uint32_t)map == i) &&
			    gt_bpf_map_is_on_host(&gen->object->maps[i]))
				return true;
	}
	return false;
}

int gt_ptxgen_plan_stack(struct gt_ptxgen *gen)
{
	const struct gt_facts *facts = gen->facts;

	gen->has_calls = has_calls(gen);
	gen->stacks = calloc(facts->subprogram_count, sizeof(*gen->stacks));
	gen->call_copies = calloc(facts->insn_count + 1, sizeof(*gen->call_copies));
	if (!gen->stacks || !gen->call_copies)
		return gt_ptxgen_fail(gen, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < facts->subprogram_count; i++)
		for (uint32_t at = facts->subprograms[i].start; at < facts->subprograms[i].end;
		     at++)
			if (facts->insns[at].reached)
				note_insn(gen, &gen->stacks[i], at);
	for (uint32_t i = 0; i < facts->subprogram_count; i++) {
		struct gt_ptxgen_stack *stack = &gen->stacks[i];

		/* Slots of callers are marked in all functions: drop those that this one does not
		 * have. */
		for (unsigned slot = 0; slot < GT_BPF_STACK_SLOTS; slot++)
			if (slot * 8 >= facts->subprograms[i].stack)
				stack->memory &= ~(UINT64_C(1) << slot);
			else if (stack->memory >> slot & 1)
				stack->bytes = 8 * (slot + 1);
	}
	return 0;
}

/* ---- emission ---- */

static struct gt_ptxgen_stack *stack_of(const struct gt_ptxgen *gen)
{
	return &gen->stacks[gen->frame->subprogram];
}

/* The register of the piece at an offset of the frame. */
static struct gt_ptxgen_value piece_register(const struct gt_ptxgen *gen, int64_t offset,
					     unsigned piece)
{
	return (struct gt_ptxgen_value){
		piece == 8 ? GT_PTXGEN_B64 : GT_PTXGEN_B32,
		gt_ptxgen_id(GT_PTXGEN_STACK_PIECE, gen->frame->number, (uint32_t)-offset)};
}

static unsigned piece_at(const struct gt_ptxgen *gen, int64_t offset)
{
	unsigned slot = (unsigned)((-offset - 1) / 8);

	return stack_of(gen)->memory >> slot & 1 ? 0 : stack_of(gen)->pieces[slot];
}

static enum gt_ptxgen_space stack_space(const struct gt_ptxgen *gen)
{
	return gen->generic ? GT_PTXGEN_GENERIC : GT_PTXGEN_LOCAL;
}

/* The address of a byte of the frame's memory. */
static struct gt_ptxgen_operand memory_at(const struct gt_ptxgen *gen, int64_t offset)
{
	if (gen->generic)
		return gt_ptxgen_at(gt_ptxgen_reg64(gen, 10), offset);
	return gt_ptxgen_at(gt_ptxgen_symbol("stack"), gen->frame->top + offset);
}

static void emit_top(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value top = gt_ptxgen_reg64(gen, 10), base;

	/* A frame without memory has an address, too, which is not NULL. */
	if (!stack_of(gen)->bytes) {
		gt_ptxgen_emit(gen, "mov.b64", top,
			       gt_ptxgen_hex((gen->frame->number + 1) * GT_BPF_STACK_SIZE * 2));
		return;
	}
	base = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "mov.u64", base, gt_ptxgen_symbol("stack"));
	if (gen->generic)
		gt_ptxgen_emit(gen, "cvta.local.u64", base, base);
	gt_ptxgen_emit(gen, "add.s64", top, base, gen->frame->top);
}

void gt_ptxgen_begin_frame(struct gt_ptxgen *gen)
{
	const struct gt_ptxgen_stack *stack = stack_of(gen);
	uint64_t early = gen->facts->subprograms[gen->frame->subprogram].read_early;

	gt_ptxgen_append(
		gen, &(struct gt_ptxgen_row){
			     .kind = GT_PTXGEN_FRAME_BEGIN,
			     .operand_count = 1,
			     .operands = {gt_ptxgen_plain(gt_ptxgen_reg64(gen, GT_BPF_REGISTERS))},
		     });
	emit_top(gen);
	for (unsigned slot = 0; slot < GT_BPF_STACK_SLOTS; slot++) {
		int64_t offset = -8 * (int64_t)(slot + 1);
		unsigned piece = piece_at(gen, offset);

		for (unsigned i = 0; piece && i < 8; i += piece) {
			struct gt_ptxgen_value part = piece_register(gen, offset + i, piece);

			gt_ptxgen_emit(gen, piece == 8 ? ".reg .b64" : ".reg .b32", part);
			if (early >> slot & 1)
				gt_ptxgen_emit(gen, piece == 8 ? "mov.b64" : "mov.b32", part, 0);
		}
		if ((stack->memory & early) >> slot & 1)
			gt_ptxgen_emit(gen, gt_ptxgen_memory("st", stack_space(gen), 'b', 64),
				       memory_at(gen, offset), 0);
	}
}

struct gt_ptxgen_value gt_ptxgen_combine(struct gt_ptxgen *gen, const struct gt_ptxgen_value *parts,
					 unsigned count, unsigned width)
{
	struct gt_ptxgen_value whole = parts[0];

	for (unsigned i = 1; i < count; i++) {
		struct gt_ptxgen_value moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		struct gt_ptxgen_value sum = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);

		gt_ptxgen_emit(gen, "shl.b64", moved, parts[i], 8 * width * i);
		gt_ptxgen_emit(gen, "or.b64", sum, whole, moved);
		whole = sum;
	}
	return whole;
}

/* Load a part of a wider piece. */
static struct gt_ptxgen_value emit_part_load(struct gt_ptxgen *gen, int64_t offset, unsigned width,
					     unsigned piece)
{
	int64_t start = offset & -(int64_t)piece;
	unsigned shift = (unsigned)(offset - start) * 8;
	struct gt_ptxgen_value whole = piece_register(gen, start, piece), moved, part;

	if (piece == 8) {
		moved = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "shr.u64", moved, whole, shift);
		if (width == 8)
			return moved;
		part = gt_ptxgen_low_half(gen, moved);
	} else {
		part = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
		gt_ptxgen_emit(gen, "shr.u32", part, whole, shift);
	}
	if (width < 4 && width < piece)
		gt_ptxgen_emit(gen, "and.b32", part, part, gt_ptxgen_hex((1u << 8 * width) - 1));
	return gt_ptxgen_widen(gen, part);
}

struct gt_ptxgen_value gt_ptxgen_stack_load(struct gt_ptxgen *gen, int64_t offset, unsigned width)
{
	struct gt_ptxgen_value parts[8], value;
	unsigned piece = piece_at(gen, offset), part = gt_ptxgen_alignment(offset);

	part = part < width ? part : width;
	if (piece && piece < part)
		part = piece;
	if (part == width && piece)
		return emit_part_load(gen, offset, width, piece);
	if (part == width) {
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", stack_space(gen), 'u', width * 8), value,
			       memory_at(gen, offset));
		return value;
	}
	if (piece == 4 && width == 8 && part == 4) {
		value = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_join(gen, value, piece_register(gen, offset, 4),
			       piece_register(gen, offset + 4, 4));
		return value;
	}
	for (unsigned i = 0; i < width / part; i++)
		parts[i] = gt_ptxgen_stack_load(gen, offset + (int64_t)(i * part), part);
	return gt_ptxgen_combine(gen, parts, width / part, part);
}

/* Store the lowest bytes of a value into a piece, or into a part of it. */
static void emit_part_store(struct gt_ptxgen *gen, int64_t offset, unsigned width, unsigned piece,
			    struct gt_ptxgen_value value)
{
	int64_t start = offset & -(int64_t)piece;
	struct gt_ptxgen_value whole = piece_register(gen, start, piece), old, new, kept, both;
	uint64_t mask = (UINT64_C(1) << (8 * width % 64)) - 1;
	unsigned shift = (unsigned)(offset - start) * 8;

	if (width == 8) {
		gt_ptxgen_emit(gen, "mov.b64", whole, value);
		return;
	}
	if (width == piece) {
		new = gt_ptxgen_low_half(gen, value);
		gt_ptxgen_emit(gen, "and.b32", whole, new, gt_ptxgen_hex((uint32_t)mask));
		return;
	}
	old = emit_part_load(gen, start, piece, piece);
	new = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	kept = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	both = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
	gt_ptxgen_emit(gen, "and.b64", new, value, gt_ptxgen_hex(mask));
	gt_ptxgen_emit(gen, "shl.b64", new, new, shift);
	gt_ptxgen_emit(gen, "and.b64", kept, old, gt_ptxgen_hex(~(mask << shift)));
	gt_ptxgen_emit(gen, "or.b64", both, kept, new);
	emit_part_store(gen, start, piece, piece, both);
}

void gt_ptxgen_stack_store(struct gt_ptxgen *gen, int64_t offset, unsigned width,
			   struct gt_ptxgen_value value)
{
	unsigned piece = piece_at(gen, offset), part = gt_ptxgen_alignment(offset);
	struct gt_ptxgen_value rest;

	part = part < width ? part : width;
	if (piece && piece < part)
		part = piece;
	if (part == width && piece) {
		emit_part_store(gen, offset, width, piece, value);
		return;
	}
	if (part == width) {
		gt_ptxgen_emit(gen, gt_ptxgen_memory("st", stack_space(gen), 'u', width * 8),
			       memory_at(gen, offset), value);
		return;
	}
	for (unsigned i = 0; i < width / part; i++) {
		rest = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "shr.u64", rest, value, 8 * part * i);
		gt_ptxgen_stack_store(gen, offset + (int64_t)(i * part), part, rest);
	}
}
