/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BPF programs of the source "power" on a PCI device that is made up, in the layout of the
 * running kernel: few drivers report frequencies of GPUs, and no test has one that suspends.
 */
#include "probe/power/power.h"
#include "kernel_memory.h"
#include "layer_run.h"
#include "tap.h"

#define NEEDS_PCI "this kernel loads no programs for us, or knows no PCI devices"
#define DISPLAY 0x030000
#define NETWORK 0x020000

/* What lies where in the kernel's memory. */
enum {
	PCI_DEVICE = 0,
	BUS = 6144,
	BUS_NAME = 7168,
	DEVICE_NAME = 7232,
	STEP = 7296,
};

static struct kernel_memory memory;
static struct layer_run run;
static uint64_t device; /* the address of the struct device in the PCI device */

static bool put_pointer(struct btf *types, size_t base, const char *structure, const char *member,
			size_t to)
{
	size_t offset = layer_run_offset(types, structure, member);
	uint64_t address = memory.address + to;

	if (offset == SIZE_MAX || base + offset + sizeof(address) > KERNEL_MEMORY_SIZE)
		return false;
	kernel_memory_put(&memory, base + offset, &address, sizeof(address));
	return true;
}

/* A device "0000:03:00.0" of the bus `bus` and this class. */
static bool put_device(struct btf *types, const char *bus, uint32_t class)
{
	size_t inside = layer_run_offset(types, "pci_dev", "dev");
	size_t class_at = layer_run_offset(types, "pci_dev", "class");
	size_t object = layer_run_offset(types, "device", "kobj");

	if (inside >= BUS || class_at >= BUS || object >= BUS)
		return false;
	device = memory.address + PCI_DEVICE + inside;
	kernel_memory_put(&memory, PCI_DEVICE + class_at, &class, sizeof(class));
	kernel_memory_put(&memory, BUS_NAME, bus, strlen(bus) + 1);
	kernel_memory_put(&memory, DEVICE_NAME, "0000:03:00.0", 13);
	kernel_memory_put(&memory, STEP, "machine_suspend", 16);
	return put_pointer(types, PCI_DEVICE + inside, "device", "bus", BUS) &&
	       put_pointer(types, BUS, "bus_type", "name", BUS_NAME) &&
	       put_pointer(types, PCI_DEVICE + inside + object, "kobject", "name", DEVICE_NAME);
}

static bool set_up(const char *bus, uint32_t class)
{
	struct btf *types = btf__load_vmlinux_btf();
	bool made = types && !kernel_memory_open(&memory) && put_device(types, bus, class) &&
		    !kernel_memory_write(&memory) &&
		    !layer_run_open(&run, &gt_source_power, NULL, NULL);

	btf__free(types);
	return made;
}

static void tear_down(void)
{
	layer_run_close(&run);
	kernel_memory_close(&memory);
}

#define FIRE(...) CHECK_INT(LAYER_RUN(&run, __VA_ARGS__), 0)

static const struct gt_event_power_state *state_at(size_t number)
{
	return (const void *)run.events[number];
}

TEST("the frequency of a GPU has its number; each change is shown, and belongs to no process")
{
	if (!set_up("pci", DISPLAY))
		SKIP(NEEDS_PCI);
	FIRE("gpu_frequency", 1350, 1);
	FIRE("gpu_frequency", 300, 1);
	CHECK_INT(run.count, 2);
	CHECK_INT(state_at(0)->head.kind, GT_EVENT_power_state);
	CHECK_INT(state_at(0)->head.process, 0);
	CHECK_INT(state_at(0)->operation, GT_POWER_GPU_FREQUENCY);
	CHECK_INT(state_at(0)->value, 1350);
	CHECK_INT(state_at(0)->unit, 1);
	CHECK_INT(state_at(1)->value, 300);
	tear_down();
}

TEST("of a CPU's frequency, repeated values are no change, and changes of another CPU are its own")
{
	if (!set_up("pci", DISPLAY))
		SKIP(NEEDS_PCI);
	FIRE("cpu_frequency", 2000000, 3);
	FIRE("cpu_frequency", 2000000, 3);
	FIRE("cpu_frequency", 2000000, 4);
	CHECK_INT(run.count, 2);
	CHECK_INT(state_at(0)->operation, GT_POWER_CPU_FREQUENCY);
	CHECK_INT(state_at(0)->value, 2000000);
	CHECK_INT(state_at(0)->unit, 3);
	CHECK_INT(state_at(1)->unit, 4);
	tear_down();
}

TEST("a GPU that suspends and resumes is shown with its address, and results with their times")
{
	if (!set_up("pci", DISPLAY))
		SKIP(NEEDS_PCI);
	FIRE("device_idle", device, 1);
	FIRE("device_suspend", device, 2);
	FIRE("device_result", device, 0, (uint32_t)-EAGAIN);
	FIRE("device_resume", device, 4);
	FIRE("device_result", device, 0, 0);
	FIRE("device_result", device, 0, 0);
	CHECK_INT(run.count, 6);
	for (size_t i = 0; i < run.count; i++)
		CHECK_STR((const char *)state_at(i)->names, "0000:03:00.0");
	CHECK_INT(state_at(0)->operation, GT_POWER_DEVICE_IDLE);
	CHECK_INT(state_at(0)->value, 1);
	CHECK_INT(state_at(1)->operation, GT_POWER_DEVICE_SUSPEND);
	CHECK_INT(state_at(2)->operation, GT_POWER_DEVICE_RESULT);
	CHECK_INT(state_at(2)->error, -EAGAIN);
	CHECK(state_at(2)->duration > 0);
	CHECK_INT(state_at(3)->operation, GT_POWER_DEVICE_RESUME);
	CHECK(state_at(4)->duration > 0 && !state_at(4)->error);
	CHECK_INT(state_at(5)->duration, 0);
	tear_down();
}

TEST("a driver's callback for a GPU is shown at its end, a step of the system at both ends")
{
	if (!set_up("pci", DISPLAY))
		SKIP(NEEDS_PCI);
	FIRE("suspend_resume", memory.address + STEP, 3, 1);
	FIRE("callback_begin", device, 0, 0);
	FIRE("callback_end", device, 0);
	FIRE("suspend_resume", memory.address + STEP, 3, 0);
	CHECK_INT(run.count, 3);
	CHECK_INT(state_at(0)->operation, GT_POWER_SYSTEM_BEGIN);
	CHECK_INT(state_at(0)->value, 3);
	CHECK_STR((const char *)state_at(0)->names, "machine_suspend");
	CHECK_INT(state_at(1)->operation, GT_POWER_DEVICE_CALLBACK);
	CHECK_STR((const char *)state_at(1)->names, "0000:03:00.0");
	CHECK(state_at(1)->duration > 0);
	CHECK_INT(state_at(2)->operation, GT_POWER_SYSTEM_END);
	tear_down();
}

static void fire_all_of_device(void)
{
	FIRE("device_idle", device, 1);
	FIRE("device_suspend", device, 1);
	FIRE("device_resume", device, 1);
	FIRE("device_result", device, 0, 0);
	FIRE("callback_begin", device, 0, 0);
	FIRE("callback_end", device, 0);
}

TEST("devices that are no GPUs, or of another bus, are not shown")
{
	static const struct {
		const char *bus;
		uint32_t class;
		size_t shown;
	} devices[] = {
		{"pci", DISPLAY, 5}, {"pci", 0x120000, 5},        {"pci", NETWORK, 0},
		{"usb", DISPLAY, 0}, {"pci_express", DISPLAY, 0}, {"pc", DISPLAY, 0},
	};

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (!set_up(devices[i].bus, devices[i].class))
			SKIP(NEEDS_PCI);
		fire_all_of_device();
		CHECK_INT(run.count, devices[i].shown);
		tear_down();
	}
}

TEST_MAIN
