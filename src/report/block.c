/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The report of the source "block". */
#include "analysis/block_io.h"

#include <errno.h>

#include "report/gpu_cells.h"
#include "report/stat.h"

static int block_open(const struct gt_report_options *options, void **ret_state)
{
	*ret_state = gt_block_io_new();
	return *ret_state ? 0 : -ENOMEM;
}

static int block_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_block_io_take(state, event);
}

static void put_disk(struct gt_table *table, const struct gt_block_disk *disk)
{
	gt_table_padded(table, disk->key.name, sizeof(disk->key.name));
	gt_table_text(table, disk->key.operation);
}

static void put_disks(const struct gt_block_io *block, uint64_t ns, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DISK", true},   {"OPERATION", true},  {"REQUESTS", false},     {"RATE", false},
		{"BYTES", false}, {"MEAN SIZE", false}, {"ERRORS", false, true},
	};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &block->disks.rows) {
		const struct gt_block_disk *disk = *item;

		put_disk(&table, disk);
		gt_table_number(&table, disk->sums.requests);
		gt_table_rate(&table, disk->sums.requests, ns);
		gt_table_bytes(&table, disk->sums.bytes);
		gt_table_bytes(&table, disk->sums.bytes / disk->sums.requests);
		gt_table_number(&table, disk->sums.errors);
	}
	gt_table_put(&table, text);
}

static void put_times(const struct gt_block_io *block, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"DISK", true}, {"OPERATION", true}, {"TIME", true}, GT_TIMES_COLUMNS};
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &block->disks.rows) {
		const struct gt_block_disk *disk = *item;

		if (disk->sums.queued.count) {
			put_disk(&table, disk);
			gt_table_text(&table, "queued");
			gt_table_times(&table, &disk->sums.queued);
		}
		put_disk(&table, disk);
		gt_table_text(&table, "on the device");
		gt_table_times(&table, &disk->sums.device);
	}
	gt_table_put(&table, text);
}

static void put_processes(const struct gt_block_io *block, const struct gt_report_options *options,
			  const struct gt_names *names, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"PROCESS", true}, {"DISK", true},   {"READS", false},        {"BYTES", false},
		{"WRITES", false}, {"BYTES", false}, {"ERRORS", false, true}, GT_TIMES_COLUMNS,
	};
	struct gt_table table;
	size_t shown = 0;

	gt_table_begin(&table, columns, gt_countof(columns));
	gt_vec_each (item, &block->processes.rows) {
		const struct gt_block_process *process = *item;

		if (!gt_report_shows(options->top, shown++))
			break;
		gt_table_process(&table, names, (uint32_t)process->key.process);
		gt_table_padded(&table, process->key.name, sizeof(process->key.name));
		gt_table_number(&table, process->reads);
		gt_table_bytes(&table, process->read_bytes);
		gt_table_number(&table, process->writes);
		gt_table_bytes(&table, process->written_bytes);
		gt_table_number(&table, process->sums.errors);
		gt_table_times(&table, &process->sums.device);
	}
	gt_table_put(&table, text);
	gt_report_put_rest(text, options->top, block->processes.rows.count);
}

static int block_put_text(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	uint64_t start = gt_names_start_time(names);

	gt_block_io_sort(state);
	put_disks(state, now > start ? now - start : 0, text);
	gt_strbuf_putc(text, '\n');
	put_times(state, text);
	gt_strbuf_putc(text, '\n');
	put_processes(state, options, names, text);
	return 0;
}

static void json_sums(struct gt_json *json, const struct gt_block_sums *sums)
{
	gt_json_u64(json, "requests", sums->requests);
	gt_json_u64(json, "bytes", sums->bytes);
	gt_json_u64(json, "errors", sums->errors);
	gt_report_json_durations(json, "queued", &sums->queued);
	gt_report_json_durations(json, "duration", &sums->device);
}

static void json_disk(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_block_disk *disk = row;

	gt_json_padded_name(json, "disk", disk->key.name, sizeof(disk->key.name));
	gt_json_string(json, "operation", disk->key.operation);
	json_sums(json, &disk->sums);
}

static void json_process(struct gt_json *json, const struct gt_names *names, const void *row)
{
	const struct gt_block_process *process = row;
	uint32_t number = (uint32_t)process->key.process;

	gt_report_json_process(json, names, number, gt_names_process(names, number));
	gt_json_padded_name(json, "disk", process->key.name, sizeof(process->key.name));
	gt_json_u64(json, "reads", process->reads);
	gt_json_u64(json, "read_bytes", process->read_bytes);
	gt_json_u64(json, "writes", process->writes);
	gt_json_u64(json, "written_bytes", process->written_bytes);
	json_sums(json, &process->sums);
}

static int block_put_json(void *state, const struct gt_report_options *options,
			  const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct gt_block_io *block = state;

	gt_block_io_sort(block);
	gt_json_keyed_rows(json, "disks", &block->disks, names, json_disk);
	gt_json_keyed_rows(json, "processes", &block->processes, names, json_process);
	return 0;
}

static void block_close(void *state)
{
	gt_block_io_free(state);
}

const struct gt_report gt_report_block = {
	.name = "block",
	.open = block_open,
	.event = block_event,
	.put_text = block_put_text,
	.put_json = block_put_json,
	.close = block_close,
};
