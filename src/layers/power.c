/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "power". */
#include "base/text.h"
#include "layers/layers.h"
#include "layers/padded.h"

static const char *power_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_POWER_CPU_FREQUENCY] = "cpu_frequency",
		[GT_POWER_GPU_FREQUENCY] = "gpu_frequency",
		[GT_POWER_SYSTEM_BEGIN] = "system_begin",
		[GT_POWER_SYSTEM_END] = "system_end",
		[GT_POWER_DEVICE_IDLE] = "device_idle",
		[GT_POWER_DEVICE_SUSPEND] = "device_suspend",
		[GT_POWER_DEVICE_RESUME] = "device_resume",
		[GT_POWER_DEVICE_RESULT] = "device_result",
		[GT_POWER_DEVICE_CALLBACK] = "device_callback",
	};
	const struct gt_event_power_state *power = (const void *)event;

	return power->operation < gt_countof(names) ? names[power->operation] : "unknown";
}

static void power_text(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *event)
{
	const struct gt_event_power_state *power = (const void *)event;
	unsigned long long value = power->value;

	switch (power->operation) {
	case GT_POWER_CPU_FREQUENCY:
		gt_strbuf_printf(text, "cpu=%u frequency=%llu MHz", power->unit, value / 1000);
		break;
	case GT_POWER_GPU_FREQUENCY:
		gt_strbuf_printf(text, "gpu=%u frequency=%llu", power->unit, value);
		break;
	case GT_POWER_SYSTEM_BEGIN:
	case GT_POWER_SYSTEM_END:
		gt_put_padded(text, "step", event, 0, GT_DEVICE_NAME_SIZE);
		gt_strbuf_printf(text, " value=%llu", value);
		break;
	default:
		gt_put_padded(text, "device", event, 0, GT_DEVICE_NAME_SIZE);
	}
	if (power->skipped)
		gt_strbuf_printf(text, " skipped=%u", power->skipped);
	if (power->error < 0) {
		gt_strbuf_puts(text, " error=");
		gt_put_errno(text, power->error);
	}
}

static void power_json(struct gt_json *json, const struct gt_names *names,
		       const struct gt_event *event)
{
	gt_json_padded(json, "device", event, 0, GT_DEVICE_NAME_SIZE);
}

static void put_operation(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, power_variant(event));
}

static const struct gt_layer_field fields[] = {
	{"error", gt_put_error_field},
	{"operation", put_operation},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_power_state,
		.source = "power",
		.variant = power_variant,
		.fields = fields,
		.field_count = gt_countof(fields),
		.text = power_text,
		.json = power_json,
	},
};

const struct gt_layer_kinds gt_layer_power = {kinds, gt_countof(kinds)};
