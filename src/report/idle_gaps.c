/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Times in which no GPU worked, and why: in the reports "report" and "why". */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "report/breakdown.h"

static void put_thread(struct gt_strbuf *text, uint32_t thread)
{
	gt_strbuf_puts(text, "thread ");
	gt_put_id(text, thread);
}

static void put_sleep(struct gt_strbuf *text, const struct gt_cause *cause)
{
	put_thread(text, cause->thread);
	gt_strbuf_puts(text, " was off-CPU ");
	gt_format_duration(text, cause->end - cause->start);
	if (cause->syscall)
		gt_strbuf_printf(text, " in %s", cause->syscall);
	else
		gt_strbuf_printf(text, " (%s)", gt_layer_task_state(cause->state));
	if (cause->waker) {
		gt_strbuf_puts(text, ", woken by ");
		gt_put_id(text, cause->waker);
		if (cause->waker_name[0]) {
			gt_strbuf_puts(text, " ");
			gt_put_printable(text, cause->waker_name);
		}
	} else if (cause->waker_name[0]) {
		gt_strbuf_puts(text, ", woken by ");
		gt_put_printable(text, cause->waker_name);
	}
	if (cause->runnable > (cause->end - cause->start) / 2)
		gt_strbuf_puts(text, ", mostly waiting for a CPU");
}

static void put_queue(struct gt_strbuf *text, const struct gt_short_names *shown,
		      const struct gt_cause *cause)
{
	static const char *const releases[] = {
		[GT_RELEASE_SUBMISSION] = "its submission",
		[GT_RELEASE_STREAM] = "the operation before it in its stream ended",
		[GT_RELEASE_DEPENDENCY] =
			"the operation of another stream ended that it depends on",
	};

	gt_put_operation_name(text, shown, cause->operation, cause->name);
	gt_strbuf_printf(text, " #%" PRIu64 " started ", cause->number);
	gt_format_duration(text, cause->end - cause->start);
	gt_strbuf_printf(text, " after %s", releases[cause->release]);
}

static void put_host(struct gt_strbuf *text, const struct gt_cause *cause, const char *what)
{
	put_thread(text, cause->thread);
	gt_strbuf_printf(text, " %s ", what);
	gt_format_duration(text, cause->end - cause->start);
	if (cause->name)
		gt_strbuf_printf(text, " in %s", cause->name);
	if (cause->count > 1)
		gt_strbuf_printf(text, " (%" PRIu64 " times)", cause->count);
}

static void put_wait(struct gt_strbuf *text, const struct gt_cause *cause)
{
	if (!cause->number) {
		put_host(text, cause, "waited for");
		return;
	}
	put_thread(text, cause->thread);
	gt_strbuf_printf(text, " returned from %s ", cause->name ? cause->name : "its wait");
	gt_format_duration(text, cause->end - cause->start);
	gt_strbuf_printf(text, " after the end of #%" PRIu64, cause->number);
}

static void put_work(struct gt_strbuf *text, const struct gt_short_names *shown,
		     const struct gt_cause *cause)
{
	static const char *const releases[] = {
		[GT_RELEASE_SUBMISSION] = "",
		[GT_RELEASE_STREAM] = ", after the operation before it in its stream",
		[GT_RELEASE_DEPENDENCY] = ", after an operation of another stream",
	};

	gt_put_operation_name(text, shown, cause->operation, cause->name);
	gt_strbuf_printf(text, " #%" PRIu64 " ran ", cause->number);
	gt_format_duration(text, cause->end - cause->start);
	gt_strbuf_puts(text, releases[cause->release]);
}

static void put_full_queue(struct gt_strbuf *text, const struct gt_queue_evidence *queue)
{
	if (!queue->is_full)
		return;
	gt_strbuf_printf(text,
			 ", until one of %" PRIu64
			 " operations in its stream had ended (full queue: it returned ",
			 queue->depth);
	gt_format_duration(text, queue->returned);
	gt_strbuf_puts(text, " after that");
	if (queue->usual) {
		gt_strbuf_puts(text, ", with a short queue such calls take ");
		gt_format_duration(text, queue->usual);
	}
	gt_strbuf_puts(text, ")");
}

/* One cause, without a full stop. */
static void put_cause(struct gt_strbuf *text, const struct gt_short_names *shown,
		      const struct gt_cause *cause)
{
	switch (cause->spending) {
	case GT_SPENT_CPU:
		put_host(text, cause, "computed for");
		break;
	case GT_SPENT_SYSCALL:
		put_host(text, cause, "spent");
		break;
	case GT_SPENT_OFF_CPU:
		put_sleep(text, cause);
		break;
	case GT_SPENT_API:
	case GT_SPENT_LAUNCH:
		put_host(text, cause, "spent");
		put_full_queue(text, &cause->queued);
		break;
	case GT_SPENT_COPY:
		put_host(text, cause, "spent");
		put_full_queue(text, &cause->queued);
		break;
	case GT_SPENT_WAIT:
		put_wait(text, cause);
		break;
	case GT_SPENT_QUEUE:
		put_queue(text, shown, cause);
		break;
	default:
		put_work(text, shown, cause);
		break;
	}
}

void gt_put_slow_call(struct gt_strbuf *text, const struct gt_short_names *shown,
		      const struct gt_idle_gap *gap)
{
	gt_strbuf_printf(text, "%s of ", gap->call);
	put_thread(text, gap->thread);
	gt_strbuf_puts(text, " took ");
	gt_format_duration(text, gap->end - gap->start);
	if (gap->failed)
		gt_strbuf_puts(text, " and failed");
	if (gap->headline.count && gap->headline.number) {
		gt_strbuf_puts(text, ", mostly because ");
		put_cause(text, shown, &gap->headline);
	}
}

void gt_put_idle_cause(struct gt_strbuf *text, const struct gt_short_names *shown,
		       const struct gt_idle_gap *gap)
{
	gt_strbuf_puts(text, "GPU idle ");
	gt_format_duration(text, gap->end - gap->start);
	gt_strbuf_puts(text, ": next ");
	gt_put_operation_name(text, shown, gap->operation, gap->kernel);
	gt_strbuf_printf(text, " #%" PRIu64 " late", gap->next);
	if (!gap->headline.count)
		return;
	gt_strbuf_puts(text, " because ");
	put_cause(text, shown, &gap->headline);
}

/* A step of a job relative to its submission. */
static void put_step(struct gt_strbuf *text, const char *step, uint64_t time, uint64_t queued)
{
	if (!time)
		return;
	gt_strbuf_printf(text, ", %s after ", step);
	gt_format_duration(text, time > queued ? time - queued : 0);
}

void gt_put_job(struct gt_strbuf *text, const struct gt_job_chain *job)
{
	const struct gt_job_chain_dependency *dependency = &job->dependency;
	char ring[GT_DRM_NAME_SIZE + 1] = "";

	memcpy(ring, job->names, GT_DRM_NAME_SIZE);
	gt_strbuf_printf(text, "job %" PRIu64 ":%" PRIu64, job->context, job->seqno);
	if (job->names[0]) {
		gt_strbuf_puts(text, " of ring ");
		gt_put_printable(text, ring);
	}
	gt_strbuf_puts(text, ": queued");
	if (dependency->blocked) {
		gt_strbuf_puts(text, ", waited ");
		gt_format_duration(text, dependency->blocked);
		gt_strbuf_printf(text, " for fence %" PRIu64 ":%" PRIu64, dependency->context,
				 dependency->seqno);
		if (dependency->process) {
			gt_strbuf_puts(text, " of process ");
			gt_put_id(text, dependency->process);
		}
	}
	put_step(text, "ran", job->run, job->queued);
	put_step(text, "interrupt", job->interrupt.start, job->queued);
	put_step(text, job->canceled ? "canceled" : "done", job->done, job->queued);
	put_step(text, "its fence signaled", job->signaled, job->queued);
	if (job->timed_out)
		gt_strbuf_puts(text, ", timed out");
	if (job->error)
		gt_strbuf_printf(text, ", error %d", job->error);
}

static void begin_evidence(struct gt_strbuf *text, size_t indent)
{
	gt_strbuf_printf(text, "%*s", (int)indent, "");
}

static void put_requests(struct gt_strbuf *text, size_t indent,
			 const struct gt_call_evidence *inside)
{
	if (inside->faults) {
		begin_evidence(text, indent);
		gt_strbuf_printf(text, "%" PRIu64 " page fault%s of ", inside->faults,
				 gt_report_plural(inside->faults));
		gt_format_duration(text, inside->fault_ns);
		gt_strbuf_putc(text, '\n');
	}
	if (inside->io) {
		begin_evidence(text, indent);
		gt_strbuf_printf(text, "%" PRIu64 " request%s of block I/O, ", inside->io,
				 gt_report_plural(inside->io));
		gt_format_bytes(text, inside->io_bytes);
		gt_strbuf_puts(text, ", of ");
		gt_format_duration(text, inside->io_ns);
		gt_strbuf_putc(text, '\n');
	}
}

void gt_put_evidence(struct gt_strbuf *text, size_t indent, const struct gt_call_evidence *inside)
{
	if (inside->syscall) {
		begin_evidence(text, indent);
		gt_strbuf_printf(text, "%s took ", inside->syscall);
		gt_format_duration(text, inside->syscall_whole_ns);
		if (inside->syscall_ns < inside->syscall_whole_ns) {
			gt_strbuf_puts(text, ", of it in this time ");
			gt_format_duration(text, inside->syscall_ns);
		}
		gt_strbuf_putc(text, '\n');
	}
	if (inside->jobs) {
		begin_evidence(text, indent);
		gt_put_job(text, &inside->job);
		if (inside->jobs > 1)
			gt_strbuf_printf(text, " (the longest of %" PRIu64 " jobs)", inside->jobs);
		gt_strbuf_putc(text, '\n');
	}
	put_requests(text, indent, inside);
	if (inside->off_cpu_ns) {
		begin_evidence(text, indent);
		gt_strbuf_puts(text, "off-CPU for ");
		gt_format_duration(text, inside->off_cpu_ns);
		gt_strbuf_puts(text, ", of it waiting for a CPU ");
		gt_format_duration(text, inside->runnable_ns);
		gt_strbuf_putc(text, '\n');
	}
	if (inside->xid) {
		begin_evidence(text, indent);
		gt_strbuf_printf(text, "it failed, and Xid %" PRIu32 " had been reported ",
				 inside->xid);
		gt_format_duration(text, inside->xid_before);
		gt_strbuf_puts(text, " before\n");
	}
}

void gt_put_causes(struct gt_strbuf *text, const struct gt_process_breakdown *row,
		   const struct gt_idle_gap *gap)
{
	for (size_t i = 0; i < gap->cause_count; i++) {
		const struct gt_cause *cause = &gap->causes[i];

		gt_strbuf_puts(text, "  T+");
		gt_format_duration(text, cause->start > row->start ? cause->start - row->start : 0);
		gt_strbuf_puts(text, "  ");
		put_cause(text, row->shown, cause);
		gt_strbuf_putc(text, '\n');
		gt_put_evidence(text, 6, &cause->inside);
	}
	if (gap->omitted)
		gt_strbuf_printf(text, "  … and %" PRIu64 " before\n", gap->omitted);
}

void gt_put_origin(struct gt_strbuf *text, const struct gt_report_options *options,
		   const struct gt_names *names, const struct gt_process_breakdown *row)
{
	uint64_t start = names ? gt_names_start_time(names) : 0;

	if (!options->captured || row->start < start)
		return;
	gt_strbuf_puts(text, "T+0 is the start of the process, ");
	gt_strbuf_u64(text, (row->start - start) / 1000000000);
	gt_strbuf_putc(text, '.');
	gt_strbuf_digits(text, (row->start - start) % 1000000000 / 1000, 6);
	gt_strbuf_puts(text, " s after that of the capture, from which --start and --end count.\n");
}

void gt_put_idle_gaps(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_process_breakdown *row, uint64_t top)
{
	for (size_t i = 0; i < row->gaps.count && i < top; i++) {
		const struct gt_idle_gap *gap = &row->gaps.items[i];

		gt_strbuf_printf(text, "gap %zu at T+", i + 1);
		gt_format_duration(text, gap->start > row->start ? gap->start - row->start : 0);
		gt_strbuf_puts(text, ": ");
		gt_put_idle_cause(text, row->shown, gap);
		gt_strbuf_putc(text, '\n');
	}
}

/* Times are ns after the submission; null: not seen. */
void gt_json_waiting_job(struct gt_json *json, const char *key, const struct gt_job_chain *job)
{
	const struct gt_job_chain_dependency *dependency = &job->dependency;
	const uint64_t queued = job->queued;

	gt_json_object_begin(json, key);
	gt_json_u64(json, "context", job->context);
	gt_json_u64(json, "seqno", job->seqno);
	gt_report_json_known(json, "run", job->run, job->run - queued);
	gt_report_json_known(json, "interrupt", job->interrupt.start,
			     job->interrupt.start - queued);
	gt_report_json_known(json, "done", job->done, job->done - queued);
	gt_report_json_known(json, "signaled", job->signaled, job->signaled - queued);
	gt_json_u64(json, "blocked", dependency->blocked);
	gt_report_json_known(json, "on_context", dependency->blocked, dependency->context);
	gt_report_json_known(json, "on_seqno", dependency->blocked, dependency->seqno);
	gt_report_json_known(json, "on_pid", dependency->process, dependency->process);
	gt_json_object_end(json);
}

static void json_evidence(struct gt_json *json, const struct gt_call_evidence *inside)
{
	gt_json_object_begin(json, "inside");
	if (inside->syscall)
		gt_json_string(json, "syscall", inside->syscall);
	else
		gt_json_null(json, "syscall");
	gt_json_u64(json, "syscall_time", inside->syscall_ns);
	gt_json_u64(json, "jobs", inside->jobs);
	if (inside->jobs)
		gt_json_waiting_job(json, "job", &inside->job);
	else
		gt_json_null(json, "job");
	gt_json_u64(json, "page_faults", inside->faults);
	gt_json_u64(json, "page_fault_time", inside->fault_ns);
	gt_json_u64(json, "io", inside->io);
	gt_json_u64(json, "io_time", inside->io_ns);
	gt_json_u64(json, "io_bytes", inside->io_bytes);
	gt_json_u64(json, "off_cpu", inside->off_cpu_ns);
	gt_json_u64(json, "runnable", inside->runnable_ns);
	gt_report_json_known(json, "xid", inside->xid, inside->xid);
	gt_json_object_end(json);
}

static void json_cause(struct gt_json *json, const char *key,
		       const struct gt_process_breakdown *row, const struct gt_cause *cause)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_cause(&text, NULL, cause);
	gt_json_object_begin(json, key);
	gt_json_string(json, "spent", gt_spending_name(cause->spending));
	gt_json_i64(json, "start", (int64_t)(cause->start - row->start));
	gt_json_u64(json, "duration", cause->end - cause->start);
	gt_report_json_known(json, "tid", cause->thread, gt_id_number(cause->thread));
	gt_report_json_known(json, "operation", cause->number, cause->number);
	if (cause->name)
		gt_json_string(json, "name", cause->name);
	else
		gt_json_null(json, "name");
	gt_json_u64(json, "count", cause->count);
	if (cause->syscall)
		gt_json_string(json, "syscall", cause->syscall);
	else
		gt_json_null(json, "syscall");
	gt_report_json_known(json, "waker", cause->waker, cause->waker);
	gt_report_json_known(json, "queued", cause->queued.depth, cause->queued.depth);
	gt_json_bool(json, "full_queue", cause->queued.is_full);
	gt_report_json_known(json, "usual", cause->queued.usual, cause->queued.usual);
	json_evidence(json, &cause->inside);
	gt_json_string(json, "text", gt_strbuf_string(&text));
	gt_json_object_end(json);
}

void gt_json_idle_gap(struct gt_json *json, const char *key, const struct gt_names *names,
		      const struct gt_process_breakdown *row, const struct gt_idle_gap *gap)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (gap->call)
		gt_strbuf_puts(&text, gap->call);
	else
		gt_put_operation_name(&text, NULL, gap->operation, gap->kernel);
	gt_json_object_begin(json, key);
	gt_json_i64(json, "start", (int64_t)(gap->start - row->start));
	gt_json_u64(json, "duration", gap->end - gap->start);
	gt_report_json_known(json, "operation", gap->next, gap->next);
	gt_json_string(json, "name", gt_strbuf_string(&text));
	if (gap->call)
		gt_json_bool(json, "failed", gap->failed);
	if (gap->kind == GT_EXPLAIN_FAULTS)
		gt_json_hex(json, "address", gap->address);
	if (gap->kind == GT_EXPLAIN_FAULTS || gap->kind == GT_EXPLAIN_SYSCALLS)
		json_evidence(json, &gap->inside);
	gt_json_u64(json, "tid", gt_id_number(gap->thread));
	gt_json_object_begin(json, "spent");
	for (unsigned i = 0; i < GT_SPENDINGS; i++)
		if (gap->spent[i])
			gt_json_u64(json, gt_spending_name((enum gt_spending)i), gap->spent[i]);
	gt_json_object_end(json);
	if (gap->headline.count)
		json_cause(json, "headline", row, &gap->headline);
	else
		gt_json_null(json, "headline");
	gt_json_array_begin(json, "causes");
	for (size_t i = 0; i < gap->cause_count; i++)
		json_cause(json, NULL, row, &gap->causes[i]);
	gt_json_array_end(json);
	gt_json_object_end(json);
}
