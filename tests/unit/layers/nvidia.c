/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of the sources "nvidia" and "nvlink" as text and JSON. */
#include "layers/nvidia.h"

#include <errno.h>

#include "event/durations.h"
#include "layer_rows.h"

#define RM_CONTROL 0xc020462au
#define RM_ALLOC 0xc030462bu
#define GPU_GET_INFO_V2 0x20800102u

static struct gt_event *new_call(unsigned function)
{
	struct gt_event_nvidia_call *event = (void *)gt_event_new(GT_EVENT_nvidia_call, NULL, 0);

	event->function = function;
	event->minor = GT_NVIDIA_UNKNOWN;
	event->peer = GT_NVIDIA_UNKNOWN;
	return &event->head;
}

TEST("an ioctl has the name of its command, and that of the resource manager's")
{
	gt_autofree struct gt_event *event = new_call(GT_NVIDIA_ioctl);
	struct gt_event_nvidia_call *call = (void *)event;

	call->command = RM_CONTROL;
	call->control = GPU_GET_INFO_V2;
	call->minor = 255;
	call->status = 0x56;
	expect_row(event, "ioctl",
		   "NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_INFO_V2 minor=255 status=0x56");
	call->control = 0xffff0001;
	call->status = 0;
	expect_row(event, "ioctl", "NV_ESC_RM_CONTROL 0xffff0001 minor=255");
	call->command = RM_ALLOC;
	call->control = 0xc56f;
	call->result = -EINVAL;
	expect_row(event, "ioctl", "NV_ESC_RM_ALLOC class=0xc56f minor=255 error=EINVAL");
	call->command = 0xc0044100;
	call->result = 0;
	expect_row(event, "ioctl", "0xc0044100 minor=255");
}

TEST("a command of UVM is not taken for one of the resource manager")
{
	gt_autofree struct gt_event *event = new_call(GT_NVIDIA_uvm_ioctl);
	struct gt_event_nvidia_call *call = (void *)event;

	call->command = 0x30000001;
	expect_row(event, "uvm_ioctl", "UVM_INITIALIZE");
	call->command = RM_CONTROL;
	call->control = GPU_GET_INFO_V2;
	expect_row(event, "uvm_ioctl", "0xc020462a");
}

TEST("a mapping has its address, offset and length; what is unknown is not shown, and null")
{
	gt_autofree struct gt_event *event = new_call(GT_NVIDIA_mmap);
	struct gt_event_nvidia_call *call = (void *)event;

	call->minor = 0;
	call->address = 0x7f0000000000;
	call->length = 1 << 21;
	expect_row(event, "mmap", "minor=0 address=0x7f0000000000 offset=0x0 length=2.00 MiB");
	expect_json(event,
		    "\"source\":\"nvidia\",\"name\":\"mmap\",\"duration\":0,\"address\":"
		    "\"0x7f0000000000\",\"offset\":0,\"length\":2097152,\"command\":\"0x0\","
		    "\"control\":\"0x0\",\"status\":\"0x0\",\"result\":0,\"minor\":\"0\",\"minor_"
		    "number\":0,\"entries\":0,\"peer\":null,\"peer_number\":4294967295,"
		    "\"function\":\"mmap\",\"function_number\":2,\"command_name\":null}");
}

TEST("peer-to-peer memory has its entries, and the device that maps it")
{
	gt_autofree struct gt_event *event = new_call(GT_NVIDIA_p2p_dma_map_pages);
	struct gt_event_nvidia_call *call = (void *)event;

	call->address = 0x7f0000000000;
	call->length = 1 << 16;
	call->entries = 16;
	call->peer = 1u << 16 | 0x65 << 8 | 2 << 3 | 1;
	expect_row(event, "p2p_dma_map_pages",
		   "address=0x7f0000000000 length=64.0 KiB entries=16 peer=0001:65:02.1");
}

TEST("functions that a newer version may record are unknown, not out of bounds")
{
	gt_autofree struct gt_event *event = new_call(60000);
	gt_autofree struct gt_event *sums = gt_event_new(GT_EVENT_nvidia_sums, NULL, 0);

	((struct gt_event_nvidia_sums *)sums)->function = 60000;
	expect_row(event, "unknown", "");
	expect_row(sums, "unknown_total", "count=0");
}

TEST("the total of a function has what its calls are distinguished by, and their times")
{
	uint64_t durations[GT_DURATION_BUCKETS] = {0};
	gt_autofree struct gt_event *event = NULL;
	struct gt_event_nvidia_sums *sums;

	durations[gt_duration_bucket(1000)] = 3;
	event = gt_event_new(GT_EVENT_nvidia_sums, (const char *)durations, sizeof(durations));
	sums = (void *)event;
	sums->function = GT_NVIDIA_ioctl;
	sums->command = RM_CONTROL;
	sums->control = GPU_GET_INFO_V2;
	sums->count = 3;
	sums->errors = 1;
	sums->total = 3000;
	sums->longest = 1100;
	expect_row(event, "ioctl_total",
		   "NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_INFO_V2 count=3 errors=1 "
		   "total=3.00 µs max=1.10 µs");
	expect_json(
		event,
		"\"source\":\"nvidia\",\"name\":\"ioctl_total\",\"count\":3,\"errors\":1,\"total\":"
		"3000,\"longest\":1100,\"command\":\"0xc020462a\",\"control\":\"0x20800102\","
		"\"function\":\"ioctl\",\"function_number\":8,\"command_name\":\"NV_ESC_RM_CONTROL "
		"NV2080_CTRL_CMD_GPU_GET_INFO_V2\",\"durations\":[{\"from\":896,\"count\":3}]}");
	sums->function = GT_NVIDIA_open;
	sums->command = 255;
	sums->total = 0;
	expect_row(event, "open_total", "minor=255 count=3 errors=1");
	sums->function = GT_NVIDIA_isr_bottom_half;
	sums->command = 40;
	sums->errors = 0;
	expect_row(event, "isr_bottom_half_total", "irq=40 count=3");
}

TEST("an Xid has the device, its meaning and the message")
{
	const char *text = "0000:65:00.0 pid=12, name=train, \033[31mCh 0000001c";
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_nvidia_xid, text, strlen(text));
	struct gt_event_nvidia_xid *xid = (void *)event;

	xid->code = 31;
	expect_row(event, "xid",
		   "0000:65:00.0 31 (GPU memory page fault): pid=12, name=train, ?[31mCh 0000001c");
	xid->code = 9999;
	expect_row(event, "xid", "0000:65:00.0 9999: pid=12, name=train, ?[31mCh 0000001c");
	expect_json(event, "\"source\":\"nvidia\",\"name\":\"xid\",\"code\":9999,\"from_log\":0,"
			   "\"text\":\"0000:65:00.0 pid=12, name=train, \\u001b[31mCh "
			   "0000001c\",\"address\":\"0000:65:00.0\",\"message\":\"pid=12, "
			   "name=train, \\u001b[31mCh 0000001c\",\"meaning\":null}");
}

TEST("an Xid without a message, or without any text, is shown as far as it is known")
{
	gt_autofree struct gt_event *bare = gt_event_new(GT_EVENT_nvidia_xid, "0000:65:00.0", 12);
	gt_autofree struct gt_event *empty = gt_event_new(GT_EVENT_nvidia_xid, NULL, 0);

	((struct gt_event_nvidia_xid *)bare)->code = 79;
	expect_row(bare, "xid", "0000:65:00.0 79 (GPU has fallen off the bus): ");
	expect_row(empty, "xid", "0: ");
}

TEST("the last ioctls of a process have their commands and how long ago they were")
{
	const uint64_t ioctls[] = {
		0,    0,
		1000, (uint64_t)RM_CONTROL << 32 | GPU_GET_INFO_V2,
		4000, (uint64_t)0x30000001 << 32,
		9999, (uint64_t)RM_ALLOC << 32 | 0xc56f, /* after the Xid: clocks of two CPUs */
	};
	gt_autofree struct gt_event *event =
		gt_event_new(GT_EVENT_nvidia_recent, (const char *)ioctls, sizeof(ioctls));

	event->time = 5000;
	expect_row(event, "recent_ioctls",
		   "NV_ESC_RM_CONTROL NV2080_CTRL_CMD_GPU_GET_INFO_V2 (4.00 µs ago), "
		   "UVM_INITIALIZE (1.00 µs ago), NV_ESC_RM_ALLOC class=0xc56f");
	expect_json(event, "\"source\":\"nvidia\",\"name\":\"recent_ioctls\",\"ioctls\":[{\"time\":"
			   "1000,\"command\":\"0xc020462a\",\"control\":\"0x20800102\",\"command_"
			   "name\":\"NV_ESC_RM_CONTROL "
			   "NV2080_CTRL_CMD_GPU_GET_INFO_V2\"},{\"time\":4000,\"command\":"
			   "\"0x30000001\",\"control\":\"0x0\",\"command_name\":\"UVM_INITIALIZE\"}"
			   ",{\"time\":9999,\"command\":\"0xc030462b\",\"control\":\"0xc56f\","
			   "\"command_name\":\"NV_ESC_RM_ALLOC class=0xc56f\"}]}");
}

/* ---- nvlink ------------------------------------------------------------------------------- */

TEST("a memory function of the NVLink code has source or value, size and result")
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_nvlink_call, NULL, 0);
	struct gt_event_nvlink_call *call = (void *)event;

	call->function = GT_NVLINK_MEMCPY;
	call->destination = 0xffff888100000000;
	call->from = 0xffff888200000000;
	call->size = 4096;
	call->result = call->destination;
	expect_row(event, "memcpy",
		   "destination=0xffff888100000000 from=0xffff888200000000 size=4.00 KiB "
		   "result=0xffff888100000000");
	call->function = GT_NVLINK_MEMSET;
	call->value = 0x5a;
	expect_row(event, "memset",
		   "destination=0xffff888100000000 value=0x5a size=4.00 KiB "
		   "result=0xffff888100000000");
	call->function = GT_NVLINK_STRCPY;
	call->size = 6;
	expect_row(event, "strcpy",
		   "destination=0xffff888100000000 from=0xffff888200000000 size=6 B "
		   "result=0xffff888100000000");
	call->function = 77;
	expect_row(event, "unknown",
		   "destination=0xffff888100000000 from=0xffff888200000000 size=6 B "
		   "result=0xffff888100000000");
}

TEST_MAIN
