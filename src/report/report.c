/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/histogram.h"
#include "output/stack.h"

void gt_report_put_rest(struct gt_strbuf *text, uint64_t top, size_t count)
{
	if (top && count > top)
		gt_strbuf_printf(text, "… and %" PRIu64 " more (--top)\n", count - top);
}

void gt_report_put_unknown_graphs(struct gt_strbuf *text, uint64_t launches, const char *what)
{
	if (launches)
		gt_strbuf_printf(text,
				 "%" PRIu64
				 " launch%s of graphs with unknown content: their %s are "
				 "not counted.\n",
				 launches, launches == 1 ? "" : "es", what);
}

/* What stands at the head of the column "BY"; NULL: there is none. */
static const char *group_title(enum gt_by by)
{
	static const char *const titles[GT_BY_COUNT] = {
		[GT_BY_STACK] = "CALLED BY", [GT_BY_THREAD] = "THREAD", [GT_BY_STREAM] = "STREAM",
		[GT_BY_PROCESS] = "PROCESS", [GT_BY_DEVICE] = "DEVICE", [GT_BY_CONTEXT] = "CONTEXT",
		[GT_BY_SIZE] = "SIZE",       [GT_BY_AGE] = "AGE",
	};

	return titles[by];
}

static size_t choose_columns(const struct gt_report_rows *form, enum gt_by by,
			     struct gt_column *ret_columns)
{
	size_t kept = 0;

	for (size_t i = 0; i < form->column_count; i++) {
		bool is_group = !strcmp(form->columns[i].title, "BY");

		if (is_group && !group_title(by))
			continue;
		ret_columns[kept] = form->columns[i];
		if (is_group)
			ret_columns[kept].title = group_title(by);
		kept++;
	}
	return kept;
}

static const void *row_at(const struct gt_report_rows *form, const void *rows, size_t index)
{
	return form->row_size ? (const char *)rows + index * form->row_size
			      : ((const void *const *)rows)[index];
}

static const struct gt_group *group_of(const struct gt_report_rows *form, const void *rows,
				       size_t index)
{
	return (const void *)((const char *)row_at(form, rows, index) + form->group);
}

static bool has_stacks(const struct gt_report_rows *form, const void *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (group_of(form, rows, i)->number)
			return true;
	}
	return false;
}

static bool has_stubs(const struct gt_report_rows *form, const struct gt_names *names,
		      const void *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct gt_group *group = group_of(form, rows, i);

		if (gt_stack_ends_in_stub(names, group->process, group->number))
			return true;
	}
	return false;
}

/*
 * Whether rows need to say whose they are: stacks, streams and contexts of several processes may
 * look alike.
 */
static bool needs_process(const struct gt_report_rows *form, enum gt_by by, const void *rows,
			  size_t count)
{
	if (form->by_process ||
	    (by != GT_BY_STACK && by != GT_BY_STREAM && by != GT_BY_CONTEXT && by != GT_BY_THREAD))
		return false;
	for (size_t i = 1; i < count; i++)
		if (group_of(form, rows, i)->process != group_of(form, rows, 0)->process)
			return true;
	return false;
}

/* The split, without the process if the rows name it themselves. */
static enum gt_by split_of(const struct gt_report_rows *form, enum gt_by by)
{
	return form->by_process && by == GT_BY_PROCESS ? GT_BY_NOTHING : by;
}

/* The callers that distinguish the rows that are shown. NULL: out of memory. */
static struct gt_chains *distinguish_stacks(const struct gt_report_rows *form,
					    const struct gt_report_options *options,
					    const struct gt_names *names, const void *rows,
					    size_t count)
{
	gt_auto(chains) struct gt_chains *chains = gt_chains_new(names);
	int error = chains ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && gt_report_shows(options->top, i) && !error; i++) {
		const struct gt_group *group = group_of(form, rows, i);

		error = gt_chains_add(chains, group->process, group->number, NULL);
	}
	if (error || gt_chains_distinguish(chains))
		return NULL;
	return gt_take(chains);
}

/* NULL: out of memory. */
static struct gt_short_names *name_kernels(const struct gt_report_rows *form, const void *rows,
					   size_t count)
{
	struct gt_short_names *kernels = gt_short_names_new();

	for (size_t i = 0; kernels && form->kernel && i < count; i++) {
		const char *kernel = form->kernel(row_at(form, rows, i));

		if (kernel)
			gt_short_names_add(kernels, kernel);
	}
	return kernels;
}

static void put_table(const struct gt_report_rows *form, const struct gt_report_options *options,
		      const struct gt_report_labels *labels, const void *rows, size_t count,
		      struct gt_strbuf *text)
{
	bool processes = needs_process(form, labels->by, rows, count);
	struct gt_column shown[GT_TABLE_COLUMNS] = {0};
	size_t columns = choose_columns(form, labels->by, shown);
	struct gt_table table;

	if (processes)
		shown[columns++] = (struct gt_column){group_title(GT_BY_PROCESS), true};
	gt_table_begin(&table, shown, columns);
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		form->put(&table, labels, row_at(form, rows, i));
		if (processes)
			gt_report_put_group(&table, labels, GT_BY_PROCESS, group_of(form, rows, i));
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, count);
}

void gt_report_put_rows(const struct gt_report_rows *form, const struct gt_report_options *options,
			const struct gt_names *names, const void *rows, size_t count,
			struct gt_strbuf *text)
{
	enum gt_by by = split_of(form, options->by);
	gt_auto(chains) struct gt_chains *chains = NULL;
	gt_auto(short_names) struct gt_short_names *kernels = name_kernels(form, rows, count);

	if (!count && form->empty) {
		gt_strbuf_puts(text, form->empty);
		return;
	}
	if (by == GT_BY_STACK && !options->verbose)
		chains = distinguish_stacks(form, options, names, rows, count);
	put_table(form, options, &(struct gt_report_labels){names, by, chains, kernels}, rows,
		  count, text);
	if (count && form->note)
		gt_strbuf_puts(text, form->note);
	if (count && by == GT_BY_STACK && !has_stacks(form, rows, count))
		gt_strbuf_puts(
			text, options->captured
				      ? "Callers are unknown: no stacks were recorded (record with "
					"'gputap trace --stack mixed -o FILE.gtap').\n"
				      : "Callers are unknown: no stacks were recorded (use --stack "
					"mixed).\n");
	else if (count && by == GT_BY_STACK && has_stubs(form, names, rows, count))
		gt_strbuf_puts(text, "Some stacks end at stubs without frame pointers: "
				     "--stack dwarf shows their callers.\n");
}

void gt_report_json_rows(const struct gt_report_rows *form, const struct gt_report_options *options,
			 const struct gt_names *names, const void *rows, size_t count,
			 struct gt_json *json)
{
	enum gt_by by = split_of(form, options->by);

	gt_json_array_begin(json, form->key);
	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		gt_json_object_begin(json, NULL);
		form->json(json, names, by, row_at(form, rows, i));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

void gt_report_put_group(struct gt_table *table, const struct gt_report_labels *labels,
			 enum gt_by by, const struct gt_group *group)
{
	struct gt_strbuf *cell = gt_table_cell(table);

	if (by == GT_BY_NOTHING)
		return;
	if (by == GT_BY_STACK && labels->chains)
		gt_chains_put(labels->chains, cell, group->process, group->number);
	else if (by == GT_BY_STACK)
		gt_chain_put_whole(cell, labels->names, group->process, group->number);
	else
		gt_label_group(cell, labels->names, by, group);
	gt_table_end_cell(table);
}

void gt_report_put_durations(struct gt_table *table, const struct gt_histogram *histogram)
{
	const uint64_t durations[] = {
		histogram->sum,
		gt_histogram_mean(histogram),
		gt_histogram_quantile(histogram, 0.5),
		gt_histogram_quantile(histogram, 0.99),
	};

	for (size_t i = 0; i < gt_countof(durations); i++)
		if (histogram->count)
			gt_table_duration(table, durations[i]);
		else
			gt_table_text(table, "-");
}

void gt_report_json_durations(struct gt_json *json, const char *key,
			      const struct gt_histogram *histogram)
{
	gt_json_object_begin(json, key);
	gt_json_u64(json, "count", histogram->count);
	gt_json_u64(json, "mean", gt_histogram_mean(histogram));
	gt_json_u64(json, "p50", gt_histogram_quantile(histogram, 0.5));
	gt_json_u64(json, "p99", gt_histogram_quantile(histogram, 0.99));
	gt_json_u64(json, "max", histogram->max);
	gt_json_object_end(json);
}

void gt_report_json_process(struct gt_json *json, const struct gt_names *names, uint32_t process,
			    const char *name)
{
	const char *cgroup = gt_names_cgroup(names, process);
	const char *container = gt_names_container(names, process);

	gt_json_u64(json, "pid", gt_id_number(process));
	gt_json_string(json, "process", name);
	gt_json_rank(json, names, process);
	if (cgroup)
		gt_json_string(json, "cgroup", cgroup);
	if (container)
		gt_json_string(json, "container", container);
}

void gt_report_json_known(struct gt_json *json, const char *key, bool known, uint64_t number)
{
	if (known)
		gt_json_u64(json, key, number);
	else
		gt_json_null(json, key);
}

static void json_device(struct gt_json *json, const struct gt_group *group)
{
	if (group->device == GT_DEVICE_UNKNOWN)
		gt_json_null(json, "device");
	else
		gt_json_i64(json, "device", group->device);
	if (group->uuid[0])
		gt_json_string(json, "uuid", group->uuid);
	else
		gt_json_null(json, "uuid");
}

static void json_context(struct gt_json *json, const struct gt_context *context)
{
	if (!context) {
		gt_json_null(json, "context");
		return;
	}
	gt_json_object_begin(json, "context");
	gt_json_hex(json, "handle", context->handle);
	gt_json_bool(json, "primary", context->primary);
	if (context->device == GT_DEVICE_UNKNOWN)
		gt_json_null(json, "device");
	else
		gt_json_i64(json, "device", context->device);
	gt_json_object_end(json);
}

void gt_report_json_group(struct gt_json *json, const struct gt_names *names, enum gt_by by,
			  const struct gt_group *group)
{
	switch (by) {
	case GT_BY_STACK:
		gt_json_stack(json, "stack", names, group->process, group->number);
		break;
	case GT_BY_THREAD:
		gt_json_u64(json, "tid", gt_id_number(group->thread));
		break;
	case GT_BY_STREAM:
		if (group->number == GT_STREAM_NONE)
			gt_json_null(json, "stream");
		else
			gt_json_hex(json, "stream", group->number);
		if (group->thread)
			gt_json_u64(json, "tid", gt_id_number(group->thread));
		break;
	case GT_BY_DEVICE:
		json_device(json, group);
		break;
	case GT_BY_CONTEXT:
		json_context(json, gt_group_context(names, group));
		break;
	case GT_BY_SIZE:
		gt_json_u64(json, "size", group->number);
		break;
	case GT_BY_AGE:
		gt_json_string(json, "age", gt_age_name((unsigned)group->number));
		break;
	default:
		break;
	}
}

/* What is known of it at the end; the report of a session in progress is part of it. */
static bool find_overhead(const struct gt_report_options *options, const struct gt_names *names,
			  bool final, struct gt_event_overhead *ret_overhead)
{
	const struct gt_event_overhead *overhead = final ? gt_names_overhead(names) : NULL;

	if (overhead)
		*ret_overhead = options->captured ? *overhead : gt_overhead_until_now(overhead);
	return overhead;
}

static void put_overhead(struct gt_strbuf *text, const struct gt_event_overhead *overhead)
{
	gt_strbuf_puts(text, "Overhead: ");
	gt_put_overhead(text, overhead);
	gt_strbuf_puts(text, ".\n");
}

static void json_losses(struct gt_json *json, const struct gt_names *names, bool final)
{
	const struct gt_event_account *account = final ? gt_names_account(names) : NULL;

	if (!account) {
		gt_json_null(json, "losses");
		return;
	}
	gt_json_object_begin(json, "losses");
	gt_json_u64(json, "made", account->made);
	gt_json_u64(json, "lost", account->lost);
	gt_json_u64(json, "filtered", account->filtered);
	gt_json_u64(json, "unfinished", account->unfinished);
	gt_json_u64(json, "orphans", account->orphans);
	gt_json_u64(json, "others_lost", account->others_lost);
	gt_json_via(json, names);
	gt_json_gaps(json, names);
	gt_json_object_end(json);
}

static int put_json(const struct gt_report *report, void *state,
		    const struct gt_report_options *options, const struct gt_names *names,
		    const struct gt_report_format *format, struct gt_strbuf *text)
{
	gt_auto_strbuf schema = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(text);
	struct gt_event_overhead overhead;
	int error;

	gt_strbuf_printf(&schema, "gputap.%s.1", report->name);
	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "schema", gt_strbuf_string(&schema));
	gt_json_u64(&json, "time", format->now);
	gt_json_bool(&json, "final", format->final);
	gt_json_string(&json, "by", gt_by_name(options->by));
	error = report->put_json(state, options, names, format->now, &json);
	json_losses(&json, names, format->final);
	gt_json_overhead(&json, "overhead",
			 find_overhead(options, names, format->final, &overhead) ? &overhead
										 : NULL);
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
	return error;
}

static int put_text(const struct gt_report *report, void *state,
		    const struct gt_report_options *options, const struct gt_names *names,
		    const struct gt_report_format *format, struct gt_strbuf *text)
{
	uint64_t since = format->now - format->start;
	struct gt_event_overhead overhead;
	int error;

	if (!format->final)
		gt_strbuf_printf(text, "After %" PRIu64 ".%03u s:\n", since / 1000000000,
				 (unsigned)(since % 1000000000 / 1000000));
	else if (options->continued)
		gt_strbuf_puts(text, "At the end:\n");
	error = report->put_text(state, options, names, format->now, text);
	if (format->final) /* before, nobody knows what was lost */
		gt_put_losses(text, names);
	if (find_overhead(options, names, format->final, &overhead))
		put_overhead(text, &overhead);
	if (!format->final)
		gt_strbuf_putc(text, '\n');
	return error;
}

int gt_report_put(const struct gt_report *report, void *state,
		  const struct gt_report_options *options, const struct gt_names *names,
		  const struct gt_report_format *format, struct gt_strbuf *text)
{
	int error = format->json ? put_json(report, state, options, names, format, text)
				 : put_text(report, state, options, names, format, text);

	return error ? error : text->failed ? -ENOMEM : 0;
}
