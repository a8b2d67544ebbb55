/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Power states: frequencies of CPUs and GPUs, suspend and resume of the system and of GPUs. They
 * concern the whole machine, so they are shown whichever processes are traced.
 */
#include "probe/layer.bpf.h"

#include "probe/power/power.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Classes of PCI devices (include/linux/pci_ids.h): display controllers, accelerators. */
#define CLASS_DISPLAY 0x03
#define CLASS_ACCELERATOR 0x12

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bus_type {
	const char *name;
};

struct kobject___power {
	const char *name;
};

struct device___power {
	struct kobject___power kobj;
	const struct bus_type *bus;
};

struct pci_dev___power {
	unsigned int class;
	struct device___power dev;
};

#pragma clang attribute pop

/* The last shown change of a CPU's frequency. */
struct cpu_change {
	__u64 time;
	__u32 frequency;
	__u32 skipped;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_MAX_POWER_CPUS);
	__type(key, __u32);
	__type(value, struct cpu_change);
} cpu_changes SEC(".maps");

/* Callbacks and resumes of devices that have begun: address of the device -> time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_POWER_DEVICES);
	__type(key, __u64);
	__type(value, __u64);
} begun SEC(".maps");

/* An event with room for the name in its tail. */
union power_event {
	struct gt_event_power_state event;
	char room[sizeof(struct gt_event_power_state) + GT_DEVICE_NAME_SIZE];
};

static __always_inline void put_power(union power_event *event, __u32 operation)
{
	fill_head(&event->event.head, NULL, GT_EVENT_power_state, sizeof(*event));
	event->event.operation = operation;
	put_event(event, sizeof(*event));
}

/* unsigned int frequency, unsigned int cpu: kHz */
SEC("raw_tp/cpu_frequency")
int cpu_frequency(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 frequency = ctx->args[0], cpu = ctx->args[1];
	struct cpu_change *last = bpf_map_lookup_elem(&cpu_changes, &cpu);
	__u64 now = bpf_ktime_get_ns();
	union power_event event = {.room = {}};

	if (last) {
		if (last->frequency == frequency)
			return 0;
		if (last->time && now - last->time < GT_POWER_CPU_PERIOD_NS) {
			last->skipped++;
			COUNT_EVENTS(unsampled);
			return 0;
		}
		event.event.skipped = last->skipped;
		last->time = now;
		last->frequency = frequency;
		last->skipped = 0;
	}
	event.event.value = frequency;
	event.event.unit = cpu;
	put_power(&event, GT_POWER_CPU_FREQUENCY);
	return 0;
}

/* unsigned int state, unsigned int gpu_id; until Linux 7.1 */
SEC("raw_tp/gpu_frequency")
int gpu_frequency(struct bpf_raw_tracepoint_args *ctx)
{
	union power_event event = {.room = {}};

	event.event.value = (__u32)ctx->args[0];
	event.event.unit = ctx->args[1];
	put_power(&event, GT_POWER_GPU_FREQUENCY);
	return 0;
}

/* const char *action, int value, bool start */
SEC("raw_tp/suspend_resume")
int suspend_resume(struct bpf_raw_tracepoint_args *ctx)
{
	union power_event event = {.room = {}};

	event.event.value = (__u32)ctx->args[1];
	bpf_probe_read_kernel_str(event.event.names, GT_DEVICE_NAME_SIZE, (void *)ctx->args[0]);
	put_power(&event, (__u8)ctx->args[2] ? GT_POWER_SYSTEM_BEGIN : GT_POWER_SYSTEM_END);
	return 0;
}

static __always_inline bool is_gpu(struct device___power *device)
{
	const char *bus = BPF_CORE_READ(device, bus, name);
	struct pci_dev___power *pci = NULL;
	char name[8] = {}; /* "pci", not "pci_express", whose devices are no struct pci_dev */
	__u32 class;

	bpf_probe_read_kernel_str(name, sizeof(name), bus);
	if (name[0] != 'p' || name[1] != 'c' || name[2] != 'i' || name[3])
		return false;
	pci = (void *)device - bpf_core_field_offset(pci->dev);
	class = BPF_CORE_READ(pci, class) >> 16;
	return class == CLASS_DISPLAY || class == CLASS_ACCELERATOR;
}

static __always_inline void put_device(struct device___power *device, __u32 operation, __u64 value,
				       __s32 error, __u64 since)
{
	union power_event event = {.room = {}};

	bpf_probe_read_kernel_str(event.event.names, GT_DEVICE_NAME_SIZE,
				  BPF_CORE_READ(device, kobj.name));
	event.event.value = value;
	event.event.error = error;
	event.event.duration = since ? bpf_ktime_get_ns() - since : 0;
	put_power(&event, operation);
}

static __always_inline void begin_device(struct device___power *device)
{
	__u64 key = (__u64)device, now = bpf_ktime_get_ns();

	put_map_entry(&begun, &key, &now);
}

/* When what has begun with a device did so, and forget it; 0: not known. */
static __always_inline __u64 end_device(struct device___power *device)
{
	__u64 key = (__u64)device;
	__u64 *since = bpf_map_lookup_elem(&begun, &key);
	__u64 time = since ? *since : 0;

	if (since)
		bpf_map_delete_elem(&begun, &key);
	return time;
}

/* struct device *dev, int flags */
SEC("raw_tp/rpm_idle")
int device_idle(struct bpf_raw_tracepoint_args *ctx)
{
	if (is_gpu((void *)ctx->args[0]))
		put_device((void *)ctx->args[0], GT_POWER_DEVICE_IDLE, (__u32)ctx->args[1], 0, 0);
	return 0;
}

SEC("raw_tp/rpm_suspend")
int device_suspend(struct bpf_raw_tracepoint_args *ctx)
{
	if (!is_gpu((void *)ctx->args[0]))
		return 0;
	begin_device((void *)ctx->args[0]);
	put_device((void *)ctx->args[0], GT_POWER_DEVICE_SUSPEND, (__u32)ctx->args[1], 0, 0);
	return 0;
}

SEC("raw_tp/rpm_resume")
int device_resume(struct bpf_raw_tracepoint_args *ctx)
{
	if (!is_gpu((void *)ctx->args[0]))
		return 0;
	begin_device((void *)ctx->args[0]);
	put_device((void *)ctx->args[0], GT_POWER_DEVICE_RESUME, (__u32)ctx->args[1], 0, 0);
	return 0;
}

/* struct device *dev, unsigned long ip, int ret: of the last of those three */
SEC("raw_tp/rpm_return_int")
int device_result(struct bpf_raw_tracepoint_args *ctx)
{
	struct device___power *device = (void *)ctx->args[0];

	if (is_gpu(device))
		put_device(device, GT_POWER_DEVICE_RESULT, 0, (__s32)ctx->args[2],
			   end_device(device));
	return 0;
}

/* struct device *dev, const char *pm_ops, int event */
SEC("raw_tp/device_pm_callback_start")
int callback_begin(struct bpf_raw_tracepoint_args *ctx)
{
	if (is_gpu((void *)ctx->args[0]))
		begin_device((void *)ctx->args[0]);
	return 0;
}

/* struct device *dev, int error */
SEC("raw_tp/device_pm_callback_end")
int callback_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct device___power *device = (void *)ctx->args[0];

	if (is_gpu(device))
		put_device(device, GT_POWER_DEVICE_CALLBACK, 0, (__s32)ctx->args[1],
			   end_device(device));
	return 0;
}
