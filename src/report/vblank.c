/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "vblank". */
#include "analysis/vblanks.h"

#include <errno.h>

#include "report/gpu_cells.h"
#include "report/stat.h"

static int vblank_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_vblanks_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int vblank_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_vblanks_take(state, event);
}

static void put_crtc(struct gt_table *table, const struct gt_vblank_row *row)
{
	gt_table_padded(table, row->key.device, sizeof(row->key.device));
	gt_table_number(table, row->key.crtc);
}

static void put_crtcs(const struct gt_vblanks *vblanks, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true},  {"CRTC", false},   {"VBLANKS", false},   {"RATE", false},
		{"MISSED", false}, {"QUEUED", false}, {"DELIVERED", false}, {"OVER 1 ms", false},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &vblanks->crtcs.rows) {
		const struct gt_vblank_row *row = *item;

		put_crtc(&table, row);
		gt_table_number(&table, row->vblanks);
		gt_strbuf_printf(gt_table_cell(&table), "%.2f/s", gt_vblank_rate(row));
		gt_table_end_cell(&table);
		gt_table_number(&table, row->missed);
		gt_table_number(&table, row->queued);
		gt_table_number(&table, row->delivered);
		gt_table_number(&table, row->late);
	}
	gt_table_put(&table, text);
}

static void put_times(const struct gt_vblanks *vblanks, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DEVICE", true}, {"CRTC", false}, {"TIME", true}, GT_TIMES_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &vblanks->crtcs.rows) {
		const struct gt_vblank_row *row = *item;
		const struct {
			const char *name;
			const struct gt_histogram *times;
		} rows[] = {
			{"vblank to interrupt", &row->handled},
			{"vblank to delivered", &row->delivery},
			{"queued to delivered", &row->from_queue},
		};

		for (size_t i = 0; i < gt_countof(rows); i++) {
			if (!rows[i].times->count)
				continue;
			put_crtc(&table, row);
			gt_table_text(&table, rows[i].name);
			gt_table_times(&table, rows[i].times);
		}
	}
	gt_table_put(&table, text);
}

static int vblank_put_text(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	put_crtcs(state, text);
	gt_strbuf_putc(text, '\n');
	put_times(state, text);
	return 0;
}

static int vblank_put_json(void *state, const struct gt_report_options *options,
			   const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	const struct gt_vblanks *vblanks = state;

	gt_json_array_begin(json, "crtcs");
	gt_vec_each (item, &vblanks->crtcs.rows) {
		const struct gt_vblank_row *row = *item;

		gt_json_object_begin(json, NULL);
		gt_json_padded_name(json, "device", row->key.device, sizeof(row->key.device));
		gt_json_u64(json, "crtc", row->key.crtc);
		gt_json_u64(json, "vblanks", row->vblanks);
		gt_json_double(json, "rate", gt_vblank_rate(row));
		gt_json_u64(json, "missed", row->missed);
		gt_json_u64(json, "queued", row->queued);
		gt_json_u64(json, "delivered", row->delivered);
		gt_json_u64(json, "over_1ms", row->late);
		gt_report_json_durations(json, "interrupt_latency", &row->handled);
		gt_report_json_durations(json, "delivery_latency", &row->delivery);
		gt_report_json_durations(json, "queue_latency", &row->from_queue);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	return 0;
}

static void vblank_close(void *state)
{
	gt_vblanks_free(state);
}

const struct gt_report gt_report_vblank = {
	.name = "vblank",
	.open = vblank_open,
	.event = vblank_event,
	.put_text = vblank_put_text,
	.put_json = vblank_put_json,
	.close = vblank_close,
};
