/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Statements of random programs: comparisons of pointers of all types, and fields of contexts. */
#pragma once

#include "gpubpf_calls.h"

enum {
	POINTER_DISTANCE = 1 << 28, /* a pointer that is moved by it may be 0 */
};

/* Types of pointers that are compared, and scalars. */
enum pointer_kind {
	POINTER_STACK,
	POINTER_MEMORY,
	POINTER_MAP,
	POINTER_VALUE,   /* its address is known when the program is loaded */
	POINTER_MOVED,   /* perhaps out of the value */
	POINTER_LOOKUP,  /* may be NULL */
	POINTER_ELEMENT, /* of an array, by a known key: is not */
	POINTER_CONTEXT,
	POINTER_RECORD, /* may be NULL */
	POINTER_NULL,
	POINTER_SCALAR,
	POINTER_KINDS,
};

/* What a branch does after a comparison. */
enum pointer_use {
	USE_NEITHER,
	USE_LEFT,
	USE_RIGHT,
	USE_SCALAR, /* as a pointer: rejected unless the branch is never taken */
	POINTER_USES,
};

struct pointer_comparison {
	enum pointer_kind left, right;
	bool with_zero;           /* an immediate, instead of right */
	unsigned code;            /* of the jump, without the source */
	enum pointer_use uses[2]; /* falls through, jumps */
};

/* Move a pointer forth or back, by a known or an unknown distance. */
static void move_somewhere(struct writer *writer, unsigned target)
{
	static const int32_t distances[] = {
		-8, 8, -16, 16, 1 << 28, -POINTER_DISTANCE, -POINTER_DISTANCE};

	if (below(2)) {
		emit(writer,
		     insn_k(BPF_ALU64 | BPF_ADD, target, distances[below(gt_countof(distances))]));
		return;
	}
	move(writer, 2, 8);
	emit(writer, insn_k(BPF_ALU64 | BPF_RSH | BPF_K, 2, (int32_t)(1 + below(63))));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, target, 2, 0));
}

/* Store a pointer of a type to a slot. */
static void make_pointer(struct writer *writer, enum pointer_kind kind, int slot)
{
	unsigned target = 1;

	switch (kind) {
	case POINTER_STACK:
		move(writer, 1, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 1, -8 * (int32_t)(1 + below(SLOTS / 8))));
		break;
	case POINTER_MEMORY:
		move(writer, 1, 6);
		break;
	case POINTER_MAP:
		load_map(writer, 1, below(RANDOM_MAPS), -1);
		break;
	case POINTER_VALUE:
	case POINTER_MOVED:
		load_map(writer, 1, random_private ? MAP_CONSTANT : MAP_ONE,
			 below(2) ? (int)below(MAP_VALUE) : 0);
		if (kind == POINTER_MOVED)
			move_somewhere(writer, 1);
		break;
	case POINTER_LOOKUP:
	case POINTER_ELEMENT:
		put_key(writer, kind == POINTER_ELEMENT || below(2) ? MAP_ARRAY : MAP_HASH);
		move(writer, 3, 7);
		emit(writer,
		     insn_k(BPF_ALU64 | BPF_AND | BPF_K, 3, kind == POINTER_ELEMENT ? 0 : 7));
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 3, KEY));
		call(writer, GT_HELPER_map_lookup_elem);
		target = 0;
		break;
	case POINTER_CONTEXT:
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, CONTEXT));
		break;
	case POINTER_RECORD:
		load_map(writer, 1, MAP_RING, -1);
		set(writer, 2, 16);
		set(writer, 3, 0);
		call(writer, GT_HELPER_ringbuf_reserve);
		target = 0;
		break;
	case POINTER_NULL:
		set(writer, 1, 0);
		break;
	default:
		move(writer, 1, 7);
	}
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, target, slot));
}

static void use_compared(struct writer *writer, enum pointer_use use)
{
	static const uint8_t registers[] = {[USE_LEFT] = 1, [USE_RIGHT] = 2, [USE_SCALAR] = 7};

	if (use == USE_NEITHER)
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 8, 1));
	else
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 7, registers[use], 0));
}

static void release_record(struct writer *writer, int slot)
{
	unsigned skip;

	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, slot));
	skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 1, 0));
	set(writer, 2, 0);
	call(writer, GT_HELPER_ringbuf_submit);
	land(writer, skip);
}

/* Compare two pointers; both branches use them. At most RANDOM_ROOM instructions. */
static void compare_pointers(struct writer *writer, const struct pointer_comparison *comparison)
{
	unsigned other, end;

	make_pointer(writer, comparison->left, SPILL);
	make_pointer(writer, comparison->right, RECORD);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, SPILL));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 2, 10, RECORD));
	other = jump(writer, comparison->with_zero ? insn_k(comparison->code, 1, 0)
						   : insn_x(comparison->code | BPF_X, 1, 2, 0));
	use_compared(writer, comparison->uses[0]);
	end = jump(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
	land(writer, other);
	use_compared(writer, comparison->uses[1]);
	land(writer, end);
	if (comparison->left == POINTER_RECORD)
		release_record(writer, SPILL);
	if (comparison->right == POINTER_RECORD)
		release_record(writer, RECORD);
	writer->scalars &= (uint16_t)~0x3f;
	set(writer, 0, 1);
	writer->scalars |= 1;
}

/* Return a type that this program has; mostly pointers. */
static enum pointer_kind some_pointer(const struct writer *writer)
{
	enum pointer_kind kind = below(POINTER_KINDS);
	bool shared = kind == POINTER_LOOKUP || kind == POINTER_ELEMENT || kind == POINTER_RECORD;

	if (kind == POINTER_CONTEXT && (!random_section || writer->function))
		return POINTER_MEMORY;
	return shared && random_private ? POINTER_STACK : kind;
}

static void add_alu(struct writer *writer);

static void add_comparison(struct writer *writer)
{
	static const uint8_t operations[] = {BPF_JEQ, BPF_JNE, BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JSLE};
	struct pointer_comparison comparison = {
		.left = some_pointer(writer),
		.right = some_pointer(writer),
		.with_zero = below(2),
		.code = (below(6) ? BPF_JMP : BPF_JMP32) |
			operations[below(gt_countof(operations))],
	};

	if (random_for_linux) {
		add_alu(writer);
		return;
	}
	/* Uses are often rejected. */
	if (!below(2))
		comparison.uses[below(2)] = below(POINTER_USES);
	compare_pointers(writer, &comparison);
}

/* ---- contexts --------------------------------------------------------------------------- */

/* Return a random field that the program's section has. */
static const struct gt_context_field *some_field(void)
{
	unsigned count = 0;

	while (gt_context_fields[count].name)
		count++;
	for (;;) {
		const struct gt_context_field *field = &gt_context_fields[below(count)];

		if ((field->kinds >> random_section->kind & 1) &&
		    (field->levels >> random_section->level & 1) &&
		    !(random_private && field->source == GT_SOURCE_SM))
			return field;
	}
}

/* Load a field or a part of it; a bounded one is an index. */
static void add_field(struct writer *writer)
{
	const struct gt_context_field *field;
	unsigned target = pointer_register(writer), part, size, offset, shift = 0;

	if (!random_section || writer->function) {
		restore_scalar(writer, target);
		return;
	}
	field = some_field();
	for (part = field->size; part > 1 && !below(3); part /= 2)
		;
	size = part == 8 ? BPF_DW : part == 4 ? BPF_W : part == 2 ? BPF_H : BPF_B;
	offset = field->offset + field->size * below(field->count) +
		 part * below(field->size / part);
	offset += below(32) ? 0 : below(4);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, target, 10, CONTEXT));
	emit(writer, insn_x(BPF_LDX | (part < 8 && !below(4) ? BPF_MEMSX : BPF_MEM) | size, target,
			    target, (int)offset));
	if (part == field->size && field->max < UINT32_MAX && below(2)) {
		while (field->max >> shift >= MEMORY - !below(16))
			shift++;
		move(writer, 7 + below(2), target);
		emit(writer, insn_k(BPF_ALU64 | BPF_RSH | BPF_K, target, (int32_t)shift));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, target, 6, 0));
		add_access(writer, target, 0, 1, false, false);
		restore_scalar(writer, target);
		return;
	}
	writer->scalars |= (uint16_t)(1u << target);
}

/*
 * Begin a program with a context: store it to its slot, and point r6 to the memory that this run
 * has for itself, a value of `map`.
 */
static void begin_context(struct writer *writer, unsigned map)
{
	static const int32_t ids[] = {GT_HELPER_flat_thread_id, GT_HELPER_flat_warp_id,
				      GT_HELPER_flat_block_id};

	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 1, CONTEXT));
	call(writer, ids[random_section->level]);
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_W, 10, 0, KEY));
	load_map(writer, 1, map, -1);
	move(writer, 2, 10);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, KEY));
	call(writer, GT_HELPER_map_lookup_elem);
	emit(writer, insn_x(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2));
	set(writer, 0, 0);
	emit(writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
	move(writer, 6, 0);
}
