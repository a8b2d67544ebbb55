/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls, system calls, page faults, jobs of the DRM scheduler and Xids with their causes: a part of
 * the report "why".
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "kernel/xid.h"
#include "report/breakdown.h"

/* "4711 train: 12 page faults, the longest first" */
static void put_title(struct gt_strbuf *text, const struct gt_report_options *options,
		      const struct gt_names *names, const struct gt_process_breakdown *row,
		      uint64_t count, const char *what, const char *order)
{
	gt_label_process(text, names, row->process);
	gt_strbuf_printf(text, ": %" PRIu64 " %s%s%s\n", count, what, gt_report_plural(count),
			 count == 1 ? "" : order);
	gt_put_origin(text, options, names, row);
}

static uint64_t since_start(const struct gt_process_breakdown *row, uint64_t time)
{
	return time > row->start ? time - row->start : 0;
}

/* "fault 1 at T+2.1 ms: " */
static void put_number(struct gt_strbuf *text, const struct gt_process_breakdown *row,
		       const char *what, size_t index, uint64_t time)
{
	gt_strbuf_printf(text, "%s %zu at T+", what, index + 1);
	gt_format_duration(text, since_start(row, time));
	gt_strbuf_puts(text, ": ");
}

/* "cuLaunchKernel of thread 4711" */
static void put_call(struct gt_strbuf *text, const char *name, uint32_t thread)
{
	gt_strbuf_printf(text, "%s of thread ", name);
	gt_put_id(text, thread);
}

/* ---- calls, system calls and page faults ------------------------------------------------ */

static void put_headline(struct gt_strbuf *text, const struct gt_short_names *shown,
			 const struct gt_idle_gap *call)
{
	if (call->kind != GT_EXPLAIN_FAULTS) {
		gt_put_slow_call(text, shown, call);
		return;
	}
	put_call(text, call->call, call->thread);
	gt_strbuf_printf(text, " at 0x%" PRIx64 " took ", call->address);
	gt_format_duration(text, call->end - call->start);
}

static void put_calls(struct gt_strbuf *text, const struct gt_report_options *options,
		      const struct gt_process_breakdown *row, const char *what,
		      const struct gt_idle_gaps *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		const struct gt_idle_gap *call = &calls->items[i];

		if (!gt_why_shows(options, i))
			continue;
		put_number(text, row, what, i, call->start);
		put_headline(text, row->shown, call);
		gt_strbuf_puts(text, ".\n");
		gt_put_evidence(text, 2, &call->inside);
		gt_put_causes(text, row, call);
	}
}

/* ---- jobs ------------------------------------------------------------------------------- */

static void put_submission(struct gt_strbuf *text, const struct gt_names *names,
			   const struct gt_job_chain *chain)
{
	gt_strbuf_puts(text, "  submitted by thread ");
	gt_put_id(text, chain->thread);
	if (chain->outermost.start)
		gt_strbuf_printf(text, " in %s",
				 gt_names_function(names, chain->outermost.function));
	if (chain->syscall.start)
		gt_strbuf_printf(text, ", by %s", chain->syscall.name);
	gt_strbuf_putc(text, '\n');
}

static void put_waited_job(struct gt_strbuf *text, const struct gt_names *names,
			   const struct gt_job_chain *chain)
{
	gt_strbuf_puts(text, "  waited for ");
	gt_put_job(text, chain);
	if (chain->process) {
		gt_strbuf_puts(text, ", of process ");
		gt_label_process(text, names, chain->process);
	}
	gt_strbuf_putc(text, '\n');
}

static void put_jobs(struct gt_strbuf *text, const struct gt_report_options *options,
		     const struct gt_names *names, const struct gt_process_breakdown *row)
{
	put_title(text, options, names, row, row->explained_jobs, "job", ", the longest first");
	for (size_t i = 0; i < row->jobs.count; i++) {
		const struct gt_explained_job *job = &row->jobs.items[i];

		if (!gt_why_shows(options, i))
			continue;
		put_number(text, row, "job", i, gt_job_chain_start(&job->chain));
		gt_put_job(text, &job->chain);
		gt_strbuf_puts(text, ".\n");
		put_submission(text, names, &job->chain);
		for (size_t k = 0; k < job->waited_count; k++)
			put_waited_job(text, names, &job->waited[k]);
	}
}

/* ---- Xids ------------------------------------------------------------------------------- */

static void put_running(struct gt_strbuf *text, const struct gt_short_names *shown,
			const struct gt_explained_xid *xid)
{
	if (!xid->running)
		return;
	gt_strbuf_printf(text,
			 "  %" PRIu64 " operation%s had been submitted and had not ended, last ",
			 xid->running, gt_report_plural(xid->running));
	gt_put_operation_name(text, shown, xid->operation, xid->kernel);
	gt_strbuf_printf(text, " #%" PRIu64 ", ", xid->number);
	gt_format_duration(text, xid->time - xid->submitted);
	gt_strbuf_puts(text, " before\n");
}

static void put_calls_around(struct gt_strbuf *text, const struct gt_explained_xid *xid)
{
	if (xid->call) {
		gt_strbuf_puts(text, "  ");
		put_call(text, xid->call, xid->thread);
		gt_strbuf_puts(text, " began ");
		gt_format_duration(text, xid->time - xid->call_start);
		gt_strbuf_puts(text, " before and returned ");
		gt_format_duration(text, xid->call_end > xid->time ? xid->call_end - xid->time
								   : xid->time - xid->call_end);
		gt_strbuf_puts(text, xid->call_end > xid->time ? " after\n" : " before\n");
	}
	if (xid->failed) {
		gt_strbuf_printf(text, "  %" PRIu64 " call%s failed after it, first ", xid->failed,
				 gt_report_plural(xid->failed));
		put_call(text, xid->first_failed, xid->failed_thread);
		gt_strbuf_puts(text, ", ");
		gt_format_duration(text, xid->failed_end - xid->time);
		gt_strbuf_puts(text, " after\n");
	}
}

static void put_xids(struct gt_strbuf *text, const struct gt_report_options *options,
		     const struct gt_names *names, const struct gt_process_breakdown *row)
{
	put_title(text, options, names, row, row->explained_xids, "Xid", ", the earliest first");
	for (size_t i = 0; i < row->xids.count; i++) {
		const struct gt_explained_xid *xid = &row->xids.items[i];
		const char *name = gt_xid_name(xid->code);

		if (!gt_why_shows(options, i))
			continue;
		put_number(text, row, "Xid", i, xid->time);
		gt_strbuf_printf(text, "%" PRIu32 "%s%s%s: ", xid->code, name ? " (" : "",
				 name ? name : "", name ? ")" : "");
		gt_put_printable(text, xid->text);
		gt_strbuf_putc(text, '\n');
		put_running(text, row->shown, xid);
		put_calls_around(text, xid);
	}
}

void gt_put_explained_events(struct gt_strbuf *text, const struct gt_report_options *options,
			     const struct gt_names *names, const struct gt_process_breakdown *row)
{
	static const char longest[] = ", the longest first";
	uint64_t number = options->number ? options->number : 1;

	if (row->calls.count >= number) {
		gt_label_process(text, names, row->process);
		gt_strbuf_printf(text, ": the longest of %" PRIu64 " call%s\n",
				 row->explained_calls, gt_report_plural(row->explained_calls));
		gt_put_origin(text, options, names, row);
		put_calls(text, options, row, "call", &row->calls);
	}
	if (row->syscalls.count >= number) {
		put_title(text, options, names, row, row->explained_syscalls, "system call",
			  longest);
		put_calls(text, options, row, "syscall", &row->syscalls);
	}
	if (row->faults.count >= number) {
		put_title(text, options, names, row, row->explained_faults, "page fault", longest);
		put_calls(text, options, row, "fault", &row->faults);
	}
	if (row->jobs.count >= number)
		put_jobs(text, options, names, row);
	if (row->xids.count >= number)
		put_xids(text, options, names, row);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void json_name(struct gt_json *json, const char *key, const char *name)
{
	if (name)
		gt_json_string(json, key, name);
	else
		gt_json_null(json, key);
}

static void json_job(struct gt_json *json, const struct gt_names *names,
		     const struct gt_process_breakdown *row, const struct gt_explained_job *job)
{
	const struct gt_job_chain *chain = &job->chain;
	uint64_t start = gt_job_chain_start(chain);

	gt_json_object_begin(json, NULL);
	gt_json_u64(json, "start", since_start(row, start));
	gt_json_u64(json, "duration", gt_job_chain_end(chain) - start);
	gt_json_waiting_job(json, "job", chain);
	json_name(json, "call",
		  chain->outermost.start ? gt_names_function(names, chain->outermost.function)
					 : NULL);
	json_name(json, "syscall", chain->syscall.start ? chain->syscall.name : NULL);
	gt_json_u64(json, "tid", gt_id_number(chain->thread));
	gt_json_array_begin(json, "waited_for");
	for (size_t i = 0; i < job->waited_count; i++)
		gt_json_waiting_job(json, NULL, &job->waited[i]);
	gt_json_array_end(json);
	gt_json_object_end(json);
}

static void json_xid(struct gt_json *json, const struct gt_process_breakdown *row,
		     const struct gt_explained_xid *xid)
{
	gt_json_object_begin(json, NULL);
	gt_json_u64(json, "start", since_start(row, xid->time));
	gt_json_u64(json, "xid", xid->code);
	json_name(json, "name", gt_xid_name(xid->code));
	gt_json_string(json, "text", xid->text);
	gt_json_u64(json, "running", xid->running);
	gt_report_json_known(json, "operation", xid->number, xid->number);
	json_name(json, "call", xid->call);
	gt_report_json_known(json, "call_began", xid->call, xid->time - xid->call_start);
	gt_json_u64(json, "failed", xid->failed);
	json_name(json, "first_failed", xid->first_failed);
	gt_report_json_known(json, "failed_after", xid->first_failed, xid->failed_end - xid->time);
	gt_json_object_end(json);
}

static void json_calls(struct gt_json *json, const char *key,
		       const struct gt_report_options *options, const struct gt_names *names,
		       const struct gt_process_breakdown *row, const struct gt_idle_gaps *calls)
{
	gt_json_array_begin(json, key);
	for (size_t i = 0; i < calls->count; i++)
		if (gt_why_shows(options, i))
			gt_json_idle_gap(json, NULL, names, row, &calls->items[i]);
	gt_json_array_end(json);
}

void gt_json_explained_events(struct gt_json *json, const struct gt_report_options *options,
			      const struct gt_names *names, const struct gt_process_breakdown *row)
{
	gt_json_u64(json, "explained_calls", row->explained_calls);
	json_calls(json, "calls", options, names, row, &row->calls);
	gt_json_u64(json, "explained_syscalls", row->explained_syscalls);
	json_calls(json, "syscalls", options, names, row, &row->syscalls);
	gt_json_u64(json, "explained_faults", row->explained_faults);
	json_calls(json, "faults", options, names, row, &row->faults);
	gt_json_u64(json, "explained_jobs", row->explained_jobs);
	gt_json_array_begin(json, "jobs");
	for (size_t i = 0; i < row->jobs.count; i++)
		if (gt_why_shows(options, i))
			json_job(json, names, row, &row->jobs.items[i]);
	gt_json_array_end(json);
	gt_json_u64(json, "explained_xids", row->explained_xids);
	gt_json_array_begin(json, "xids");
	for (size_t i = 0; i < row->xids.count; i++)
		if (gt_why_shows(options, i))
			json_xid(json, row, &row->xids.items[i]);
	gt_json_array_end(json);
}
