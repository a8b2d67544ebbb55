/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The object of the report "report"; docs/analyses.md has its keys. */
#include "analysis/timeline/advice.h"
#include "names/machine.h"
#include "report/breakdown.h"

static void json_path(struct gt_json *json, const struct gt_process_breakdown *row)
{
	gt_json_object_begin(json, "path");
	for (unsigned i = 0; i < GT_SPENDINGS; i++) {
		gt_json_object_begin(json, gt_spending_name((enum gt_spending)i));
		gt_json_u64(json, "ns", row->spent[i]);
		gt_json_u64(json, "gpu_idle", row->spent_idle[i]);
		gt_json_object_end(json);
	}
	gt_json_object_end(json);
}

static void json_gpu(struct gt_json *json, const struct gt_process_breakdown *row)
{
	gt_json_object_begin(json, "gpu");
	gt_json_u64(json, "operations", row->operations);
	gt_json_u64(json, "span", row->gpu_last - row->gpu_first);
	gt_json_u64(json, "busy", row->gpu_busy);
	gt_json_u64(json, "overlap", row->gpu_overlap);
	gt_json_u64(json, "idle", row->gpu_idle);
	gt_json_u64(json, "gaps", row->idle_gaps);
	gt_json_u64(json, "contradicted", row->contradicted);
	gt_json_object_end(json);
	gt_json_array_begin(json, "resources");
	gt_vec_each (busy, &row->busy) {
		gt_json_object_begin(json, NULL);
		if (busy->device == GT_DEVICE_UNKNOWN)
			gt_json_null(json, "device");
		else
			gt_json_i64(json, "device", busy->device);
		gt_json_string(json, "operation",
			       busy->all ? "all" : gt_gpu_operation_name(busy->operation));
		gt_json_u64(json, "count", busy->count);
		gt_json_u64(json, "busy", busy->ns);
		gt_json_u64(json, "sum", busy->sum);
		gt_json_u64(json, "bytes", busy->bytes);
		gt_json_string(json, "times", gt_times_basis_name(busy->basis));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_longest(struct gt_json *json, const struct gt_process_breakdown *row)
{
	gt_json_array_begin(json, "longest");
	gt_vec_each (operation, &row->longest) {
		gt_auto_strbuf name = GT_STRBUF_INIT;

		gt_put_operation_name(&name, NULL, (enum gt_gpu_operation)operation->operation,
				      operation->kernel);
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "number", operation->number);
		gt_json_string(json, "operation",
			       gt_gpu_operation_name((enum gt_gpu_operation)operation->operation));
		gt_json_string(json, "name", gt_strbuf_string(&name));
		gt_json_u64(json, "tid", gt_id_number(operation->thread));
		gt_json_i64(json, "submitted", (int64_t)(operation->submitted - row->start));
		gt_json_i64(json, "released", (int64_t)(operation->released - row->start));
		gt_json_i64(json, "start", (int64_t)(operation->start - row->start));
		gt_json_i64(json, "end", (int64_t)(operation->end - row->start));
		gt_report_json_known(json, "drain",
				     operation->wait_end >= operation->end && operation->wait_end,
				     operation->wait_end - operation->end);
		gt_report_json_known(json, "bytes", operation->has_bytes, operation->bytes);
		gt_json_string(json, "times",
			       gt_times_basis_name((enum gt_times_basis)operation->basis));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_kernels(struct gt_json *json, const struct gt_process_breakdown *row, uint64_t top)
{
	gt_json_array_begin(json, "kernels");
	for (size_t i = 0; i < row->kernels.count && gt_report_shows(top, i); i++) {
		const struct gt_kernel_times *kernel = &row->kernels.items[i];
		gt_auto_strbuf name = GT_STRBUF_INIT;

		gt_label_kernel(&name, NULL, kernel->kernel, 0);
		gt_json_object_begin(json, NULL);
		if (kernel->kernel)
			gt_json_string(json, "kernel", gt_strbuf_string(&name));
		else
			gt_json_null(json, "kernel");
		gt_json_u64(json, "total", kernel->runs.sum);
		gt_report_json_durations(json, "run", &kernel->runs);
		gt_report_json_durations(json, "queued", &kernel->queued);
		gt_json_u64(json, "exact", kernel->exact);
		gt_json_u64(json, "estimated", kernel->estimated);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_copies(struct gt_json *json, const struct gt_process_breakdown *row)
{
	static const char *const memories[GT_HOST_MEMORIES] = {"pageable", "pinned", "managed"};

	gt_json_array_begin(json, "copies");
	gt_vec_each (copy, &row->copies) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "operation", gt_gpu_operation_name(copy->operation));
		gt_json_string(json, "memory", memories[copy->memory]);
		gt_json_u64(json, "bytes", copy->bytes);
		gt_json_u64(json, "total", copy->runs.sum);
		gt_json_u64(json, "overlapped", copy->overlapped_ns);
		gt_report_json_durations(json, "run", &copy->runs);
		gt_json_u64(json, "estimated", copy->estimated);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_waits(struct gt_json *json, const struct gt_process_breakdown *row, uint64_t top)
{
	gt_json_array_begin(json, "waits");
	for (size_t i = 0; i < row->waits_by_function.count && gt_report_shows(top, i); i++) {
		const struct gt_wait_times *wait = &row->waits_by_function.items[i];

		gt_json_object_begin(json, NULL);
		gt_json_string(json, "function", wait->function);
		gt_json_u64(json, "total", wait->durations.sum);
		gt_json_u64(json, "for_gpu", wait->behind_ns);
		gt_report_json_durations(json, "duration", &wait->durations);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_advice(struct gt_json *json, const struct gt_process_breakdown *row)
{
	gt_json_array_begin(json, "advice");
	for (unsigned i = 0; i < GT_ADVICES; i++) {
		gt_auto_strbuf evidence = GT_STRBUF_INIT;

		if (!gt_advice_evidence((enum gt_advice_kind)i, row, &evidence))
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", gt_advice_name((enum gt_advice_kind)i));
		gt_json_string(json, "evidence", gt_strbuf_string(&evidence));
		gt_json_string(json, "advice", gt_advice_text((enum gt_advice_kind)i));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_process(struct gt_json *json, const struct gt_names *names,
			 const struct gt_process_breakdown *row, uint64_t top)
{
	gt_json_object_begin(json, NULL);
	gt_report_json_process(json, names, row->process, gt_names_process(names, row->process));
	gt_json_u64(json, "wall", row->wall);
	gt_json_string(json, "clock", row->host_only ? "host and GPU apart" : "host");
	gt_json_u64(json, "threads", row->host_threads);
	json_path(json, row);
	json_gpu(json, row);
	json_longest(json, row);
	json_kernels(json, row, top);
	json_copies(json, row);
	json_waits(json, row, top);
	gt_json_array_begin(json, "gaps");
	gt_vec_each (gap, &row->gaps)
		gt_json_idle_gap(json, NULL, names, row, gap);
	gt_json_array_end(json);
	json_advice(json, row);
	gt_json_object_end(json);
}

static void json_findings(struct gt_json *json, const struct gt_finding *rows, size_t count,
			  uint64_t top)
{
	gt_json_array_begin(json, "findings");
	for (size_t i = 0; i < count && gt_report_shows(top, i); i++) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", rows[i].name);
		gt_json_u64(json, "count", rows[i].count);
		gt_json_string(json, "evidence", rows[i].evidence);
		gt_json_string(json, "advice", rows[i].advice);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_account(struct gt_json *json, const struct gt_breakdown_report *state)
{
	const struct gt_timeline_totals *totals = gt_breakdown_totals(state->breakdown);

	gt_json_object_begin(json, "times");
	for (unsigned i = 0; i < GT_TIMES_BASES; i++)
		gt_json_u64(json, gt_times_basis_name((enum gt_times_basis)i), totals->gpu[i]);
	gt_json_u64(json, "unmatched", totals->unmatched);
	gt_json_u64(json, "evicted", totals->evicted);
	gt_json_object_end(json);
	gt_json_object_begin(json, "reading");
	gt_json_u64(json, "events", state->events);
	gt_json_u64(json, "cpu", gt_breakdown_own_cpu() - state->cpu_start);
	gt_json_object_end(json);
}

static void json_machines(struct gt_json *json, const struct gt_names *names)
{
	size_t count = 0;
	const struct gt_event_machine *const *machines =
		names ? gt_names_machines(names, &count) : NULL;

	gt_json_array_begin(json, "machines");
	for (size_t i = 0; i < count; i++)
		gt_json_machine(json, NULL, machines[i]);
	gt_json_array_end(json);
}

int gt_breakdown_put_json(void *opaque, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_breakdown_report *state = opaque;
	const struct gt_process_breakdown *const *rows;
	const struct gt_finding *findings = NULL;
	size_t count, finding_count = 0;
	int error = gt_breakdown_rows(state->breakdown, names, options->final, &rows, &count);

	if (!error && names)
		error = gt_findings_rows(state->findings, names, &findings, &finding_count);
	if (error)
		return error;
	json_machines(json, names);
	gt_json_array_begin(json, "processes");
	for (size_t i = 0; i < count; i++)
		json_process(json, names, rows[i], options->top);
	gt_json_array_end(json);
	json_findings(json, findings, finding_count, options->top);
	json_account(json, state);
	return 0;
}
