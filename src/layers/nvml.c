/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "nvml". */
#include "layers/layers.h"

/* nvmlClocksEventReason…, by bit (nvml.h). */
static const char *const reasons[] = {
	"idle",          "applications clocks", "power cap",        "hardware slowdown",
	"sync boost",    "software thermal",    "hardware thermal", "power brake",
	"display clocks"};

static void put_throttle(struct gt_strbuf *text, const struct gt_names *names,
			 const struct gt_event *event, uint64_t value)
{
	size_t start = text->length;

	if (value == UINT64_MAX)
		return;
	for (size_t bit = 0; bit < gt_countof(reasons); bit++)
		if (value >> bit & 1)
			gt_strbuf_printf(text, "%s%s", text->length > start ? "|" : "",
					 reasons[bit]);
	if (text->length == start)
		gt_strbuf_puts(text, value ? "other" : "none");
}

static const struct gt_layer_field fields[] = {
	{"throttle", put_throttle},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_gpu_sample,
		.source = "nvml",
		.name = "gpu_sample",
		.fields = fields,
		.field_count = gt_countof(fields),
		.has_unknown = true,
	},
	{
		.kind = GT_EVENT_gpu_nvlink,
		.source = "nvml",
		.name = "nvlink_sample",
		.has_unknown = true,
	},
};

const struct gt_layer_kinds gt_layer_nvml = {kinds, gt_countof(kinds)};
