/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "capture": the events as recorded, for --from. */
#include "capture/capture.h"

#include "output/output.h"

static int capture_open(const struct gt_output_options *options, void **ret_state,
			struct gt_diag *diag)
{
	struct gt_capture_writer *writer;
	int error = gt_capture_create(options->path ? options->path : "-", &writer, diag);

	if (!error)
		*ret_state = writer;
	return error;
}

static int capture_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	return gt_capture_write(state, event);
}

static int capture_flush(void *state)
{
	return gt_capture_flush(state);
}

static int capture_close(void *state, struct gt_diag *diag)
{
	return gt_capture_close(state, diag);
}

const struct gt_output gt_output_capture = {
	.name = "capture",
	.help = "a capture: the events as recorded, for --from",
	.open = capture_open,
	.event = capture_event,
	.flush = capture_flush,
	.close = capture_close,
};
