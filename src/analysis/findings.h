/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Suspicious patterns in a program's calls, each with evidence and advice. */
#pragma once

#include "analysis/analysis.h"
#include "base/clean.h"

enum gt_finding_kind {
#define FINDING(name, min, ...) GT_FINDING_##name,
#include "analysis/findings.def"
#undef FINDING
	GT_FINDINGS,
};

struct gt_finding {
	enum gt_finding_kind kind;
	const char *name;   /* "tiny_copies" */
	const char *advice; /* one sentence */
	uint32_t process;
	const char *process_name;
	const char *function; /* the call at the place; NULL: several */
	uint64_t stack;       /* of the place; 0: not taken */
	uint64_t stacks;      /* that lead to this place: `stack` is one of them */
	uint64_t count;       /* occurrences there */
	uint64_t bytes;       /* that they were about; 0: none */
	uint64_t ns;          /* that their calls took */
	const char *evidence; /* one sentence with these numbers */
};

struct gt_findings;

struct gt_findings *gt_findings_new(void);
void gt_findings_free(struct gt_findings *findings);
GT_DEFINE_AUTO(findings, struct gt_findings, gt_findings_free)

/* 0 or -ENOMEM. */
int gt_findings_take(struct gt_findings *findings, const struct gt_names *names,
		     const struct gt_event *event);
/*
 * What was found up to now, the gravest kind first, one row for each kind, process, function,
 * kernel and own caller; valid until the next call. 0 or -ENOMEM.
 */
int gt_findings_rows(struct gt_findings *findings, const struct gt_names *names,
		     const struct gt_finding **ret_rows, size_t *ret_count);
