/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "export": writes a capture in a format of other programs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/target.h"
#include "export/export.h"

#define CAPTURE_SUFFIX ".gtap"
#define PROGRESS_NS 1000000000ull
#define PROGRESS_EVENTS 4096 /* the clock is read once for so many */

struct export_options {
	struct gt_target_options target;
	int format, weight; /* negative: not given */
	bool comments, quiet;
};

struct export
{
	const struct export_options *given;
	const struct gt_export_format *format;
	const char *path; /* NULL: stdout */
	void *state;
	uint64_t events, next_progress;
	bool shows_progress, has_progress;
};

#define AT(field) offsetof(struct export_options, field)

/* clang-format off */
/* Rows of the options of tracing that apply to a capture. */
#define EXPORT_ROW_LIVE(at, kind, field, letter, name, value, choices, help)
#define EXPORT_ROW_ANY(at, kind, field, letter, name, value, choices, help) \
	GT_TARGET_OPTION(at, kind, field, letter, name, value, choices, ANY, help)
#define EXPORT_ROW(at, kind, field, letter, name, value, choices, scope, help) \
	EXPORT_ROW_##scope(at, kind, field, letter, name, value, choices, help)

static const struct gt_option options[] = {
	{0, "format", "FORMAT", "the format of the output", GT_OPTION_CHOICE, AT(format),
	 gt_export_format_names},
	{'o', "output", "FILE",
	 "write to FILE ('-': stdout; default: the capture's name with the extension of the format, "
	 "in the current folder)",
	 GT_OPTION_STRING, AT(target.output), NULL},
	{0, "weight", "WEIGHT",
	 "what the formats of stacks count: call-time, launches, bytes or gpu-time (default: "
	 "call-time)",
	 GT_OPTION_CHOICE, AT(weight), gt_export_weight_names},
	{0, "comments", NULL,
	 "with --format csv or folded: end with a line '# incomplete: …' if the capture is incomplete",
	 GT_OPTION_FLAG, AT(comments), NULL},
	{'q', "quiet", NULL, "print only errors and what was lost", GT_OPTION_FLAG, AT(quiet), NULL},
	GT_TRACE_OPTIONS_OF_TARGET(EXPORT_ROW, EXPORT_ROW, AT(target))
	GT_TRACE_OPTIONS_OF_CALLS(EXPORT_ROW, EXPORT_ROW, AT(target), "cuda, opencl, hip, level-zero")
	GT_TRACE_OPTIONS_OF_RANGE(EXPORT_ROW, AT(target), "")
};
/* clang-format on */

static const char *const examples[] = {
	"gputap export --format perfetto run.gtap # a timeline for ui.perfetto.dev, run.pftrace",
	"gputap export --format csv run.gtap      # a table, run.csv",
	"gputap export --format svg --weight gpu-time run.gtap  # a flame graph, run.svg",
	"gputap export --format html --start 2s --end 3s run.gtap  # a part of the capture",
	"gputap export --format jsonl -o - run.gtap | jq .  # to standard output",
	NULL,
};

static void clear_progress(struct export *export)
{
	if (export->has_progress)
		fputs("\r\033[K", stderr);
	export->has_progress = false;
}

static void print_progress(struct export *export)
{
	uint64_t now = gt_clock_monotonic();

	if (!export->next_progress)
		export->next_progress = now + PROGRESS_NS;
	if (now < export->next_progress)
		return;
	fprintf(stderr, "\r\033[Kgputap: exporting: %" PRIu64 " events", export->events);
	fflush(stderr);
	export->has_progress = true;
	export->next_progress = now + PROGRESS_NS;
}

static int open_format(void *opaque, struct gt_diag *diag)
{
	struct export *export = opaque;
	const struct gt_export_options how = {
		.output = {.path = export->path, .fd = STDOUT_FILENO},
		.capture = export->given->target.trace.from,
		.weight = export->given->weight < 0 ? GT_WEIGHT_CALL_TIME
						    : (enum gt_export_weight) export->given->weight,
		.comments = export->given->comments,
	};

	return export->format->open(&how, &export->state, diag);
}

static int take_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct export *export = opaque;

	if (++export->events % PROGRESS_EVENTS == 0 && export->shows_progress)
		print_progress(export);
	return export->format->event(export->state, names, event);
}

static int flush_nothing(void *opaque)
{
	clear_progress(opaque);
	return 0;
}

static int close_format(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct export *export = opaque;

	clear_progress(export);
	return export->format->close(export->state, names, diag);
}

/* The file name of the capture without its folder and ".gtap", with the format's extension. */
static char *default_path(const char *capture, const struct gt_export_format *format)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	const char *slash = strrchr(capture, '/');
	const char *name = slash ? slash + 1 : capture;
	size_t length = strlen(name), suffix = strlen(CAPTURE_SUFFIX);

	if (!strcmp(capture, "-"))
		name = "gputap", length = strlen(name);
	else if (length > suffix && !strcmp(name + length - suffix, CAPTURE_SUFFIX))
		length -= suffix;
	gt_strbuf_add(&path, name, length);
	gt_strbuf_puts(&path, format->extension);
	return gt_strbuf_steal(&path);
}

/* GT_EXIT_OK, or the status of an error that was printed. */
static int check_options(const struct gt_cli_command *self, const struct export_options *given,
			 const struct gt_export_format *format)
{
	const char *output = given->target.output;

	if (given->weight >= 0 && !format->is_weighted)
		return gt_cli_usage_error(self, "--weight has no effect with --format %s",
					  format->name);
	if (given->comments && !format->has_comments)
		return gt_cli_usage_error(self, "--comments has no effect with --format %s",
					  format->name);
	if (output && !strcmp(output, "-") && format->needs_file)
		return gt_cli_usage_error(
			self, "--format %s cannot be written to stdout: use -o FILE", format->name);
	if (output && !strcmp(output, "-") && format->is_binary && isatty(STDOUT_FILENO))
		return gt_cli_usage_error(self,
					  "--format %s is binary and stdout is a terminal: use -o "
					  "FILE",
					  format->name);
	return GT_EXIT_OK;
}

/* A line as that of `record`, unless the export is the output itself. */
static void print_summary(const struct export *export)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct stat file;

	if (!export->path)
		return;
	gt_strbuf_printf(&text, "exported %" PRIu64 " event%s as %s", export->events,
			 export->events == 1 ? "" : "s", export->format->name);
	if (!stat(export->path, &file) && S_ISREG(file.st_mode)) {
		gt_strbuf_puts(&text, " in ");
		gt_format_bytes(&text, (uint64_t)file.st_size);
	}
	gt_strbuf_puts(&text, ": ");
	gt_put_printable(&text, export->path);
	gt_cli_error("%s", gt_strbuf_string(&text));
}

static int export_capture(const struct gt_cli_command *self, struct export_options *given)
{
	struct export export = {
		.given = given,
		.format = gt_export_formats[given->format],
		.path = given->target.output,
		.shows_progress = isatty(STDERR_FILENO) && !given->quiet,
	};
	const struct gt_run run = {
		.context = &export,
		.open = open_format,
		.event = take_event,
		.flush = flush_nothing,
		.close = close_format,
		.is_quiet = given->quiet,
	};
	const char *capture = given->target.trace.from;
	gt_autofree char *path = default_path(capture, export.format);
	int status = check_options(self, given, export.format);

	if (!status)
		status = gt_target_complete(self, &given->target, NULL, false);
	if (status)
		return status;
	if (!path) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	if (!export.path)
		export.path = path;
	else if (!strcmp(export.path, "-"))
		export.path = NULL;
	/* The default path, too. */
	status = gt_target_check_output(export.path, capture);
	if (status)
		return status;
	status = gt_target_run(&given->target.trace, &run);
	if (!status && !given->quiet)
		print_summary(&export);
	return status;
}

static int run_export(const struct gt_cli_command *self, int count, char **arguments)
{
	struct export_options given = {.format = -1, .weight = -1};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON && given.format < 0)
		status = gt_cli_usage_error(self, "no format is given: --format FORMAT");
	if (status == GT_GO_ON && rest + 1 != count)
		status = gt_cli_usage_error(self, rest < count ? "only one capture can be exported"
							       : "no capture is given");
	if (status == GT_GO_ON) {
		given.target.trace.from = arguments[rest];
		status = export_capture(self, &given);
	}
	gt_target_free(&given.target);
	return status;
}

const struct gt_cli_command gt_command_export = {
	.name = "export",
	.summary = "Write a capture in a format of other programs",
	.usage = "[options] --format FORMAT FILE",
	.description =
		"Writes a capture (gputap record -o FILE.gtap) in a format that other programs "
		"read. "
		"Memory does not grow with the capture. Losses of the capture are printed, and "
		"are in the file in all formats but csv and folded, where --comments adds them. "
		"docs/export.md describes the "
		"formats, their tables and columns.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_export,
};
