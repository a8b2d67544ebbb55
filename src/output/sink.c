/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"

#define ENOUGH (64 * 1024)

int gt_sink_open(struct gt_sink *sink, const struct gt_output_options *options,
		 struct gt_diag *diag)
{
	*sink = (struct gt_sink){.fd = options->fd, .path = options->path};
	if (!options->path)
		return 0;
	sink->fd = open(options->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	sink->owned = true;
	if (sink->fd < 0)
		return gt_diag_file(diag, -errno, "output", options->path, GT_FILE_WRITTEN, NULL);
	return 0;
}

int gt_sink_flush(struct gt_sink *sink)
{
	if (sink->text.failed && !sink->error)
		sink->error = -ENOMEM;
	if (!sink->error && sink->text.length)
		sink->error = gt_write_lines(sink->fd, sink->text.data, sink->text.length);
	gt_strbuf_clear(&sink->text);
	return sink->error;
}

int gt_sink_wrote(struct gt_sink *sink)
{
	return sink->text.length >= ENOUGH ? gt_sink_flush(sink) : sink->error;
}

int gt_sink_close(struct gt_sink *sink, struct gt_diag *diag)
{
	int error = gt_sink_flush(sink);

	if (sink->owned && close(sink->fd) < 0 && !error)
		error = -errno;
	gt_strbuf_free(&sink->text);
	if (error && error != -EPIPE)
		gt_diag_file(diag, error, "output",
			     sink->path                  ? sink->path
			     : sink->fd == STDERR_FILENO ? "standard error"
							 : "standard output",
			     GT_FILE_WRITTEN, "cannot be written");
	return error;
}
