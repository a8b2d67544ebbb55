/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * eBPF programs for the GPU: instructions, programs, objects. The instruction set is that of
 * RFC 9669 (which has the instructions of version 4: gotol, sdiv, smod, bswap, movsx, ldsx), and
 * Linux's atomic loads and stores.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

/* Newer than the kernel headers this must build with. */
#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80
#endif
#ifndef BPF_LOAD_ACQ
#define BPF_LOAD_ACQ 0x100
#define BPF_STORE_REL 0x110
#endif
#ifndef BPF_JCOND
#define BPF_JCOND 0xe0
#endif

/* "Pseudo" sources of ld_imm64: what the immediate stands for (src_reg). */
enum gt_bpf_immediate {
	GT_BPF_IMM_SCALAR = 0,
	GT_BPF_IMM_MAP_INDEX = 5,       /* imm: the map's number in the object */
	GT_BPF_IMM_MAP_INDEX_VALUE = 6, /* and the second imm an offset into its first value */
};

enum {
	GT_BPF_STACK_SIZE = 512,
	GT_BPF_STACK_SLOTS = GT_BPF_STACK_SIZE / 8,
	GT_BPF_MAX_FRAMES = 8,
	GT_BPF_REGISTERS = 11,
	GT_BPF_MAX_INSNS = 1000000, /* a text longer than this is refused everywhere */
};

/* A map as the object declares it. */
struct gt_bpf_map {
	char name[64];
	uint32_t type; /* BPF_MAP_TYPE_…, or 1501 and up (src/gpubpf/map/types.def) */
	uint32_t key_size, value_size, max_entries, flags;
	bool read_only;   /* for programs: .rodata, or BPF_F_RDONLY_PROG */
	bool constant;    /* read only and frozen: loads of it give known values */
	bool host_only;   /* no program for the GPU uses it, or could: see `problem` */
	bool with_host;   /* programs for Linux that run beside use it, too: it is their kernel's */
	char *problem;    /* why no program for the GPU can use it, or NULL. Owned. */
	uint8_t *initial; /* of the first value, value_size bytes; NULL: zeros. Owned. */
};

/* Where an instruction comes from. Sorted by insn; one holds up to the next. */
struct gt_bpf_line {
	uint32_t insn;
	uint32_t line;    /* in the source file, from 1; 0: none from here on */
	const char *file; /* owned by the object; never NULL */
	const char *text; /* the line itself, or "" */
};

struct gt_bpf_program {
	char *name;    /* of the function */
	char *section; /* "gpu/entry/…"; "" for raw programs */
	struct bpf_insn *insns;
	uint32_t count;        /* slots: an ld_imm64 takes two */
	char *problem;         /* why it cannot be for the GPU whatever it does, or NULL … */
	uint32_t problem_insn; /* … and where */
	struct gt_bpf_line *lines;
	uint32_t line_count;
};

/* A program for Linux, which its kernel verifies. */
struct gt_bpf_host_program {
	char *name, *section;
};

struct gt_bpf_object {
	struct gt_bpf_program *programs; /* those for the GPU */
	uint32_t program_count;
	struct gt_bpf_host_program *host_programs;
	uint32_t host_program_count;
	struct gt_bpf_map *maps;
	uint32_t map_count;
	char **strings; /* that the lines of programs point to */
	uint32_t string_count;
};

void gt_bpf_object_free(struct gt_bpf_object *object);
GT_DEFINE_AUTO(bpf_object, struct gt_bpf_object, gt_bpf_object_free)
void gt_bpf_program_clear(struct gt_bpf_program *program);

/* The line an instruction comes from, or NULL. */
const struct gt_bpf_line *gt_bpf_line_of(const struct gt_bpf_program *program, uint32_t insn);

static inline bool gt_bpf_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}
static inline bool gt_bpf_is_subprogram_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}
/*
 * An atomic load or store (Linux 6.15), which has an order: what other threads write before a store
 * with "release" is seen by who has read it with "acquire".
 */
static inline bool gt_bpf_is_ordered(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC &&
	       (insn->imm == BPF_LOAD_ACQ || insn->imm == BPF_STORE_REL);
}
/* The load or store that an atomic one is but for its order; others as they are. */
static inline struct bpf_insn gt_bpf_without_order(const struct bpf_insn *insn)
{
	struct bpf_insn plain = *insn;

	if (gt_bpf_is_ordered(insn)) {
		plain.code = (uint8_t)((insn->imm == BPF_LOAD_ACQ ? BPF_LDX : BPF_STX) |
				       BPF_SIZE(insn->code) | BPF_MEM);
		plain.imm = 0;
	}
	return plain;
}
/* The bytes a load, store or atomic instruction moves. */
static inline unsigned gt_bpf_access_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}
/* Where a jump goes (not exit, not calls of helpers): a slot number, perhaps out of range. */
int64_t gt_bpf_jump_target(const struct bpf_insn *insns, uint32_t at);

/*
 * Whether the instruction at slot `at` is one of the instruction set, with its reserved fields
 * zero and registers that exist. 0 or -EINVAL with the reason in `diag` (may be NULL).
 */
int gt_bpf_check_insn(const struct bpf_insn *insns, uint32_t count, uint32_t at,
		      struct gt_diag *diag);

/* Adds the text of the instruction at slot `at` ("r1 = *(u64 *)(r10 - 8)"), as the kernel's log. */
void gt_bpf_put_insn(struct gt_strbuf *text, const struct bpf_insn *insns, uint32_t count,
		     uint32_t at);

/*
 * Makes instructions that RFC 9669 defines and Linux refuses (divisions by the number 0, shifts by
 * a number as great as the width) others that give the same.
 */
void gt_bpf_canonicalize(struct bpf_insn *insns, uint32_t count);

/*
 * Reads hex digits (gt_parse_hex), eight bytes an instruction. 0, -EINVAL with the reason, -E2BIG,
 * -ENOMEM. The caller frees *ret_insns.
 */
int gt_bpf_read_hex(const char *text, struct bpf_insn **ret_insns, uint32_t *ret_count,
		    struct gt_diag *diag);
