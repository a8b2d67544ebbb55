/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * GPU programs in eBPF: instructions, programs, objects. The instruction set is that of
 * RFC 9669 (which has the instructions of version 4: gotol, sdiv, smod, bswap, movsx, ldsx), and
 * the atomic loads and stores of Linux.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "gpubpf/object/value.h"

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

/* "Pseudo" sources of ld_imm64 (src_reg): the meaning of the immediate. */
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
	GT_BPF_MAX_INSNS = 1000000, /* larger programs are rejected everywhere */
	/* Iterations of a bpf_loop, and of the may_goto loops of a function (BPF_MAX_LOOPS). */
	GT_BPF_MAX_LOOPS = 1 << 23,
	GT_BPF_LOOP_HELPER = 181,
};

/*
 * Iterations of a loop in a program of its own (gpu/run): those of a 32-bit counter. Only its user
 * waits for it, whereas a program in a kernel delays the kernel.
 */
#define GT_BPF_MAX_ITERATIONS_ALONE (UINT64_C(1) << 32)

/* A map as the object declares it. */
struct gt_bpf_map {
	char name[64];
	uint32_t type; /* BPF_MAP_TYPE_…, or 1501 and up (src/gpubpf/map/types.def) */
	uint32_t key_size, value_size, max_entries, flags;
	bool read_only;                /* for programs: .rodata, or BPF_F_RDONLY_PROG */
	bool write_only;               /* for programs: BPF_F_WRONLY_PROG */
	bool constant;                 /* read only and frozen: loads of it give known values */
	bool host_only;                /* no GPU program uses it, or can use it: see `problem` */
	bool internal;                 /* made by gputap: not shown */
	bool pinned;                   /* declared with LIBBPF_PIN_BY_NAME (object/merge.h) */
	bool with_host;                /* host programs use it, too: its memory is the kernel's */
	char *problem;                 /* why GPU programs cannot use it, or NULL. Owned. */
	struct gt_bpf_type key, value; /* of rings: value is the type of records */
	bool histogram;                /* of powers of two: programs pass it to bpf_hist_add */
	/*
	 * An array of one copy to which programs only add has so many stripes, a power of two:
	 * multiprocessors add to different ones, and its values are their sums. 0: none.
	 */
	uint32_t stripes;
	uint8_t *initial; /* of the first value, value_size bytes; NULL: zeros. Owned. */
	uint8_t *presets; /* keys, each followed by its value (map/preset.h). Owned. */
	uint64_t preset_count;
};

/* The source line of an instruction and of those up to the next entry. Sorted by insn. */
struct gt_bpf_line {
	uint32_t insn;
	uint32_t line;    /* from 1; 0: no line is known */
	const char *file; /* owned by the object; never NULL */
	const char *text; /* the line itself, or "" */
};

struct gt_bpf_program {
	char *name;    /* of the function */
	char *section; /* "gpu/entry/…"; "" for raw programs */
	struct bpf_insn *insns;
	uint32_t count;        /* slots: an ld_imm64 takes two */
	char *problem;         /* why it cannot run on a GPU, or NULL … */
	uint32_t problem_insn; /* … and the instruction */
	struct gt_bpf_line *lines;
	uint32_t line_count;
};

/* A program for Linux, verified by its kernel. */
struct gt_bpf_host_program {
	char *name, *section;
};

struct gt_bpf_object {
	char *path;
	struct gt_file file;             /* the bytes that were checked; the file is read once */
	struct gt_bpf_program *programs; /* the GPU programs */
	uint32_t program_count;
	struct gt_bpf_host_program *host_programs;
	uint32_t host_program_count;
	struct gt_bpf_map *maps;
	uint32_t map_count;
	struct btf *types; /* that maps refer to; NULL: none */
	char **strings;    /* referenced by the lines of programs */
	uint32_t string_count;
};

void gt_bpf_object_free(struct gt_bpf_object *object);
GT_DEFINE_AUTO(bpf_object, struct gt_bpf_object, gt_bpf_object_free)
void gt_bpf_program_clear(struct gt_bpf_program *program);

/* The source line of an instruction, or NULL. */
const struct gt_bpf_line *gt_bpf_line_of(const struct gt_bpf_program *program, uint32_t insn);

static inline bool gt_bpf_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}
static inline bool gt_bpf_is_subprogram_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}
/* An ld_imm64 of a function's address; its target is relative to it, as that of a call. */
static inline bool gt_bpf_is_function(const struct bpf_insn *insn)
{
	return gt_bpf_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC;
}
static inline bool gt_bpf_is_loop_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	       insn->imm == GT_BPF_LOOP_HELPER;
}
/* Falls through at most GT_BPF_MAX_LOOPS times in a run of its function, and jumps from then on. */
static inline bool gt_bpf_is_may_goto(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JCOND);
}
/*
 * An atomic load or store (Linux 6.15): memory order acquire or release.
 */
static inline bool gt_bpf_is_ordered(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC &&
	       (insn->imm == BPF_LOAD_ACQ || insn->imm == BPF_STORE_REL);
}
/* The plain load or store of one with memory order; other instructions unchanged. */
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
/* The target of a jump, of a call of a function or of a function's address: a slot, perhaps out of
 * range. */
int64_t gt_bpf_jump_target(const struct bpf_insn *insns, uint32_t at);

/*
 * Check that the instruction at slot `at` is defined, its reserved fields are zero and its
 * registers exist. 0 or -EINVAL with the reason in `diag` (may be NULL).
 */
int gt_bpf_check_insn(const struct bpf_insn *insns, uint32_t count, uint32_t at,
		      struct gt_diag *diag);

/* Append the instruction at slot `at` as the kernel's log shows it: "r1 = *(u64 *)(r10 - 8)". */
void gt_bpf_put_insn(struct gt_strbuf *text, const struct bpf_insn *insns, uint32_t count,
		     uint32_t at);

/*
 * Replace instructions that RFC 9669 defines and Linux rejects (division by the constant 0, shifts
 * by a constant that is not less than the width) by equivalent ones.
 */
void gt_bpf_canonicalize(struct bpf_insn *insns, uint32_t count);

/*
 * Read a program as hex digits (gt_parse_hex), eight bytes per instruction. 0; -EINVAL with the
 * reason; -E2BIG; -ENOMEM. The caller frees *ret_insns.
 */
int gt_bpf_read_hex(const char *text, struct bpf_insn **ret_insns, uint32_t *ret_count,
		    struct gt_diag *diag);
