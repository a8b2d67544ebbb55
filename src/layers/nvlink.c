/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "nvlink". */
#include "base/text.h"
#include "layers/layers.h"

static const char *call_name(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_NVLINK_STRCPY] = "strcpy",
		[GT_NVLINK_MEMCPY] = "memcpy",
		[GT_NVLINK_MEMSET] = "memset",
	};
	unsigned function = ((const struct gt_event_nvlink_call *)event)->function;

	return function < gt_countof(names) ? names[function] : "unknown";
}

static void put_call(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *opaque)
{
	const struct gt_event_nvlink_call *event = (const void *)opaque;

	gt_strbuf_printf(text, "destination=0x%llx ", event->destination);
	if (event->function == GT_NVLINK_MEMSET)
		gt_strbuf_printf(text, "value=0x%02x ", event->value);
	else
		gt_strbuf_printf(text, "from=0x%llx ", event->from);
	gt_strbuf_puts(text, "size=");
	gt_format_bytes(text, event->size);
	gt_strbuf_printf(text, " result=0x%llx", event->result);
}

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_nvlink_call,
		.source = "nvlink",
		.variant = call_name,
		.text = put_call,
	},
};

const struct gt_layer_kinds gt_layer_nvlink = {kinds, gt_countof(kinds)};
