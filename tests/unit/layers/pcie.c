/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of the source "pcie" as text and JSON. */
#include "layers/pcie.h"

#include <errno.h>

#include "kernel/pci.h"
#include "layer_rows.h"

static struct gt_event *new_access(unsigned offset, unsigned bytes, uint64_t value)
{
	struct gt_event_pci_config *event = (void *)gt_event_new(GT_EVENT_pci_config, NULL, 0);

	event->domain = 0x10000;
	event->bus = 0x65;
	event->device_function = 3 << 3 | 1;
	event->offset = offset;
	event->bytes = bytes;
	event->value = value;
	return &event->head;
}

TEST("an access has the address with its domain, the register, and as many digits as bytes")
{
	gt_autofree struct gt_event *event = new_access(0x04, 2, 0x103);
	struct gt_event_pci_config *access = (void *)event;

	expect_row(event, "config_read", "10000:65:03.1 0x04 COMMAND bytes=2 value=0x0103");
	access->is_write = 1;
	access->offset = 0x11;
	access->bytes = 1;
	access->value = 0xc;
	expect_row(event, "config_write", "10000:65:03.1 0x11 BASE_ADDRESS_0+1 bytes=1 value=0x0c");
}

TEST("a register that has no name has its offset alone; accesses for user space say so")
{
	gt_autofree struct gt_event *event = new_access(0xfc, 4, 0xffffffff);

	((struct gt_event_pci_config *)event)->is_user = 1;
	expect_row(event, "config_read", "10000:65:03.1 0xfc bytes=4 value=0xffffffff user");
	expect_json(
		event,
		"\"source\":\"pcie\",\"name\":\"config_read\",\"value\":4294967295,\"domain\":"
		"65536,\"result\":0,\"offset\":252,\"bus\":101,\"device_function\":25,\"bytes\":4,"
		"\"is_write\":0,\"is_user\":1,\"address\":\"10000:65:03.1\",\"register\":null}");
}

TEST("an access has its duration, and in JSON the time of its beginning")
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_pci_access, NULL, 0);
	struct gt_event_pci_access *access = (void *)event;

	access->head.time = 5000;
	access->bus = 1;
	access->offset = 0x06;
	access->bytes = 2;
	access->value = 0x10;
	access->duration = 1500;
	expect_row(event, "config_read", "0000:01:00.0 0x06 STATUS bytes=2 value=0x0010 (1.50 µs)");
	expect_json_begin(event, "{\"schema\":\"gputap.event.1\",\"time\":3500,");
	access->duration = 0;
	expect_row(event, "config_read", "0000:01:00.0 0x06 STATUS bytes=2 value=0x0010");
	expect_json_begin(event, "{\"schema\":\"gputap.event.1\",\"time\":5000,");
	expect_json(event,
		    "\"source\":\"pcie\",\"name\":\"config_read\",\"value\":16,\"domain\":0,"
		    "\"result\":0,"
		    "\"offset\":6,\"bus\":1,\"device_function\":0,\"bytes\":2,\"is_write\":0,"
		    "\"is_user\":0,\"duration\":null,\"address\":\"0000:01:00.0\",\"register\":"
		    "\"STATUS\"}");
}

TEST("an access that failed has its PCIBIOS result or errno")
{
	gt_autofree struct gt_event *event = new_access(0x40, 4, 0);
	struct gt_event_pci_config *access = (void *)event;

	access->result = 0x87;
	expect_row(event, "config_read",
		   "10000:65:03.1 0x40 bytes=4 value=0x00000000 error=BAD_REGISTER_NUMBER");
	access->result = -EINVAL;
	expect_row(event, "config_read",
		   "10000:65:03.1 0x40 bytes=4 value=0x00000000 error=EINVAL");
	access->result = 7;
	expect_row(event, "config_read", "10000:65:03.1 0x40 bytes=4 value=0x00000000 error=7");
}

TEST("a size that no access has stays within the digits of a value")
{
	gt_autofree struct gt_event *event = new_access(0x40, 255, 0x12345678);

	expect_row(event, "config_read", "10000:65:03.1 0x40 bytes=255 value=0x12345678");
}

TEST("an error has its severity, the names of its bits, and the header of the packet")
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_pcie_error, "0000:01:00.0", 12);
	struct gt_event_pcie_error *error = (void *)event;

	error->severity = GT_AER_NONFATAL;
	error->status = 1u << 20 | 1u << 14 | 1u << 31;
	expect_row(event, "error", "0000:01:00.0 nonfatal CmpltTO|UnsupReq|0x80000000");
	error->severity = GT_AER_CORRECTED;
	error->status = 1;
	error->has_tlp = 1;
	error->tlp_first = 0x40000001;
	error->tlp_fourth = 0xf;
	expect_row(event, "error",
		   "0000:01:00.0 corrected RxErr tlp=40000001 00000000 00000000 0000000f");
	error->severity = 9;
	error->status = 0;
	error->has_tlp = 0;
	expect_row(event, "error", "0000:01:00.0 unknown 0x0");
}

TEST("a link has its speed and width, and those of which the device is capable")
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_pcie_link, "0000:01:00.0", 12);
	struct gt_event_pcie_link *link = (void *)event;

	link->speed = 2500;
	link->width = 8;
	link->max_speed = 32000;
	link->max_width = 16;
	expect_row(event, "link", "0000:01:00.0 2.5 GT/s x8 (of 32.0 GT/s x16)");
	link->speed = 0;
	expect_row(event, "link", "0000:01:00.0 unknown speed x8 (of 32.0 GT/s x16)");
}

TEST_MAIN
