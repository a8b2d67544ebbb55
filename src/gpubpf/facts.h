/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Facts: results of the verifier that translators use. In programs that run once per warp or block,
 * as in a single lane, no value varies and no instruction is divergent.
 */
#pragma once

#include "gpubpf/program.h"

/* Types of registers. */
enum gt_register_type {
	GT_REG_UNSET,     /* may not be read, on at least one path */
	GT_REG_SCALAR,    /* a scalar, or an address that is used as one */
	GT_REG_STACK,     /* a pointer into a frame's stack */
	GT_REG_CONTEXT,   /* the context */
	GT_REG_MAP,       /* a map itself, for helpers */
	GT_REG_MAP_VALUE, /* a pointer into a map's value */
	GT_REG_RECORD,    /* a pointer into a ring's record */
	GT_REG_MEMORY,    /* a pointer into the memory of a raw program */
	GT_REG_FUNCTION,  /* a function, for bpf_loop; `map` is its number in subprograms */
	GT_REG_MIXED,     /* pointers of different types, on different paths */
};

/*
 * A register on all paths. Bounds and alignment are those of registers that must be precise: of
 * addresses that are accessed, operands of jumps, and what these are computed from. Others have
 * none.
 */
struct gt_register_fact {
	uint8_t type;      /* gt_register_type */
	bool maybe_null;   /* a pointer, or NULL */
	bool address;      /* SCALAR: derived from an address, on at least one path */
	bool varying;      /* may differ between the active lanes of a warp */
	uint8_t frame;     /* STACK: 0 its own frame, 1 its caller's …; 255: several */
	uint8_t alignment; /* of a pointer, in bytes: 1, 2, 4, 8 */
	int32_t map;       /* MAP, MAP_VALUE: its index in the object; -1: several. RECORD: ring */
	int64_t min;       /* SCALAR: signed bounds. Pointers: bytes from the start of the */
	int64_t max;       /* value, record or memory; STACK: from the frame's top (-512 to 0) */
};

struct gt_insn_facts {
	bool reached;
	bool divergent; /* only some of the active lanes of a warp may be here */
	uint8_t frames; /* max call depth: 0 in the main program */
	uint8_t branch; /* conditional jumps: possible branches; bit 0 falls through, bit 1 jumps */
	uint16_t live;  /* bit n: register n is live */
	bool diverges;  /* conditional jumps: lanes may take different paths */
	bool many_keys; /* helpers with a key: lanes may have different ones */
	/* Before the instruction. */
	struct gt_register_fact registers[GT_BPF_REGISTERS];
};

/* A safe operation that is slow or racy. */
struct gt_warning {
	uint32_t insn;
	uint32_t line; /* in the source, 0 if not known */
	char text[256];
};

/* A function of the program; the first is the main one, at 0. */
struct gt_subprogram_facts {
	uint32_t start, end; /* slots */
	uint32_t stack;      /* bytes used, a multiple of 8 */
	/*
	 * Bit n: slot n, the 8 bytes at -8 * (n + 1), is only read and written whole, at constant
	 * offsets, and its address is not used otherwise: a translator may keep it in a register.
	 */
	uint64_t plain;
	/* Bit n: slot n may be read before it is written; it reads as zeros then. */
	uint64_t read_early;
};

struct gt_facts {
	struct gt_insn_facts *insns; /* one per slot of the program */
	uint32_t insn_count;
	struct gt_subprogram_facts *subprograms;
	uint32_t subprogram_count;
	struct gt_warning *warnings; /* by insn */
	uint32_t warning_count;
	uint64_t bound;   /* max instructions executed in a run */
	uint32_t widened; /* loops of which not every iteration was explored */
	uint64_t visited; /* instructions visited by the verifier */
};

void gt_facts_clear(struct gt_facts *facts);
/* Return the function that contains an instruction, or NULL. */
const struct gt_subprogram_facts *gt_facts_subprogram(const struct gt_facts *facts, uint32_t insn);
