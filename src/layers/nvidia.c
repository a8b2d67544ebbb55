/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "nvidia". */
#include "layers/nvidia.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "event/durations.h"
#include "event/kinds.h"
#include "kernel/ioctls.h"
#include "kernel/xid.h"
#include "layers/layers.h"
#include "layers/padded.h"

#define NVIDIA_TYPE 'F'

static const char *const functions[] = {
#define NAME(identifier) #identifier,
	GT_NVIDIA_FUNCTIONS(NAME)
#undef NAME
};

static const char *const totals[] = {
#define NAME(identifier) #identifier "_total",
	GT_NVIDIA_FUNCTIONS(NAME)
#undef NAME
};

const char *gt_nvidia_function_name(unsigned function)
{
	return function < gt_countof(functions) ? functions[function] : "unknown";
}

static bool is_ioctl(unsigned function)
{
	return function == GT_NVIDIA_ioctl || function == GT_NVIDIA_uvm_ioctl;
}

static bool is_nvidia_command(unsigned function, uint32_t command, uint32_t number)
{
	return function == GT_NVIDIA_ioctl && (command >> 8 & 0xff) == NVIDIA_TYPE &&
	       (command & 0xff) == number;
}

void gt_nvidia_put_command(struct gt_strbuf *text, unsigned function, uint32_t command,
			   uint32_t control)
{
	const char *name = gt_ioctl_name(
		function == GT_NVIDIA_uvm_ioctl ? GT_IOCTL_UVM : GT_IOCTL_NVIDIA, command);
	const char *control_name = gt_rm_control_name(control);

	if (name)
		gt_strbuf_puts(text, name);
	else
		gt_strbuf_hex(text, command);
	if (is_nvidia_command(function, command, GT_NV_ESC_RM_ALLOC))
		gt_strbuf_printf(text, " class=0x%x", control);
	if (!is_nvidia_command(function, command, GT_NV_ESC_RM_CONTROL))
		return;
	gt_strbuf_putc(text, ' ');
	if (control_name)
		gt_strbuf_puts(text, control_name);
	else
		gt_strbuf_printf(text, "0x%x", control);
}

/* ---- calls -------------------------------------------------------------------------------- */

static const char *call_name(const struct gt_event *event)
{
	return gt_nvidia_function_name(((const struct gt_event_nvidia_call *)event)->function);
}

static void put_bytes(struct gt_strbuf *text, const char *key, uint64_t bytes)
{
	gt_strbuf_printf(text, "%s%s=", text->length ? " " : "", key);
	gt_format_bytes(text, bytes);
}

static void put_peer(struct gt_strbuf *text, uint32_t peer)
{
	gt_strbuf_printf(text, "%04x:%02x:%02x.%x", peer >> 16, peer >> 8 & 0xff, peer >> 3 & 0x1f,
			 peer & 7);
}

static void put_result(struct gt_strbuf *text, const struct gt_event_nvidia_call *event)
{
	if (event->status)
		gt_strbuf_printf(text, " status=0x%x", event->status);
	if (!event->result)
		return;
	gt_strbuf_puts(text, text->length ? " " : "");
	if (event->result < 0) {
		gt_strbuf_puts(text, "error=");
		gt_put_errno(text, event->result);
	} else {
		gt_strbuf_printf(text, "result=0x%x", (unsigned)event->result);
	}
}

static void put_call(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *opaque)
{
	const struct gt_event_nvidia_call *event = (const void *)opaque;

	if (is_ioctl(event->function))
		gt_nvidia_put_command(text, event->function, event->command, event->control);
	if (event->minor != GT_NVIDIA_UNKNOWN)
		gt_strbuf_printf(text, "%sminor=%u", text->length ? " " : "", event->minor);
	if (event->address)
		gt_strbuf_printf(text, "%saddress=0x%llx", text->length ? " " : "", event->address);
	if (event->function == GT_NVIDIA_mmap)
		gt_strbuf_printf(text, " offset=0x%llx", event->offset);
	if (event->length)
		put_bytes(text, "length", event->length);
	if (event->entries)
		gt_strbuf_printf(text, " entries=%u", event->entries);
	if (event->peer != GT_NVIDIA_UNKNOWN) {
		gt_strbuf_puts(text, " peer=");
		put_peer(text, event->peer);
	}
	put_result(text, event);
}

static void put_unless_unknown(struct gt_strbuf *text, const struct gt_names *names,
			       const struct gt_event *event, uint64_t value)
{
	if ((uint32_t)value != GT_NVIDIA_UNKNOWN)
		gt_strbuf_u64(text, value);
}

static void format_peer(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event, uint64_t value)
{
	if ((uint32_t)value != GT_NVIDIA_UNKNOWN)
		put_peer(text, (uint32_t)value);
}

static void format_function(struct gt_strbuf *text, const struct gt_names *names,
			    const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, gt_nvidia_function_name((unsigned)value));
}

static void json_command(struct gt_json *json, unsigned function, uint32_t command,
			 uint32_t control)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (is_ioctl(function))
		gt_nvidia_put_command(&name, function, command, control);
	if (name.length)
		gt_json_string(json, "command_name", gt_strbuf_string(&name));
	else
		gt_json_null(json, "command_name");
}

static void json_call(struct gt_json *json, const struct gt_names *names,
		      const struct gt_event *opaque)
{
	const struct gt_event_nvidia_call *event = (const void *)opaque;

	json_command(json, event->function, event->command, event->control);
}

static const struct gt_layer_field call_fields[] = {
	{"minor", put_unless_unknown},
	{"peer", format_peer},
	{"function", format_function},
};

/* ---- sums --------------------------------------------------------------------------------- */

static const char *sums_name(const struct gt_event *event)
{
	unsigned function = ((const struct gt_event_nvidia_sums *)event)->function;

	return function < gt_countof(totals) ? totals[function] : "unknown_total";
}

static void put_sums(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *opaque)
{
	const struct gt_event_nvidia_sums *event = (const void *)opaque;

	if (is_ioctl(event->function)) {
		gt_nvidia_put_command(text, event->function, event->command, event->control);
		gt_strbuf_putc(text, ' ');
	} else if (event->function == GT_NVIDIA_open || event->function == GT_NVIDIA_close) {
		gt_strbuf_printf(text, "minor=%u ", event->command);
	} else if (event->function == GT_NVIDIA_isr || event->function == GT_NVIDIA_isr_msix ||
		   event->function == GT_NVIDIA_isr_bottom_half) {
		gt_strbuf_printf(text, "irq=%u ", event->command);
	}
	gt_strbuf_printf(text, "count=%llu", event->count);
	if (event->errors)
		gt_strbuf_printf(text, " errors=%llu", event->errors);
	if (!event->total)
		return;
	gt_strbuf_puts(text, " total=");
	gt_format_duration(text, event->total);
	gt_strbuf_puts(text, " max=");
	gt_format_duration(text, event->longest);
}

static void json_sums(struct gt_json *json, const struct gt_names *names,
		      const struct gt_event *opaque)
{
	const struct gt_event_nvidia_sums *event = (const void *)opaque;
	size_t buckets = gt_event_tail_size(opaque) / sizeof(__u64);

	json_command(json, event->function, event->command, event->control);
	gt_json_array_begin(json, "durations");
	for (size_t i = 0; i < buckets && i < GT_DURATION_BUCKETS; i++) {
		if (!event->durations[i])
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "from", gt_duration_of_bucket((__u32)i));
		gt_json_u64(json, "count", event->durations[i]);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static const struct gt_layer_field sums_fields[] = {
	{"function", format_function},
};

/* ---- Xid ---------------------------------------------------------------------------------- */

/* Bytes in an event: not terminated. */
struct xid_part {
	const char *text;
	size_t length;
};

/* The PCI address at the beginning of an Xid's text, and the message after it. */
static void split_xid(const struct gt_event *event, struct xid_part *ret_address,
		      struct xid_part *ret_message)
{
	size_t length, end = 0, begin;
	const char *text = gt_event_text(event, &length);

	while (end < length && text[end] != ' ')
		end++;
	begin = end;
	while (begin < length && text[begin] == ' ')
		begin++;
	*ret_address = (struct xid_part){text, end};
	*ret_message = (struct xid_part){text + begin, length - begin};
}

static void put_part(struct gt_strbuf *text, const struct xid_part *part)
{
	gt_autofree char *copy = strndup(part->text, part->length);

	gt_put_printable(text, copy ? copy : "");
}

/* "0000:65:00.0 31 (GPU memory page fault): pid=1234, name=python, …" */
static void put_xid(struct gt_strbuf *text, const struct gt_names *names,
		    const struct gt_event *opaque)
{
	const struct gt_event_nvidia_xid *event = (const void *)opaque;
	const char *name = gt_xid_name(event->code);
	struct xid_part address, message;

	split_xid(opaque, &address, &message);
	put_part(text, &address);
	gt_strbuf_printf(text, " %u", event->code);
	if (name)
		gt_strbuf_printf(text, " (%s)", name);
	gt_strbuf_puts(text, ": ");
	put_part(text, &message);
}

static void json_xid(struct gt_json *json, const struct gt_names *names,
		     const struct gt_event *opaque)
{
	const struct gt_event_nvidia_xid *event = (const void *)opaque;
	const char *name = gt_xid_name(event->code);
	struct xid_part address, message;

	split_xid(opaque, &address, &message);
	gt_json_string_bytes(json, "address", address.text, address.length);
	gt_json_string_bytes(json, "message", message.text, message.length);
	if (name)
		gt_json_string(json, "meaning", name);
	else
		gt_json_null(json, "meaning");
}

/* ---- the last ioctls ---------------------------------------------------------------------- */

/* The commands of UVM have no type. */
static unsigned ioctl_of(uint32_t command)
{
	return (command >> 8 & 0xff) == NVIDIA_TYPE ? GT_NVIDIA_ioctl : GT_NVIDIA_uvm_ioctl;
}

static size_t recent_count(const struct gt_event *event)
{
	return gt_event_tail_size(event) / (2 * sizeof(__u64));
}

static void put_recent(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *opaque)
{
	const struct gt_event_nvidia_recent *event = (const void *)opaque;
	size_t count = recent_count(opaque);

	for (size_t i = 0; i < count; i++) {
		uint64_t start = event->ioctls[2 * i], words = event->ioctls[2 * i + 1];

		if (!start)
			continue;
		gt_strbuf_puts(text, text->length ? ", " : "");
		gt_nvidia_put_command(text, ioctl_of((uint32_t)(words >> 32)),
				      (uint32_t)(words >> 32), (uint32_t)words);
		if (opaque->time >= start) {
			gt_strbuf_puts(text, " (");
			gt_format_duration(text, opaque->time - start);
			gt_strbuf_puts(text, " ago)");
		}
	}
}

static void json_recent(struct gt_json *json, const struct gt_names *names,
			const struct gt_event *opaque)
{
	const struct gt_event_nvidia_recent *event = (const void *)opaque;
	size_t count = recent_count(opaque);

	gt_json_array_begin(json, "ioctls");
	for (size_t i = 0; i < count; i++) {
		uint64_t words = event->ioctls[2 * i + 1];

		if (!event->ioctls[2 * i])
			continue;
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "time", event->ioctls[2 * i]);
		gt_json_hex(json, "command", words >> 32);
		gt_json_hex(json, "control", words & 0xffffffff);
		json_command(json, ioctl_of((uint32_t)(words >> 32)), (uint32_t)(words >> 32),
			     (uint32_t)words);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_nvidia_call,
		.source = "nvidia",
		.variant = call_name,
		.fields = call_fields,
		.field_count = gt_countof(call_fields),
		.text = put_call,
		.json = json_call,
	},
	{
		.kind = GT_EVENT_nvidia_sums,
		.source = "nvidia",
		.variant = sums_name,
		.fields = sums_fields,
		.field_count = gt_countof(sums_fields),
		.text = put_sums,
		.json = json_sums,
	},
	{
		.kind = GT_EVENT_nvidia_xid,
		.source = "nvidia",
		.name = "xid",
		.text = put_xid,
		.json = json_xid,
	},
	{
		.kind = GT_EVENT_nvidia_recent,
		.source = "nvidia",
		.name = "recent_ioctls",
		.text = put_recent,
		.json = json_recent,
	},
};

const struct gt_layer_kinds gt_layer_nvidia = {kinds, gt_countof(kinds)};
