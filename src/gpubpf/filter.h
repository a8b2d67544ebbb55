/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Filters: instructions before a program that end it unless a condition on its context holds, and
 * that let only every Nth run pass. The verifier, the interpreter and translators see a longer
 * program and one more map, whose value has the parameters: they can be changed while the program
 * runs.
 *
 * The value of the map, in words of 64 bits:
 *
 *	sampling period
 *	base, span      of each term: it holds if field - base <= span, unsigned, modulo 2^64;
 *	                of fields of 4 bytes modulo 2^32, both in the first word (span in the
 *	                upper half)
 *	runs            of each slot, where runs are sampled: the lower half is the number of runs
 *	                since one passed, the upper half counts those that did not pass
 *
 * A run passes if all terms hold and its slot's lower half is 0. The slot is the flat number of the
 * thread, warp or block that runs the program, modulo the number of slots: each of them takes its
 * first run and each Nth after it, in the order in which it runs them, at all sites together.
 */
#pragma once

#include "base/comparison.h"
#include "gpubpf/context.h"
#include "gpubpf/program.h"

enum {
	GT_BPF_FILTER_MAX_TERMS = 8,
	GT_BPF_FILTER_MAX_SLOTS = 1 << 20,
};

struct gt_bpf_filter_term {
	const struct gt_context_field *field;
	uint32_t index; /* in arrays */
	uint64_t base, span;
};

struct gt_bpf_filter {
	struct gt_bpf_filter_term terms[GT_BPF_FILTER_MAX_TERMS];
	uint32_t term_count;
	uint32_t period; /* 0: runs are not sampled */
	uint32_t slots;  /* a power of two; 0: as period */
	uint32_t map;    /* its number in the object, once it is inserted */
};

/*
 * Parse a condition for the programs of a section: "blockIdx.x == 0 && lane < 4". Fields are those
 * of the context by the names of context.def, with an index for arrays ("arguments[0]"), or
 * threadIdx.x, blockIdx.x, blockDim.x, gridDim.x. Values are unsigned. 0; -EINVAL, -E2BIG, -ENOMEM
 * with the reason. The filter's terms are replaced.
 */
int gt_bpf_filter_parse(const char *text, const struct gt_section *section,
			struct gt_bpf_filter *filter, struct gt_diag *diag);
/* Parse "N" or "1/N" as a period. 0 or -EINVAL. */
int gt_bpf_filter_parse_period(const char *text, uint32_t *ret_period);

/*
 * Insert a filter before a program of an object, which must have been verified as it is, and add
 * its map to the object. threads: of a launch, for the number of slots. Sets filter->slots and
 * filter->map. 0, -E2BIG or -ENOMEM.
 */
int gt_bpf_filter_insert(struct gt_bpf_object *object, struct gt_bpf_program *program,
			 const struct gt_section *section, uint32_t threads,
			 struct gt_bpf_filter *filter, struct gt_diag *diag);

/*
 * Change the parameters in the map's memory, also while programs run: a run at the same time may
 * see a part of the change. `wanted` has terms on fields that the inserted filter has, each at most
 * as often; terms that it does not have hold always. Its period is 0: unchanged. has_terms: false
 * leaves the terms as they are. 0; -EINVAL with the reason.
 */
int gt_bpf_filter_change(struct gt_bpf_filter *inserted, const struct gt_bpf_filter *wanted,
			 bool has_terms, void *memory, struct gt_diag *diag);
/* Write all parameters: what `memory` holds initially. */
void gt_bpf_filter_write(const struct gt_bpf_filter *filter, void *memory);
/* The size of the parameters, which are at the start of the memory. */
size_t gt_bpf_filter_parameter_bytes(const struct gt_bpf_filter *filter);
/* The runs that sampling did not let pass, of all slots. */
uint64_t gt_bpf_filter_skipped(const struct gt_bpf_filter *filter, const void *memory);

/* Append the terms as text: "block_x == 0 && lane < 4"; nothing if there are none. */
void gt_bpf_filter_print(const struct gt_bpf_filter *filter, struct gt_strbuf *text);
