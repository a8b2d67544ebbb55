/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the verifier found out and hands on to the translators. Programs that run once a warp or
 * once a block are run by one lane as it were: nothing varies in them and nothing is divergent.
 */
#pragma once

#include "gpubpf/program.h"

/* What a register holds. */
enum gt_register_type {
	GT_REG_UNSET,     /* nothing that may be read, on at least one path */
	GT_REG_SCALAR,    /* a number, or an address that only serves as one */
	GT_REG_STACK,     /* a pointer into a frame's stack */
	GT_REG_CONTEXT,   /* the context */
	GT_REG_MAP,       /* a map itself, for helpers */
	GT_REG_MAP_VALUE, /* a pointer into a map's value */
	GT_REG_RECORD,    /* a pointer into a ring's record */
	GT_REG_MEMORY,    /* a pointer into the memory a raw program was given */
	GT_REG_MIXED,     /* pointers of different kinds, on different paths */
};

/* True of a register on every path; `least` to `greatest` hold all values that it can have. */
struct gt_register_fact {
	uint8_t type;      /* gt_register_type */
	bool maybe_null;   /* a pointer, or NULL */
	bool address;      /* NUMBER: made of an address, on at least one path */
	bool varying;      /* may differ between the lanes of a warp that run the program */
	uint8_t frame;     /* STACK: 0 its own frame, 1 its caller's …; 255: several */
	uint8_t alignment; /* of a pointer, in bytes: 1, 2, 4, 8 */
	int32_t map;       /* MAP, MAP_VALUE: its number in the object; -1: several. RECORD: ring */
	int64_t min;       /* NUMBER: as a signed number. Pointers: bytes from the start of the */
	int64_t max;       /* value, record or memory; STACK: from the frame's top (-512 to 0) */
};

struct gt_insn_facts {
	bool reached;
	bool divergent; /* lanes of a warp that run the program may not all be here together */
	uint8_t frames; /* how deep in calls at most: 0 in the main program */
	uint8_t branch; /* conditional jumps: bit 0 falls through, bit 1 jumps */
	uint16_t live;  /* bit n: a way from here reads register n before it writes it */
	bool diverges;  /* conditional jumps: lanes may take different paths */
	bool many_keys; /* helpers that take a key: lanes may have different ones */
	/* Before the instruction. */
	struct gt_register_fact registers[GT_BPF_REGISTERS];
};

/* What a program does safely but badly. */
struct gt_warning {
	uint32_t insn;
	uint32_t line; /* in the source, 0 if not known */
	char text[256];
};

/* A function of the program: the main one is the first, at 0. */
struct gt_subprogram_facts {
	uint32_t start, end; /* slots */
	uint32_t stack;      /* bytes used, a multiple of 8 */
	/*
	 * Bit n: the 8 bytes at -8 * (n + 1) are only read and written whole, at known offsets,
	 * and nothing else ever has their address: a translator may keep them in a register.
	 */
	uint64_t plain;
	/* Bit n: those bytes may be read before they are written; they read as zeros then. */
	uint64_t read_early;
};

struct gt_facts {
	struct gt_insn_facts *insns; /* as many as the program has slots */
	uint32_t insn_count;
	struct gt_subprogram_facts *subprograms;
	uint32_t subprogram_count;
	struct gt_warning *warnings; /* by insn */
	uint32_t warning_count;
	uint64_t bound;   /* instructions executed in a run, at most */
	uint64_t visited; /* instructions the verifier looked at */
};

void gt_facts_clear(struct gt_facts *facts);
/* The function an instruction is in. */
const struct gt_subprogram_facts *gt_facts_subprogram(const struct gt_facts *facts, uint32_t insn);
