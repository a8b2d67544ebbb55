/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "pcie". */
#include "layers/pcie.h"

#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "kernel/pci.h"
#include "layers/layers.h"

void gt_put_pci_address(struct gt_strbuf *text, uint32_t domain, unsigned bus,
			unsigned device_function)
{
	gt_strbuf_printf(text, "%04x:%02x:%02x.%x", domain, bus, device_function >> 3,
			 device_function & 7);
}

/* `pci_access` events, too, begin with the fields of `pci_config`. */

static void put_address(struct gt_strbuf *text, const struct gt_event_pci_config *event)
{
	gt_put_pci_address(text, event->domain, event->bus, event->device_function);
}

void gt_put_pci_register(struct gt_strbuf *text, unsigned offset)
{
	struct gt_pci_register found = gt_pci_register(offset);

	if (!found.name)
		return;
	gt_strbuf_puts(text, found.name);
	if (found.offset)
		gt_strbuf_printf(text, "+%u", found.offset);
}

static void put_result(struct gt_strbuf *text, int32_t result)
{
	const char *name = gt_pcibios_error_name(result);

	if (name)
		gt_strbuf_puts(text, name);
	else if (result < 0)
		gt_strbuf_puts(text, strerrorname_np(-result) ? strerrorname_np(-result) : "error");
	else
		gt_strbuf_i64(text, result);
}

/* "0000:00:03.0 0x04 COMMAND bytes=2 value=0x0103" */
static void put_config(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *opaque)
{
	const struct gt_event_pci_config *event = (const void *)opaque;
	size_t before;

	put_address(text, event);
	gt_strbuf_printf(text, " 0x%02x ", event->offset);
	before = text->length;
	gt_put_pci_register(text, event->offset);
	if (text->length > before)
		gt_strbuf_putc(text, ' ');
	gt_strbuf_printf(text, "bytes=%u value=0x%0*x", event->bytes,
			 event->bytes <= 4 ? 2 * event->bytes : 8, (unsigned)event->value);
	if (event->is_user)
		gt_strbuf_puts(text, " user");
	if (!event->result)
		return;
	gt_strbuf_puts(text, " error=");
	put_result(text, event->result);
}

static const char *config_name(const struct gt_event *event)
{
	return ((const struct gt_event_pci_config *)event)->is_write ? "config_write"
								     : "config_read";
}

static void json_config(struct gt_json *json, const struct gt_names *names,
			const struct gt_event *opaque)
{
	const struct gt_event_pci_config *event = (const void *)opaque;
	gt_auto_strbuf address = GT_STRBUF_INIT, name = GT_STRBUF_INIT;

	put_address(&address, event);
	gt_put_pci_register(&name, event->offset);
	gt_json_string(json, "address", gt_strbuf_string(&address));
	if (name.length)
		gt_json_string(json, "register", gt_strbuf_string(&name));
	else
		gt_json_null(json, "register");
}

const char *gt_aer_severity_name(unsigned severity)
{
	static const char *const severities[] = {
		[GT_AER_NONFATAL] = "nonfatal",
		[GT_AER_FATAL] = "fatal",
		[GT_AER_CORRECTED] = "corrected",
	};

	return severity < gt_countof(severities) ? severities[severity] : "unknown";
}

static void put_severity(struct gt_strbuf *text, const struct gt_names *names,
			 const struct gt_event *event, uint64_t value)
{
	gt_strbuf_puts(text, gt_aer_severity_name((unsigned)value));
}

static void put_status(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *event, uint64_t value)
{
	unsigned severity = ((const struct gt_event_pcie_error *)event)->severity;
	uint64_t unnamed = 0;
	bool first = true;

	for (unsigned bit = 0; bit < 32; bit++) {
		const char *name = gt_aer_error_name(severity, bit);

		if (!(value >> bit & 1))
			continue;
		if (!name) {
			unnamed |= 1ull << bit;
			continue;
		}
		gt_strbuf_printf(text, "%s%s", first ? "" : "|", name);
		first = false;
	}
	if (!unnamed && !first)
		return;
	gt_strbuf_puts(text, first ? "" : "|");
	gt_strbuf_hex(text, unnamed);
}

/* "0000:01:00.0 nonfatal UnsupReq tlp=40000001 0000000f 80000000 00000000" */
static void put_error(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event *opaque)
{
	const struct gt_event_pcie_error *event = (const void *)opaque;
	size_t length;
	const char *tail = gt_event_text(opaque, &length);
	gt_autofree char *address = strndup(tail, length);

	gt_put_printable(text, address ? address : "");
	gt_strbuf_putc(text, ' ');
	put_severity(text, names, opaque, event->severity);
	gt_strbuf_putc(text, ' ');
	put_status(text, names, opaque, event->status);
	if (event->has_tlp)
		gt_strbuf_printf(text, " tlp=%08x %08x %08x %08x", event->tlp_first,
				 event->tlp_second, event->tlp_third, event->tlp_fourth);
}

void gt_put_pcie_speed(struct gt_strbuf *text, uint32_t speed, uint32_t width)
{
	if (speed)
		gt_strbuf_printf(text, "%u.%u GT/s", speed / 1000, speed % 1000 / 100);
	else
		gt_strbuf_puts(text, "unknown speed");
	gt_strbuf_printf(text, " x%u", width);
}

/* "0000:01:00.0 2.5 GT/s x8 (of 16.0 GT/s x16)" */
static void put_link(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *opaque)
{
	const struct gt_event_pcie_link *event = (const void *)opaque;
	size_t length;
	const char *tail = gt_event_text(opaque, &length);
	gt_autofree char *address = strndup(tail, length);

	gt_put_printable(text, address ? address : "");
	gt_strbuf_putc(text, ' ');
	gt_put_pcie_speed(text, event->speed, event->width);
	gt_strbuf_puts(text, " (of ");
	gt_put_pcie_speed(text, event->max_speed, event->max_width);
	gt_strbuf_putc(text, ')');
}

static const struct gt_layer_field access_fields[] = {
	{"duration", NULL},
};

static const struct gt_layer_field error_fields[] = {
	{"severity", put_severity},
	{"status", put_status},
};

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_pci_config,
		.source = "pcie",
		.variant = config_name,
		.text = put_config,
		.json = json_config,
	},
	{
		.kind = GT_EVENT_pci_access,
		.source = "pcie",
		.variant = config_name,
		.fields = access_fields,
		.field_count = gt_countof(access_fields),
		.text = put_config,
		.json = json_config,
	},
	{
		.kind = GT_EVENT_pcie_error,
		.source = "pcie",
		.name = "error",
		.fields = error_fields,
		.field_count = gt_countof(error_fields),
		.text = put_error,
	},
	{
		.kind = GT_EVENT_pcie_link,
		.source = "pcie",
		.name = "link",
		.text = put_link,
	},
};

const struct gt_layer_kinds gt_layer_pcie = {kinds, gt_countof(kinds)};
