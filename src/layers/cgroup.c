/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "cgroup". */
#include "base/text.h"
#include "event/kinds.h"
#include "layers/layers.h"

static const char *cgroup_variant(const struct gt_event *event)
{
	static const char *const names[] = {
		[GT_CGROUP_THROTTLED] = "throttled",   [GT_CGROUP_FREEZE] = "freeze",
		[GT_CGROUP_UNFREEZE] = "unfreeze",     [GT_CGROUP_FROZEN] = "frozen",
		[GT_CGROUP_THAWED] = "thawed",         [GT_CGROUP_MEMORY_HIGH] = "memory_high",
		[GT_CGROUP_MEMORY_MAX] = "memory_max", [GT_CGROUP_OOM_KILL] = "oom_kill",
		[GT_CGROUP_CPU_STALL] = "cpu_stall",   [GT_CGROUP_MEMORY_STALL] = "memory_stall",
		[GT_CGROUP_IO_STALL] = "io_stall",
	};
	const struct gt_event_cgroup_state *state = (const void *)event;

	return state->operation < gt_countof(names) ? names[state->operation] : "unknown";
}

static void put_operation(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, cgroup_variant(event));
}

static void cgroup_text(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event)
{
	const struct gt_event_cgroup_state *state = (const void *)event;
	size_t length;
	const char *path = gt_event_text(event, &length);

	gt_strbuf_printf(text, "cgroup=%.*s", (int)length, path);
	if (state->count)
		gt_strbuf_printf(text, " count=%llu", (unsigned long long)state->count);
}

static const struct gt_layer_field fields[] = {
	{"operation", put_operation},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_cgroup_state,
		.source = "cgroup",
		.variant = cgroup_variant,
		.fields = fields,
		.field_count = gt_countof(fields),
		.text = cgroup_text,
	},
};

const struct gt_layer_kinds gt_layer_cgroup = {kinds, gt_countof(kinds)};
