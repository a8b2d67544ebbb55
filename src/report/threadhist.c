/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How evenly threads share the work: the program programs/threadhist.bpf.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bars.h"
#include "base/clean.h"
#include "base/histogram.h"
#include "programs.h"
#include "report/gpu.h"
#include "report/table.h"

/* The threads that ran a kernel, by their loop iterations or executions of the line. */
struct threadhist_summary {
	uint32_t threads;
	uint64_t entries, loops, executions; /* of all threads */
	bool by_executions;                  /* the line is that of no loop */
	uint64_t outside;                    /* counts of threads that there is no room for */
	uint64_t min, median, max;
	uint32_t min_thread, max_thread;
	struct gt_histogram histogram;
};

static void add_thread(struct threadhist_summary *summary, uint32_t number,
		       const struct threadhist_thread *thread)
{
	uint64_t count = summary->by_executions ? thread->executions : thread->loops;

	if (!summary->threads || count < summary->min) {
		summary->min = count;
		summary->min_thread = number;
	}
	if (!summary->threads || count > summary->max) {
		summary->max = count;
		summary->max_thread = number;
	}
	summary->threads++;
	gt_histogram_add(&summary->histogram, count);
}

static void summarize(const struct gt_gpu_run *run, struct threadhist_summary *ret_summary)
{
	uint32_t count;
	const struct threadhist_thread *threads =
		gt_gpu_report_values(run, "threads", sizeof(struct threadhist_thread), &count);

	*ret_summary = (struct threadhist_summary){
		.outside = gt_gpu_report_outside(run, "threads", sizeof(struct threadhist_thread)),
	};
	for (uint32_t i = 0; threads && i < count; i++) {
		ret_summary->entries += threads[i].entries;
		ret_summary->loops += threads[i].loops;
		ret_summary->executions += threads[i].executions;
	}
	ret_summary->by_executions = !ret_summary->loops && ret_summary->executions;
	for (uint32_t i = 0; threads && i < count; i++)
		if (threads[i].entries)
			add_thread(ret_summary, i, &threads[i]);
	ret_summary->median = gt_histogram_quantile(&ret_summary->histogram, 0.5);
}

static void put_histogram(const struct gt_histogram *histogram, struct gt_strbuf *text)
{
	uint64_t counts[64];

	for (unsigned power = 0; power < 64; power++)
		counts[power] = gt_histogram_power(histogram, power);
	gt_put_bars(text, counts, 64, false);
}

static void put_balance(const struct gt_gpu_run *run, const struct threadhist_summary *summary,
			struct gt_strbuf *text)
{
	const char *what = summary->by_executions ? "executions" : "loop iterations";

	if (!summary->loops && !summary->executions && run->line)
		gt_strbuf_printf(text,
				 "no thread executed line %" PRIu64
				 " or went back to the start of a loop on it: 'gputap hotloop' "
				 "shows the lines of loops\n",
				 run->line);
	else if (!summary->loops && !summary->executions)
		gt_strbuf_puts(text, "no thread went back to the start of a loop\n");
	else if (summary->min == summary->max)
		gt_strbuf_printf(text, "balanced: each thread has %" PRIu64 " %s\n", summary->max,
				 what);
	else
		gt_strbuf_printf(text,
				 "imbalance: thread %u has %" PRIu64 " %s, %.0f %% of the %" PRIu64
				 " of thread %u; the median is %" PRIu64 "\n",
				 summary->min_thread, summary->min, what,
				 100.0 * (double)summary->min / (double)summary->max, summary->max,
				 summary->max_thread, summary->median);
}

static void put_threads(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	struct threadhist_summary summary;

	summarize(run, &summary);
	gt_strbuf_printf(text, "%u threads, %" PRIu64 " entries, %" PRIu64 " loop iterations",
			 summary.threads, summary.entries, summary.loops);
	if (run->line)
		gt_strbuf_printf(text, ", %" PRIu64 " executions of line %" PRIu64,
				 summary.executions, run->line);
	gt_strbuf_putc(text, '\n');
	if (summary.outside)
		gt_strbuf_printf(text,
				 "not counted: %" PRIu64 " entries and %s of threads beyond "
				 "--threads\n",
				 summary.outside, run->line ? "executions" : "loop iterations");
	if (summary.threads) {
		put_balance(run, &summary, text);
		gt_strbuf_puts(text, summary.by_executions
					     ? "     EXECUTIONS                THREADS\n"
					     : "     ITERATIONS                THREADS\n");
		put_histogram(&summary.histogram, text);
	}
	gt_histogram_free(&summary.histogram);
}

static void json_threads(const struct gt_gpu_run *run, struct gt_json *json)
{
	uint32_t count;
	const struct threadhist_thread *threads =
		gt_gpu_report_values(run, "threads", sizeof(struct threadhist_thread), &count);

	gt_json_array_begin(json, "threads");
	for (uint32_t i = 0; threads && i < count; i++) {
		if (!threads[i].entries)
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "thread", i);
		gt_json_u64(json, "entries", threads[i].entries);
		gt_json_u64(json, "loops", threads[i].loops);
		if (run->line)
			gt_json_u64(json, "executions", threads[i].executions);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_u64(json, "not_counted",
		    gt_gpu_report_outside(run, "threads", sizeof(struct threadhist_thread)));
}

const struct gt_gpu_report gt_gpu_report_threadhist = {
	.name = "threadhist",
	.put = put_threads,
	.put_json = json_threads,
};
