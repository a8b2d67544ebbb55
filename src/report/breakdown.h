/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the wall time went: the state that the text, the JSON and the advice are made from. */
#pragma once

#include "analysis/findings.h"
#include "analysis/timeline/breakdown.h"
#include "report/report.h"

/* What a report shows if --top is not given. */
#define GT_BREAKDOWN_TOP 10

struct gt_breakdown_report {
	struct gt_breakdown *breakdown;
	struct gt_findings *findings;
	uint64_t events;
	uint64_t cpu_start; /* of gputap, ns */
};

extern const struct gt_report gt_report_breakdown;
extern const struct gt_report gt_report_why;

/* CPU time of this process up to now, ns. */
uint64_t gt_breakdown_own_cpu(void);

int gt_breakdown_put_json(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json);
/* "steps", "H2D": an operation as a person reads it. `shown` as for gt_label_kernel. */
void gt_put_operation_name(struct gt_strbuf *text, const struct gt_short_names *shown,
			   enum gt_gpu_operation operation, const char *kernel);
/* What times after "T+" are relative to, on the axis of --start, where there is one: a line. */
void gt_put_origin(struct gt_strbuf *text, const struct gt_report_options *options,
		   const struct gt_names *names, const struct gt_process_breakdown *row);
/* The longest times in which no GPU worked, with their causes. */
void gt_put_idle_gaps(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_process_breakdown *row, uint64_t top);
/* The path of one, latest first, a line each. */
void gt_put_causes(struct gt_strbuf *text, const struct gt_process_breakdown *row,
		   const struct gt_idle_gap *gap);
void gt_json_idle_gap(struct gt_json *json, const char *key, const struct gt_names *names,
		      const struct gt_process_breakdown *row, const struct gt_idle_gap *gap);
/* The steps of a job of the DRM scheduler, and the fence that it waited for. */
void gt_put_job(struct gt_strbuf *text, const struct gt_job_chain *job);
void gt_json_waiting_job(struct gt_json *json, const char *key, const struct gt_job_chain *job);
/* What is known of the inside of a call or page fault, a line each. */
void gt_put_evidence(struct gt_strbuf *text, size_t indent, const struct gt_call_evidence *inside);
/* Whether the n-th row, from 0, of a list of `why` is wanted: --gap, or an event's number. */
static inline bool gt_why_shows(const struct gt_report_options *options, size_t row)
{
	return !options->number || row + 1 == options->number;
}
/*
 * The calls, system calls, page faults, jobs and Xids of a process that are explained, with their
 * causes; nothing where there are none.
 */
void gt_put_explained_events(struct gt_strbuf *text, const struct gt_report_options *options,
			     const struct gt_names *names, const struct gt_process_breakdown *row);
void gt_json_explained_events(struct gt_json *json, const struct gt_report_options *options,
			      const struct gt_names *names, const struct gt_process_breakdown *row);
/* What a call was, how long it took, and the operation that took most of it, if one did. */
void gt_put_slow_call(struct gt_strbuf *text, const struct gt_short_names *shown,
		      const struct gt_idle_gap *gap);
/* A sentence on why a gap or operation came to be. */
void gt_put_idle_cause(struct gt_strbuf *text, const struct gt_short_names *shown,
		       const struct gt_idle_gap *gap);
