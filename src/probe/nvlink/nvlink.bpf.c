/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the string and memory functions of the NVLink part of NVIDIA's driver. */
#include "probe/vmlinux_min.h"

#include "probe/api/registers.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct nvlink_call {
	__u64 start;
	__u64 arguments[ARGUMENT_REGISTERS];
};

#define CALL_STATE struct nvlink_call
#define MAX_CALLS 4096
#include "probe/nvidia/calls.bpf.h"

static __always_inline int enter(struct pt_regs *registers, __u32 function)
{
	struct nvlink_call call = {.start = bpf_ktime_get_ns()};

	if (!traced_thread())
		return 0;
	copy_registers(call.arguments, registers);
	begin_call(function, &call);
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
	struct nvlink_call *call = find_call(function);
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
	end_call(function);
	return 0;
}

CALL_PROGRAMS(strcpy, GT_NVLINK_STRCPY)
CALL_PROGRAMS(memcpy, GT_NVLINK_MEMCPY)
CALL_PROGRAMS(memset, GT_NVLINK_MEMSET)
