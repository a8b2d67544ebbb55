/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "power". */
#include "analysis/power_states.h"

#include <errno.h>
#include <inttypes.h>

#include "report/gpu_cells.h"
#include "report/stat.h"

static int power_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_power_states_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int power_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_power_states_take(state, event);
}

/* "2400 MHz"; of a GPU the number that its driver reports. */
static void put_frequency(struct gt_table *table, bool is_gpu, uint64_t frequency)
{
	if (is_gpu)
		gt_strbuf_u64(gt_table_cell(table), frequency);
	else
		gt_strbuf_printf(gt_table_cell(table), "%" PRIu64 " MHz", frequency / 1000);
	gt_table_end_cell(table);
}

static void put_units(const struct gt_power_states *states, const struct gt_report_options *options,
		      struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"FREQUENCY OF", true}, {"CHANGES", false}, {"MIN", false},
		{"MEAN", false},        {"MAX", false},     {"KNOWN FOR", false},
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &states->units.rows) {
		const struct gt_frequency_unit *unit = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_strbuf_printf(gt_table_cell(&table), "%s %u", unit->key.is_gpu ? "GPU" : "CPU",
				 unit->key.unit);
		gt_table_end_cell(&table);
		gt_table_number(&table, unit->changes);
		put_frequency(&table, unit->key.is_gpu, unit->min);
		put_frequency(&table, unit->key.is_gpu, gt_frequency_mean(unit));
		put_frequency(&table, unit->key.is_gpu, unit->max);
		gt_table_duration(&table, unit->time);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, states->units.rows.count);
}

/* The time of all units of this kind. */
static uint64_t total_time(const struct gt_power_states *states, uint64_t is_gpu)
{
	uint64_t total = 0;

	gt_vec_each (item, &states->frequencies.rows) {
		const struct gt_frequency_time *row = *item;

		total += row->key.is_gpu == is_gpu ? row->time : 0;
	}
	return total;
}

static void put_frequencies(struct gt_power_states *states, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"TIME AT", true}, {"FREQUENCY", false}, {"TIME", false}, {"SHARE", false}};
	struct gt_table table;

	gt_power_states_sort(states);
	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &states->frequencies.rows) {
		const struct gt_frequency_time *row = *item;
		uint64_t total = total_time(states, row->key.is_gpu);

		gt_table_text(&table, row->key.is_gpu ? "GPUs" : "CPUs");
		put_frequency(&table, row->key.is_gpu, row->key.frequency);
		gt_table_duration(&table, row->time);
		gt_strbuf_printf(gt_table_cell(&table), "%.1f %%",
				 total ? (double)row->time * 100 / (double)total : 0.0);
		gt_table_end_cell(&table);
	}
	gt_table_put(&table, text);
}

static void put_devices(const struct gt_power_states *states, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true},   {"IDLES", false},     {"SUSPENDS", false},
		{"RESUMES", false}, {"SUSPENDED", false}, {"ERRORS", false, true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &states->devices.rows) {
		const struct gt_power_device *device = *item;

		gt_table_padded(&table, device->name, sizeof(device->name));
		gt_table_number(&table, device->idles);
		gt_table_number(&table, device->suspends);
		gt_table_number(&table, device->resumes);
		gt_table_duration(&table, device->suspended);
		gt_table_number(&table, device->errors);
	}
	gt_table_put(&table, text);
}

static void put_device_times(struct gt_table *table, const struct gt_power_device *device)
{
	const struct {
		const char *name;
		const struct gt_histogram *times;
	} rows[] = {
		{"suspend", &device->suspending},
		{"resume", &device->resuming},
		{"callback of the system's suspend", &device->callbacks},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		if (!rows[i].times->count)
			continue;
		gt_table_padded(table, device->name, sizeof(device->name));
		gt_table_text(table, rows[i].name);
		gt_table_times(table, rows[i].times);
	}
}

static void put_times(const struct gt_power_states *states, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {{"OF", true}, {"TIME", true}, GT_TIMES_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (device, &states->devices.rows)
		put_device_times(&table, *device);
	gt_vec_each (item, &states->steps.rows) {
		const struct gt_power_step *step = *item;

		gt_table_text(&table, "system");
		gt_table_padded(&table, step->name, sizeof(step->name));
		gt_table_times(&table, &step->times);
	}
	gt_table_put(&table, text);
}

static int power_put_text(void *opaque, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct gt_power_states *states = opaque;

	if (gt_power_states_advance(states, now))
		return -ENOMEM;
	if (states->units.rows.count) {
		put_units(states, options, text);
		gt_strbuf_putc(text, '\n');
		put_frequencies(states, text);
	}
	if (states->units.rows.count && (states->devices.rows.count || states->steps.rows.count))
		gt_strbuf_putc(text, '\n');
	if (states->devices.rows.count) {
		put_devices(states, text);
		gt_strbuf_putc(text, '\n');
	}
	if (states->devices.rows.count || states->steps.rows.count)
		put_times(states, text);
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_unit(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_frequency_unit *unit = row;

	gt_json_string(json, "unit", unit->key.is_gpu ? "gpu" : "cpu");
	gt_json_u64(json, "number", unit->key.unit);
	gt_json_u64(json, "changes", unit->changes);
	gt_json_u64(json, "min", unit->min);
	gt_json_u64(json, "mean", gt_frequency_mean(unit));
	gt_json_u64(json, "max", unit->max);
	gt_json_u64(json, "last", unit->last);
	gt_json_u64(json, "time", unit->time);
}

static void json_frequency(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_frequency_time *frequency = row;

	gt_json_string(json, "unit", frequency->key.is_gpu ? "gpu" : "cpu");
	gt_json_u64(json, "frequency", frequency->key.frequency);
	gt_json_u64(json, "time", frequency->time);
}

static void json_device(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_power_device *device = row;

	gt_json_padded_name(json, "device", device->name, sizeof(device->name));
	gt_json_u64(json, "idles", device->idles);
	gt_json_u64(json, "suspends", device->suspends);
	gt_json_u64(json, "resumes", device->resumes);
	gt_json_u64(json, "errors", device->errors);
	gt_json_u64(json, "suspended", device->suspended);
	gt_report_json_durations(json, "suspend", &device->suspending);
	gt_report_json_durations(json, "resume", &device->resuming);
	gt_report_json_durations(json, "callback", &device->callbacks);
}

static void json_step(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_power_step *step = row;

	gt_json_padded_name(json, "step", step->name, sizeof(step->name));
	gt_report_json_durations(json, "duration", &step->times);
}

static int power_put_json(void *opaque, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_power_states *states = opaque;

	if (gt_power_states_advance(states, now))
		return -ENOMEM;
	gt_power_states_sort(states);
	gt_json_keyed_rows(json, "units", &states->units, names, json_unit);
	gt_json_keyed_rows(json, "frequencies", &states->frequencies, names, json_frequency);
	gt_json_keyed_rows(json, "devices", &states->devices, names, json_device);
	gt_json_keyed_rows(json, "steps", &states->steps, names, json_step);
	return 0;
}

static void power_close(void *state)
{
	gt_power_states_free(state);
}

const struct gt_report gt_report_power = {
	.name = "power",
	.open = power_open,
	.event = power_event,
	.put_text = power_put_text,
	.put_json = power_put_json,
	.close = power_close,
};
