/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "sched". */
#include "base/text.h"
#include "layers/layers.h"

/* A task's states, by bit: include/linux/sched.h (TASK_INTERRUPTIBLE …), the same since 4.14. */
static const char *const states[] = {"sleeping", "uninterruptible", "stopped", "traced",
				     "dead",     "zombie",          "parked"};

const char *gt_layer_task_state(uint32_t state)
{
	for (size_t bit = 0; bit < gt_countof(states); bit++)
		if (state >> bit & 1)
			return states[bit];
	return state ? "other" : "preempted";
}

static void put_state(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, gt_layer_task_state((uint32_t)value));
}

static const struct gt_layer_field off_cpu_fields[] = {
	{"state", put_state},
	{"waker_process", NULL},
	{"waker_thread", NULL},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_off_cpu,
		.source = "sched",
		.name = "off_cpu",
		.fields = off_cpu_fields,
		.field_count = gt_countof(off_cpu_fields),
		.has_unknown = true, /* the CPU of a thread that does not run yet */
	},
};

const struct gt_layer_kinds gt_layer_sched = {kinds, gt_countof(kinds)};
