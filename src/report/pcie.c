/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "pcie". */
#include "analysis/pci_accesses.h"

#include <errno.h>

#include "base/text.h"
#include "kernel/pci.h"
#include "layers/pcie.h"
#include "report/gpu_cells.h"
#include "report/stat.h"

static int pcie_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_pci_accesses_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int pcie_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_pci_accesses_take(state, event);
}

/* ---- text --------------------------------------------------------------------------------- */

static void put_registers(struct gt_pci_accesses *accesses, const struct gt_report_options *options,
			  struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true},  {"OFFSET", false},   {"REGISTER", true},      {"READS", false},
		{"WRITES", false}, {"BY USERS", false}, {"ERRORS", false, true},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_pci_accesses_sort(accesses);
	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &accesses->registers.rows) {
		const struct gt_pci_register_row *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_put_pci_address(gt_table_cell(&table), row->key.domain, row->key.bus,
				   row->key.device_function);
		gt_table_end_cell(&table);
		gt_strbuf_printf(gt_table_cell(&table), "0x%02x", row->key.offset);
		gt_table_end_cell(&table);
		gt_put_pci_register(gt_table_cell(&table), row->key.offset);
		gt_table_end_cell(&table);
		gt_table_number(&table, row->reads);
		gt_table_number(&table, row->writes);
		gt_table_number(&table, row->user);
		gt_table_number(&table, row->errors);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, accesses->registers.rows.count);
}

static void put_processes(const struct gt_pci_accesses *accesses,
			  const struct gt_report_options *options, const struct gt_names *names,
			  struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, {"READS", false}, {"WRITES", false}, {"ERRORS", false, true}};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &accesses->processes.rows) {
		const struct gt_pci_process *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_table_process(&table, names, row->process);
		gt_table_number(&table, row->reads);
		gt_table_number(&table, row->writes);
		gt_table_number(&table, row->errors);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, accesses->processes.rows.count);
}

static void put_times(const struct gt_pci_accesses *accesses,
		      const struct gt_report_options *options, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true}, {"FUNCTION", true}, GT_TIMES_COLUMNS};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &accesses->times.rows) {
		const struct gt_pci_times *row = *item;
		const char *function = gt_pci_times_function(row);

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_put_pci_address(gt_table_cell(&table), row->key.domain, row->key.bus,
				   row->key.device_function);
		gt_table_end_cell(&table);
		gt_table_text(&table, function ? function : "-");
		gt_table_times(&table, &row->durations);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, accesses->times.rows.count);
}

/* "RxErr", or "bit 9". */
static void put_error_name(struct gt_strbuf *text, const struct gt_pcie_error_row *row)
{
	const char *name = gt_aer_error_name(row->key.severity, row->key.bit);

	if (name)
		gt_strbuf_puts(text, name);
	else
		gt_strbuf_printf(text, "bit %u", row->key.bit);
}

static void put_errors(const struct gt_pci_accesses *accesses, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"ERRORS OF", true}, {"SEVERITY", true}, {"ERROR", true},
		{"COUNT", false},    {"WITHIN", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &accesses->errors.rows) {
		const struct gt_pcie_error_row *row = *item;

		gt_table_padded(&table, row->key.address, sizeof(row->key.address));
		gt_table_text(&table, gt_aer_severity_name(row->key.severity));
		put_error_name(gt_table_cell(&table), row);
		gt_table_end_cell(&table);
		gt_table_number(&table, row->count);
		gt_table_duration(&table, row->last - row->first);
	}
	gt_table_put(&table, text);
}

static void put_links(const struct gt_pci_accesses *accesses, uint64_t now, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"LINK OF", true}, {"NOW", true},      {"LOWEST", true},
		{"MAXIMUM", true}, {"CHANGES", false}, {"BELOW MAXIMUM", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &accesses->links.rows) {
		const struct gt_pcie_link_row *link = *item;
		uint64_t below = gt_pcie_link_below(link, now);

		gt_table_padded(&table, link->address, sizeof(link->address));
		gt_put_pcie_speed(gt_table_cell(&table), link->speed, link->width);
		gt_table_end_cell(&table);
		gt_put_pcie_speed(gt_table_cell(&table), link->min_speed, link->min_width);
		gt_table_end_cell(&table);
		gt_put_pcie_speed(gt_table_cell(&table), link->max_speed, link->max_width);
		gt_table_end_cell(&table);
		gt_table_number(&table, link->changes);
		if (below)
			gt_table_duration(&table, below);
		else
			gt_table_text(&table, "-");
	}
	gt_table_put(&table, text);
}

/* ---- findings ----------------------------------------------------------------------------- */

/* What to do about a link below its maximum. */
static const char *advice_of(const struct gt_pcie_link_row *link)
{
	return link->min_width < link->max_width
		       ? "Fewer lanes than the device has: check its slot, riser and firmware "
			 "settings."
		       : "GPUs lower the speed while they are idle; if it stays low under load, "
			 "check the slot and the firmware settings.";
}

/* The evidence as a sentence without the device. */
static void put_evidence(struct gt_strbuf *text, const struct gt_pcie_link_row *link, uint64_t now)
{
	gt_strbuf_puts(text, "the link was at ");
	gt_put_pcie_speed(text, link->min_speed, link->min_width);
	gt_strbuf_puts(text, " at the lowest, of ");
	gt_put_pcie_speed(text, link->max_speed, link->max_width);
	gt_strbuf_puts(text, "; below this for ");
	gt_format_duration(text, gt_pcie_link_below(link, now));
	gt_strbuf_puts(text, " of ");
	gt_format_duration(text, now > link->first ? now - link->first : 0);
}

static bool is_finding(const struct gt_pcie_link_row *link)
{
	return link->below || gt_pcie_link_is_below(link);
}

static void put_findings(const struct gt_pci_accesses *accesses, uint64_t now,
			 struct gt_strbuf *text)
{
	gt_vec_each (item, &accesses->links.rows) {
		const struct gt_pcie_link_row *link = *item;

		if (!is_finding(link))
			continue;
		gt_strbuf_putc(text, '\n');
		gt_put_printable(text, link->address);
		gt_strbuf_puts(text, ": ");
		put_evidence(text, link, now);
		gt_strbuf_printf(text, ".\n  %s\n", advice_of(link));
	}
}

/* An empty line before each table but the first. */
static void separate(struct gt_strbuf *text, bool *any)
{
	if (*any)
		gt_strbuf_putc(text, '\n');
	*any = true;
}

static int pcie_put_text(void *state, const struct gt_report_options *options,
			 const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct gt_pci_accesses *accesses = state;
	bool any = false;

	if (accesses->registers.rows.count) {
		separate(text, &any);
		put_registers(accesses, options, text);
		separate(text, &any);
		put_processes(accesses, options, names, text);
	}
	if (accesses->times.rows.count) {
		separate(text, &any);
		put_times(accesses, options, text);
	}
	if (accesses->errors.rows.count) {
		separate(text, &any);
		put_errors(accesses, text);
	}
	if (accesses->links.rows.count) {
		separate(text, &any);
		put_links(accesses, now, text);
	}
	put_findings(accesses, now, text);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_register(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_pci_register_row *row = opaque;
	gt_auto_strbuf address = GT_STRBUF_INIT, name = GT_STRBUF_INIT;

	gt_put_pci_address(&address, row->key.domain, row->key.bus, row->key.device_function);
	gt_put_pci_register(&name, row->key.offset);
	gt_json_string(json, "address", gt_strbuf_string(&address));
	gt_json_u64(json, "offset", row->key.offset);
	if (name.length)
		gt_json_string(json, "register", gt_strbuf_string(&name));
	else
		gt_json_null(json, "register");
	gt_json_u64(json, "reads", row->reads);
	gt_json_u64(json, "writes", row->writes);
	gt_json_u64(json, "user", row->user);
	gt_json_u64(json, "errors", row->errors);
}

static void json_process(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_pci_process *row = opaque;

	gt_report_json_process(json, names, row->process, gt_names_process(names, row->process));
	gt_json_u64(json, "reads", row->reads);
	gt_json_u64(json, "writes", row->writes);
	gt_json_u64(json, "errors", row->errors);
}

static void json_times(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_pci_times *row = opaque;
	gt_auto_strbuf address = GT_STRBUF_INIT;
	const char *function = gt_pci_times_function(row);

	gt_put_pci_address(&address, row->key.domain, row->key.bus, row->key.device_function);
	gt_json_string(json, "address", gt_strbuf_string(&address));
	if (function)
		gt_json_string(json, "function", function);
	else
		gt_json_null(json, "function");
	gt_json_u64(json, "total", row->durations.sum);
	gt_report_json_durations(json, "duration", &row->durations);
}

static void json_error(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_pcie_error_row *row = opaque;
	gt_auto_strbuf name = GT_STRBUF_INIT;

	put_error_name(&name, row);
	gt_json_padded_name(json, "address", row->key.address, sizeof(row->key.address));
	gt_json_string(json, "severity", gt_aer_severity_name(row->key.severity));
	gt_json_string(json, "error", gt_strbuf_string(&name));
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "first", row->first);
	gt_json_u64(json, "last", row->last);
}

static void json_links(struct gt_json *json, const struct gt_pci_accesses *accesses, uint64_t now)
{
	gt_json_array_begin(json, "links");
	gt_vec_each (item, &accesses->links.rows) {
		const struct gt_pcie_link_row *link = *item;

		gt_json_object_begin(json, NULL);
		gt_json_padded_name(json, "address", link->address, sizeof(link->address));
		gt_json_u64(json, "speed", link->speed);
		gt_json_u64(json, "width", link->width);
		gt_json_u64(json, "min_speed", link->min_speed);
		gt_json_u64(json, "min_width", link->min_width);
		gt_json_u64(json, "max_speed", link->max_speed);
		gt_json_u64(json, "max_width", link->max_width);
		gt_json_u64(json, "changes", link->changes);
		gt_json_u64(json, "below_maximum", gt_pcie_link_below(link, now));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_findings(struct gt_json *json, const struct gt_pci_accesses *accesses,
			  uint64_t now)
{
	gt_json_array_begin(json, "findings");
	gt_vec_each (item, &accesses->links.rows) {
		const struct gt_pcie_link_row *link = *item;
		gt_auto_strbuf evidence = GT_STRBUF_INIT;

		if (!is_finding(link))
			continue;
		put_evidence(&evidence, link, now);
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "finding", "link_below_maximum");
		gt_json_padded_name(json, "address", link->address, sizeof(link->address));
		gt_json_string(json, "evidence", gt_strbuf_string(&evidence));
		gt_json_string(json, "advice", advice_of(link));
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static int pcie_put_json(void *state, const struct gt_report_options *options,
			 const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_pci_accesses *accesses = state;

	gt_pci_accesses_sort(accesses);
	gt_json_keyed_rows(json, "registers", &accesses->registers, names, json_register);
	gt_json_keyed_rows(json, "processes", &accesses->processes, names, json_process);
	gt_json_keyed_rows(json, "times", &accesses->times, names, json_times);
	gt_json_keyed_rows(json, "errors", &accesses->errors, names, json_error);
	json_links(json, accesses, now);
	json_findings(json, accesses, now);
	return 0;
}

static void pcie_close(void *state)
{
	gt_pci_accesses_free(state);
}

const struct gt_report gt_report_pcie = {
	.name = "pcie",
	.open = pcie_open,
	.event = pcie_event,
	.put_text = pcie_put_text,
	.put_json = pcie_put_json,
	.close = pcie_close,
};
