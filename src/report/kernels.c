/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report "kernels": launches by kernel. */
#include "analysis/kernels.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/graphs.h"
#include "api/kernels/search.h"
#include "report/report.h"

static int kernels_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_kernels_new(options->by);
	return *ret_state ? 0 : -ENOMEM;
}

static void kernels_close(void *kernels)
{
	gt_kernels_free(kernels);
}

static int kernels_event(void *kernels, const struct gt_names *names, const struct gt_event *event)
{
	return gt_kernels_take(kernels, names, event);
}

/*
 * What a kernel uses, from the files of the programs that launch it, and its registers as a call
 * has read them from the driver; else unknown.
 */
static struct gt_kernel_usage usage_of(const struct gt_names *names,
				       const struct gt_kernel_row *kernel, size_t *ret_count,
				       const struct gt_kernel_usage **ret_usages)
{
	const struct gt_kernel *known =
		kernel->name ? gt_names_parameters(names, kernel->name) : NULL;

	struct gt_kernel_usage usage = {0, GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN, GT_KERNEL_UNKNOWN};

	*ret_count = known ? known->usage_count : 0;
	*ret_usages = known ? known->usages : NULL;
	if (known)
		usage = gt_kernel_usage_on(known, 0);
	if (usage.registers == GT_KERNEL_UNKNOWN && kernel->name)
		usage.registers = gt_names_registers(names, kernel->name);
	return usage;
}

enum unknown_registers {
	IN_NO_FILE,
	NOT_SEARCHED,
	ONLY_PTX,
	DIFFERENT_CUBINS,
	NOT_IN_CUBIN,
	NO_NAME,
	REASONS
};

/* Why a kernel's registers are unknown: in JSON, and below the table. */
static const struct unknown_reason {
	const char *key, *text;
} unknown_reasons[REASONS] = {
	[IN_NO_FILE] = {"file", "no file with the kernel's code was found"},
	[NOT_SEARCHED] =
		{"limit",
		 "no file with the kernel's code was found in the " GT_KERNEL_SEARCH_LIMIT_TEXT
		 " of code that are searched"},
	[ONLY_PTX] = {"ptx", "the kernel exists only as PTX, which the driver compiles"},
	[DIFFERENT_CUBINS] = {"cubins", "the values of the cubins differ"},
	[NOT_IN_CUBIN] = {"cubin", "the cubin does not state them"},
	[NO_NAME] = {"name", "the kernel's name is unknown"},
};

/* NULL: they are known, or the row is a graph's, which has none. */
static const struct unknown_reason *registers_reason(const struct gt_names *names,
						     const struct gt_kernel_row *kernel)
{
	const struct gt_kernel *known;

	if (kernel->graph)
		return NULL;
	if (!kernel->name)
		return &unknown_reasons[NO_NAME];
	if (gt_names_registers(names, kernel->name) != GT_KERNEL_UNKNOWN)
		return NULL;
	known = gt_names_parameters(names, kernel->name);
	if (!known)
		return &unknown_reasons[gt_names_search_is_limited(names) ? NOT_SEARCHED
									  : IN_NO_FILE];
	if (!known->usage_count)
		return &unknown_reasons[ONLY_PTX];
	if (gt_kernel_usage_on(known, 0).registers != GT_KERNEL_UNKNOWN)
		return NULL;
	return &unknown_reasons[known->usage_count > 1 ? DIFFERENT_CUBINS : NOT_IN_CUBIN];
}

/* Below the table: why rows that are shown have no registers. */
static void put_unknown_registers(const struct gt_report_options *options,
				  const struct gt_names *names,
				  const struct gt_kernel_row *const *rows, size_t count,
				  struct gt_strbuf *text)
{
	uint64_t found[REASONS] = {0};

	for (size_t i = 0; i < count && gt_report_shows(options->top, i); i++) {
		const struct unknown_reason *reason = registers_reason(names, rows[i]);

		if (reason)
			found[reason - unknown_reasons]++;
	}
	for (size_t i = 0; i < REASONS; i++)
		if (found[i])
			gt_strbuf_printf(text, "REGS of %" PRIu64 " row%s: unknown, since %s.\n",
					 found[i], found[i] == 1 ? "" : "s",
					 unknown_reasons[i].text);
}

static const struct gt_column columns[] = {
	{"LAUNCHES", false}, {"FAILED", false}, {"GRAPHS", false, true}, {"TOTAL", false},
	{"MEAN", false},     {"P50", false},    {"P99", false},          {"SINCE", false},
	{"GRID", false},     {"BLOCK", false},  {"REGS", false},         {"SHARED", false},
	{"DYNAMIC", false},  {"BY", true},      {"KERNEL", true},
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

static void put_usage(struct gt_table *table, const struct gt_kernel_usage *usage)
{
	if (usage->registers != GT_KERNEL_UNKNOWN)
		gt_table_number(table, usage->registers);
	else
		gt_table_text(table, "-");
	if (usage->shared_bytes != GT_KERNEL_UNKNOWN)
		gt_table_bytes(table, usage->shared_bytes);
	else
		gt_table_text(table, "-");
}

static void put_how(struct gt_table *table, const struct gt_kernel_row *kernel,
		    const struct gt_kernel_usage *usage)
{
	const struct gt_configuration *first = kernel->configurations;
	uint64_t more = kernel->configuration_count + !!kernel->others;

	if (more) {
		put_dimensions(table, first->launch.grid, 0);
		put_dimensions(table, first->launch.block, more - 1);
	} else {
		gt_table_text(table, "-");
		gt_table_text(table, "-");
	}
	put_usage(table, usage);
	if (more)
		gt_table_bytes(table, first->launch.shared);
	else
		gt_table_text(table, "-");
}

static void put_row(struct gt_table *table, const struct gt_report_labels *labels, const void *row)
{
	const struct gt_kernel_row *kernel = row;
	const struct gt_kernel_usage *usages;
	size_t count;
	struct gt_kernel_usage usage = usage_of(labels->names, kernel, &count, &usages);

	gt_table_number(table, kernel->launches);
	gt_table_number(table, kernel->failed);
	gt_table_number(table, kernel->by_graphs);
	gt_report_put_durations(table, &kernel->duration);
	if (kernel->since.count)
		gt_table_duration(table, gt_histogram_mean(&kernel->since));
	else
		gt_table_text(table, "-");
	put_how(table, kernel, &usage);
	gt_report_put_group(table, labels, labels->by, &kernel->group);
	if (kernel->graph)
		gt_strbuf_puts(gt_table_cell(table), "graph ");
	gt_label_kernel(gt_table_cell(table), labels->kernels, kernel->name, kernel->handle);
	gt_table_end_cell(table);
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

static void json_usage(struct gt_json *json, const struct gt_kernel_usage *usage)
{
	gt_report_json_known(json, "registers", usage->registers != GT_KERNEL_UNKNOWN,
			     usage->registers);
	gt_report_json_known(json, "static_shared", usage->shared_bytes != GT_KERNEL_UNKNOWN,
			     usage->shared_bytes);
	gt_report_json_known(json, "local", usage->local_bytes != GT_KERNEL_UNKNOWN,
			     usage->local_bytes);
}

static void json_usages(struct gt_json *json, const struct gt_names *names,
			const struct gt_kernel_row *kernel)
{
	const struct gt_kernel_usage *usages;
	size_t count;
	struct gt_kernel_usage usage = usage_of(names, kernel, &count, &usages);
	const struct unknown_reason *reason = registers_reason(names, kernel);

	json_usage(json, &usage);
	if (reason)
		gt_json_string(json, "registers_unknown", reason->key);
	else
		gt_json_null(json, "registers_unknown");
	gt_json_array_begin(json, "compiled");
	for (size_t i = 0; i < count; i++) {
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "architecture", usages[i].architecture);
		json_usage(json, &usages[i]);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_row(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		     const void *row)
{
	const struct gt_kernel_row *kernel = row;
	gt_auto_strbuf label = GT_STRBUF_INIT;

	gt_label_kernel(&label, NULL, kernel->name, kernel->handle);
	gt_json_string(json, "kernel", gt_strbuf_string(&label));
	gt_json_bool(json, "graph", kernel->graph);
	if (kernel->group.process)
		gt_report_json_process(json, names, kernel->group.process,
				       gt_names_process(names, kernel->group.process));
	gt_report_json_group(json, names, by, &kernel->group);
	gt_json_u64(json, "launches", kernel->launches);
	gt_json_u64(json, "failed", kernel->failed);
	gt_json_u64(json, "captured", kernel->captured);
	gt_json_u64(json, "by_graphs", kernel->by_graphs);
	gt_json_u64(json, "unknown", kernel->unknown);
	gt_json_u64(json, "total", kernel->duration.sum);
	gt_report_json_durations(json, "duration", &kernel->duration);
	gt_report_json_durations(json, "since", &kernel->since);
	json_usages(json, names, kernel);
	json_configurations(json, kernel);
}

static const char *name_of_kernel(const void *row)
{
	return ((const struct gt_kernel_row *)row)->name;
}

static const struct gt_report_rows form = {
	.key = "kernels",
	.columns = columns,
	.column_count = gt_countof(columns),
	.group = offsetof(struct gt_kernel_row, group),
	.empty = "No kernel was launched.\n",
	.note = "TOTAL to SINCE are times of the launching calls on the host, not of the "
		"kernels.\n",
	.kernel = name_of_kernel,
	.put = put_row,
	.json = json_row,
};

static int kernels_text(void *kernels, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	const struct gt_kernel_row *const *rows;
	uint64_t unknown = 0;
	size_t count;
	int error = gt_kernels_rows(kernels, names, &rows, &count);

	if (error)
		return error;
	gt_report_put_rows(&form, options, names, rows, count, text);
	put_unknown_registers(options, names, rows, count, text);
	for (size_t i = 0; i < count; i++)
		unknown += rows[i]->unknown;
	gt_report_put_unknown_graphs(text, unknown, "launches");
	return 0;
}

static int kernels_json(void *kernels, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_kernel_row *const *rows;
	size_t count;
	int error = gt_kernels_rows(kernels, names, &rows, &count);

	if (!error)
		gt_report_json_rows(&form, options, names, rows, count, json);
	return error;
}

static bool kernels_needs(enum gt_operation_kind kind)
{
	return kind == GT_OPERATION_LAUNCH || gt_graphs_needs(kind);
}

const struct gt_report gt_report_kernels = {
	.name = "kernels",
	.needs = kernels_needs,
	.open = kernels_open,
	.event = kernels_event,
	.put_text = kernels_text,
	.put_json = kernels_json,
	.close = kernels_close,
};
