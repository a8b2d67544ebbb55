/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Building blocks of random programs (gpubpf_programs.h): the source of randomness, their maps, and
 * single instructions.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "gpubpf/context.h"
#include "gpubpf/helpers.h"
#include "gpubpf/program.h"

enum {
	RANDOM_MAX_INSNS = 440, /* slots of a program … */
	RANDOM_CALLBACK = 40,   /* … of which so many are for the function of bpf_loop */
	MEMORY = 64,            /* bytes it has */
	RANDOM_FUNCTIONS = 3,
	RANDOM_ROOM = 40, /* slots that a statement may take */
	/* Offsets on the stack, from its top. */
	SLOTS = 64, /* bytes of scalars */
	SPILL = -72,
	KEY = -80,
	VALUE = -96,
	OUTER = -104, /* in functions: a pointer to their caller's stack */
	ROUND = -112,
	RECORD = -120,
	CONTEXT = -128,
	WALK = -136,      /* a pointer that advances in a loop */
	LIMIT = -144,     /* of a loop */
	SHARED = -168,    /* what the function of bpf_loop gets: OUTER_BYTES of scalars, r6 */
	OUTER_BYTES = 16, /* at the pointer in OUTER */
	/* The maps. */
	MAP_ONE = 0, /* an array of one value */
	MAP_ARRAY = 1,
	MAP_HASH = 2,
	MAP_RING = 3,
	MAP_CONSTANT = 4,
	RANDOM_LINUX_MAPS = 5, /* the others are only for GPUs */
	MAP_THREADS = 5,
	MAP_WARPS = 6,
	MAP_SMS = 7,
	RANDOM_MAPS = 8,
	MAP_OWN = RANDOM_MAPS, /* programs with contexts: MEMORY bytes for each run */
	MAP_VALUE = 16,        /* bytes of each value */
};

static uint8_t random_constant[MAP_VALUE] = {7, 0, 0, 0, 63, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1};

static gt_unused struct gt_bpf_map random_maps[RANDOM_MAPS] = {
	{.name = "one", .type = 2, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 1},
	{.name = "array", .type = 2, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 4},
	{.name = "hash", .type = 1, .key_size = 8, .value_size = MAP_VALUE, .max_entries = 4},
	{.name = "ring", .type = 27, .max_entries = 4096},
	{.name = "constant",
	 .type = 2,
	 .key_size = 4,
	 .value_size = MAP_VALUE,
	 .max_entries = 1,
	 .read_only = true,
	 .constant = true,
	 .initial = random_constant},
	{.name = "threads", .type = 1502, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 4},
	{.name = "warps", .type = 1540, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 4},
	{.name = "sms", .type = 6, .key_size = 4, .value_size = MAP_VALUE, .max_entries = 4},
};

/* Generate programs that Linux supports, too. */
static bool random_for_linux;
/* Generate programs with the context of a section; or NULL, with memory. */
static gt_unused const struct gt_section *random_section;
/* Of these, programs whose runs at the same time do not affect each other, in any order. */
static bool random_private;

/* ---- randomness ------------------------------------------------------------------------ */

static uint64_t random_state = 0x243f6a8885a308d3u;
static const uint8_t *random_bytes; /* instead, if not NULL */
static size_t random_left;

/* SEED selects another sequence, PROGRAMS the number of programs. */
static gt_unused void random_seed(void)
{
	const char *seed = getenv("SEED");

	if (seed)
		random_state ^= strtoull(seed, NULL, 0) * 0x9e3779b97f4a7c15u;
}

static uint64_t random_number(void)
{
	if (random_bytes) {
		uint64_t number = 0;

		for (unsigned i = 0; i < 8 && random_left; i++, random_left--)
			number = number << 8 | *random_bytes++;
		return number;
	}
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static unsigned below(unsigned limit)
{
	unsigned number;

	if (!random_bytes)
		return (unsigned)(random_number() >> 33) % limit;
	if (!random_left)
		return 0;
	number = *random_bytes++ % limit;
	random_left--;
	return number;
}

static int32_t random_immediate(void)
{
	static const int32_t edges[] = {0,  1,  -1, 7,   8,         15,       31,
					63, 64, -8, -16, INT32_MAX, INT32_MIN};

	return below(3) ? edges[below(gt_countof(edges))] : (int32_t)random_number();
}

static gt_unused void make_memory(uint8_t *memory)
{
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(below(2) ? random_number() : below(9));
}

/* ---- instructions ---------------------------------------------------------------------- */

struct writer {
	struct bpf_insn *insns;
	unsigned count, limit;
	uint16_t scalars;  /* registers that hold scalars; r6 always points to memory */
	unsigned function; /* 0: the main program */
	unsigned loops;
	unsigned depth;      /* of branches and loops */
	bool passes_stacks;  /* functions get pointers to the stacks of their callers … */
	bool passes_choices; /* … with a scalar that they use */
	uint16_t calls[16];  /* calls of functions: the slot … */
	uint8_t called[16];  /* … and which */
	unsigned call_count;
	bool used[1 + RANDOM_FUNCTIONS];
	uint16_t addresses[8]; /* ld_imm64 of bpf_loop's function */
	unsigned address_count;
};

static void emit(struct writer *writer, struct bpf_insn insn)
{
	if (writer->count < writer->limit)
		writer->insns[writer->count++] = insn;
}

static struct bpf_insn insn_k(unsigned code, unsigned target, int32_t imm)
{
	return (struct bpf_insn){(uint8_t)code, target & 15, 0, 0, imm};
}

static struct bpf_insn insn_x(unsigned code, unsigned target, unsigned source, int offset)
{
	return (struct bpf_insn){(uint8_t)code, target & 15, source & 15, (int16_t)offset, 0};
}

static void move(struct writer *writer, unsigned target, unsigned source)
{
	emit(writer, insn_x(BPF_ALU64 | BPF_MOV | BPF_X, target, source, 0));
}

static void set(struct writer *writer, unsigned target, int32_t number)
{
	emit(writer, insn_k(BPF_ALU64 | BPF_MOV | BPF_K, target, number));
}

static void load_map(struct writer *writer, unsigned target, unsigned map, int offset)
{
	bool value = offset >= 0;
	struct bpf_insn insn = insn_k(BPF_LD | BPF_IMM | BPF_DW, target, (int32_t)map);

	insn.src_reg = value ? GT_BPF_IMM_MAP_INDEX_VALUE : GT_BPF_IMM_MAP_INDEX;
	emit(writer, insn);
	emit(writer, insn_k(0, 0, value ? offset : 0));
}

/* Emit a jump to the instruction at which land() is called for it. */
static unsigned jump(struct writer *writer, struct bpf_insn insn)
{
	emit(writer, insn);
	return writer->count - 1;
}

static void land(struct writer *writer, unsigned at)
{
	if (at < writer->limit)
		writer->insns[at].off = (int16_t)(writer->count - at - 1);
}

static void call(struct writer *writer, int32_t helper)
{
	emit(writer, insn_k(BPF_JMP | BPF_CALL, 0, helper));
	writer->scalars = (uint16_t)((writer->scalars & ~0x3f) | 1);
}

/* Return a register that holds a scalar: r7 and r8 always do. */
static unsigned scalar_register(const struct writer *writer)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned number = below(10);

		if (number != 6 && (writer->scalars >> number & 1))
			return number;
	}
	return 7 + below(2);
}

/* Return a register that may be set to a scalar. */
static unsigned target_register(struct writer *writer)
{
	static const uint8_t targets[] = {0, 1, 2, 3, 4, 5, 7, 8};
	unsigned number = targets[below(gt_countof(targets))];

	writer->scalars |= (uint16_t)(1u << number);
	return number;
}

/* Return a register whose scalar is not used afterwards. */
static unsigned pointer_register(struct writer *writer)
{
	unsigned number = 1 + below(5);

	writer->scalars &= (uint16_t) ~(1u << number);
	return number;
}

/* It held a pointer, and holds a scalar again. */
static void restore_scalar(struct writer *writer, unsigned pointer)
{
	set(writer, pointer, random_immediate());
	writer->scalars |= (uint16_t)(1u << pointer);
}

static unsigned some_size(void)
{
	static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW};

	return sizes[below(gt_countof(sizes))];
}

static unsigned bytes_of(unsigned size)
{
	return size == BPF_B ? 1 : size == BPF_H ? 2 : size == BPF_W ? 4 : 8;
}
