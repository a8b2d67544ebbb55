/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/timeline/advice.h"

#include <inttypes.h>

#include "base/text.h"

#define MIN_COUNT 16 /* calls, below which a pattern may be chance */

static const struct {
	const char *name, *text;
} advices[GT_ADVICES] = {
#define ADVICE(name, text) {#name, text},
#include "analysis/timeline/advice.def"
#undef ADVICE
};

const char *gt_advice_name(enum gt_advice_kind kind)
{
	return advices[kind].name;
}

const char *gt_advice_text(enum gt_advice_kind kind)
{
	return advices[kind].text;
}

/* Whether a part is at least so many percent of the whole. */
static bool is_share(uint64_t part, uint64_t whole, unsigned percent)
{
	return whole && (double)part * 100.0 >= (double)whole * percent;
}

static void put_share(struct gt_strbuf *text, uint64_t part, uint64_t whole)
{
	gt_format_duration(text, part);
	gt_strbuf_printf(text, " (%.0f %%)", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static bool find_pageable(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	uint64_t count = 0, bytes = 0, ns = 0;

	gt_vec_each (copy, &row->copies) {
		bool crosses = copy->operation == GT_GPU_COPY_TO_DEVICE ||
			       copy->operation == GT_GPU_COPY_TO_HOST;

		if (!crosses || copy->memory != GT_MEMORY_PAGEABLE)
			continue;
		count += copy->runs.count;
		bytes += copy->bytes;
		ns += copy->runs.sum;
	}
	if (!is_share(ns, row->wall, 5))
		return false;
	gt_strbuf_printf(text, "%" PRIu64 " cop%s from or to pageable memory (", count,
			 count == 1 ? "y" : "ies");
	gt_format_bytes(text, bytes);
	gt_strbuf_puts(text, ") took ");
	put_share(text, ns, row->wall);
	gt_strbuf_puts(text, " of the wall time.");
	return true;
}

static bool find_launches(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	uint64_t idle = row->spent_idle[GT_SPENT_LAUNCH] + row->spent_idle[GT_SPENT_QUEUE];

	if (row->launches < MIN_COUNT || !is_share(idle, row->wall, 10))
		return false;
	gt_strbuf_printf(text, "%" PRIu64 " launches; no GPU worked for ", row->launches);
	put_share(text, idle, row->wall);
	gt_strbuf_puts(text, " of the wall time while a launch was made or waited to start.");
	return true;
}

static bool find_serial_copies(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	uint64_t path = row->spent[GT_SPENT_H2D] + row->spent[GT_SPENT_D2H];
	uint64_t ns = 0, overlapped = 0;

	gt_vec_each (copy, &row->copies) {
		ns += copy->runs.sum;
		overlapped += copy->overlapped_ns;
	}
	if (!row->kernels.count || !is_share(path, row->wall, 10) || overlapped > ns / 2)
		return false;
	gt_strbuf_puts(text, "Copies are ");
	put_share(text, path, row->wall);
	gt_strbuf_puts(text, " of the critical path; kernels ran during ");
	put_share(text, overlapped, ns);
	gt_strbuf_puts(text, " of their time.");
	return true;
}

static bool find_waits(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	uint64_t span = row->gpu_last - row->gpu_first;

	if (row->waits < MIN_COUNT || row->operations > 4 * row->waits ||
	    !is_share(row->gpu_idle, span, 10))
		return false;
	gt_strbuf_printf(text,
			 "%" PRIu64 " waits for %" PRIu64 " operations; between operations the GPU "
			 "was idle for ",
			 row->waits, row->operations);
	put_share(text, row->gpu_idle, span);
	gt_strbuf_puts(text, " of its time.");
	return true;
}

static bool find_small_grids(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	const struct gt_small_grids *small = &row->small_grids;

	/* Kernels that run beside each other use more multiprocessors. */
	if (small->count < MIN_COUNT || !is_share(small->ns, row->gpu_busy, 20) ||
	    row->gpu_overlap > row->gpu_busy / 2)
		return false;
	gt_strbuf_printf(text, "%" PRIu64 " kernels of at most %" PRIu64 " block%s ran for ",
			 small->count, small->most, small->most == 1 ? "" : "s");
	put_share(text, small->ns, row->gpu_busy);
	gt_strbuf_puts(text, " of the time in which a GPU worked.");
	return true;
}

static bool find_single_thread(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	uint64_t span = row->gpu_last - row->gpu_first, cpu = 0;

	gt_vec_each (gap, &row->gaps)
		cpu += gap->spent[GT_SPENT_CPU] + gap->spent[GT_SPENT_SYSCALL];
	if (row->host_threads > 1 || !is_share(cpu, span, 20))
		return false;
	gt_strbuf_puts(text, "One thread uses the API; it computed for ");
	put_share(text, cpu, span);
	gt_strbuf_puts(text, " of the GPU's time while no GPU worked.");
	return true;
}

static bool find_idle(const struct gt_process_breakdown *row, struct gt_strbuf *text)
{
	uint64_t span = row->gpu_last - row->gpu_first;
	const struct gt_idle_gap *gap = row->gaps.items;
	unsigned most = GT_SPENT_CPU;

	if (!row->gaps.count || !is_share(row->gpu_idle, span, 20))
		return false;
	for (unsigned i = 0; i < GT_SPENDINGS; i++)
		if (gap->spent[i] > gap->spent[most])
			most = i;
	gt_strbuf_puts(text, "The GPU was idle for ");
	put_share(text, row->gpu_idle, span);
	gt_strbuf_printf(text, " in %" PRIu64 " gaps; the longest, ", row->idle_gaps);
	gt_format_duration(text, gap->end - gap->start);
	gt_strbuf_printf(text, ", is mostly %s (", gt_spending_title((enum gt_spending)most));
	gt_format_duration(text, gap->spent[most]);
	gt_strbuf_puts(text, ").");
	return true;
}

bool gt_advice_evidence(enum gt_advice_kind kind, const struct gt_process_breakdown *row,
			struct gt_strbuf *text)
{
	static bool (*const finders[GT_ADVICES])(const struct gt_process_breakdown *,
						 struct gt_strbuf *) = {
		[GT_ADVICE_pin_memory] = find_pageable,
		[GT_ADVICE_batch_launches] = find_launches,
		[GT_ADVICE_overlap_copies] = find_serial_copies,
		[GT_ADVICE_avoid_waits] = find_waits,
		[GT_ADVICE_more_blocks] = find_small_grids,
		[GT_ADVICE_prepare_in_threads] = find_single_thread,
		[GT_ADVICE_fill_idle_time] = find_idle,
	};

	/* Times of two clocks are no evidence. */
	return !row->host_only && finders[kind](row, text);
}
