/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "block". */
#include "base/text.h"
#include "layers/layers.h"
#include "layers/padded.h"

/* enum req_op (include/linux/blk_types.h): the low 8 bits of a request's flags. */
static const char *block_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[0] = "read",         [1] = "write",         [2] = "flush",
		[3] = "discard",      [5] = "secure_erase",  [9] = "write_zeroes",
		[34] = "driver_read", [35] = "driver_write",
	};
	const struct gt_event_block_io *io = (const void *)event;
	unsigned operation = io->flags & 0xff;

	return operation < gt_countof(names) && names[operation] ? names[operation] : "other";
}

/* blk_status_t (the same file), and the errno values that block/blk-core.c gives them. */
static const char *const statuses[] = {
	[1] = "EOPNOTSUPP", [2] = "ETIMEDOUT", [3] = "ENOSPC", [4] = "ENOLINK", [5] = "EREMOTEIO",
	[6] = "EBADE",      [7] = "ENODATA",   [8] = "EILSEQ", [9] = "ENOMEM",  [10] = "EIO",
};

static void put_status(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *event, uint64_t value)
{
	if (value)
		gt_strbuf_puts(text, value < gt_countof(statuses) ? statuses[value] : "EIO");
}

static int block_error(const struct gt_event *event)
{
	return (int)((const struct gt_event_block_io *)event)->error;
}

static void block_text(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *event)
{
	const struct gt_event_block_io *io = (const void *)event;

	gt_put_padded(text, "disk", event, 0, GT_DEVICE_NAME_SIZE);
	gt_strbuf_printf(text, " sector=%llu bytes=", (unsigned long long)io->sector);
	gt_format_bytes(text, io->bytes);
	if (io->queued) {
		gt_strbuf_puts(text, " queued=");
		gt_format_duration(text, io->queued);
	}
	if (io->error) {
		gt_strbuf_puts(text, " error=");
		put_status(text, names, event, io->error);
	}
}

static void block_json(struct gt_json *json, const struct gt_names *names,
		       const struct gt_event *event)
{
	gt_json_padded(json, "disk", event, 0, GT_DEVICE_NAME_SIZE);
}

static const struct gt_layer_field fields[] = {
	{"error", put_status},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_block_io,
		.source = "block",
		.variant = block_variant,
		.fields = fields,
		.field_count = gt_countof(fields),
		.text = block_text,
		.error = block_error,
		.json = block_json,
	},
};

const struct gt_layer_kinds gt_layer_block = {kinds, gt_countof(kinds)};
