/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "top": a live view of processes, kernels, memory, copies, rings and losses. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/screen.h"
#include "cli/target.h"
#include "cli/top_view.h"
#include "output/sink.h"

#define DEFAULT_INTERVAL 1000000000ull /* ns */
#define RING_SIZE (8u << 20)
#define WAIT_MS 100 /* for a key, once the session has ended */

struct top_options {
	struct gt_target_options target;
	int table; /* negative: not given */
	const char *sort, *filter;
	uint64_t interval, iterations, limit;
	bool batch, ascending;
};

#define AT(field) offsetof(struct top_options, field)

static const struct gt_option options[] = {
	GT_TARGET_OPTIONS(AT(target)),
	{'e', "event", "SOURCE,…",
	 "enable these sources (default: cuda, opencl, hip, level-zero): with drm there are rings, "
	 "with nvml the state of "
	 "GPUs; all: every one that works here",
	 GT_OPTION_LIST, AT(target.trace.sources), NULL},
	{0, "interval", "TIME", "refresh every TIME (default: 1s)", GT_OPTION_PERIOD, AT(interval),
	 NULL},
	{0, "table", "TABLE",
	 "table to begin with, or the only one of --batch: processes, functions, kernels, memory, "
	 "copies, rings or sources",
	 GT_OPTION_CHOICE, AT(table), gt_top_table_names},
	{0, "sort", "COLUMN", "sort that table by this column: a key of --json", GT_OPTION_STRING,
	 AT(sort), NULL},
	{0, "ascending", NULL, "the smallest first", GT_OPTION_FLAG, AT(ascending), NULL},
	{0, "filter", "TEXT", "show rows whose names contain this text", GT_OPTION_STRING,
	 AT(filter), NULL},
	{0, "top", "N", "with --batch: print at most N rows of each table", GT_OPTION_COUNT,
	 AT(limit), NULL},
	{'b', "batch", NULL,
	 "print the tables after each interval instead of using the screen: the default where "
	 "standard output is no terminal",
	 GT_OPTION_FLAG, AT(batch), NULL},
	{'n', "iterations", "N", "end after N refreshes", GT_OPTION_COUNT, AT(iterations), NULL},
	{'o', "output", "FILE",
	 "with --batch: write to FILE ('-': stdout; default with CMD: stderr)", GT_OPTION_STRING,
	 AT(target.output), NULL},
	{0, "json", NULL,
	 "print a JSON object after each interval, one per line (docs/json.md): implies --batch",
	 GT_OPTION_FLAG, AT(target.json), NULL},
	GT_LIVE_RUN_OPTIONS(AT(target), "8M"),
};

static const char *const examples[] = {
	"sudo gputap top                          # all processes",
	"sudo gputap top -e cuda,drm,nvml         # with rings and the state of GPUs",
	"gputap top -- ./train                    # a command",
	"gputap top -b -n 5 --table kernels -- ./train  # five times, without the screen",
	NULL,
};

struct top_run {
	struct top_options *given;
	bool has_command;
	struct gt_top *top;
	struct gt_screen *screen; /* NULL: batch */
	struct gt_top_screen view;
	struct gt_sink sink; /* of batch */
	const struct gt_names *names;
	uint64_t next, refreshes;
	struct gt_strbuf frame; /* kept for its memory */
};

/* ---- frames ------------------------------------------------------------------------------- */

static int show_frame(struct top_run *run)
{
	int titles, error;

	gt_strbuf_clear(&run->frame);
	error = gt_top_screen_put(&run->view, &run->frame, run->top, run->names,
				  gt_screen_lines(run->screen), &titles);
	gt_screen_show(run->screen, gt_strbuf_string(&run->frame), titles, -1);
	return error;
}

/* A table, unless it is empty and others may be printed. */
static int print_table(struct top_run *run, int table)
{
	const struct gt_top_view view = {
		.table = (enum gt_top_table)table,
		.sort = run->view.sort[table],
		.ascending = run->view.ascending[table],
		.filter = run->given->filter,
		.limit = run->given->limit,
	};
	struct gt_strbuf *text = &run->sink.text;
	gt_auto_strbuf rows = GT_STRBUF_INIT;
	size_t count = 0;
	int error = gt_top_put_table(&rows, run->top, run->names, &view, &count);

	if (!error && (count || run->given->table >= 0))
		gt_strbuf_printf(text, "\n%s\n%s", gt_top_table_names[table],
				 gt_strbuf_string(&rows));
	return error;
}

static int print_frame(struct top_run *run, uint64_t now)
{
	int first = run->given->table < 0 ? 0 : run->given->table;
	int end = run->given->table < 0 ? GT_TOP_TABLES : first + 1, error = 0;

	if (run->given->target.json) {
		struct gt_json json = GT_JSON_INIT(&run->sink.text);

		gt_top_json(&json, run->top, run->names, now);
		gt_strbuf_putc(&run->sink.text, '\n');
	} else {
		gt_strbuf_puts(&run->sink.text, run->refreshes ? "\n" : "");
		gt_top_put_head(&run->sink.text, run->top, run->names);
		for (int table = first; table < end && !error; table++)
			error = print_table(run, table);
	}
	return error ? error : gt_sink_flush(&run->sink);
}

/* -EPIPE, which ends a session without an error: the last refresh, or the user quits. */
static int refresh(struct top_run *run, uint64_t now)
{
	int error;

	if (!run->view.frozen) {
		error = gt_top_refresh(run->top, run->names, now);
		if (!error && !run->screen)
			error = print_frame(run, now);
		if (error)
			return error;
	}
	run->refreshes++;
	run->next = now + run->given->interval;
	return run->given->iterations && run->refreshes >= run->given->iterations ? -EPIPE : 0;
}

static bool read_keys(struct top_run *run, int wait_ms)
{
	bool any = false;
	int key;

	while (!run->view.quit && (key = gt_screen_key(run->screen, wait_ms)) != GT_KEY_NONE) {
		gt_top_screen_key(&run->view, key);
		wait_ms = 0;
		any = true;
	}
	return any;
}

/* ---- session ------------------------------------------------------------------------------ */

static int open_top(void *opaque, struct gt_diag *diag)
{
	struct top_run *run = opaque;
	const char *path = run->given->target.output;
	const struct gt_output_options output = {
		.path = path && strcmp(path, "-") ? path : NULL,
		.fd = run->has_command && !path ? STDERR_FILENO : STDOUT_FILENO,
	};

	run->top = gt_top_new();
	if (!run->top)
		return gt_diag(diag, -ENOMEM, "top", NULL, "out of memory");
	run->next = gt_clock_monotonic() + run->given->interval;
	return run->screen ? 0 : gt_sink_open(&run->sink, &output, diag);
}

static int check_refresh(struct top_run *run)
{
	uint64_t now = gt_clock_monotonic();
	bool drawn = run->screen && read_keys(run, 0);
	int error = 0;

	if (run->view.quit)
		return -EPIPE;
	if (now >= run->next && run->names) {
		error = refresh(run, now);
		drawn = true;
	}
	if (run->screen && drawn && run->names) {
		int failed = show_frame(run);

		error = error ? error : failed;
	}
	return error;
}

static int take_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct top_run *run = opaque;

	run->names = names;
	return gt_top_take(run->top, names, event);
}

static int flush_top(void *opaque)
{
	return check_refresh(opaque);
}

/* What happened since the last refresh, and what the user wants to look at now. */
static int finish_view(struct top_run *run)
{
	uint64_t now = gt_clock_monotonic();
	int error = 0;

	if (!run->names || run->view.quit)
		return 0;
	if (!run->given->iterations || run->refreshes < run->given->iterations) {
		run->view.frozen = false;
		error = refresh(run, now);
		error = error == -EPIPE ? 0 : error;
	}
	run->view.ended = true;
	while (run->screen && !run->view.quit && !error && !run->given->iterations) {
		error = show_frame(run);
		read_keys(run, WAIT_MS);
	}
	return error;
}

static int close_top(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct top_run *run = opaque;
	int error, closed = 0;

	run->names = names;
	error = finish_view(run);
	if (run->screen)
		gt_screen_restore(run->screen);
	if (run->screen && run->has_command && !run->view.ended)
		gt_cli_error("tracing has ended; waiting for the command, which continues (Ctrl-C "
			     "is passed on to it)");
	else
		closed = gt_sink_close(&run->sink, diag);
	gt_top_free(run->top);
	gt_strbuf_free(&run->frame);
	return error ? error : closed;
}

/* GT_EXIT_OK, or the status of an error that was printed. */
static int check_options(const struct gt_cli_command *self, struct top_run *run)
{
	struct top_options *given = run->given;
	enum gt_top_table table =
		given->table < 0 ? GT_TOP_PROCESSES : (enum gt_top_table)given->table;

	if (given->filter && strlen(given->filter) >= GT_TOP_FILTER_SIZE)
		return gt_cli_usage_error(self,
					  "the text of --filter is too long (at most %d bytes)",
					  GT_TOP_FILTER_SIZE - 1);
	if (given->sort && gt_top_find_column(table, given->sort, &run->view.sort[table])) {
		gt_auto_strbuf keys = GT_STRBUF_INIT;

		gt_top_put_keys(&keys, table);
		return gt_cli_usage_error(self, "invalid column '%s' for --sort (one of: %s)",
					  given->sort, gt_strbuf_string(&keys));
	}
	run->view.table = table;
	run->view.ascending[table] = given->ascending;
	if (given->filter)
		strcpy(run->view.filter, given->filter);
	return GT_EXIT_OK;
}

static int top_target(const struct gt_cli_command *self, struct top_run *top_run,
		      char *const *command)
{
	struct top_options *given = top_run->given;
	struct gt_trace_options *trace = &given->target.trace;
	const struct gt_run run = {
		.context = top_run,
		.open = open_top,
		.event = take_event,
		.flush = flush_top,
		.close = close_top,
	};
	struct gt_diag diag = {0};
	int status = check_options(self, top_run);

	if (!status)
		status = gt_target_complete(self, &given->target, command, false);
	if (status)
		return status;
	if (!trace->ring_size)
		trace->ring_size = RING_SIZE;
	trace->totals_interval = given->interval;
	if (!given->batch && !given->target.json && !given->target.output &&
	    isatty(STDOUT_FILENO) && gt_screen_open(&top_run->screen, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	status = gt_target_run(trace, &run);
	gt_screen_close(top_run->screen);
	return status;
}

static int run_top(const struct gt_cli_command *self, int count, char **arguments)
{
	struct top_options given = {.table = -1, .interval = DEFAULT_INTERVAL};
	struct top_run run = {.given = &given};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON) {
		run.has_command = rest < count;
		gt_top_screen_init(&run.view);
		status = top_target(self, &run, rest < count ? arguments + rest : NULL);
	}
	gt_target_free(&given.target);
	return status;
}

const struct gt_cli_command gt_command_top = {
	.name = "top",
	.summary = "Show the busiest processes, kernels, copies and rings live",
	.usage = "[options] [-- CMD ARGS]",
	.description =
		"Shows a table that is refreshed every second: processes (calls, launches, bytes "
		"copied, memory, time in calls and on the GPU), functions, kernels, memory, "
		"copies, "
		"rings of the DRM scheduler (-e drm), and the sources with what was lost. Keys "
		"select the table, sort, filter and freeze it; h lists them. What the command "
		"prints to the terminal appears at the end. Of a capture, 'gputap report' and "
		"'gputap stat' show the same.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_top,
};
