/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "merge": one capture of several, on one axis of time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/target.h"
#include "session/merge.h"

struct merge_options {
	const char *output;
	struct gt_strings labels, offsets; /* FILE=… */
	bool quiet;
};

#define AT(field) offsetof(struct merge_options, field)

static const struct gt_option options[] = {
	{'o', "output", "FILE", "the capture to write", GT_OPTION_STRING, AT(output), NULL},
	{0, "label", "FILE=LABEL", "call the machine of a capture LABEL (default: the file's name)",
	 GT_OPTION_WORDS, AT(labels), NULL},
	{0, "offset", "FILE=TIME",
	 "add TIME to the times of a capture, in place of what CLOCK_REALTIME says: 250us, -1.5s",
	 GT_OPTION_WORDS, AT(offsets), NULL},
	{'q', "quiet", NULL, "print only errors, and which captures are incomplete", GT_OPTION_FLAG,
	 AT(quiet), NULL},
};

static const char *const examples[] = {
	"gputap merge -o all.gtap rank0.gtap rank1.gtap",
	"gputap merge -o all.gtap --offset b.gtap=-1.5ms a.gtap b.gtap  # clocks that differ",
	NULL,
};

/* Find the file of "FILE=VALUE", and the value. NULL: none of the files. */
static struct gt_merge_file *find_file(struct gt_merge_file *files, size_t count, const char *word,
				       const char **ret_value)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(files[i].path);

		if (!strncmp(word, files[i].path, length) && word[length] == '=') {
			*ret_value = word + length + 1;
			return &files[i];
		}
	}
	return NULL;
}

static int set_label(struct gt_merge_file *file, const char *value)
{
	file->label = value;
	return 0;
}

static int set_offset(struct gt_merge_file *file, const char *value)
{
	bool negative = *value == '-';
	uint64_t ns;

	if (gt_parse_duration(value + (negative || *value == '+'), &ns) || ns > INT64_MAX)
		return -EINVAL;
	file->offset = negative ? -(int64_t)ns : (int64_t)ns;
	file->has_offset = true;
	return 0;
}

/* GT_EXIT_OK, or the status of an error that was printed. */
static int set_each(const struct gt_cli_command *self, const struct gt_strings *words,
		    const char *option, struct gt_merge_file *files, size_t count,
		    int (*set)(struct gt_merge_file *file, const char *value))
{
	gt_vec_each (word, &words->words) {
		const char *value;
		struct gt_merge_file *file = find_file(files, count, *word, &value);

		if (!file)
			return gt_cli_usage_error(self,
						  "'%s' for --%s names none of the captures: write "
						  "FILE=… with FILE as in the list of captures",
						  *word, option);
		if (set(file, value))
			return gt_cli_usage_error(self, "invalid value '%s' for --%s", value,
						  option);
	}
	return GT_EXIT_OK;
}

/* How each capture was placed on the axis. */
static void print_file(const struct gt_merge_file *file)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text, "%s: machine %u, %" PRIu64 " events", file->path, file->machine,
			 file->events);
	if (file->offset || file->drift) {
		gt_strbuf_printf(&text, ", times shifted by %s", file->offset < 0 ? "-" : "");
		gt_format_duration(&text,
				   (uint64_t)(file->offset < 0 ? -file->offset : file->offset));
		gt_strbuf_puts(&text, file->has_offset
					      ? " (--offset)"
					      : " (by CLOCK_REALTIME: as exact as the clocks of "
						"the machines agree)");
		if (file->drift) {
			gt_strbuf_puts(&text, ", drift of ");
			gt_format_duration(&text, (uint64_t)llabs(file->drift));
			gt_strbuf_puts(&text, " corrected");
		}
	}
	if (file->is_incomplete)
		gt_strbuf_puts(&text, "; incomplete: corrupt, truncated or without totals");
	gt_cli_error("%s", gt_strbuf_string(&text));
}

static void print_result(const struct gt_merge_result *result, const char *path)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text, "merged %" PRIu64 " process%s: ", result->processes,
			 result->processes == 1 ? "" : "es");
	gt_target_put_totals(&text, &result->totals, path);
	gt_cli_error("%s", gt_strbuf_string(&text));
}

/* GT_EXIT_OK, or the status of an error that was printed. */
static int check_files(const struct gt_cli_command *self, const struct merge_options *given,
		       struct gt_merge_file *files, size_t count)
{
	int status;

	if (!given->output)
		return gt_cli_usage_error(self, "no file is given to write: -o FILE");
	if (count < 2)
		return gt_cli_usage_error(self, "at least two captures are needed");
	for (size_t i = 0; i < count; i++) {
		status = gt_target_check_output(given->output, files[i].path);
		if (status)
			return status;
	}
	status = set_each(self, &given->labels, "label", files, count, set_label);
	return status ? status
		      : set_each(self, &given->offsets, "offset", files, count, set_offset);
}

static int merge_files(const struct gt_cli_command *self, const struct merge_options *given,
		       char *const *paths, size_t count)
{
	struct gt_merge_file files[GT_MERGE_MAX_FILES] = {0};
	struct gt_merge_result result;
	struct gt_diag diag = {0};
	int status;

	if (count > GT_MERGE_MAX_FILES)
		return gt_cli_usage_error(self, "at most %d captures can be merged at a time",
					  GT_MERGE_MAX_FILES);
	for (size_t i = 0; i < count; i++)
		files[i].path = paths[i];
	status = check_files(self, given, files, count);
	if (status)
		return status;
	if (gt_merge(files, count, given->output, &result, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	for (size_t i = 0; i < count; i++)
		if (!given->quiet || files[i].is_incomplete)
			print_file(&files[i]);
	if (!given->quiet)
		print_result(&result, given->output);
	return GT_EXIT_OK;
}

static int run_merge(const struct gt_cli_command *self, int count, char **arguments)
{
	struct merge_options given = {0};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON)
		status = merge_files(self, &given, arguments + rest, (size_t)(count - rest));
	gt_strings_free(&given.labels);
	gt_strings_free(&given.offsets);
	return status;
}

const struct gt_cli_command gt_command_merge = {
	.name = "merge",
	.summary = "Merge captures of several ranks or machines",
	.usage = "[options] -o FILE CAPTURE CAPTURE…",
	.description =
		"Writes one capture with the events of several, on one axis of time. Captures of "
		"one "
		"machine have one clock; those of different machines are related by "
		"CLOCK_REALTIME, "
		"or by --offset. Process 4711 of machine N is shown as N:4711, with the rank of a "
		"parallel program that its environment has (OMPI_COMM_WORLD_RANK, PMI_RANK, "
		"SLURM_PROCID, RANK). Totals and "
		"losses are the sums; where a capture is incomplete, the result has no totals.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.options_anywhere = true,
	.run = run_merge,
};
