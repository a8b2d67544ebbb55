/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random programs about loops: counters in registers and on the stack, of 32 and 64 bits, that go
 * up or down by known, alternating or unknown steps, from and to values at the edges of their
 * types; tests of every operation at the start or the end; continue, break and nesting; and values
 * that change with them. What they compute is used with almost no tolerance: as an index that just
 * fits, or in a test that is just never true. So most errors in the ranges of widened loops are
 * visible.
 */
#pragma once

#include "gpubpf_programs.h"

enum {
	LOOP_NEST = 3,
	LOOP_SLOTS = 4,                           /* scalars on the stack that loops change */
	LOOP_SLOT = -8 * LOOP_SLOTS,              /* the lowest of them */
	LOOP_COUNTER = LOOP_SLOT - 8 * LOOP_NEST, /* counters on the stack */
	LOOP_LIMIT = LOOP_COUNTER - 8 * LOOP_NEST,
	LOOP_WALK = LOOP_LIMIT - 8,   /* a pointer */
	LOOP_OTHER = LOOP_LIMIT - 16, /* a pointer or a scalar */
	LOOP_WALKS = 8,               /* max bytes that it advances */
	LOOP_SIZE = 120,              /* slots of a loop, without those in it */
};

struct loop_shape {
	unsigned level;
	bool on_stack, narrow_slot; /* the counter: else in a register */
	bool narrow_step, narrow_test;
	bool down, unguarded;
	int64_t start;
	int step;            /* 1 to 8 */
	unsigned start_mask; /* the start is at most so much higher: 0, or 2^n - 1 */
	unsigned limit_mask; /* the same of the limit */
	unsigned rounds;     /* from start to limit, without the masks */
	unsigned operation;  /* the loop continues if counter <operation> limit */
	unsigned max_rounds; /* with the masks */
};

static struct loop_shape *current_loops[LOOP_NEST];

static void set_wide(struct writer *writer, unsigned target, int64_t number)
{
	if (number == (int32_t)number) {
		set(writer, target, (int32_t)number);
		return;
	}
	emit(writer, insn_k(BPF_LD | BPF_IMM | BPF_DW, target, (int32_t)(uint32_t)number));
	emit(writer, insn_k(0, 0, (int32_t)(number >> 32)));
}

/* Load an unknown number of 0 to mask: of the inputs, or of memory that the program writes. */
static void load_input(struct writer *writer, unsigned target, unsigned mask)
{
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, target, 6, (int)below(MEMORY)));
	emit(writer,
	     insn_k((below(2) ? BPF_ALU64 : BPF_ALU) | BPF_AND | BPF_K, target, (int32_t)mask));
}

/* The register of a loop's counter: of its own, or r5 between load and store. */
static unsigned load_counter(struct writer *writer, const struct loop_shape *shape)
{
	if (!shape->on_stack)
		return 7 + shape->level;
	emit(writer, insn_x(BPF_LDX | BPF_MEM | (shape->narrow_slot ? BPF_W : BPF_DW), 5, 10,
			    LOOP_COUNTER + 8 * (int)shape->level));
	return 5;
}

static void store_counter(struct writer *writer, const struct loop_shape *shape)
{
	if (shape->on_stack)
		emit(writer, insn_x(BPF_STX | BPF_MEM | (shape->narrow_slot ? BPF_W : BPF_DW), 10,
				    5, LOOP_COUNTER + 8 * (int)shape->level));
}

/* Counters at the edges of their type wrap. */
static int64_t add_wrapping(int64_t left, int64_t right)
{
	return (int64_t)((uint64_t)left + (uint64_t)right);
}

/* Load a value that a loop changes: a slot, or the counter; *ret_max: what it may be at most. */
static void load_changed(struct writer *writer, unsigned target, int64_t *ret_min, int64_t *ret_max)
{
	unsigned level = below(writer->loops ? writer->loops : 1);
	const struct loop_shape *shape = current_loops[level];
	int64_t span = (int64_t)shape->step * shape->max_rounds;

	if (below(3)) {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | (below(3) ? BPF_DW : BPF_W), target, 10,
				    LOOP_SLOT + 8 * (int)below(LOOP_SLOTS)));
		*ret_min = 0;
		*ret_max = (below(2) ? 1 : 4) * (int64_t)shape->max_rounds;
		return;
	}
	move(writer, target, load_counter(writer, shape));
	*ret_min = shape->down ? add_wrapping(shape->start, -span) : shape->start;
	*ret_max = add_wrapping(shape->start, shape->start_mask + (shape->down ? 0 : span));
}

/* Access out of bounds, unless the verifier knows that this is never executed. */
static void add_trap(struct writer *writer, unsigned value, int64_t min, int64_t max)
{
	static const uint8_t operations[] = {BPF_JGT,  BPF_JSGT, BPF_JEQ, BPF_JLT,
					     BPF_JSLT, BPF_JGE,  BPF_JSET};
	unsigned operation = operations[below(gt_countof(operations))], skip;
	int64_t edge = add_wrapping(below(2) ? max : min, (int64_t)below(5) - 2);

	if (edge != (int32_t)edge) {
		set_wide(writer, 3, edge);
		skip = jump(writer, insn_x((below(3) ? BPF_JMP : BPF_JMP32) | operation | BPF_X,
					   value, 3, 0));
	} else {
		skip = jump(writer, insn_k((below(3) ? BPF_JMP : BPF_JMP32) | operation, value,
					   (int32_t)edge));
	}
	writer->insns[skip].off = 1;
	skip = jump(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 6, MEMORY));
	land(writer, skip);
}

/* Use a value as an index into the memory that its range just fits, or as a bounded shift. */
static void add_sharp_use(struct writer *writer)
{
	int64_t min = 0, max = 0;

	load_changed(writer, 4, &min, &max);
	if (below(3)) {
		add_trap(writer, 4, min, max);
		return;
	}
	if ((uint64_t)max - (uint64_t)min >= MEMORY || min != (int32_t)min)
		emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 4, MEMORY - 1));
	else
		emit(writer,
		     insn_k(BPF_ALU64 | BPF_SUB | BPF_K, 4, (int32_t)(max - MEMORY + below(4))));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 4, 6, 0));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 4, 0));
}

/* ---- changes in an iteration ------------------------------------------------------------ */

/* Change a scalar on the stack: add, assign, or overwrite a part of it. */
static void add_change(struct writer *writer)
{
	int slot = LOOP_SLOT + 8 * (int)below(LOOP_SLOTS);
	unsigned size = below(3) ? BPF_DW : BPF_W;
	unsigned width = below(3) ? BPF_ALU64 : BPF_ALU;

	switch (below(8)) {
	case 0:
		emit(writer, insn_x(BPF_ST | BPF_MEM | some_size(), 10, 0, slot));
		writer->insns[writer->count - 1].imm = (int32_t)below(9) - 1;
		return;
	case 1:
		load_input(writer, 4, 7);
		break;
	case 2:
		move(writer, 4, load_counter(writer, current_loops[below(writer->loops)]));
		break;
	case 3:
		emit(writer, insn_x(BPF_LDX | BPF_MEM | size, 4, 10, slot));
		emit(writer, insn_k(width | BPF_XOR | BPF_K, 4, (int32_t)below(4)));
		break;
	default:
		emit(writer, insn_x(BPF_LDX | BPF_MEM | size, 4, 10, slot));
		emit(writer, insn_k(width | BPF_ADD, 4, below(4) ? (int32_t)below(5) : -1));
	}
	emit(writer, insn_x(BPF_STX | BPF_MEM | size, 10, 4, slot));
}

/* Load through a pointer that advances; or store other pointers and scalars where it was. */
static void add_pointer_change(struct writer *writer)
{
	int room = MEMORY;

	for (unsigned i = 0; i < writer->loops; i++)
		room -= LOOP_WALKS * (int)current_loops[i]->max_rounds / (int)(1 + below(8));
	switch (below(6)) {
	case 0:
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, below(2) ? 6 : 10,
				    below(4) ? LOOP_OTHER : LOOP_WALK));
		break;
	case 1:
		emit(writer, insn_x(BPF_ST | BPF_MEM | some_size(), 10, 0, LOOP_OTHER));
		break;
	case 2:
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, LOOP_OTHER));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 4, below(2) ? 0 : -8));
		break;
	default:
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, LOOP_WALK));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 4,
				    below(2)   ? 0
				    : room > 0 ? room - (int)below(2)
					       : 0));
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 4, (int32_t)(1 + below(LOOP_WALKS))));
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, LOOP_WALK));
	}
}

/* Reserve a record, and submit it: perhaps in another iteration, which must be rejected. */
static void add_record_change(struct writer *writer)
{
	unsigned skip = 0;

	if (random_section || !below(2)) {
		add_change(writer);
		return;
	}
	make_pointer(writer, POINTER_RECORD, LOOP_OTHER);
	if (!below(4))
		skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 0, 0));
	if (skip && below(2))
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 1, 0, 15));
	if (below(4))
		release_record(writer, LOOP_OTHER);
	if (skip)
		land(writer, skip);
}

/* Two slots that are equal before the loop, one of which may change in it. */
static void add_linked_use(struct writer *writer)
{
	unsigned skip;

	if (below(2)) {
		load_input(writer, 4, 7);
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, LOOP_SLOT + 8));
		return;
	}
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 3, 10, LOOP_SLOT));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, LOOP_SLOT + 8));
	skip = jump(writer, insn_k(BPF_JMP | BPF_JLT | BPF_K, 3, 4));
	add_trap(writer, 4, 4, 7);
	land(writer, skip);
}

/* Change the limit of a loop, or leave it at about its limit by a test against a constant. */
static void add_limit_change(struct writer *writer, unsigned *leave)
{
	const struct loop_shape *shape = current_loops[below(writer->loops)];
	int slot = LOOP_LIMIT + 8 * (int)shape->level;
	int64_t span = (int64_t)shape->step * shape->max_rounds;
	int64_t end = (int64_t)((uint64_t)shape->start + (uint64_t)(shape->down ? -span : span));
	unsigned counter;

	if (*leave || below(2)) {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, slot));
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 4, (int32_t)below(3) - 1));
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, slot));
		return;
	}
	counter = load_counter(writer, shape);
	end = (int64_t)((uint64_t)end + below(4) - 2);
	set_wide(writer, 3, end == (int32_t)end ? end : (int64_t)((uint64_t)end & INT64_MAX));
	*leave = jump(writer, insn_x(BPF_JMP |
					     (shape->down ? below(2) ? BPF_JSLT : BPF_JLT
					      : below(2)  ? BPF_JSGT
							  : BPF_JGT) |
					     BPF_X,
				     counter, 3, 0));
}

static void add_counting_loop(struct writer *writer);

static void add_change_statement(struct writer *writer)
{
	unsigned other, kind = below(18);

	if (kind < 6) {
		add_change(writer);
	} else if (kind < 9) {
		add_pointer_change(writer);
	} else if (kind < 12) {
		add_sharp_use(writer);
	} else if (kind == 12) {
		if (below(2))
			add_record_change(writer);
		else
			add_linked_use(writer);
	} else if (kind == 13 && writer->count + 2 * RANDOM_ROOM < writer->limit) {
		set(writer, 0, 1);
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 0, SHARED));
		if (!random_for_linux && !below(3))
			add_callback_loop(writer);
	} else if (kind < 16 && writer->loops < LOOP_NEST &&
		   writer->limit - writer->count > 2 * LOOP_SIZE) {
		add_counting_loop(writer);
	} else {
		load_input(writer, 4, 1);
		other = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 4, 0));
		add_change(writer);
		land(writer, other);
	}
}

/* ---- loops ------------------------------------------------------------------------------ */

static int64_t some_start(void)
{
	static const int64_t starts[] = {0,         0,         0,          0,          0,
					 1,         2,         8,          -1,         -4,
					 -9,        INT32_MAX, INT32_MIN,  UINT32_MAX, INT64_MAX,
					 INT64_MIN, 1LL << 32, 0xfffffff0, 100};

	return (int64_t)((uint64_t)starts[below(gt_countof(starts))] +
			 (below(4) ? 0 : (uint64_t)below(16) - 8));
}

static unsigned some_test(const struct loop_shape *shape)
{
	static const uint8_t up[] = {BPF_JLT, BPF_JSLT, BPF_JNE, BPF_JLE, BPF_JSLE, BPF_JNE};
	static const uint8_t down[] = {BPF_JGT, BPF_JSGT, BPF_JNE, BPF_JGE, BPF_JSGE, BPF_JNE};
	bool opposite = !below(24);

	return shape->down != opposite ? down[below(gt_countof(down))] : up[below(gt_countof(up))];
}

static struct loop_shape some_shape(unsigned level)
{
	static const uint8_t steps[] = {1, 1, 1, 2, 3, 4, 8}, masks[] = {0, 0, 1, 3, 7};
	struct loop_shape shape = {
		.level = level,
		.on_stack = !below(3),
		.narrow_slot = below(2),
		.narrow_step = !below(3),
		.narrow_test = !below(3),
		.down = !below(3),
		.start = some_start(),
		.step = steps[below(gt_countof(steps))],
		.start_mask = masks[below(gt_countof(masks))],
		.limit_mask = masks[below(gt_countof(masks))],
		.rounds = below(9),
	};

	shape.operation = some_test(&shape);
	if (shape.operation == BPF_JNE && below(3))
		shape.start_mask = 0;
	if (shape.operation == BPF_JNE && below(3))
		shape.limit_mask &= (unsigned)~(shape.step - 1);
	shape.max_rounds =
		shape.rounds + (shape.start_mask + shape.limit_mask) / (unsigned)shape.step + 1;
	return shape;
}

/* Store the start to the counter and the limit to its slot. */
static void begin_counting(struct writer *writer, const struct loop_shape *shape)
{
	int64_t way = (int64_t)shape->step * shape->rounds;
	int64_t limit = (int64_t)((uint64_t)shape->start + (uint64_t)(shape->down ? -way : way) +
				  !below(6));
	unsigned counter = shape->on_stack ? 5 : 7 + shape->level;

	set_wide(writer, counter, shape->start);
	if (shape->start_mask) {
		load_input(writer, 4, shape->start_mask);
		emit(writer,
		     insn_x((below(4) ? BPF_ALU64 : BPF_ALU) | BPF_ADD | BPF_X, counter, 4, 0));
	}
	if (shape->narrow_step && below(2))
		emit(writer, insn_x(BPF_ALU | BPF_MOV | BPF_X, counter, counter, 0));
	store_counter(writer, shape);
	set_wide(writer, 3, limit);
	if (shape->limit_mask) {
		load_input(writer, 4, shape->limit_mask);
		emit(writer,
		     insn_x(BPF_ALU64 | (shape->down ? BPF_SUB : BPF_ADD) | BPF_X, 3, 4, 0));
	}
	emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 3, LOOP_LIMIT + 8 * (int)shape->level));
}

static unsigned opposite_test(unsigned operation)
{
	static const uint8_t opposites[16] = {
		[BPF_JEQ >> 4] = BPF_JNE,   [BPF_JNE >> 4] = BPF_JEQ,   [BPF_JGT >> 4] = BPF_JLE,
		[BPF_JLE >> 4] = BPF_JGT,   [BPF_JGE >> 4] = BPF_JLT,   [BPF_JLT >> 4] = BPF_JGE,
		[BPF_JSGT >> 4] = BPF_JSLE, [BPF_JSLE >> 4] = BPF_JSGT, [BPF_JSGE >> 4] = BPF_JSLT,
		[BPF_JSLT >> 4] = BPF_JSGE,
	};

	return opposites[operation >> 4];
}

static unsigned swapped_test(unsigned operation)
{
	switch (operation) {
	case BPF_JGT:
		return BPF_JLT;
	case BPF_JLT:
		return BPF_JGT;
	case BPF_JGE:
		return BPF_JLE;
	case BPF_JLE:
		return BPF_JGE;
	case BPF_JSGT:
		return BPF_JSLT;
	case BPF_JSLT:
		return BPF_JSGT;
	case BPF_JSGE:
		return BPF_JSLE;
	case BPF_JSLE:
		return BPF_JSGE;
	default:
		return operation;
	}
}

/* Compare the counter, or a sum with it, with the limit. Returns the jump. */
static unsigned add_test_of(struct writer *writer, const struct loop_shape *shape, bool continues)
{
	unsigned counter = load_counter(writer, shape), width;
	unsigned operation = continues ? shape->operation : opposite_test(shape->operation);
	int32_t moved = below(6) ? 0 : (int32_t)below(9) - 4;

	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 3, 10, LOOP_LIMIT + 8 * (int)shape->level));
	if (moved) {
		move(writer, 4, counter);
		emit(writer, insn_k((below(2) ? BPF_ALU64 : BPF_ALU) | BPF_ADD, 4, moved));
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 3, moved));
		counter = 4;
	} else if (!below(6)) {
		/* As code without 32-bit registers extends a sign. */
		move(writer, 4, counter);
		emit(writer, insn_k(BPF_ALU64 | BPF_LSH | BPF_K, 4, 32));
		emit(writer, insn_k(BPF_ALU64 | (below(2) ? BPF_ARSH : BPF_RSH) | BPF_K, 4, 32));
		counter = 4;
	}
	width = shape->narrow_test ? BPF_JMP32 : BPF_JMP;
	if (below(2))
		return jump(writer, insn_x(width | operation | BPF_X, counter, 3, 0));
	return jump(writer, insn_x(width | swapped_test(operation) | BPF_X, 3, counter, 0));
}

static void add_step_by(struct writer *writer, const struct loop_shape *shape, unsigned counter,
			int step)
{
	unsigned width = shape->narrow_step ? BPF_ALU : BPF_ALU64;

	if (below(2))
		emit(writer, insn_k(width | BPF_ADD, counter, shape->down ? -step : step));
	else
		emit(writer, insn_k(width | BPF_SUB, counter, shape->down ? step : -step));
}

/* Count: by the step, by the step or twice of it, or by at least the step. */
static void add_count(struct writer *writer, const struct loop_shape *shape)
{
	unsigned counter = load_counter(writer, shape), width, skip;

	switch (below(6)) {
	case 0:
		load_input(writer, 4, 1);
		skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 4, 0));
		add_step_by(writer, shape, counter, shape->step);
		land(writer, skip);
		add_step_by(writer, shape, counter, shape->step - !below(8));
		break;
	case 1:
		load_input(writer, 4, 3);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 4, shape->step - !below(8)));
		width = shape->narrow_step ? BPF_ALU : BPF_ALU64;
		emit(writer,
		     insn_x(width | (shape->down ? BPF_SUB : BPF_ADD) | BPF_X, counter, 4, 0));
		break;
	default:
		add_step_by(writer, shape, counter, shape->step);
	}
	if (!below(12)) {
		emit(writer, insn_k(BPF_ALU64 | BPF_LSH | BPF_K, counter, 32));
		emit(writer, insn_k(BPF_ALU64 | BPF_ARSH | BPF_K, counter, 32));
	}
	store_counter(writer, shape);
}

/* The body of a loop. Returns a jump out of it, or 0. */
static unsigned add_body(struct writer *writer)
{
	unsigned statements = below(5), skip = 0, leave = 0;

	for (unsigned i = 0; i < statements && writer->limit - writer->count > LOOP_SIZE; i++) {
		if (!below(6)) {
			add_limit_change(writer, &leave);
		} else if (!below(8) && !skip) {
			load_input(writer, 4, 3);
			skip = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 4, 0));
		} else if (!below(8) && !leave) {
			load_input(writer, 4, 7);
			leave = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 4, 0));
		} else {
			add_change_statement(writer);
		}
	}
	if (skip)
		land(writer, skip);
	return leave;
}

static void add_counting_loop(struct writer *writer)
{
	struct loop_shape shape = some_shape(writer->loops);
	bool at_start = below(2), again_at_start;
	unsigned start, leave = 0, out, last, end = 0, guard = 0;

	begin_counting(writer, &shape);
	if (!at_start && below(2))
		guard = add_test_of(writer, &shape, false);
	current_loops[writer->loops++] = &shape;
	writer->depth++;
	start = writer->count;
	if (at_start)
		leave = add_test_of(writer, &shape, false);
	out = add_body(writer);
	/* A second jump to the header. */
	again_at_start = !below(16);
	if (again_at_start) {
		add_count(writer, &shape);
		load_input(writer, 4, 1);
		last = jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 4, 0));
		writer->insns[last].off = (int16_t)((int)start - (int)last - 1);
	}
	add_count(writer, &shape);
	last = at_start ? jump(writer, insn_k(BPF_JMP | BPF_JA, 0, 0))
			: add_test_of(writer, &shape, true);
	writer->insns[last].off = (int16_t)((int)start - (int)last - 1);
	if (!at_start && below(2))
		end = jump(writer, insn_k(BPF_JMP | BPF_JA, 0, 0));
	if (leave)
		land(writer, leave);
	if (end)
		land(writer, end);
	if (out)
		land(writer, out);
	if (guard)
		land(writer, guard);
	for (unsigned i = below(3); i && !guard; i--)
		add_sharp_use(writer);
	writer->depth--;
	current_loops[--writer->loops] = NULL;
}

/* The first and the last pointer of a loop: r7 and r9, of a value or of the stack. */
static void begin_pointers(struct writer *writer, unsigned step)
{
	bool stack = !below(3);
	unsigned room = (stack ? 8 * LOOP_SLOTS : (unsigned)MAP_VALUE) / step;
	unsigned mask = below(2) ? (2u << below(2)) - 1 : 0;

	if (stack) {
		move(writer, 7, 10);
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 7, LOOP_SLOT));
	} else {
		load_map(writer, 7, MAP_ONE, 0);
	}
	/* As long as the object, or just too long. */
	room -= room > mask ? mask : room;
	move(writer, 9, 7);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 9, (int32_t)(room * step + !below(10))));
	if (mask) {
		load_input(writer, 4, mask);
		emit(writer, insn_k(BPF_ALU64 | BPF_MUL | BPF_K, 4, (int32_t)step));
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 9, 4, 0));
	}
}

/* A loop that ends at a pointer, so often that it must be widened. */
static void add_pointer_loop(struct writer *writer)
{
	static const uint8_t tests[] = {BPF_JNE, BPF_JNE, BPF_JLT, BPF_JLT, BPF_JLE, BPF_JGT};
	unsigned step = 1u << below(3), outer, inner, test = tests[below(6)], skip = 0;
	bool down = below(2);
	int past = below(10) ? 0 : 1;

	set(writer, 8, 0);
	outer = writer->count;
	begin_pointers(writer, step);
	if (below(2))
		skip = jump(writer, insn_x(BPF_JMP | BPF_JEQ | BPF_X, 7, 9, 0));
	inner = writer->count;
	if (down)
		emit(writer, insn_k(BPF_ALU64 | BPF_SUB, 9, (int32_t)step));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, down ? 9 : 7, (int)step - 1 + past));
	if (!down)
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 7, (int32_t)step));
	emit(writer,
	     below(2) || test == BPF_JNE
		     ? insn_x(BPF_JMP | test | BPF_X, down ? 9 : 7, down ? 7 : 9, 0)
		     : insn_x(BPF_JMP | swapped_test(test) | BPF_X, down ? 7 : 9, down ? 9 : 7, 0));
	writer->insns[writer->count - 1].off = (int16_t)((int)inner - (int)writer->count);
	if (skip)
		land(writer, skip);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 8, 1));
	emit(writer, insn_k(BPF_JMP | BPF_JLT | BPF_K, 8, 3000));
	writer->insns[writer->count - 1].off = (int16_t)((int)outer - (int)writer->count);
	for (unsigned i = 7; i <= 9; i++)
		set(writer, i, 0);
}

/* Write a program about loops, of at most RANDOM_MAX_INSNS slots. Returns how many. */
static gt_unused unsigned make_loop_program(struct bpf_insn *insns)
{
	struct writer writer = {.insns = insns, .limit = RANDOM_MAX_INSNS - RANDOM_CALLBACK - 2};

	if (random_section)
		begin_context(&writer, MAP_OWN);
	else
		move(&writer, 6, 1);
	for (unsigned i = 7; i <= 9; i++)
		set(&writer, i, 0);
	for (int i = 0; i < LOOP_SLOTS; i++) {
		emit(&writer, insn_x(BPF_ST | BPF_MEM | BPF_DW, 10, 0, LOOP_SLOT + 8 * i));
		writer.insns[writer.count - 1].imm = below(4) ? 0 : random_immediate();
	}
	if (!below(3)) {
		load_input(&writer, 4, 7);
		emit(&writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, LOOP_SLOT));
		emit(&writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, LOOP_SLOT + 8));
	}
	emit(&writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 6, LOOP_WALK));
	emit(&writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 6, LOOP_OTHER));
	if (!below(16))
		add_pointer_loop(&writer);
	do
		add_counting_loop(&writer);
	while (!below(4) && writer.limit - writer.count > LOOP_SIZE);
	writer.limit += 2;
	emit(&writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 0, 10, LOOP_SLOT));
	emit(&writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
	if (writer.address_count)
		add_callback(&writer);
	return writer.count;
}
