/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Statements of random programs: maps, rings, warp helpers, and functions. */
#pragma once

#include "gpubpf_statements.h"

static void put_key(struct writer *writer, unsigned map)
{
	if (below(2)) {
		emit(writer,
		     insn_x(BPF_ST | BPF_MEM | (map == MAP_HASH ? BPF_DW : BPF_W), 10, 0, KEY));
		writer->insns[writer->count - 1].imm = (int32_t)below(5);
	} else {
		unsigned scratch = pointer_register(writer);

		move(writer, scratch, 7 + below(2));
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, scratch, 7));
		emit(writer, insn_x(BPF_STX | BPF_MEM | (map == MAP_HASH ? BPF_DW : BPF_W), 10,
				    scratch, KEY));
	}
	load_map(writer, 1, map, -1);
	move(writer, 2, 10);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, KEY));
}

/* Access a value through its pointer, in r0 or a copy. */
static void use_value(struct writer *writer, unsigned pointer, unsigned room)
{
	for (unsigned i = below(3) + 1; i; i--) {
		/* Do not load into the pointer. */
		if (below(2) && room == MAP_VALUE)
			add_atomic(writer, pointer, (int)below(2) * 8);
		else
			emit(writer, insn_x(BPF_STX | BPF_MEM | some_size(), pointer, 7 + below(2),
					    (int)below(room - 7)));
	}
	emit(writer, insn_x(BPF_LDX | BPF_MEM | some_size(), 7, pointer, (int)below(room - 7)));
}

/* Return a map whose values are looked up. */
static unsigned some_lookup_map(void)
{
	static const uint8_t maps[] = {MAP_ARRAY, MAP_HASH,  MAP_ARRAY,  MAP_HASH,
				       MAP_SMS,   MAP_WARPS, MAP_THREADS};

	if (random_private)
		return random_section->level == GT_LEVEL_WARP ? MAP_WARPS : MAP_THREADS;
	return maps[below(random_for_linux ? 4 : gt_countof(maps))];
}

/* Look up: test, move and use the pointer, a copy of it or a spilled one. */
static void add_lookup(struct writer *writer)
{
	bool copied = !below(3), stored = !copied && !below(4);
	unsigned tested = copied && below(2), used = stored || (copied && below(3)), skip;
	unsigned room = MAP_VALUE;

	put_key(writer, some_lookup_map());
	call(writer, GT_HELPER_map_lookup_elem);
	writer->scalars &= 0xfffe;
	if (copied)
		move(writer, 1, 0);
	if (stored)
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 0, SPILL));
	if (stored && !below(4)) {
		/* Test another one: the verifier must reject it. */
		put_key(writer, MAP_HASH);
		call(writer, GT_HELPER_map_lookup_elem);
		writer->scalars &= 0xfffe;
	}
	skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, tested, 0));
	if (stored)
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, SPILL));
	if (!below(3)) {
		move(writer, 2, 8);
		bound(writer, 2, 3);
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, used, 2, 0));
		room = MAP_VALUE - 7;
	}
	use_value(writer, used, room);
	land(writer, skip);
	writer->scalars &= (uint16_t)~0x3f;
	set(writer, 0, 1);
	writer->scalars |= 1;
}

/* A value of a constant map is known and bounds an index. */
static void add_constant_value(struct writer *writer)
{
	unsigned pointer = pointer_register(writer);
	int offset = 4 * (int)below(3);

	load_map(writer, pointer, MAP_CONSTANT, offset);
	emit(writer, insn_x(BPF_LDX | BPF_MEM | some_size(), pointer, pointer,
			    below(4) ? 0 : (int)below(8) - 4));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, pointer, 6, 0));
	add_access(writer, pointer, 0, below(2) ? 1 : MEMORY - 7, false, false);
	restore_scalar(writer, pointer);
}

static void add_update(struct writer *writer)
{
	unsigned map = below(3) ? MAP_HASH : MAP_ARRAY;

	if (random_private)
		map = some_lookup_map();
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 7, VALUE));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 8, VALUE + 8));
	put_key(writer, map);
	if (map == MAP_HASH && !below(3)) {
		call(writer, GT_HELPER_map_delete_elem);
		return;
	}
	move(writer, 3, 10);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 3, VALUE));
	set(writer, 4, (int32_t)below(3));
	call(writer, GT_HELPER_map_update_elem);
}

/* Output bytes of the stack or of the memory to the ring, of unknown length. */
static void add_output(struct writer *writer)
{
	load_map(writer, 1, MAP_RING, -1);
	if (below(2)) {
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 7, VALUE));
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 8, VALUE + 8));
		move(writer, 2, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 2, VALUE));
	} else {
		move(writer, 2, 6);
	}
	if (below(2)) {
		set(writer, 3, (int32_t)below(17));
	} else {
		move(writer, 3, 7 + below(2));
		bound(writer, 3, 4);
		if (!below(3))
			emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 3, below(2)));
	}
	set(writer, 4, 0);
	call(writer, GT_HELPER_ringbuf_output);
}

/* Reserve a record, write it, and release it: by its pointer, or a spilled one. */
static void add_ring(struct writer *writer)
{
	unsigned size = 8 + 8 * below(3), skip;
	bool stored = below(2);

	if (random_private)
		return;
	if (!below(3)) {
		add_output(writer);
		return;
	}
	load_map(writer, 1, MAP_RING, -1);
	set(writer, 2, (int32_t)size);
	set(writer, 3, 0);
	call(writer, GT_HELPER_ringbuf_reserve);
	writer->scalars &= 0xfffe;
	if (stored)
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 0, RECORD));
	skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 0, 0));
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 0, 7, 0));
	for (unsigned at = 8; at < size; at += 8)
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 0, 8, (int)at));
	if (below(2)) {
		move(writer, 2, 8);
		bound(writer, 2, 3);
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 2, 0, 0));
		add_access(writer, 2, 0, size - 7, false, false);
	}
	if (stored)
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, RECORD));
	else
		move(writer, 1, 0);
	set(writer, 2, 0);
	call(writer, below(2) ? GT_HELPER_ringbuf_submit : GT_HELPER_ringbuf_discard);
	land(writer, skip);
	writer->scalars &= (uint16_t)~0x3f;
	set(writer, 0, 2);
	writer->scalars |= 1;
}

/* A collective helper of the level of the program. */
static void add_collective(struct writer *writer)
{
	static const int32_t of_threads[] = {GT_HELPER_warp_ballot, GT_HELPER_warp_shuffle,
					     GT_HELPER_warp_sum};
	static const int32_t of_warps[] = {GT_HELPER_warp_lane_value, GT_HELPER_warp_distinct,
					   GT_HELPER_warp_stride, GT_HELPER_warp_bank_passes};
	bool group = random_section && random_section->level == GT_LEVEL_WARP;

	if (random_section && random_section->level == GT_LEVEL_BLOCK)
		return;
	move(writer, 1, 7 + below(2));
	if (group)
		set(writer, 1, (int32_t)(GT_LANE_PREDICATE + below(4)));
	move(writer, 2, 7 + below(2));
	call(writer, group ? of_warps[below(gt_countof(of_warps))]
			   : of_threads[below(gt_countof(of_threads))]);
}

/* Helpers of a warp, and the position of a thread. */
static void add_lanes(struct writer *writer)
{
	static const int32_t plain[] = {GT_HELPER_get_lane_id, GT_HELPER_warp_active_mask,
					GT_HELPER_flat_block_id, GT_HELPER_flat_warp_id,
					GT_HELPER_get_warp_id};
	static const int32_t places[] = {GT_HELPER_get_thread_idx, GT_HELPER_get_block_dim,
					 GT_HELPER_get_block_idx};

	if (random_for_linux || below(2)) {
		call(writer, random_for_linux ? GT_HELPER_get_prandom_u32
					      : plain[below(gt_countof(plain))]);
	} else if (below(2)) {
		for (unsigned i = 1; i <= 3; i++) {
			move(writer, i, 10);
			emit(writer,
			     insn_k(BPF_ALU64 | BPF_ADD, i, -8 * (int32_t)(1 + below(SLOTS / 8))));
		}
		call(writer, places[below(gt_countof(places))]);
	} else if ((!writer->depth && !writer->function) || !below(16)) {
		add_collective(writer);
	}
	if (writer->scalars & 1)
		move(writer, 7 + below(2), 0);
}

/*
 * Pass a pointer to 16 bytes of this stack, or the one of this function's caller. Returns their
 * offset, or 0 if unknown.
 */
static int pass_stack(struct writer *writer, unsigned target)
{
	int area = -SLOTS + 8 * (int)below(7);

	if (writer->passes_choices) {
		choose_scalar(writer, 3, area);
		move(writer, target, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, target, area));
		return area;
	}
	if (writer->function && below(2)) {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, target, 10, OUTER));
	} else if (below(3)) {
		move(writer, target, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, target, area));
		return area;
	} else {
		move(writer, target, 7 + below(2));
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, target, 24));
		emit(writer, insn_k(BPF_ALU64 | BPF_SUB | BPF_K, target, SLOTS));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, target, 10, 0));
	}
	return 0;
}

static void add_call(struct writer *writer)
{
	unsigned function = writer->function + 1 + below(RANDOM_FUNCTIONS);
	int area = 0;

	if (function > RANDOM_FUNCTIONS || writer->call_count == gt_countof(writer->calls)) {
		call(writer,
		     random_for_linux ? GT_HELPER_get_prandom_u32 : GT_HELPER_flat_thread_id);
		return;
	}
	if (writer->passes_stacks)
		area = pass_stack(writer, 4);
	else if (!below(3))
		choose_scalar(writer, 5, area = -SLOTS + 8 * (int)below(7));
	move(writer, 1, 6);
	move(writer, 2, scalar_register(writer) % 10);
	if (writer->insns[writer->count - 1].src_reg < 6)
		writer->insns[writer->count - 1].src_reg = 7;
	move(writer, 3, 8);
	writer->calls[writer->call_count] = (uint16_t)writer->count;
	writer->called[writer->call_count++] = (uint8_t)function;
	writer->used[function] = true;
	emit(writer, (struct bpf_insn){BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0});
	writer->scalars = (uint16_t)((writer->scalars & ~0x3f) | 1);
	/* The value that it stored there is an index. */
	if (area && below(2)) {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 3, 10, area));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 3, 6, 0));
		add_access(writer, 3, 0, 1 + below(MEMORY - 8), false, false);
		restore_scalar(writer, 3);
	}
}
