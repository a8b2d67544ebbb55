/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "fault". */
#include <string.h>

#include "base/text.h"
#include "layers/layers.h"

static void put_flags(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event *event, uint64_t value)
{
	const char *access = value & GT_FAULT_GPU     ? "gpu"
			     : value & GT_FAULT_FETCH ? "execute"
			     : value & GT_FAULT_WRITE ? "write"
						      : "read";

	gt_strbuf_printf(text, "%s%s%s", access, value & GT_FAULT_MAJOR ? ",major" : "",
			 value & (GT_FAULT_USER | GT_FAULT_UVM) ? "" : ",kernel");
}

static void put_failure(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event, uint64_t value)
{
	if (value)
		gt_strbuf_puts(text, strerrorname_np((int)value) ?: "unknown");
}

static void put_instruction(struct gt_strbuf *text, const struct gt_names *names,
			    const struct gt_event *event, uint64_t value)
{
	if (value)
		gt_strbuf_hex(text, value);
}

static const char *fault_variant(const struct gt_event *event)
{
	const struct gt_event_page_fault *fault = (const void *)event;

	if (fault->flags & GT_FAULT_GPU)
		return "uvm_gpu_fault";
	return fault->flags & GT_FAULT_UVM ? "uvm_fault" : "page_fault";
}

static int fault_error(const struct gt_event *event)
{
	return (int)((const struct gt_event_page_fault *)event)->error;
}

static const struct gt_layer_field fields[] = {
	{"flags", put_flags},
	{"error", put_failure},
	{"instruction", put_instruction},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_page_fault,
		.source = "fault",
		.variant = fault_variant,
		.fields = fields,
		.field_count = gt_countof(fields),
		.error = fault_error,
	},
};

const struct gt_layer_kinds gt_layer_fault = {kinds, gt_countof(kinds)};
