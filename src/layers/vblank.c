/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "vblank". */
#include "base/text.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "layers/padded.h"

static const char *vblank_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_VBLANK] = "vblank",
		[GT_VBLANK_QUEUED] = "vblank_queued",
		[GT_VBLANK_DELIVERED] = "vblank_delivered",
	};
	const struct gt_event_vblank *vblank = (const void *)event;

	return vblank->operation < gt_countof(names) ? names[vblank->operation] : "unknown";
}

static void put_time(struct gt_strbuf *text, const char *key, uint64_t ns)
{
	if (!ns)
		return;
	gt_strbuf_printf(text, " %s=", key);
	gt_format_duration(text, ns);
}

static void vblank_text(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event)
{
	const struct gt_event_vblank *vblank = (const void *)event;

	gt_strbuf_printf(text, "crtc=%u", vblank->crtc);
	gt_put_padded(text, "device", event, 0, GT_DRM_NAME_SIZE);
	gt_strbuf_printf(text, " sequence=%u", vblank->sequence);
	put_time(text, "late", vblank->late);
	put_time(text, "queued", vblank->queued);
}

static void vblank_json(struct gt_json *json, const struct gt_names *names,
			const struct gt_event *event)
{
	gt_json_padded(json, "device", event, 0, GT_DRM_NAME_SIZE);
}

static void put_operation(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, vblank_variant(event));
}

static const struct gt_layer_field fields[] = {
	{"operation", put_operation},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_vblank,
		.source = "vblank",
		.variant = vblank_variant,
		.fields = fields,
		.field_count = gt_countof(fields),
		.text = vblank_text,
		.json = vblank_json,
	},
};

const struct gt_layer_kinds gt_layer_vblank = {kinds, gt_countof(kinds)};
