/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers that arguments refer to, and rings of io_uring, as strace prints them. */
#include <string.h>

#include "base/clean.h"
#include "kernel/private.h"

/* [MPOL_BIND] */
void gt_put_value_reference(const struct gt_argument *argument)
{
	const char *bytes;

	if (!gt_argument_bytes(argument, 4, &bytes))
		return;
	gt_strbuf_putc(argument->text, '[');
	gt_names_put_value(argument->text, argument->names, gt_read_u32(bytes, 0));
	gt_strbuf_putc(argument->text, ']');
}

/* [3] */
void gt_put_uint_reference(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 4, &bytes))
		gt_strbuf_printf(argument->text, "[%u]", gt_read_u32(bytes, 0));
}

/* "[3]"; where a call moves it, "[3] => [13]" */
void gt_put_offset(const struct gt_argument *argument)
{
	struct gt_argument_copy before, after;

	if (!gt_argument_find(argument->event, argument->index, false, 0, 8, &before)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_printf(argument->text, "[%lld]", (long long)gt_read_u64(before.bytes, 0));
	if (argument->event->result > 0 &&
	    gt_argument_find(argument->event, argument->index, true, 0, 8, &after))
		gt_strbuf_printf(argument->text, " => [%lld]",
				 (long long)gt_read_u64(after.bytes, 0));
}

/* ---- struct io_uring_params, include/uapi/linux/io_uring.h --------------------------------- */

enum {
	RING_SQ_ENTRIES = 0,
	RING_CQ_ENTRIES = 4,
	RING_FLAGS = 8,
	RING_THREAD_CPU = 12,
	RING_THREAD_IDLE = 16,
	RING_FEATURES = 20,
	RING_QUEUE = 24,
	RING_SQ_OFFSETS = 40,
	RING_CQ_OFFSETS = 80,
	RING_SIZE = 120,
	ATTACHES_QUEUE = 0x20, /* IORING_SETUP_ATTACH_WQ */
};

static const char *const submission_offsets[] = {
	"head", "tail", "ring_mask", "ring_entries", "flags", "dropped", "array",
};

static const char *const completion_offsets[] = {
	"head", "tail", "ring_mask", "ring_entries", "overflow", "cqes", "flags",
};

static void put_offsets(struct gt_strbuf *text, const char *const *names, size_t count,
			const char *bytes)
{
	for (size_t i = 0; i < count; i++)
		gt_strbuf_printf(text, "%s%s=%u", i ? ", " : "{", names[i],
				 gt_read_u32(bytes, i * 4));
	gt_strbuf_putc(text, '}');
}

/* What the kernel has filled in. */
static void put_ring(struct gt_strbuf *text, const char *bytes)
{
	gt_strbuf_printf(text, ", sq_entries=%u, cq_entries=%u, features=",
			 gt_read_u32(bytes, RING_SQ_ENTRIES), gt_read_u32(bytes, RING_CQ_ENTRIES));
	gt_names_put_flags(text, GT_NAMES_ring_features, gt_read_u32(bytes, RING_FEATURES));
	gt_strbuf_puts(text, ", sq_off=");
	put_offsets(text, submission_offsets, gt_countof(submission_offsets),
		    bytes + RING_SQ_OFFSETS);
	gt_strbuf_puts(text, ", cq_off=");
	put_offsets(text, completion_offsets, gt_countof(completion_offsets),
		    bytes + RING_CQ_OFFSETS);
}

void gt_put_ring_parameters(const struct gt_argument *argument)
{
	struct gt_strbuf *text = argument->text;
	struct gt_argument_copy before, after;

	if (!gt_argument_find(argument->event, argument->index, false, 0, RING_SIZE, &before)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_puts(text, "{flags=");
	gt_names_put_flags(text, GT_NAMES_ring_flags, gt_read_u32(before.bytes, RING_FLAGS));
	gt_strbuf_printf(text, ", sq_thread_cpu=%#x, sq_thread_idle=%u",
			 gt_read_u32(before.bytes, RING_THREAD_CPU),
			 gt_read_u32(before.bytes, RING_THREAD_IDLE));
	if (gt_read_u32(before.bytes, RING_FLAGS) & ATTACHES_QUEUE)
		gt_strbuf_printf(text, ", wq_fd=%d", (int)gt_read_u32(before.bytes, RING_QUEUE));
	if (gt_argument_find(argument->event, argument->index, true, 0, RING_SIZE, &after))
		put_ring(text, after.bytes);
	gt_strbuf_putc(text, '}');
}
