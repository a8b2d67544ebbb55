/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The verifier: proves that a program ends, reads only what is there, writes only what it may, and
 * gives back what it took. Its verdicts are those of Linux for CAP_BPF and CAP_PERFMON, except that
 * no address goes into maps, rings and what is printed (docs/ebpf-linux.md: the other exceptions).
 */
#pragma once

#include "gpubpf/context.h"
#include "gpubpf/facts.h"
#include "gpubpf/program.h"

/* What r1 is at the start. */
enum gt_verify_input {
	GT_INPUT_CONTEXT, /* the context of a section (context.h), or one of context_size bytes */
	GT_INPUT_MEMORY,  /* memory of memory_size bytes; r2 is memory_size. NULL if that is 0 */
};

struct gt_verify_options {
	enum gt_verify_input input;
	/* Which context, and how many lanes run the program; NULL: any bytes, once a thread. */
	const struct gt_section *section;
	uint32_t context_size; /* without a section */
	uint32_t memory_size;
	uint32_t max_size;     /* slots; 0: GT_BPF_MAX_INSNS */
	uint64_t max_visited;  /* 0: 1,000,000 */
	uint64_t max_executed; /* refuse a greater bound; 0: do not */
	bool allow_control;    /* helpers that change what a kernel does */
	bool strict;         /* instructions that no way leads to, of which RFC 9669 says nothing */
	bool lazy_precision; /* at once what is done where ways are too many (verify.c); for tests
			      */
	struct gt_strbuf *log; /* each instruction visited with the registers; NULL: no log */
};

struct gt_verify_error {
	bool is_at_insn;      /* else the reason is the program as a whole, and nothing follows */
	uint32_t insn;        /* where; the text is in the diag */
	uint32_t line;        /* in the source, 0 if not known */
	char registers[1024]; /* "R0=scalar() R10=fp0"; "" if several ways lead there */
};

/*
 * 0: safe, *ret_facts is filled in (the caller clears it). -EACCES: not safe; -EINVAL: no program;
 * -E2BIG: too long or too complex; -ENOMEM. The diag's text is the reason, its place
 * "file:line" or "insn N"; ret_error may be NULL.
 */
int gt_verify(const struct gt_bpf_object *object, const struct gt_bpf_program *program,
	      const struct gt_verify_options *options, struct gt_facts *ret_facts,
	      struct gt_verify_error *ret_error, struct gt_diag *diag);
