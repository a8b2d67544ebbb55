/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the sources "i915", "xe" and "amdgpu". */
#include "analysis/gpu_drivers.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "layers/drivers.h"
#include "report/gpu_cells.h"
#include "report/stat.h"

static int drivers_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_gpu_drivers_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int drivers_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_gpu_drivers_take(state, event);
}

/* ---- ledgers ------------------------------------------------------------------------------ */

#define LEDGER_COLUMNS                                                                             \
	{"CREATED", false}, {"BYTES", false}, {"DESTROYED", false}, {"BYTES", false},              \
		{"LIVE", false}, {"MAX LIVE", false}, {"BOUND", false},                            \
	{                                                                                          \
		"MAX BOUND", false                                                                 \
	}

static void put_ledger(struct gt_table *table, const struct gt_driver_ledger *ledger)
{
	gt_table_number(table, ledger->created);
	gt_table_bytes(table, ledger->created_bytes);
	gt_table_number(table, ledger->destroyed);
	gt_table_bytes(table, ledger->destroyed_bytes);
	gt_table_bytes(table, gt_driver_live(ledger));
	gt_table_bytes(table, ledger->max_live);
	gt_table_bytes(table, ledger->bound);
	gt_table_bytes(table, ledger->max_bound);
}

static void put_devices(const struct gt_gpu_drivers *drivers, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {{"DEVICE", true}, LEDGER_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &drivers->devices.rows) {
		const struct gt_driver_device *device = *item;

		gt_table_padded(&table, device->name, sizeof(device->name));
		put_ledger(&table, &device->ledger);
	}
	gt_table_put(&table, text);
}

static void put_processes(const struct gt_gpu_drivers *drivers,
			  const struct gt_report_options *options, const struct gt_names *names,
			  struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true},           LEDGER_COLUMNS,          {"MOVED", false},
		{"EVICTIONS", false, true},  {"FAULTS", false, true}, {"REQUESTS", false},
		{"INTERRUPTS", false, true},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &drivers->processes.rows) {
		const struct gt_driver_process *process = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_table_process(&table, names, process->process);
		put_ledger(&table, &process->ledger);
		gt_table_bytes(&table, process->ledger.moved);
		gt_table_number(&table, process->ledger.evictions);
		gt_table_number(&table, process->ledger.faults);
		gt_table_number(&table, process->requests);
		gt_table_number(&table, process->interrupts);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, drivers->processes.rows.count);
}

/* ---- operations --------------------------------------------------------------------------- */

/* "move system → VRAM" */
static void put_operation_name(struct gt_strbuf *text, const struct gt_driver_operation *row)
{
	gt_strbuf_puts(text, gt_driver_buffer_operation_name(row->key.operation));
	if (row->key.operation != GT_DRIVER_MOVE)
		return;
	gt_strbuf_putc(text, ' ');
	gt_put_driver_memory(text, row->key.kind, row->key.from);
	gt_strbuf_puts(text, " → ");
	gt_put_driver_memory(text, row->key.kind, row->key.to);
}

static void put_operations(const struct gt_gpu_drivers *drivers, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true},         {"OPERATION", true},     {"COUNT", false},
		{"BYTES", false},         {"WRITES", false, true}, {"NO COPY", false, true},
		{"VISIBLE", false, true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &drivers->operations.rows) {
		const struct gt_driver_operation *row = *item;

		gt_table_padded(&table, row->key.device, sizeof(row->key.device));
		put_operation_name(gt_table_cell(&table), row);
		gt_table_end_cell(&table);
		gt_table_number(&table, row->count);
		if (row->bytes)
			gt_table_bytes(&table, row->bytes);
		else
			gt_table_text(&table, "-");
		gt_table_number(&table, row->writes);
		gt_table_number(&table, row->no_copy);
		gt_table_number(&table, row->visible);
	}
	gt_table_put(&table, text);
}

/* ---- requests and interrupts -------------------------------------------------------------- */

static void put_engine_names(struct gt_table *table, const struct gt_driver_engine *engine)
{
	gt_table_padded(table, engine->key.device, sizeof(engine->key.device));
	gt_table_padded(table, engine->key.name, sizeof(engine->key.name));
}

static void put_engines(const struct gt_gpu_drivers *drivers, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true},        {"ENGINE", true},         {"QUEUED", false, true},
		{"SUBMITTED", false},    {"BUFFERS", false, true}, {"RUN", false},
		{"DONE", false},         {"OVER 100 µs", false},   {"TIMEOUTS", false, true},
		{"ERRORS", false, true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &drivers->engines.rows) {
		const struct gt_driver_engine *engine = *item;

		put_engine_names(&table, engine);
		gt_table_number(&table, engine->queued);
		gt_table_number(&table, engine->submitted);
		gt_table_number(&table, engine->buffers);
		gt_table_number(&table, engine->run);
		gt_table_number(&table, engine->done);
		gt_table_number(&table, engine->late);
		gt_table_number(&table, engine->timeouts);
		gt_table_number(&table, engine->errors);
	}
	gt_table_put(&table, text);
}

/* The times of an engine's requests, in the order in which they pass. */
#define ENGINE_TIMES(engine)                                                                       \
	{                                                                                          \
		{"submit to run", "delay", &(engine)->delay}, {"ran", "ran", &(engine)->ran},      \
		{                                                                                  \
			"waited for", "waits", &(engine)->waits                                    \
		}                                                                                  \
	}

struct engine_time {
	const char *name, *key;
	const struct gt_histogram *times;
};

static void put_times(const struct gt_gpu_drivers *drivers, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true}, {"ENGINE", true}, {"TIME", true}, GT_TIMES_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &drivers->engines.rows) {
		const struct gt_driver_engine *engine = *item;
		const struct engine_time times[] = ENGINE_TIMES(engine);

		for (size_t i = 0; i < gt_countof(times); i++) {
			if (!times[i].times->count)
				continue;
			put_engine_names(&table, engine);
			gt_table_text(&table, times[i].name);
			gt_table_times(&table, times[i].times);
		}
	}
	gt_table_put(&table, text);
}

/* Whether a request has run, ended or was waited for. */
static bool has_times(const struct gt_gpu_drivers *drivers)
{
	gt_vec_each (item, &drivers->engines.rows) {
		const struct gt_driver_engine *engine = *item;

		if (engine->delay.count || engine->ran.count || engine->waits.count)
			return true;
	}
	return false;
}

static void put_interrupts(const struct gt_gpu_drivers *drivers,
			   const struct gt_report_options *options, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"INTERRUPTS OF CLIENT", false},
		{"SOURCE", false},
		{"RING", false},
		{"HANDLER", false},
		{"COUNT", false},
		{"RATE", false},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &drivers->interrupts.rows) {
		const struct gt_driver_interrupt *row = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_table_number(&table, row->key.client);
		gt_table_number(&table, row->key.source);
		gt_table_number(&table, row->key.ring);
		gt_table_number(&table, row->key.handler);
		gt_table_number(&table, row->count);
		gt_table_rate(&table, row->count - 1, row->last - row->first);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, drivers->interrupts.rows.count);
}

/* ---- findings ----------------------------------------------------------------------------- */

/* "4711 game on 0000:03:00.0 gfx: 12 of 40 requests … in 1.20 s." */
static void put_finding(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_driver_finding *finding)
{
	const struct gt_driver_finding_key *key = &finding->key;
	gt_autofree char *device = strndup(key->device, sizeof(key->device));
	gt_autofree char *engine = strndup(key->engine, sizeof(key->engine));

	gt_strbuf_putc(text, '\n');
	if (key->process)
		gt_label_process(text, names, key->process);
	else
		gt_strbuf_puts(text, "An unknown process");
	gt_strbuf_puts(text, " on ");
	gt_put_printable(text, device && *device ? device : "an unknown device");
	gt_strbuf_puts(text, engine && *engine ? " " : "");
	gt_put_printable(text, engine ? engine : "");
	gt_strbuf_puts(text, ": ");
	gt_driver_finding_put(text, finding);
	if (finding->count > 1) {
		gt_strbuf_puts(text, "; within ");
		gt_format_duration(text, finding->last - finding->first);
	}
	gt_strbuf_printf(text, ".\n  %s\n", gt_driver_finding_advice(key->kind));
}

static void put_findings(const struct gt_gpu_drivers *drivers,
			 const struct gt_report_options *options, const struct gt_names *names,
			 struct gt_strbuf *text)
{
	size_t count = 0;

	gt_vec_each (item, &drivers->findings.rows) {
		if (!gt_driver_finding_holds(*item))
			continue;
		if (gt_report_shows(options->top, count++))
			put_finding(text, names, *item);
	}
	gt_report_put_rest(text, options->top, count);
}

static int drivers_put_text(void *state, const struct gt_report_options *options,
			    const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct gt_gpu_drivers *drivers = state;

	gt_gpu_drivers_sort(drivers);
	if (drivers->devices.rows.count) {
		put_devices(drivers, text);
		gt_strbuf_putc(text, '\n');
		put_operations(drivers, text);
		gt_strbuf_putc(text, '\n');
	}
	if (drivers->engines.rows.count) {
		put_engines(drivers, text);
		gt_strbuf_putc(text, '\n');
	}
	if (has_times(drivers)) {
		put_times(drivers, text);
		gt_strbuf_putc(text, '\n');
	}
	put_processes(drivers, options, names, text);
	if (drivers->interrupts.rows.count) {
		gt_strbuf_putc(text, '\n');
		put_interrupts(drivers, options, text);
	}
	put_findings(drivers, options, names, text);
	if (drivers->unfollowed)
		gt_strbuf_printf(text,
				 "\n%" PRIu64 " operations on buffers were not followed (too many "
				 "buffers): BOUND and the findings are lower bounds.\n",
				 drivers->unfollowed);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_ledger(struct gt_json *json, const struct gt_driver_ledger *ledger)
{
	gt_json_u64(json, "created", ledger->created);
	gt_json_u64(json, "created_bytes", ledger->created_bytes);
	gt_json_u64(json, "destroyed", ledger->destroyed);
	gt_json_u64(json, "destroyed_bytes", ledger->destroyed_bytes);
	gt_json_u64(json, "live", gt_driver_live(ledger));
	gt_json_u64(json, "max_live", ledger->max_live);
	gt_json_u64(json, "bound", ledger->bound);
	gt_json_u64(json, "max_bound", ledger->max_bound);
	gt_json_u64(json, "moved", ledger->moved);
	gt_json_u64(json, "evictions", ledger->evictions);
	gt_json_u64(json, "faults", ledger->faults);
}

static void json_memory(struct gt_json *json, const char *key,
			const struct gt_driver_operation *row, uint32_t type)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	gt_put_driver_memory(&name, row->key.kind, type);
	if (name.length)
		gt_json_string(json, key, gt_strbuf_string(&name));
	else
		gt_json_null(json, key);
}

static void json_operation(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_driver_operation *row = opaque;
	gt_json_padded_name(json, "device", row->key.device, sizeof(row->key.device));
	gt_json_string(json, "operation", gt_driver_buffer_operation_name(row->key.operation));
	if (row->key.operation == GT_DRIVER_MOVE) {
		json_memory(json, "from", row, row->key.from);
		json_memory(json, "to", row, row->key.to);
		gt_json_u64(json, "without_copy", row->no_copy);
	}
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "bytes", row->bytes);
	if (row->key.operation == GT_DRIVER_CREATE)
		gt_json_u64(json, "visible", row->visible);
	if (row->key.operation == GT_DRIVER_FAULT)
		gt_json_u64(json, "writes", row->writes);
}

static void json_engine(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_driver_engine *engine = opaque;
	const struct engine_time times[] = ENGINE_TIMES(engine);

	gt_json_padded_name(json, "device", engine->key.device, sizeof(engine->key.device));
	gt_json_padded_name(json, "engine", engine->key.name, sizeof(engine->key.name));
	gt_json_u64(json, "queued", engine->queued);
	gt_json_u64(json, "submitted", engine->submitted);
	gt_json_u64(json, "command_buffers", engine->buffers);
	gt_json_u64(json, "run", engine->run);
	gt_json_u64(json, "done", engine->done);
	gt_json_u64(json, "over_100us", engine->late);
	gt_json_u64(json, "timeouts", engine->timeouts);
	gt_json_u64(json, "errors", engine->errors);
	for (size_t i = 0; i < gt_countof(times); i++)
		gt_report_json_durations(json, times[i].key, times[i].times);
}

static void json_interrupt(struct gt_json *json, const struct gt_names *names, const void *opaque)
{
	const struct gt_driver_interrupt *row = opaque;
	gt_json_u64(json, "client", row->key.client);
	gt_json_u64(json, "source", row->key.source);
	gt_json_u64(json, "ring", row->key.ring);
	gt_json_u64(json, "handler", row->key.handler);
	gt_json_u64(json, "count", row->count);
	gt_json_u64(json, "first", row->first);
	gt_json_u64(json, "last", row->last);
}

static void json_finding(struct gt_json *json, const struct gt_names *names,
			 const struct gt_driver_finding *finding)
{
	const struct gt_driver_finding_key *key = &finding->key;
	gt_auto_strbuf evidence = GT_STRBUF_INIT;

	gt_driver_finding_put(&evidence, finding);
	gt_json_string(json, "finding", gt_driver_finding_name(key->kind));
	gt_report_json_process(json, names, key->process, gt_names_process(names, key->process));
	gt_json_padded_name(json, "device", key->device, sizeof(key->device));
	gt_json_padded_name(json, "engine", key->engine, sizeof(key->engine));
	gt_json_u64(json, "count", finding->count);
	gt_json_u64(json, "bytes", finding->bytes);
	if (finding->buffer) {
		gt_json_hex(json, "buffer", finding->buffer);
		gt_json_u64(json, "repeats", finding->repeats);
		gt_json_u64(json, "buffers", finding->buffers);
	}
	if (key->kind == GT_DRIVER_FINDING_LATE) {
		gt_json_u64(json, "requests", finding->of);
		gt_json_u64(json, "max", finding->max);
		gt_json_u64(json, "context", finding->context);
		gt_json_u64(json, "seqno", finding->seqno);
	}
	gt_json_u64(json, "first", finding->first);
	gt_json_u64(json, "last", finding->last);
	gt_json_string(json, "evidence", gt_strbuf_string(&evidence));
	gt_json_string(json, "advice", gt_driver_finding_advice(key->kind));
}

static void json_device(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_driver_device *device = row;

	gt_json_padded_name(json, "device", device->name, sizeof(device->name));
	json_ledger(json, &device->ledger);
}

static void json_process(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_driver_process *process = row;

	gt_report_json_process(json, names, process->process,
			       gt_names_process(names, process->process));
	json_ledger(json, &process->ledger);
	gt_json_u64(json, "requests", process->requests);
	gt_json_u64(json, "interrupts", process->interrupts);
}

static void json_findings(struct gt_json *json, const struct gt_gpu_drivers *drivers,
			  const struct gt_names *names)
{
	gt_json_array_begin(json, "findings");
	gt_vec_each (item, &drivers->findings.rows) {
		if (!gt_driver_finding_holds(*item))
			continue;
		gt_json_object_begin(json, NULL);
		json_finding(json, names, *item);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static int drivers_put_json(void *state, const struct gt_report_options *options,
			    const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_gpu_drivers *drivers = state;

	gt_gpu_drivers_sort(drivers);
	gt_json_keyed_rows(json, "devices", &drivers->devices, names, json_device);
	gt_json_keyed_rows(json, "operations", &drivers->operations, names, json_operation);
	gt_json_keyed_rows(json, "engines", &drivers->engines, names, json_engine);
	gt_json_keyed_rows(json, "processes", &drivers->processes, names, json_process);
	gt_json_keyed_rows(json, "interrupts", &drivers->interrupts, names, json_interrupt);
	json_findings(json, drivers, names);
	gt_json_u64(json, "unfollowed", drivers->unfollowed);
	return 0;
}

static void drivers_close(void *state)
{
	gt_gpu_drivers_free(state);
}

const struct gt_report gt_report_drivers = {
	.name = "drivers",
	.open = drivers_open,
	.event = drivers_event,
	.put_text = drivers_put_text,
	.put_json = drivers_put_json,
	.close = drivers_close,
};
