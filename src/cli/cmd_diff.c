/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "diff": compares two captures. */
#include <inttypes.h>
#include <string.h>

#include "cli/target.h"
#include "names/names.h"
#include "output/sink.h"
#include "report/diff.h"

struct diff_options {
	const char *output;
	bool json;
	uint64_t threshold, top, error_exitcode;
};

static const struct gt_option options[] = {
	{0, "threshold", "PERCENT",
	 "report what became slower or faster by more than PERCENT of its median (default: 5)",
	 GT_OPTION_NUMBER, offsetof(struct diff_options, threshold), NULL},
	{0, "top", "N", "print at most N rows of each table", GT_OPTION_COUNT,
	 offsetof(struct diff_options, top), NULL},
	{'o', "output", "FILE", "write to FILE ('-': stdout, the default)", GT_OPTION_STRING,
	 offsetof(struct diff_options, output), NULL},
	{0, "json", NULL, "print a JSON object (docs/analyses.md)", GT_OPTION_FLAG,
	 offsetof(struct diff_options, json), NULL},
	{0, "error-exitcode", "N", "exit with N (1 to 255) if something became slower",
	 GT_OPTION_COUNT, offsetof(struct diff_options, error_exitcode), NULL},
};

static const char *const examples[] = {
	"gputap diff before.gtap after.gtap       # what became slower",
	"gputap diff --threshold 10 --error-exitcode 3 a.gtap b.gtap  # for CI",
	NULL,
};

static int open_nothing(void *context, struct gt_diag *diag)
{
	return 0;
}

struct diff_side {
	struct gt_profile *profile;
	struct gt_strbuf losses; /* empty: the capture is complete */
	struct gt_event_overhead overhead;
	bool has_overhead;
};

static int take_event(void *side, const struct gt_names *names, const struct gt_event *event)
{
	return gt_profile_take(((struct diff_side *)side)->profile, names, event);
}

static int flush_nothing(void *context)
{
	return 0;
}

static int finish_side(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct diff_side *side = opaque;

	if (gt_names_is_incomplete(names))
		gt_put_losses(&side->losses, names);
	if (gt_names_overhead(names)) {
		side->overhead = *gt_names_overhead(names);
		side->has_overhead = true;
	}
	return gt_profile_finish(side->profile, names);
}

/* The profile of a capture. GT_EXIT_OK, or the status of an error that was printed. */
static int read_capture(const struct gt_cli_command *self, char *path, struct diff_side *side)
{
	struct gt_target_options target = {.trace.from = path};
	const struct gt_run run = {
		.context = side,
		.open = open_nothing,
		.event = take_event,
		.flush = flush_nothing,
		.close = finish_side,
		.capture = path,
	};
	int status = gt_target_complete(self, &target, NULL, false);

	if (!status)
		status = gt_target_run(&target.trace, &run);
	gt_target_free(&target);
	return status;
}

static int print_diff(const struct diff_options *given, const struct gt_diff_report *report)
{
	const struct gt_output_options output = {
		.path = given->output && strcmp(given->output, "-") ? given->output : NULL,
		.fd = STDOUT_FILENO,
	};
	struct gt_diag diag = {0};
	struct gt_sink sink;
	int error = gt_sink_open(&sink, &output, &diag);

	if (!error) {
		struct gt_json json = GT_JSON_INIT(&sink.text);

		if (given->json)
			gt_diff_put_json(report, &json);
		else
			gt_diff_put_text(report, &sink.text);
		if (given->json)
			gt_strbuf_putc(&sink.text, '\n');
		error = gt_sink_close(&sink, &diag);
	}
	if (error)
		gt_cli_diag(&diag);
	return error ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int compare_sides(const struct diff_options *given, char **paths,
			 const struct diff_side *sides)
{
	gt_autofree struct gt_profile_change *rows = NULL;
	struct gt_diff_report report = {.threshold = given->threshold, .top = given->top};
	int status;

	for (unsigned i = 0; i < 2; i++) {
		report.names[i] = paths[i];
		report.profiles[i] = sides[i].profile;
		report.losses[i] =
			sides[i].losses.length ? gt_strbuf_string(&sides[i].losses) : NULL;
		report.overheads[i] = sides[i].has_overhead ? &sides[i].overhead : NULL;
	}
	if (gt_profiles_compare(sides[0].profile, sides[1].profile, &rows, &report.count)) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	report.rows = rows;
	status = print_diff(given, &report);
	return !status && given->error_exitcode && gt_diff_slower(&report)
		       ? (int)given->error_exitcode
		       : status;
}

static int compare_captures(const struct gt_cli_command *self, const struct diff_options *given,
			    char **paths)
{
	struct diff_side sides[2] = {{.losses = GT_STRBUF_INIT}, {.losses = GT_STRBUF_INIT}};
	int status = GT_EXIT_OK;

	for (unsigned i = 0; i < 2 && !status; i++)
		status = gt_target_check_output(given->output, paths[i]);
	for (unsigned i = 0; i < 2 && !status; i++) {
		sides[i].profile = gt_profile_new();
		status =
			sides[i].profile ? read_capture(self, paths[i], &sides[i]) : GT_EXIT_FAILED;
	}
	if (!status)
		status = compare_sides(given, paths, sides);
	for (unsigned i = 0; i < 2; i++) {
		gt_profile_free(sides[i].profile);
		gt_strbuf_free(&sides[i].losses);
	}
	return status;
}

static int run_diff(const struct gt_cli_command *self, int count, char **arguments)
{
	struct diff_options given = {.threshold = 5};
	int rest, status = gt_cli_parse(self, count, arguments, &given, &rest);

	if (status != GT_GO_ON)
		return status;
	if (given.error_exitcode > 255)
		return gt_cli_usage_error(
			self, "invalid value '%" PRIu64 "' for --error-exitcode (1 to 255)",
			given.error_exitcode);
	if (count - rest != 2)
		return gt_cli_usage_error(self, "two captures are needed: FILE FILE");
	return compare_captures(self, &given, arguments + rest);
}

const struct gt_cli_command gt_command_diff = {
	.name = "diff",
	.summary = "Compare two captures: what became slower",
	.usage = "[options] FILE FILE",
	.description =
		"Compares the second capture with the first: the parts of the wall time on the "
		"critical path (as of 'gputap report'), kernels, copies by direction and host "
		"memory, and calls by function, each with counts, totals and medians, and the p "
		"value of a rank test: from 0.01 on a difference is noise. Exits with 0 also if "
		"something became slower, unless --error-exitcode is given.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_diff,
};
