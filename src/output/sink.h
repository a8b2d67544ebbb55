/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The file an output writes text to: buffered, and its first error kept. */
#pragma once

#include "base/strbuf.h"
#include "output/output.h"

struct gt_sink {
	int fd;
	bool owned;
	int error; /* the first one */
	const char *path;
	struct gt_strbuf text; /* not written yet: outputs append to it */
};

int gt_sink_open(struct gt_sink *sink, const struct gt_output_options *options,
		 struct gt_diag *diag);
/* Writes out once enough has come together. */
int gt_sink_wrote(struct gt_sink *sink);
int gt_sink_flush(struct gt_sink *sink);
int gt_sink_close(struct gt_sink *sink, struct gt_diag *diag);
