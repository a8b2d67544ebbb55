/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "info": what a capture has. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "capture/capture.h"
#include "cli/cli.h"
#include "event/kinds.h"
#include "names/machine.h"
#include "names/names.h"
#include "report/table.h"

struct info_options {
	bool json, verbose;
};

static const struct gt_option option_table[] = {
	{'v', "verbose", NULL, "print also the schema: the fields of each kind of event",
	 GT_OPTION_FLAG, offsetof(struct info_options, verbose), NULL},
	{0, "json", NULL, "print a JSON object", GT_OPTION_FLAG,
	 offsetof(struct info_options, json), NULL},
};

static const char *const examples[] = {
	"gputap info run.gtap          # machine, times, events by kind, processes, losses",
	"gputap info --json run.gtap",
	NULL,
};

#define OTHER_KINDS 0 /* the row of kinds that this gputap does not know */

struct capture_info {
	const char *path;
	uint64_t file_size; /* 0: unknown */
	struct gt_capture_head head;
	struct gt_capture_state state;
	uint64_t events, bytes;
	uint64_t start, end; /* ns, CLOCK_MONOTONIC */
	struct kind_totals {
		uint64_t events, bytes;
	} kinds[GT_EVENT_KINDS];
	struct gt_hash *processes; /* process -> process_totals, owned */
	struct gt_names *names;
	struct gt_diag damage; /* set: the capture cannot be read as a whole */
};

struct process_totals {
	uint64_t events, calls;
};

static int count_process(struct capture_info *info, const struct gt_event *event)
{
	struct process_totals *totals;

	if (!event->process)
		return 0;
	totals = gt_hash_get_u64(info->processes, event->process);
	if (!totals) {
		totals = calloc(1, sizeof(*totals));
		if (!totals || gt_hash_set_u64(info->processes, event->process, totals)) {
			free(totals);
			return -ENOMEM;
		}
	}
	totals->events++;
	totals->calls += event->kind == GT_EVENT_call;
	return 0;
}

static int count_event(struct capture_info *info, const struct gt_event *event)
{
	struct kind_totals *kind =
		&info->kinds[event->kind < GT_EVENT_KINDS ? event->kind : OTHER_KINDS];
	uint64_t duration = 0, start;
	int error;

	kind->events++;
	kind->bytes += event->size;
	info->events++;
	info->bytes += event->size;
	if (event->clock == GT_CLOCK_MONOTONIC && event->time) {
		gt_event_duration(event, &duration);
		start = duration < event->time ? event->time - duration : 1;
		if (!info->start || start < info->start)
			info->start = start;
		if (event->time > info->end)
			info->end = event->time;
	}
	error = gt_names_take(info->names, event);
	return error ? error : count_process(info, event);
}

/* ---- text --------------------------------------------------------------------------------- */

static const struct gt_column kind_columns[] = {
	{.title = "EVENTS"},
	{.title = "BYTES"},
	{.title = "KIND", .left = true},
};

static const struct gt_column process_columns[] = {
	{.title = "PID"},
	{.title = "EVENTS"},
	{.title = "CALLS"},
	{.title = "PROCESS", .left = true},
	{.title = "COMMAND", .left = true},
};

static const char *kind_name(unsigned kind)
{
	return kind == OTHER_KINDS ? "(of a newer gputap)" : gt_event_kind(kind)->name;
}

static void put_wall_time(struct gt_strbuf *text, uint64_t wall)
{
	time_t seconds = (time_t)(wall / 1000000000u);
	char when[64];
	struct tm time;

	if (!wall || !localtime_r(&seconds, &time))
		return;
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &time);
	gt_strbuf_printf(text, " from %s", when);
}

static void put_summary(struct gt_strbuf *text, const struct capture_info *info)
{
	gt_strbuf_printf(text, "capture:  version %u, ", info->head.version);
	if (info->file_size) {
		gt_format_bytes(text, info->file_size);
		gt_strbuf_puts(text, ", ");
	}
	gt_strbuf_printf(text, "%" PRIu64 " blocks, %" PRIu64 " events", info->state.blocks,
			 info->events);
	if (info->file_size && info->events)
		gt_strbuf_printf(text, " (%.1f bytes each, %.1f uncompressed)",
				 (double)info->file_size / (double)info->events,
				 (double)info->bytes / (double)info->events);
	gt_strbuf_puts(text, "\ntime:     ");
	gt_format_duration(text, info->end - info->start);
	put_wall_time(text, gt_names_wall_time(info->names, info->start));
	gt_strbuf_putc(text, '\n');
}

static void put_machines(struct gt_strbuf *text, const struct capture_info *info)
{
	size_t count;
	const struct gt_event_machine *const *machines = gt_names_machines(info->names, &count);

	for (size_t i = 0; i < count; i++) {
		gt_strbuf_puts(text, "machine:  ");
		gt_put_machine(text, machines[i]);
		gt_strbuf_putc(text, '\n');
	}
}

static void put_gaps(struct gt_strbuf *text, const struct gt_names *names)
{
	gt_auto_strbuf gaps = GT_STRBUF_INIT;

	gt_put_gaps(&gaps, names);
	gt_strbuf_puts(text, gaps.length ? gt_strbuf_string(&gaps) : "none");
}

static void put_losses(struct gt_strbuf *text, const struct capture_info *info)
{
	const struct gt_event_account *account = gt_names_account(info->names);
	size_t count;
	const struct gt_known_totals *totals = gt_names_totals(info->names, &count);

	gt_strbuf_puts(text, "losses:   ");
	if (account)
		gt_strbuf_printf(text, "%" PRIu64 " calls, %" PRIu64 " other events",
				 (uint64_t)account->lost, (uint64_t)account->others_lost);
	else
		gt_strbuf_puts(text, "unknown: the capture is truncated");
	for (size_t i = 0; i < count; i++)
		if (totals[i].lost)
			gt_strbuf_printf(text, "; %" PRIu64 " of %s", totals[i].lost,
					 totals[i].source);
	gt_strbuf_puts(text, "\ngaps:     ");
	put_gaps(text, info->names);
	gt_strbuf_puts(text, "\ndamage:   ");
	if (gt_diag_is_set(&info->damage))
		gt_strbuf_printf(text, "%s\n", info->damage.text);
	else
		gt_strbuf_puts(text, info->state.complete || info->head.version < 2
					     ? "none\n"
					     : "the recorder was killed: there is no index\n");
}

static void put_kinds(struct gt_strbuf *text, const struct capture_info *info)
{
	struct gt_table table;

	gt_table_begin(&table, kind_columns, gt_countof(kind_columns));
	for (unsigned kind = 0; kind < GT_EVENT_KINDS; kind++) {
		if (!info->kinds[kind].events)
			continue;
		gt_table_number(&table, info->kinds[kind].events);
		gt_table_bytes(&table, info->kinds[kind].bytes);
		gt_table_text(&table, kind_name(kind));
	}
	gt_strbuf_putc(text, '\n');
	gt_table_put(&table, text);
}

static void put_processes(struct gt_strbuf *text, const struct capture_info *info)
{
	struct gt_table table;
	size_t cursor = 0;
	const void *key;
	void *value;

	gt_table_begin(&table, process_columns, gt_countof(process_columns));
	while (gt_hash_next(info->processes, &cursor, &key, NULL, &value)) {
		const struct process_totals *totals = value;
		const char *command;
		uint64_t process;

		memcpy(&process, key, sizeof(process));
		command = gt_names_command(info->names, (__u32)process);
		gt_table_id(&table, (uint32_t)process);
		gt_table_number(&table, totals->events);
		gt_table_number(&table, totals->calls);
		gt_put_printable(gt_table_cell(&table),
				 gt_names_process(info->names, (__u32)process));
		gt_put_rank(gt_table_cell(&table), info->names, (__u32)process);
		gt_table_end_cell(&table);
		gt_put_printable(gt_table_cell(&table), command ? command : "");
		gt_table_end_cell(&table);
	}
	gt_strbuf_putc(text, '\n');
	gt_table_put(&table, text);
}

static void put_text(struct gt_strbuf *text, const struct capture_info *info, bool schema)
{
	put_summary(text, info);
	put_machines(text, info);
	put_losses(text, info);
	put_kinds(text, info);
	put_processes(text, info);
	if (!schema)
		return;
	gt_strbuf_putc(text, '\n');
	gt_event_schema(text);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_kinds(struct gt_json *json, const struct capture_info *info)
{
	gt_json_array_begin(json, "kinds");
	for (unsigned kind = 0; kind < GT_EVENT_KINDS; kind++) {
		if (!info->kinds[kind].events)
			continue;
		gt_json_object_begin(json, NULL);
		if (kind == OTHER_KINDS)
			gt_json_null(json, "kind");
		else
			gt_json_string(json, "kind", kind_name(kind));
		gt_json_u64(json, "events", info->kinds[kind].events);
		gt_json_u64(json, "bytes", info->kinds[kind].bytes);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_processes(struct gt_json *json, const struct capture_info *info)
{
	size_t cursor = 0;
	const void *key;
	void *value;

	gt_json_array_begin(json, "processes");
	while (gt_hash_next(info->processes, &cursor, &key, NULL, &value)) {
		const struct process_totals *totals = value;
		const char *command;
		uint64_t process;

		memcpy(&process, key, sizeof(process));
		command = gt_names_command(info->names, (__u32)process);
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "pid", gt_id_number((__u32)process));
		gt_json_string(json, "process", gt_names_process(info->names, (__u32)process));
		gt_json_rank(json, info->names, (__u32)process);
		if (command)
			gt_json_string(json, "command", command);
		else
			gt_json_null(json, "command");
		gt_json_u64(json, "events", totals->events);
		gt_json_u64(json, "calls", totals->calls);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static void json_losses(struct gt_json *json, const struct capture_info *info)
{
	const struct gt_event_account *account = gt_names_account(info->names);

	if (account) {
		gt_json_u64(json, "calls_lost", account->lost);
		gt_json_u64(json, "others_lost", account->others_lost);
	} else {
		gt_json_null(json, "calls_lost");
		gt_json_null(json, "others_lost");
	}
	gt_json_gaps(json, info->names);
	gt_json_bool(json, "complete", info->state.complete);
	gt_json_bool(json, "truncated", info->state.truncated);
	gt_json_u64(json, "corrupt_parts", info->state.corrupt);
	gt_json_u64(json, "corrupt_bytes", info->state.corrupt_bytes);
}

static void put_json(struct gt_strbuf *text, const struct capture_info *info)
{
	struct gt_json json = GT_JSON_INIT(text);
	uint64_t wall = gt_names_wall_time(info->names, info->start);
	size_t count;
	const struct gt_event_machine *const *machines = gt_names_machines(info->names, &count);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "schema", "gputap.info.1");
	gt_json_string(&json, "file", info->path);
	gt_json_u64(&json, "version", info->head.version);
	gt_json_u64(&json, "file_bytes", info->file_size);
	gt_json_u64(&json, "blocks", info->state.blocks);
	gt_json_u64(&json, "events", info->events);
	gt_json_u64(&json, "bytes", info->bytes);
	gt_json_u64(&json, "start", info->start);
	gt_json_u64(&json, "end", info->end);
	if (wall)
		gt_json_u64(&json, "realtime", wall);
	else
		gt_json_null(&json, "realtime");
	gt_json_array_begin(&json, "machines");
	for (size_t i = 0; i < count; i++)
		gt_json_machine(&json, NULL, machines[i]);
	gt_json_array_end(&json);
	json_kinds(&json, info);
	json_processes(&json, info);
	json_losses(&json, info);
	gt_json_totals(&json, info->names);
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

/* ---- the command -------------------------------------------------------------------------- */

static int read_capture(struct capture_info *info, struct gt_diag *diag)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	struct stat status;
	int result, error = gt_capture_open(info->path, &reader, diag);

	if (error)
		return error;
	if (!stat(info->path, &status) && S_ISREG(status.st_mode))
		info->file_size = (uint64_t)status.st_size;
	info->head = *gt_capture_head(reader);
	while ((result = gt_capture_next(reader, &event, &info->damage)) > 0) {
		error = count_event(info, event);
		if (error)
			return gt_diag(diag, error, "capture", info->path, "out of memory");
	}
	info->state = *gt_capture_state(reader);
	if (result && result != -EBADMSG) {
		*diag = info->damage;
		return result;
	}
	return 0;
}

static int show_capture(struct capture_info *info, const struct info_options *given)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	if (read_capture(info, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (given->json)
		put_json(&text, info);
	else
		put_text(&text, info, given->verbose);
	fputs(gt_strbuf_string(&text), stdout);
	return gt_diag_is_set(&info->damage) ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_info(const struct gt_cli_command *self, int count, char **arguments)
{
	struct info_options given = {0};
	struct capture_info info = {0};
	int rest, status = gt_cli_parse(self, count, arguments, &given, &rest);

	if (status != GT_GO_ON)
		return status;
	if (count - rest != 1)
		return gt_cli_usage_error(self, rest == count ? "a capture is needed: FILE"
							      : "only one capture at a time");
	info.path = arguments[rest];
	info.processes = gt_hash_new();
	info.names = gt_names_new();
	if (info.processes && info.names) {
		status = show_capture(&info, &given);
	} else {
		gt_cli_error("out of memory");
		status = GT_EXIT_FAILED;
	}
	if (info.processes)
		gt_hash_free_with(info.processes, free);
	gt_names_free(info.names);
	return status;
}

const struct gt_cli_command gt_command_info = {
	.name = "info",
	.summary = "Show what a capture has: machine, times, events, processes, losses, damage",
	.usage = "[options] FILE",
	.description =
		"Prints the version and size of a capture, the machine and the command by which it "
		"was recorded, its times, the events by kind with their uncompressed bytes, the "
		"processes, and what was lost or is corrupt. The exit status is 1 if it is "
		"corrupt.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_info,
};
