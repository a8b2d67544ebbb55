/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The format "jsonl": the objects of 'gputap trace --json', and the operations of GPUs. */
#include <errno.h>

#include "export/export.h"
#include "export/rows.h"
#include "output/sink.h"

struct jsonl_export {
	void *output; /* of gt_output_json */
	struct gt_timeline *timeline;
	struct gt_demangler *demangler;
	struct gt_strbuf line;
};

static int put_gpu_line(void *opaque, const struct gt_names *names,
			const struct gt_gpu_interval *interval)
{
	struct jsonl_export *state = opaque;
	struct gt_json json = GT_JSON_INIT(&state->line);

	gt_strbuf_clear(&state->line);
	gt_json_object_begin(&json, NULL);
	gt_json_gpu_interval(&json, names, state->demangler, interval);
	gt_json_object_end(&json);
	return gt_output_json_line(state->output, &state->line);
}

static void jsonl_free(struct jsonl_export *state)
{
	gt_timeline_free(state->timeline);
	gt_demangler_free(state->demangler);
	gt_strbuf_free(&state->line);
	free(state);
}

static int jsonl_open(const struct gt_export_options *options, void **ret_state,
		      struct gt_diag *diag)
{
	struct jsonl_export *state = calloc(1, sizeof(*state));
	const struct gt_timeline_sink sink = {.gpu = put_gpu_line, .context = state};
	int error;

	if (state) {
		state->timeline = gt_timeline_new(&sink);
		state->demangler = gt_demangler_new();
	}
	if (!state || !state->timeline || !state->demangler)
		error = gt_diag(diag, -ENOMEM, "export", NULL, "out of memory");
	else
		error = gt_output_json.open(&options->output, &state->output, diag);
	if (error) {
		if (state)
			jsonl_free(state);
		return error;
	}
	*ret_state = state;
	return 0;
}

static int jsonl_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct jsonl_export *state = opaque;
	int error = 0;

	/* The account is the last line. */
	if (event->kind == GT_EVENT_account)
		error = gt_timeline_finish(state->timeline, names);
	if (!error)
		error = gt_output_json.event(state->output, names, event);
	return error ? error : gt_timeline_take(state->timeline, names, event);
}

static int jsonl_close(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct jsonl_export *state = opaque;
	int error = names ? gt_timeline_finish(state->timeline, names) : 0;
	int closed = gt_output_json.close(state->output, diag);

	jsonl_free(state);
	return error ? error : closed;
}

const struct gt_export_format gt_export_jsonl = {
	.name = "jsonl",
	.help = "one JSON object per line, as 'gputap trace --json', and GPU operations",
	.extension = ".jsonl",
	.open = jsonl_open,
	.event = jsonl_event,
	.close = jsonl_close,
};
