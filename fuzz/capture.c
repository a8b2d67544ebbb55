/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a capture, through the names and every text output. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/file.h"
#include "capture/capture.h"
#include "names/names.h"
#include "output/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_OUTPUTS 16

struct outputs {
	const struct gt_output *const *all;
	void *states[MAX_OUTPUTS];
	size_t count;
};

static void open_outputs(struct outputs *outputs)
{
	static const struct gt_output_options options = {
		.path = "/dev/null",
		.returns = true,
		.verbose = true,
	};

	outputs->all = gt_outputs(&outputs->count);
	if (outputs->count > MAX_OUTPUTS)
		abort();
	for (size_t i = 0; i < outputs->count; i++)
		if (outputs->all[i]->open(&options, &outputs->states[i], NULL))
			abort();
}

static void replay(struct gt_capture_reader *reader, struct outputs *outputs)
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	const struct gt_event *event;

	if (!names)
		abort();
	while (gt_capture_next(reader, &event, NULL) == 1) {
		gt_names_take(names, event);
		for (size_t i = 0; i < outputs->count; i++)
			outputs->all[i]->event(outputs->states[i], names, event);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	gt_autoclose int fd = memfd_create("capture", MFD_CLOEXEC);
	struct outputs outputs;
	char path[32];

	if (fd < 0 || gt_write_all(fd, data, size))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (gt_capture_open(path, &reader, NULL))
		return 0;
	open_outputs(&outputs);
	replay(reader, &outputs);
	for (size_t i = 0; i < outputs.count; i++)
		if (outputs.all[i]->close(outputs.states[i], NULL))
			abort();
	return 0;
}
