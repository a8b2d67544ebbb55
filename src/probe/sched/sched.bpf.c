/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When threads of traced processes do not run, why, and who wakes them. */
#include "probe/layer.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A traced thread that is not running. */
struct sched_wait {
	__u64 left;  /* when it left its CPU; 0: it runs */
	__u64 woken; /* when it became runnable; 0: not yet */
	__u32 state;
	__u32 waker_process, waker_thread;
	char waker[GT_NAME_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sched_wait);
} waits SEC(".maps");

static __always_inline void begin_wait(struct task_struct *task, __u32 state)
{
	struct sched_wait *wait;

	if (!traced_thread())
		return;
	wait = bpf_task_storage_get(&waits, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!wait)
		return;
	wait->left = bpf_ktime_get_ns();
	wait->woken = state ? 0 : wait->left;
	wait->state = state;
	wait->waker_process = wait->waker_thread = 0;
}

static __always_inline void end_wait(struct task_struct *task)
{
	__u64 room[(sizeof(struct gt_event_off_cpu) + GT_NAME_SIZE) / sizeof(__u64)] = {};
	struct gt_event_off_cpu *event = (void *)room;
	struct sched_wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);
	struct layer_thread *thread;

	if (!wait || !wait->left)
		return;
	thread = bpf_task_storage_get(&layer_threads, task, NULL, 0);
	if (thread) {
		fill_head(&event->head, thread, GT_EVENT_off_cpu, sizeof(room));
		event->duration = event->head.time - wait->left;
		event->runnable = wait->woken ? event->head.time - wait->woken : 0;
		event->waker_process = wait->waker_process;
		event->waker_thread = wait->waker_thread;
		event->state = wait->state;
		event->cpu = bpf_get_smp_processor_id();
		if (wait->waker_thread)
			__builtin_memcpy(event->waker, wait->waker, GT_NAME_SIZE);
		put_event(room, sizeof(room));
	}
	wait->left = 0;
}

/* bool preempt, struct task_struct *prev, *next, unsigned int prev_state (since Linux 5.18) */
SEC("tp_btf/sched_switch")
int sched_switch(__u64 *arguments)
{
	begin_wait((void *)arguments[1], arguments[0] ? 0 : (__u32)arguments[3]);
	end_wait((void *)arguments[2]);
	return 0;
}

/* struct task_struct *p; the current task is the waker. */
SEC("tp_btf/sched_waking")
int sched_waking(__u64 *arguments)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct sched_wait *wait = bpf_task_storage_get(&waits, (void *)arguments[0], NULL, 0);

	if (!wait || !wait->left || wait->woken)
		return 0;
	wait->woken = bpf_ktime_get_ns();
	/* The idle task is interrupted by whatever wakes others. */
	if (BPF_CORE_READ(current, pid)) {
		wait->waker_process = id_in_our_namespace(BPF_CORE_READ(current, group_leader));
		wait->waker_thread = id_in_our_namespace(current);
		bpf_probe_read_kernel_str(wait->waker, GT_NAME_SIZE, &current->comm);
	}
	return 0;
}
