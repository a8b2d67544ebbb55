/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "names/names.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void gt_put_frame(struct gt_strbuf *text, const struct gt_location *location,
		  const struct gt_source_frame *frame, __u64 address)
{
	if (!location->path) {
		gt_strbuf_printf(text, "0x%" PRIx64, (uint64_t)address);
		return;
	}
	if (!frame || !frame->function) {
		gt_put_printable(text, base_name(location->path));
		gt_strbuf_printf(text, "+0x%" PRIx64, location->offset);
		return;
	}
	gt_put_printable(text, frame->function);
	if (!frame->file && frame->offset)
		gt_strbuf_printf(text, "+0x%" PRIx64, frame->offset);
	gt_strbuf_puts(text, " (");
	gt_put_printable(text, base_name(frame->file ? frame->file : location->path));
	if (frame->file && frame->line)
		gt_strbuf_printf(text, ":%" PRIu32, frame->line);
	gt_strbuf_putc(text, ')');
}
