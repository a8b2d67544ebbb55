/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which device an ordinal is, and which context a number stands for. */
#include <sys/stat.h>

#include "event/kinds.h"
#include "fixture.h"
#include "names/devices.h"
#include "names/nvidia.h"

static const uint8_t uuid[16] = {0x3f, 0x2a, 0x11, 0x04, 0xaa, 0xbb, 0xcc, 0xdd,
				 0xee, 0xff, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05};
#define UUID "3f2a1104-aabb-ccdd-eeff-000102030405"

static void take_event(struct gt_devices *devices, struct gt_event *event)
{
	CHECK(event != NULL);
	CHECK_INT(gt_event_check(event, event->size), 0);
	CHECK_INT(gt_devices_take(devices, event), 0);
	free(event);
}

static void take_context(struct gt_devices *devices, uint32_t process, uint64_t handle,
			 uint32_t number, int device)
{
	struct gt_event_context event = {
		.head = {.process = process,
			 .kind = GT_EVENT_context,
			 .size = sizeof(event),
			 .device = (int16_t)device},
		.handle = handle,
		.number = number,
	};

	CHECK_INT(gt_devices_take(devices, &event.head), 0);
}

TEST("a device has the UUID and the name of its events, one by one or together")
{
	gt_auto(devices) struct gt_devices *devices = gt_devices_new();
	struct gt_known_device device;

	CHECK(!gt_devices_find(devices, 7, 0, &device));
	take_event(devices, gt_device_event(7, 0, NULL, "NVIDIA H200"));
	CHECK(gt_devices_find(devices, 7, 0, &device));
	CHECK_STR(device.uuid, "");
	CHECK_STR(device.name, "NVIDIA H200");
	take_event(devices, gt_device_event(7, 0, uuid, NULL));
	CHECK(gt_devices_find(devices, 7, 0, &device));
	CHECK_STR(device.uuid, UUID);
	CHECK_STR(device.name, "NVIDIA H200");
	CHECK(!gt_devices_find(devices, 7, 1, &device));
	CHECK(!gt_devices_find(devices, 7, GT_DEVICE_UNKNOWN, &device));
}

TEST("an ordinal is another device in another process, unless it is one of all processes")
{
	gt_auto(devices) struct gt_devices *devices = gt_devices_new();
	uint8_t other[16] = {0xff};
	struct gt_known_device device;

	take_event(devices, gt_device_event(7, 0, uuid, NULL));
	CHECK(!gt_devices_find(devices, 8, 0, &device));
	take_event(devices, gt_device_event(0, 0, other, "the only one"));
	CHECK(gt_devices_find(devices, 8, 0, &device));
	CHECK_STR(device.uuid, "ff000000-0000-0000-0000-000000000000");
	CHECK(gt_devices_find(devices, 7, 0, &device));
	CHECK_STR(device.uuid, UUID);
	CHECK_STR(device.name, "the only one");
}

TEST("a context is found by its process and number, as in its latest event")
{
	gt_auto(devices) struct gt_devices *devices = gt_devices_new();

	CHECK(gt_devices_context(devices, 7, 5) == NULL);
	take_context(devices, 7, 0x55aa00, 5, GT_DEVICE_UNKNOWN);
	CHECK_INT(gt_devices_context(devices, 7, 5)->handle, 0x55aa00);
	CHECK_INT(gt_devices_context(devices, 7, 5)->device, GT_DEVICE_UNKNOWN);
	take_context(devices, 7, 0x55aa00, 5, 1);
	CHECK_INT(gt_devices_context(devices, 7, 5)->device, 1);
	CHECK(gt_devices_context(devices, 8, 5) == NULL);
	CHECK(gt_devices_context(devices, 7, 0) == NULL);
}

/* What NVIDIA's driver shows of a machine with these GPUs, below the working directory. */
static void make_machine(const char *const *addresses, const char *minor, const char *uuid_text)
{
	CHECK_INT(run(NULL, "rm -rf sys proc"), 0);
	for (; *addresses; addresses++) {
		CHECK_INT(run(NULL,
			      "mkdir -p sys/bus/pci/drivers/nvidia/%1$s "
			      "proc/driver/nvidia/gpus/%1$s; "
			      "touch sys/bus/pci/drivers/nvidia/bind; "
			      "printf 'Model: \\t\\t NVIDIA H200\\nIRQ:   \\t\\t 0\\nGPU UUID: \\t "
			      "%2$s\\nBus Location: \\t %1$s\\nDevice Minor: \\t %3$s\\n' "
			      ">proc/driver/nvidia/gpus/%1$s/information",
			      *addresses, uuid_text, minor),
			  0);
	}
}

TEST("the only GPU of a machine is known from its driver")
{
	gt_auto(devices) struct gt_devices *devices = gt_devices_new();
	struct gt_known_device device;

	make_machine((const char *[]){"0000:3b:00.0", NULL}, "0", "GPU-" UUID);
	take_event(devices, gt_nvidia_only_device("."));
	CHECK(gt_devices_find(devices, 4711, 0, &device));
	CHECK_STR(device.uuid, UUID);
	CHECK_STR(device.name, "NVIDIA H200");
}

TEST("where there are two GPUs, which one an ordinal is nobody says")
{
	make_machine((const char *[]){"0000:3b:00.0", "0000:af:00.0", NULL}, "0", "GPU-" UUID);
	CHECK(gt_nvidia_only_device(".") == NULL);
}

TEST("a GPU that is divided, or of which the driver knows no UUID, has no event")
{
	make_machine((const char *[]){"0000:3b:00.0", NULL}, "0",
		     "GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?");
	CHECK(gt_nvidia_only_device(".") == NULL);
	make_machine((const char *[]){"0000:3b:00.0", NULL}, "3", "GPU-" UUID);
	run(NULL, "mkdir -p proc/driver/nvidia/capabilities/gpu3/mig && "
		  "touch proc/driver/nvidia/capabilities/gpu3/mig/config");
	free(gt_nvidia_only_device("."));
	run(NULL, "mkdir proc/driver/nvidia/capabilities/gpu3/mig/gi1");
	CHECK(gt_nvidia_only_device(".") == NULL);
}

TEST("a machine without NVIDIA's driver has no device event")
{
	make_machine((const char *[]){NULL}, "", "");
	CHECK(gt_nvidia_only_device(".") == NULL);
	CHECK(gt_nvidia_only_device("/nowhere") == NULL);
}

TEST_MAIN
