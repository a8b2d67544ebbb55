/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The verifier: proves that a program ends, accesses only memory that it may, and releases the
 * records that it reserves. Its verdicts are those of Linux for CAP_BPF and CAP_PERFMON, except
 * that addresses are rejected in maps, rings and printed text (docs/ebpf-linux.md: the other
 * exceptions).
 */
#pragma once

#include "gpubpf/context.h"
#include "gpubpf/facts.h"
#include "gpubpf/program.h"

/* Input of the program: r1, r2. */
enum gt_verify_input {
	GT_INPUT_CONTEXT, /* context of a section (context.h), or of context_size bytes */
	GT_INPUT_MEMORY,  /* memory of memory_size bytes; r2 is memory_size. NULL if that is 0 */
};

/* What it took, in all passes. */
struct gt_verify_effort {
	uint64_t visited; /* instructions */
	uint64_t work;    /* of comparing states */
};

struct gt_verify_options {
	enum gt_verify_input input;
	/* Which context, and how many lanes run the program; NULL: any bytes, once per thread. */
	const struct gt_section *section;
	uint32_t context_size; /* without a section */
	uint32_t memory_size;
	uint32_t max_size;     /* slots; 0: GT_BPF_MAX_INSNS */
	uint64_t max_visited;  /* instructions; 0: GT_MAX_VISITED (private.h) */
	uint64_t max_work;     /* 0: GT_MAX_WORK (private.h) */
	uint64_t max_executed; /* reject a larger bound; 0: none */
	/* Of a widened loop, proved before it runs. 0: GT_BPF_MAX_LOOPS. */
	uint64_t max_iterations;
	bool allow_control;  /* helpers that change the execution of the kernel */
	bool strict;         /* accept unreachable instructions, as RFC 9669 does */
	bool widens;         /* loops, from the first pass on; for tests */
	bool lazy_precision; /* from the first pass on (verify.c); for tests */
	struct gt_verify_effort
		*effort;       /* set by accepted and rejected programs; NULL: not needed */
	struct gt_strbuf *log; /* each instruction visited with the registers; NULL: no log */
};

struct gt_verify_error {
	bool is_at_insn;      /* else the program as a whole is rejected, and the rest is unset */
	uint32_t insn;        /* where; the text is in the diag */
	uint32_t line;        /* in the source, 0 if not known */
	char registers[1024]; /* "R0=scalar() R10=fp0"; "" if there are several paths */
};

/*
 * Verify a program. 0: safe, and *ret_facts is set, to be cleared by gt_facts_clear(). -EACCES: not
 * safe; -EINVAL: empty; -E2BIG: too large or too complex; -ENOMEM. The diag's text is the reason,
 * its place "file:line" or "insn N"; ret_error may be NULL.
 */
int gt_verify(const struct gt_bpf_object *object, const struct gt_bpf_program *program,
	      const struct gt_verify_options *options, struct gt_facts *ret_facts,
	      struct gt_verify_error *ret_error, struct gt_diag *diag);
