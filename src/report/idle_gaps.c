/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Times in which no GPU worked, and why: in the reports "report" and "why". */
#include <inttypes.h>

#include "base/text.h"
#include "layers/layers.h"
#include "report/breakdown.h"

/* The cause that took most of a gap. */
static const struct gt_cause *main_cause(const struct gt_idle_gap *gap)
{
	const struct gt_cause *most = NULL;

	for (size_t i = 0; i < gap->cause_count; i++) {
		const struct gt_cause *cause = &gap->causes[i];

		if (!most || cause->end - cause->start > most->end - most->start)
			most = cause;
	}
	return most;
}

static void put_sleep(struct gt_strbuf *text, const struct gt_cause *cause)
{
	gt_strbuf_printf(text, "thread %" PRIu32 " was off-CPU ", cause->thread);
	gt_format_duration(text, cause->end - cause->start);
	if (cause->syscall)
		gt_strbuf_printf(text, " in %s", cause->syscall);
	else
		gt_strbuf_printf(text, " (%s)", gt_layer_task_state(cause->state));
	if (cause->waker) {
		gt_strbuf_printf(text, ", woken by %" PRIu32, cause->waker);
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

static void put_queue(struct gt_strbuf *text, const struct gt_cause *cause)
{
	static const char *const releases[] = {
		[GT_RELEASE_SUBMISSION] = "its submission",
		[GT_RELEASE_STREAM] = "the operation before it in its stream ended",
		[GT_RELEASE_DEPENDENCY] =
			"the operation of another stream ended that it depends on",
	};

	gt_put_operation_name(text, cause->operation, cause->name);
	gt_strbuf_printf(text, " #%" PRIu64 " started ", cause->number);
	gt_format_duration(text, cause->end - cause->start);
	gt_strbuf_printf(text, " after %s", releases[cause->release]);
}

static void put_host(struct gt_strbuf *text, const struct gt_cause *cause, const char *what)
{
	gt_strbuf_printf(text, "thread %" PRIu32 " %s ", cause->thread, what);
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
	gt_strbuf_printf(text, "thread %" PRIu32 " returned from %s ", cause->thread,
			 cause->name ? cause->name : "its wait");
	gt_format_duration(text, cause->end - cause->start);
	gt_strbuf_printf(text, " after the end of #%" PRIu64, cause->number);
}

static void put_work(struct gt_strbuf *text, const struct gt_cause *cause)
{
	static const char *const releases[] = {
		[GT_RELEASE_SUBMISSION] = "",
		[GT_RELEASE_STREAM] = ", after the operation before it in its stream",
		[GT_RELEASE_DEPENDENCY] = ", after an operation of another stream",
	};

	gt_put_operation_name(text, cause->operation, cause->name);
	gt_strbuf_printf(text, " #%" PRIu64 " ran ", cause->number);
	gt_format_duration(text, cause->end - cause->start);
	gt_strbuf_puts(text, releases[cause->release]);
}

/* A few operations in a stream are no full queue. */
static void put_full_queue(struct gt_strbuf *text, const struct gt_cause *cause)
{
	if (cause->queued >= 8)
		gt_strbuf_printf(text,
				 ", until one of %" PRIu64
				 " operations in its stream had ended (full queue)",
				 cause->queued);
}

/* One cause, without a full stop. */
static void put_cause(struct gt_strbuf *text, const struct gt_cause *cause)
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
		put_full_queue(text, cause);
		break;
	case GT_SPENT_COPY:
		put_host(text, cause, "spent");
		put_full_queue(text, cause);
		break;
	case GT_SPENT_WAIT:
		put_wait(text, cause);
		break;
	case GT_SPENT_QUEUE:
		put_queue(text, cause);
		break;
	default:
		put_work(text, cause);
		break;
	}
}

void gt_put_idle_cause(struct gt_strbuf *text, const struct gt_idle_gap *gap)
{
	const struct gt_cause *cause = main_cause(gap);

	gt_strbuf_puts(text, "GPU idle ");
	gt_format_duration(text, gap->end - gap->start);
	gt_strbuf_puts(text, ": next ");
	gt_put_operation_name(text, gap->operation, gap->kernel);
	gt_strbuf_printf(text, " #%" PRIu64 " late", gap->next);
	if (!cause)
		return;
	gt_strbuf_puts(text, " because ");
	put_cause(text, cause);
}

void gt_put_causes(struct gt_strbuf *text, const struct gt_process_breakdown *row,
		   const struct gt_idle_gap *gap)
{
	for (size_t i = 0; i < gap->cause_count; i++) {
		const struct gt_cause *cause = &gap->causes[i];

		gt_strbuf_puts(text, "  T+");
		gt_format_duration(text, cause->start > row->start ? cause->start - row->start : 0);
		gt_strbuf_puts(text, "  ");
		put_cause(text, cause);
		gt_strbuf_putc(text, '\n');
	}
	if (gap->omitted)
		gt_strbuf_printf(text, "  … and %" PRIu64 " before\n", gap->omitted);
}

void gt_put_idle_gaps(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_process_breakdown *row, uint64_t top)
{
	for (size_t i = 0; i < row->gaps.count && i < top; i++) {
		const struct gt_idle_gap *gap = &row->gaps.items[i];

		gt_strbuf_printf(text, "gap %zu at T+", i + 1);
		gt_format_duration(text, gap->start > row->start ? gap->start - row->start : 0);
		gt_strbuf_puts(text, ": ");
		gt_put_idle_cause(text, gap);
		gt_strbuf_putc(text, '\n');
	}
}

static void json_cause(struct gt_json *json, const struct gt_process_breakdown *row,
		       const struct gt_cause *cause)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_cause(&text, cause);
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "spent", gt_spending_name(cause->spending));
	gt_json_i64(json, "start", (int64_t)(cause->start - row->start));
	gt_json_u64(json, "duration", cause->end - cause->start);
	gt_report_json_known(json, "tid", cause->thread, cause->thread);
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
	gt_report_json_known(json, "queued", cause->queued, cause->queued);
	gt_json_string(json, "text", gt_strbuf_string(&text));
	gt_json_object_end(json);
}

void gt_json_idle_gap(struct gt_json *json, const char *key, const struct gt_names *names,
		      const struct gt_process_breakdown *row, const struct gt_idle_gap *gap)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_put_operation_name(&text, gap->operation, gap->kernel);
	gt_json_object_begin(json, key);
	gt_json_i64(json, "start", (int64_t)(gap->start - row->start));
	gt_json_u64(json, "duration", gap->end - gap->start);
	gt_json_u64(json, "operation", gap->next);
	gt_json_string(json, "name", gt_strbuf_string(&text));
	gt_json_u64(json, "tid", gap->thread);
	gt_json_object_begin(json, "spent");
	for (unsigned i = 0; i < GT_SPENDINGS; i++)
		if (gap->spent[i])
			gt_json_u64(json, gt_spending_name((enum gt_spending)i), gap->spent[i]);
	gt_json_object_end(json);
	gt_json_array_begin(json, "causes");
	for (size_t i = 0; i < gap->cause_count; i++)
		json_cause(json, row, &gap->causes[i]);
	gt_json_array_end(json);
	gt_json_object_end(json);
}
