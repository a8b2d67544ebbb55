/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "kernels": launches by kernel. */
#include "analysis/kernels.h"

#include <errno.h>
#include <inttypes.h>

#include "output/report.h"

struct state {
	struct gt_report_options options;
	struct gt_kernels *kernels;
};

static int kernels_open(const struct gt_report_options *options, void **ret_state)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return -ENOMEM;
	state->options = *options;
	state->kernels = gt_kernels_new(options->by);
	if (!state->kernels) {
		free(state);
		return -ENOMEM;
	}
	*ret_state = state;
	return 0;
}

static void kernels_close(void *opaque)
{
	struct state *state = opaque;

	gt_kernels_free(state->kernels);
	free(state);
}

static int kernels_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	return gt_kernels_take(((struct state *)opaque)->kernels, names, event);
}

static const struct gt_column columns[] = {
	{"LAUNCHES", false}, {"FAILED", false}, {"TOTAL", false}, {"MEAN", false},
	{"P50", false},      {"P99", false},    {"SINCE", false}, {"GRID", false},
	{"BLOCK", false},    {"SHARED", false}, {"BY", true},     {"KERNEL", true},
};

static void put_dimensions(struct gt_table *table, const uint32_t dimensions[3], uint64_t more)
{
	struct gt_strbuf *cell = gt_table_cell(table);

	gt_strbuf_printf(cell, "%" PRIu32, dimensions[0]);
	for (int i = 1; i < 3; i++)
		if (dimensions[i] != 1 || (i == 1 && dimensions[2] != 1))
			gt_strbuf_printf(cell, "x%" PRIu32, dimensions[i]);
	if (more)
		gt_strbuf_printf(cell, " (+%" PRIu64 ")", more);
	gt_table_end_cell(table);
}

static void put_configuration(struct gt_table *table, const struct gt_kernel_row *kernel)
{
	const struct gt_configuration *first = kernel->configurations;
	uint64_t more = kernel->configuration_count + !!kernel->others;

	if (!more) {
		gt_table_text(table, "-");
		gt_table_text(table, "-");
		gt_table_text(table, "-");
		return;
	}
	put_dimensions(table, first->launch.grid, 0);
	put_dimensions(table, first->launch.block, more - 1);
	gt_table_bytes(table, first->launch.shared);
}

static void put_row(struct gt_table *table, const struct gt_names *names, enum gt_by by,
		    const struct gt_kernel_row *kernel)
{
	gt_table_number(table, kernel->launches);
	gt_table_number(table, kernel->failed);
	gt_table_duration(table, kernel->duration.sum);
	gt_table_duration(table, gt_histogram_mean(&kernel->duration));
	gt_table_duration(table, gt_histogram_quantile(&kernel->duration, 0.5));
	gt_table_duration(table, gt_histogram_quantile(&kernel->duration, 0.99));
	if (kernel->since.count)
		gt_table_duration(table, gt_histogram_mean(&kernel->since));
	else
		gt_table_text(table, "-");
	put_configuration(table, kernel);
	gt_report_put_group(table, names, by, &kernel->group);
	if (kernel->graph)
		gt_strbuf_puts(gt_table_cell(table), "graph ");
	gt_label_kernel(gt_table_cell(table), kernel->name, kernel->handle);
	gt_table_end_cell(table);
}

static int kernels_text(void *opaque, const struct gt_names *names, uint64_t now,
			struct gt_strbuf *text)
{
	struct state *state = opaque;
	const struct gt_kernel_row *const *rows;
	struct gt_column shown[gt_countof(columns)];
	struct gt_table table;
	size_t count;
	int error = gt_kernels_rows(state->kernels, &rows, &count);

	if (error)
		return error;
	gt_table_begin(&table, shown,
		       gt_report_columns(columns, gt_countof(columns), state->options.by, shown));
	for (size_t i = 0; i < count && gt_report_shows(state->options.top, i); i++)
		put_row(&table, names, state->options.by, rows[i]);
	gt_table_put(&table, text);
	gt_report_put_rest(text, state->options.top, count);
	return 0;
}

static void json_dimensions(struct gt_json *json, const char *key, const uint32_t dimensions[3])
{
	gt_json_array_begin(json, key);
	for (int i = 0; i < 3; i++)
		gt_json_u64(json, NULL, dimensions[i]);
	gt_json_array_end(json);
}

static void json_configurations(struct gt_json *json, const struct gt_kernel_row *kernel)
{
	gt_json_array_begin(json, "configurations");
	for (size_t i = 0; i < kernel->configuration_count; i++) {
		const struct gt_configuration *configuration = &kernel->configurations[i];

		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "launches", configuration->launches);
		json_dimensions(json, "grid", configuration->launch.grid);
		json_dimensions(json, "block", configuration->launch.block);
		gt_json_u64(json, "shared", configuration->launch.shared);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_u64(json, "other_configurations", kernel->others);
}

static void json_row(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		     const struct gt_kernel_row *kernel)
{
	gt_auto_strbuf label = GT_STRBUF_INIT;

	gt_label_kernel(&label, kernel->name, kernel->handle);
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "kernel", gt_strbuf_string(&label));
	gt_json_bool(json, "graph", kernel->graph);
	gt_report_json_group(json, names, by, &kernel->group);
	gt_json_u64(json, "launches", kernel->launches);
	gt_json_u64(json, "failed", kernel->failed);
	gt_json_u64(json, "total", kernel->duration.sum);
	gt_report_json_durations(json, "duration", &kernel->duration);
	gt_report_json_durations(json, "since", &kernel->since);
	json_configurations(json, kernel);
	gt_json_object_end(json);
}

static int kernels_json(void *opaque, const struct gt_names *names, uint64_t now,
			struct gt_json *json)
{
	struct state *state = opaque;
	const struct gt_kernel_row *const *rows;
	size_t count;
	int error = gt_kernels_rows(state->kernels, &rows, &count);

	if (error)
		return error;
	gt_json_string(json, "by", gt_by_name(state->options.by));
	gt_json_array_begin(json, "kernels");
	for (size_t i = 0; i < count && gt_report_shows(state->options.top, i); i++)
		json_row(json, names, state->options.by, rows[i]);
	gt_json_array_end(json);
	return 0;
}

static bool needs(enum gt_operation_kind kind)
{
	return kind == GT_OPERATION_LAUNCH;
}

const struct gt_report gt_report_kernels = {
	.name = "kernels",
	.needs = needs,
	.open = kernels_open,
	.event = kernels_event,
	.put_text = kernels_text,
	.put_json = kernels_json,
	.close = kernels_close,
};
