/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "fence". */
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "layers/padded.h"

static const char *fence_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_FENCE_INIT] = "init",
		[GT_FENCE_EMIT] = "emit",
		[GT_FENCE_ENABLE_SIGNAL] = "enable_signal",
		[GT_FENCE_SIGNALED] = "signaled",
		[GT_FENCE_DESTROY] = "destroy",
		[GT_FENCE_WAIT_START] = "wait_start",
	};
	const struct gt_event_fence *fence = (const void *)event;

	return fence->operation < gt_countof(names) ? names[fence->operation] : "unknown";
}

static void put_fence(struct gt_strbuf *text, const struct gt_event *event, uint64_t context,
		      uint64_t seqno)
{
	gt_put_fence_key(text, "fence", context, seqno);
	gt_put_padded(text, "driver", event, 0, GT_FENCE_NAME_SIZE);
	gt_put_padded(text, "timeline", event, GT_FENCE_NAME_SIZE, GT_FENCE_NAME_SIZE);
}

static void fence_text(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *event)
{
	const struct gt_event_fence *fence = (const void *)event;

	put_fence(text, event, fence->context, fence->seqno);
	if (fence->age) {
		gt_strbuf_puts(text, " age=");
		gt_format_duration(text, fence->age);
	}
	if (fence->error) {
		gt_strbuf_puts(text, " error=");
		gt_put_errno(text, fence->error);
	}
}

static void wait_text(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event *event)
{
	const struct gt_event_fence_wait *wait = (const void *)event;

	put_fence(text, event, wait->context, wait->seqno);
}

static void fence_json(struct gt_json *json, const struct gt_names *names,
		       const struct gt_event *event)
{
	gt_json_padded(json, "driver", event, 0, GT_FENCE_NAME_SIZE);
	gt_json_padded(json, "timeline", event, GT_FENCE_NAME_SIZE, GT_FENCE_NAME_SIZE);
}

static void interrupt_text(struct gt_strbuf *text, const struct gt_names *names,
			   const struct gt_event *event)
{
	const struct gt_event_fence_interrupt *interrupt = (const void *)event;
	size_t length;
	const char *handler = gt_event_text(event, &length);
	gt_autofree char *name = strndup(handler, length);

	gt_put_fence_key(text, "fence", interrupt->context, interrupt->seqno);
	gt_strbuf_printf(text, " irq=%u cpu=%u handler=", interrupt->irq, interrupt->cpu);
	gt_put_printable(text, name ? name : "");
	gt_strbuf_puts(text, " delay=");
	gt_format_duration(text, interrupt->delay);
}

static void put_operation(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, fence_variant(event));
}

static const struct gt_layer_field fence_fields[] = {
	{"error", gt_put_error_field},
	{"operation", put_operation},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_fence,
		.source = "fence",
		.variant = fence_variant,
		.fields = fence_fields,
		.field_count = gt_countof(fence_fields),
		.text = fence_text,
		.json = fence_json,
	},
	{
		.kind = GT_EVENT_fence_wait,
		.source = "fence",
		.name = "wait_end",
		.text = wait_text,
		.json = fence_json,
	},
	{
		.kind = GT_EVENT_fence_interrupt,
		.source = "fence",
		.name = "interrupt",
		.text = interrupt_text,
	},
};

const struct gt_layer_kinds gt_layer_fence = {kinds, gt_countof(kinds)};
