/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The format "sqlite": a database with the tables of sqlite_tables.h. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "event/kinds.h"
#include "export/export.h"
#include "export/rows.h"
#include "export/sqlite_tables.h"
#include "layers/layers.h"

#define BATCH 100000 /* rows of a transaction */

enum sqlite_table {
#define TABLE_NUMBER(name, columns, definitions) TABLE_##name,
	SQLITE_TABLES(TABLE_NUMBER) TABLES
#undef TABLE_NUMBER
};

static const struct {
	const char *name;
	int columns;
	const char *definitions;
} tables[] = {
#define TABLE_ROW(name, columns, definitions) {#name, columns, definitions},
	SQLITE_TABLES(TABLE_ROW)
#undef TABLE_ROW
};

struct sqlite_thread {
	uint32_t process, thread;
	uint64_t calls, first, last;
};

struct sqlite_export {
	sqlite3 *database;
	sqlite3_stmt *inserts[TABLES];
	const char *path, *capture;
	struct gt_timeline *timeline;
	struct gt_demangler *demangler;
	struct gt_call_row call;
	struct gt_strbuf text;     /* its memory is used again */
	struct gt_hash *processes; /* process -> any */
	struct gt_hash *threads;   /* thread << 32 | process -> struct sqlite_thread * */
	struct gt_hash *stacks;    /* struct sqlite_stack_key -> id, as a pointer */
	uint64_t calls, events, rows;
	int error; /* the first one */
};

struct sqlite_stack_key {
	uint64_t stack, process;
};

/* ---- rows --------------------------------------------------------------------------------- */

/* A row that is being inserted: its next column. */
struct sqlite_row {
	sqlite3_stmt *insert;
	int column;
};

static struct sqlite_row begin_row(struct sqlite_export *state, enum sqlite_table table)
{
	return (struct sqlite_row){state->inserts[table], 1};
}

static void put_null(struct sqlite_row *row)
{
	sqlite3_bind_null(row->insert, row->column++);
}

static void put_integer(struct sqlite_row *row, uint64_t value)
{
	sqlite3_bind_int64(row->insert, row->column++, (sqlite3_int64)value);
}

static void put_known_integer(struct sqlite_row *row, bool is_known, uint64_t value)
{
	if (is_known)
		put_integer(row, value);
	else
		put_null(row);
}

/* NULL is null. Bytes that are not UTF-8 become U+FFFD. */
static void put_text(struct sqlite_row *row, const char *text)
{
	gt_auto_strbuf valid = GT_STRBUF_INIT;

	if (!text) {
		put_null(row);
		return;
	}
	gt_put_utf8(&valid, text, strlen(text));
	sqlite3_bind_text64(row->insert, row->column++, gt_strbuf_string(&valid), valid.length,
			    SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* Addresses and handles may exceed the integers of SQLite. */
static void put_handle(struct sqlite_row *row, bool is_known, uint64_t value)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (is_known)
		gt_strbuf_hex(&text, value);
	put_text(row, is_known ? gt_strbuf_string(&text) : NULL);
}

static void put_device(struct sqlite_row *row, int device)
{
	put_known_integer(row, device != GT_DEVICE_UNKNOWN, (uint64_t)device);
}

/* The errors of SQLite as errno. */
static int sqlite_error(int result)
{
	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

static int execute(struct sqlite_export *state, const char *statements)
{
	int error = sqlite_error(sqlite3_exec(state->database, statements, NULL, NULL, NULL));

	state->error = state->error ? state->error : error;
	return error;
}

static int end_row(struct sqlite_export *state, struct sqlite_row *row)
{
	int error = sqlite_error(sqlite3_step(row->insert));

	sqlite3_reset(row->insert);
	state->error = state->error ? state->error : error;
	if (!error && ++state->rows % BATCH == 0)
		error = execute(state, "COMMIT; BEGIN");
	return error;
}

/* ---- stacks ------------------------------------------------------------------------------- */

static int put_frame(struct sqlite_export *state, uint64_t stack, uint64_t position, __u64 address,
		     const struct gt_location *location, const struct gt_source_frame *frame)
{
	struct sqlite_row row = begin_row(state, TABLE_frames);

	put_integer(&row, stack);
	put_integer(&row, position);
	put_handle(&row, true, address);
	put_text(&row, location->path);
	put_text(&row, frame ? frame->function : NULL);
	put_text(&row, frame ? frame->file : NULL);
	put_known_integer(&row, frame && frame->line, frame ? frame->line : 0);
	put_integer(&row, frame && frame->inlined);
	return end_row(state, &row);
}

static int put_frames(struct sqlite_export *state, const struct gt_names *names, uint64_t id,
		      const struct sqlite_stack_key *key)
{
	uint64_t position = 0;
	size_t count = 0;
	const __u64 *addresses = gt_names_stack(names, (uint32_t)key->process, key->stack, &count);
	int error = 0;

	for (size_t i = 0; addresses && i < count && !error; i++) {
		struct gt_location location;

		gt_names_location(names, (uint32_t)key->process, addresses[i], true, &location);
		if (!location.frame_count)
			error = put_frame(state, id, position++, addresses[i], &location, NULL);
		for (size_t k = 0; k < location.frame_count && !error; k++)
			error = put_frame(state, id, position++, addresses[i], &location,
					  &location.frames[k]);
	}
	return error;
}

/* The id of a stack, which is written the first time; 0: none. */
static int put_stack(struct sqlite_export *state, const struct gt_names *names,
		     const struct gt_event_call *call, uint64_t *ret_id)
{
	const struct sqlite_stack_key key = {call->stack, call->head.process};
	struct sqlite_row row;
	int error;

	*ret_id = call->stack ? (uintptr_t)gt_hash_get(state->stacks, &key, sizeof(key)) : 0;
	if (!call->stack || *ret_id)
		return 0;
	*ret_id = gt_hash_count(state->stacks) + 1;
	error = gt_hash_set(state->stacks, &key, sizeof(key),
			    (void *)(uintptr_t)*ret_id); // NOLINT
	if (error)
		return error;
	row = begin_row(state, TABLE_stacks);
	put_integer(&row, *ret_id);
	put_integer(&row, key.process);
	put_handle(&row, true, key.stack);
	put_integer(&row, gt_names_stack_is_truncated(names, call->head.process, call->stack));
	error = end_row(state, &row);
	return error ? error : put_frames(state, names, *ret_id, &key);
}

/* ---- calls -------------------------------------------------------------------------------- */

static int count_call(struct sqlite_export *state, const struct gt_call_row *call)
{
	const struct gt_event *head = &call->event->head;
	uint64_t key = (uint64_t)head->thread << 32 | head->process;
	struct sqlite_thread *thread = gt_hash_get_u64(state->threads, key);
	int error;

	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		error = thread ? gt_hash_set_u64(state->threads, key, thread) : -ENOMEM;
		if (error) {
			free(thread);
			return error;
		}
		*thread = (struct sqlite_thread){head->process, head->thread, 0, call->start, 0};
	}
	thread->calls++;
	thread->first = call->start < thread->first ? call->start : thread->first;
	thread->last = head->time > thread->last ? head->time : thread->last;
	return 0;
}

static void put_launch(struct sqlite_export *state, struct sqlite_row *row,
		       const struct gt_call_row *call)
{
	const uint32_t *grid = call->launch.grid, *block = call->launch.block;
	bool has = call->has_launch;

	gt_strbuf_clear(&state->text);
	gt_put_dimensions(&state->text, grid);
	put_text(row, has ? gt_strbuf_string(&state->text) : NULL);
	gt_strbuf_clear(&state->text);
	gt_put_dimensions(&state->text, block);
	put_text(row, has ? gt_strbuf_string(&state->text) : NULL);
	put_known_integer(row, has, (uint64_t)grid[0] * grid[1] * grid[2]);
	put_known_integer(row, has, (uint64_t)block[0] * block[1] * block[2]);
	put_known_integer(row, has, call->launch.shared);
}

/* An object; NULL of a function that is in no table. */
static const char *arguments_of(struct sqlite_export *state, const struct gt_call *call)
{
	struct gt_json json = GT_JSON_INIT(&state->text);

	if (!call->function)
		return NULL;
	gt_strbuf_clear(&state->text);
	gt_call_json_arguments(&json, NULL, call);
	return gt_strbuf_string(&state->text);
}

static int put_call(struct sqlite_export *state, const struct gt_names *names,
		    const struct gt_event_call *event)
{
	struct gt_call_row *call = &state->call;
	const struct gt_api_function *function;
	struct sqlite_row row;
	const char *label;
	uint64_t stack;
	int error;

	gt_call_row_fill(call, names, state->demangler, event);
	function = call->call.function;
	error = count_call(state, call);
	if (!error)
		error = put_stack(state, names, event, &stack);
	if (error)
		return error;
	row = begin_row(state, TABLE_calls);
	put_integer(&row, ++state->calls);
	put_integer(&row, call->start);
	put_integer(&row, event->duration);
	put_integer(&row, event->head.process);
	put_integer(&row, event->head.thread);
	put_integer(&row, event->depth);
	put_text(&row, function ? function->library : NULL);
	put_text(&row, call->name);
	put_text(&row, call->has_result ? gt_strbuf_string(&call->result) : NULL);
	put_known_integer(&row, call->has_result, event->result);
	put_known_integer(&row, function, call->call.failed);
	put_integer(&row, !call->has_result);
	put_device(&row, event->head.device);
	put_handle(&row, call->context, call->context ? call->context->handle : 0);
	label = call->has_stream ? gt_call_stream_label(&call->call, call->stream) : NULL;
	if (label)
		put_text(&row, label);
	else
		put_handle(&row, call->has_stream, call->stream);
	put_known_integer(&row, call->has_bytes, call->bytes);
	put_text(&row, call->direction);
	put_text(&row, call->kernel);
	put_launch(state, &row, call);
	put_known_integer(&row, stack, stack);
	put_text(&row, arguments_of(state, &call->call));
	return end_row(state, &row);
}

/* ---- operations of GPUs ------------------------------------------------------------------- */

static int put_dependencies(struct sqlite_export *state, const struct gt_gpu_interval *interval)
{
	int error = 0;

	for (unsigned i = 0; i < interval->dependency_count && !error; i++) {
		struct sqlite_row row = begin_row(state, TABLE_gpu_dependencies);

		put_integer(&row, interval->number);
		put_integer(&row, interval->dependencies[i]);
		error = end_row(state, &row);
	}
	return error;
}

static int put_operation(void *opaque, const struct gt_names *names,
			 const struct gt_gpu_interval *interval)
{
	struct sqlite_export *state = opaque;
	struct sqlite_row row = begin_row(state, TABLE_gpu_operations);
	const struct gt_timeline_join *call = &interval->call, *wait = &interval->wait;
	int error;

	put_integer(&row, interval->number);
	put_text(&row, gt_gpu_operation_name(interval->operation));
	put_integer(&row, interval->start);
	put_integer(&row, interval->end - interval->start);
	put_text(&row, gt_times_basis_name(interval->basis));
	put_integer(&row, interval->error);
	put_integer(&row, interval->shares);
	put_integer(&row, interval->submitted);
	put_integer(&row, interval->released);
	put_integer(&row, interval->process);
	put_integer(&row, interval->thread);
	put_device(&row, interval->device);
	put_handle(&row, interval->context, interval->context);
	gt_strbuf_clear(&state->text);
	gt_put_stream(&state->text, interval->stream);
	put_text(&row, gt_strbuf_string(&state->text));
	put_text(&row,
		 interval->kernel ? gt_demangler_full(state->demangler, interval->kernel) : NULL);
	put_known_integer(&row, interval->has_bytes, interval->bytes);
	put_known_integer(&row, call->number, call->start);
	put_known_integer(&row, wait->number, wait->thread);
	put_known_integer(&row, wait->number, wait->start);
	put_known_integer(&row, wait->number, wait->end);
	put_known_integer(&row, interval->previous, interval->previous);
	error = end_row(state, &row);
	return error ? error : put_dependencies(state, interval);
}

/* ---- layers ------------------------------------------------------------------------------- */

static int put_layer_event(struct sqlite_export *state, const struct gt_names *names,
			   const struct gt_layer_kind *layer, const struct gt_event *event)
{
	struct sqlite_row row = begin_row(state, TABLE_events);
	struct gt_json json = GT_JSON_INIT(&state->text);
	uint64_t duration = 0;
	bool has_duration = gt_event_duration(event, &duration);

	gt_strbuf_clear(&state->text);
	gt_json_object_begin(&json, NULL);
	gt_layer_json(&json, layer, names, event);
	gt_json_object_end(&json);
	put_integer(&row, ++state->events);
	put_integer(&row, event->time > duration ? event->time - duration : 0);
	put_known_integer(&row, has_duration, duration);
	put_known_integer(&row, event->process, event->process);
	put_known_integer(&row, event->thread, event->thread);
	put_text(&row, layer->source);
	put_text(&row, gt_layer_event_name(layer, event));
	put_known_integer(&row, layer->error, layer->error && layer->error(event));
	put_text(&row, gt_strbuf_string(&state->text));
	return end_row(state, &row);
}

static int put_sample(struct sqlite_export *state, const struct gt_event_gpu_sample *sample)
{
	const struct {
		const char *name;
		uint64_t value;
		bool is_known;
	} values[] = {
		{"memory_used", sample->memory_used, ~sample->memory_used},
		{"utilization", sample->utilization, ~sample->utilization},
		{"sm_clock", sample->sm_clock, ~sample->sm_clock},
		{"memory_clock", sample->memory_clock, ~sample->memory_clock},
		{"power", sample->power, ~sample->power},
		{"temperature", sample->temperature, ~sample->temperature},
		{"pcie_sent", sample->pcie_sent, ~sample->pcie_sent},
		{"pcie_received", sample->pcie_received, ~sample->pcie_received},
	};
	int error = 0;

	for (size_t i = 0; i < gt_countof(values) && !error; i++) {
		struct sqlite_row row = begin_row(state, TABLE_counters);

		if (!values[i].is_known)
			continue;
		put_integer(&row, sample->head.time);
		put_text(&row, values[i].name);
		put_integer(&row, sample->gpu);
		put_integer(&row, values[i].value);
		error = end_row(state, &row);
	}
	return error;
}

/* ---- the end ------------------------------------------------------------------------------ */

static int put_metadata(struct sqlite_export *state, const char *key, const char *text,
			uint64_t number)
{
	struct sqlite_row row = begin_row(state, TABLE_metadata);

	put_text(&row, key);
	if (text)
		put_text(&row, text);
	else
		put_integer(&row, number);
	return end_row(state, &row);
}

static int put_all_metadata(struct sqlite_export *state, const struct gt_names *names)
{
	uint64_t start = gt_names_start_time(names);
	int error = put_metadata(state, "schema", "gputap.sqlite.1", 0);

	if (!error)
		error = put_metadata(state, "capture", state->capture, 0);
	if (!error)
		error = put_metadata(state, "clock", "CLOCK_MONOTONIC", 0);
	if (!error)
		error = put_metadata(state, "start", NULL, start);
	if (!error)
		error = put_metadata(state, "start_realtime", NULL,
				     gt_names_wall_time(names, start));
	if (!error)
		error = put_metadata(state, "truncated", NULL, !gt_names_account(names));
	return error ? error
		     : put_metadata(state, "incomplete", NULL, gt_names_is_incomplete(names));
}

static int put_processes(struct sqlite_export *state, const struct gt_names *names)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;
	uint64_t process;
	uint32_t rank;
	int error = 0;

	while (!error && gt_hash_next(state->processes, &cursor, &key, &length, &value)) {
		struct sqlite_row row = begin_row(state, TABLE_processes);

		memcpy(&process, key, sizeof(process));
		put_integer(&row, process);
		put_text(&row, gt_names_process(names, (uint32_t)process));
		put_integer(&row, gt_names_parent(names, (uint32_t)process));
		put_text(&row, gt_names_command(names, (uint32_t)process));
		put_text(&row, gt_names_container(names, (uint32_t)process));
		put_integer(&row, gt_id_machine((uint32_t)process));
		put_integer(&row, gt_id_number((uint32_t)process));
		if (gt_names_rank(names, (uint32_t)process, &rank))
			put_integer(&row, rank);
		else
			put_null(&row);
		error = end_row(state, &row);
	}
	return error;
}

static int put_threads(struct sqlite_export *state)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (!error && gt_hash_next(state->threads, &cursor, NULL, NULL, &value)) {
		const struct sqlite_thread *thread = value;
		struct sqlite_row row = begin_row(state, TABLE_threads);

		put_integer(&row, thread->process);
		put_integer(&row, thread->thread);
		put_integer(&row, thread->calls);
		put_integer(&row, thread->first);
		put_integer(&row, thread->last);
		error = end_row(state, &row);
	}
	return error;
}

/* A row for the calls, and one per source of layers. */
static int put_losses(struct sqlite_export *state, const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);
	struct sqlite_row row = begin_row(state, TABLE_losses);
	size_t count;
	const struct gt_known_totals *totals = gt_names_totals(names, &count);
	int error = 0;

	if (account) {
		put_text(&row, "calls");
		put_integer(&row, account->made);
		put_integer(&row, account->complete);
		put_integer(&row, account->unfinished);
		put_integer(&row, account->lost);
		put_integer(&row, account->filtered);
		put_integer(&row, 0);
		error = end_row(state, &row);
	}
	for (size_t i = 0; i < count && !error; i++) {
		row = begin_row(state, TABLE_losses);
		put_text(&row, totals[i].source);
		put_integer(&row, totals[i].recorded + totals[i].lost + totals[i].unsampled +
					  totals[i].unattributed);
		put_integer(&row, totals[i].recorded);
		put_integer(&row, totals[i].evicted);
		put_integer(&row, totals[i].lost);
		put_integer(&row, totals[i].unsampled);
		put_integer(&row, totals[i].unattributed);
		error = end_row(state, &row);
	}
	return error;
}

static int put_gaps(struct sqlite_export *state, const struct gt_names *names)
{
	size_t count;
	__u64 omitted;
	const struct gt_known_gap *gaps = gt_names_gaps(names, &count, &omitted);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct sqlite_row row = begin_row(state, TABLE_gaps);

		put_known_integer(&row, gaps[i].process, gaps[i].process);
		put_text(&row, gaps[i].name[0] ? gaps[i].name : NULL);
		put_text(&row, gaps[i].library[0] ? gaps[i].library : NULL);
		put_known_integer(&row, gaps[i].start, gaps[i].start);
		put_known_integer(&row, gaps[i].end, gaps[i].end);
		error = end_row(state, &row);
	}
	return error;
}

static int put_end(struct sqlite_export *state, const struct gt_names *names)
{
	int error = gt_timeline_finish(state->timeline, names);

	if (!error)
		error = put_all_metadata(state, names);
	if (!error)
		error = put_processes(state, names);
	if (!error)
		error = put_threads(state);
	if (!error)
		error = put_losses(state, names);
	if (!error)
		error = put_gaps(state, names);
	return error;
}

/* ---- the database ------------------------------------------------------------------------- */

static void sqlite_free(struct sqlite_export *state)
{
	for (size_t i = 0; i < TABLES; i++)
		sqlite3_finalize(state->inserts[i]);
	sqlite3_close(state->database);
	gt_timeline_free(state->timeline);
	gt_demangler_free(state->demangler);
	gt_call_row_free(&state->call);
	gt_strbuf_free(&state->text);
	gt_hash_free(state->processes);
	if (state->threads)
		gt_hash_free_with(state->threads, free);
	gt_hash_free(state->stacks);
	free(state);
}

static int make_table(struct sqlite_export *state, size_t table)
{
	gt_auto_strbuf statement = GT_STRBUF_INIT;
	int error;

	gt_strbuf_printf(&statement, "CREATE TABLE %s (%s)", tables[table].name,
			 tables[table].definitions);
	error = execute(state, gt_strbuf_string(&statement));
	if (error)
		return error;
	gt_strbuf_clear(&statement);
	gt_strbuf_printf(&statement, "INSERT INTO %s VALUES (?", tables[table].name);
	for (int i = 1; i < tables[table].columns; i++)
		gt_strbuf_puts(&statement, ", ?");
	gt_strbuf_putc(&statement, ')');
	return sqlite_error(sqlite3_prepare_v2(state->database, gt_strbuf_string(&statement), -1,
					       &state->inserts[table], NULL));
}

/* A database that is there is replaced. A crash leaves no valid one: no journal is needed. */
static int make_database(struct sqlite_export *state)
{
	gt_autoclose int file =
		open(state->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	int error;

	if (file < 0)
		return -errno;
	error = sqlite_error(
		sqlite3_open_v2(state->path, &state->database, SQLITE_OPEN_READWRITE, NULL));
	if (!error)
		error = execute(state, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
				       "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = FILE; "
				       "BEGIN");
	for (size_t i = 0; i < TABLES && !error; i++)
		error = make_table(state, i);
	return error;
}

static int sqlite_open(const struct gt_export_options *options, void **ret_state,
		       struct gt_diag *diag)
{
	struct sqlite_export *state = calloc(1, sizeof(*state));
	const struct gt_timeline_sink sink = {.gpu = put_operation, .context = state};
	int error = -ENOMEM;

	if (state) {
		state->path = options->output.path;
		state->capture = options->capture;
		state->timeline = gt_timeline_new(&sink);
		state->demangler = gt_demangler_new();
		state->processes = gt_hash_new();
		state->threads = gt_hash_new();
		state->stacks = gt_hash_new();
		if (state->timeline && state->demangler && state->processes && state->threads &&
		    state->stacks)
			error = make_database(state);
	}
	if (error) {
		if (state)
			sqlite_free(state);
		return gt_diag_file(diag, error, "export", options->output.path, GT_FILE_WRITTEN,
				    NULL);
	}
	*ret_state = state;
	return 0;
}

static int sqlite_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	const struct gt_layer_kind *layer = gt_export_layer_kind(event);
	struct sqlite_export *state = opaque;
	int error = 0;

	if (event->kind == GT_EVENT_process)
		error = gt_hash_set_u64(state->processes, event->process, state);
	else if (event->kind == GT_EVENT_call)
		error = put_call(state, names, (const void *)event);
	else if (event->kind == GT_EVENT_gpu_sample)
		error = put_sample(state, (const void *)event);
	if (!error && layer)
		error = put_layer_event(state, names, layer, event);
	return error ? error : gt_timeline_take(state->timeline, names, event);
}

static int sqlite_close(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct sqlite_export *state = opaque;
	int error = names && !state->error ? put_end(state, names) : state->error;

	if (!error)
		error = execute(state, "COMMIT;" SQLITE_INDICES SQLITE_VIEWS);
	if (error)
		gt_diag(diag, error, "export", state->path, "cannot be written: %s",
			sqlite3_errmsg(state->database));
	sqlite_free(state);
	return error;
}

const struct gt_export_format gt_export_sqlite = {
	.name = "sqlite",
	.help = "a SQLite database with tables of calls, GPU operations, events, stacks",
	.extension = ".sqlite",
	.is_binary = true,
	.needs_file = true,
	.open = sqlite_open,
	.event = sqlite_event,
	.close = sqlite_close,
};
