/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the string and memory functions of the NVLink part of NVIDIA's driver. */
#include "probe/layer.bpf.h"

#include "probe/api/registers.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct nvlink_call_key {
	__u64 thread;
	__u64 function;
};

struct nvlink_call {
	__u64 start;
	__u64 arguments[ARGUMENT_REGISTERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct nvlink_call_key);
	__type(value, struct nvlink_call);
} calls SEC(".maps");

static __always_inline int enter(struct pt_regs *registers, __u32 function)
{
	struct nvlink_call_key key = {bpf_get_current_pid_tgid(), function};
	struct nvlink_call call = {.start = bpf_ktime_get_ns()};

	if (!traced_thread())
		return 0;
	copy_registers(call.arguments, registers);
	/* The return of a call before this one was missed: too many at a time. */
	if (bpf_map_lookup_elem(&calls, &key))
		COUNT_EVENTS(evicted);
	if (bpf_map_update_elem(&calls, &key, &call, BPF_ANY))
		COUNT_EVENTS(evicted);
	return 0;
}

/* The bytes that strcpy copied, with the NUL. */
static __always_inline __u64 string_size(__u64 from)
{
	char text[256];
	long size = bpf_probe_read_kernel_str(text, sizeof(text), (void *)from);

	return size > 0 ? size : 0;
}

/* (to, from), (to, from, size), (to, value, size) */
static __always_inline int leave(struct pt_regs *registers, __u32 function)
{
	struct nvlink_call_key key = {bpf_get_current_pid_tgid(), function};
	struct nvlink_call *call = bpf_map_lookup_elem(&calls, &key);
	struct gt_event_nvlink_call event = {};
	struct layer_thread *thread;

	if (!call)
		return 0;
	thread = traced_thread();
	if (thread) {
		fill_head(&event.head, thread, GT_EVENT_nvlink_call, sizeof(event));
		event.duration = event.head.time - call->start;
		event.destination = call->arguments[0];
		event.from = function == GT_NVLINK_MEMSET ? 0 : call->arguments[1];
		event.value = function == GT_NVLINK_MEMSET ? call->arguments[1] & 0xff : 0;
		event.size = function == GT_NVLINK_STRCPY ? string_size(call->arguments[1])
							  : call->arguments[2];
		event.result = RESULT(registers);
		event.function = function;
		put_event(&event, sizeof(event));
	}
	bpf_map_delete_elem(&calls, &key);
	return 0;
}

#define CALL_PROGRAMS(name, function)                                                              \
	SEC("kprobe") int enter_##name(struct pt_regs *registers)                                  \
	{                                                                                          \
		return enter(registers, function);                                                 \
	}                                                                                          \
	SEC("kretprobe") int leave_##name(struct pt_regs *registers)                               \
	{                                                                                          \
		return leave(registers, function);                                                 \
	}

CALL_PROGRAMS(strcpy, GT_NVLINK_STRCPY)
CALL_PROGRAMS(memcpy, GT_NVLINK_MEMCPY)
CALL_PROGRAMS(memset, GT_NVLINK_MEMSET)
