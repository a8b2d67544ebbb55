/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work of GPUs with its times (--gpu-times). */
#include <inttypes.h>

#include "base/text.h"
#include "layers/layers.h"

static const char *work_name(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_GPU_KERNEL] = "gpu_kernel",
		[GT_GPU_COPY] = "gpu_copy",
		[GT_GPU_COPY_TO_DEVICE] = "gpu_copy_to_device",
		[GT_GPU_COPY_TO_HOST] = "gpu_copy_to_host",
		[GT_GPU_COPY_ON_DEVICE] = "gpu_copy_on_device",
		[GT_GPU_COPY_PEER] = "gpu_copy_peer",
		[GT_GPU_SET] = "gpu_memset",
		[GT_GPU_GRAPH] = "gpu_graph",
	};
	const struct gt_event_gpu_work *work = (const void *)event;

	return work->operation < gt_countof(names) ? names[work->operation] : "unknown";
}

static uint64_t work_duration(const struct gt_event_gpu_work *work)
{
	return work->head.time > work->start ? work->head.time - work->start : 0;
}

static void put_duration(struct gt_strbuf *text, const char *key, uint64_t ns)
{
	gt_strbuf_printf(text, " %s=", key);
	gt_format_duration(text, ns);
}

/* As the calls have them: the default stream is 0. */
static void work_text(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event *event)
{
	const struct gt_event_gpu_work *work = (const void *)event;
	const char *kernel = work->operation == GT_GPU_KERNEL
				     ? gt_names_kernel(names, event->process, work->object)
				     : NULL;

	gt_strbuf_puts(text, "stream=");
	gt_strbuf_hex(text, work->stream);
	if (kernel) {
		gt_strbuf_puts(text, " kernel=");
		gt_put_printable(text, kernel);
	} else if (work->object) {
		gt_strbuf_puts(text, " object=");
		gt_strbuf_hex(text, work->object);
	}
	if (work->bytes) {
		gt_strbuf_puts(text, " bytes=");
		gt_format_bytes(text, work->bytes);
	}
	if (work->submitted && work->start > work->submitted)
		put_duration(text, "queued", work->start - work->submitted);
	put_duration(text, "error", work->error);
	gt_strbuf_puts(text, " (");
	gt_format_duration(text, work_duration(work));
	gt_strbuf_putc(text, ')');
}

static void work_json(struct gt_json *json, const struct gt_names *names,
		      const struct gt_event *event)
{
	gt_json_u64(json, "duration", work_duration((const void *)event));
}

static void put_operation(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, work_name(event));
}

static const struct gt_layer_field fields[] = {
	{"operation", put_operation},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_gpu_work,
		.source = "gpu",
		.variant = work_name,
		.fields = fields,
		.field_count = gt_countof(fields),
		.text = work_text,
		.json = work_json,
	},
};

const struct gt_layer_kinds gt_layer_gpu_work = {kinds, gt_countof(kinds)};
