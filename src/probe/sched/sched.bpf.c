/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When threads of traced processes do not run, why, and who wakes them. */
#include "probe/sched/sched.h"
#include "probe/layer.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TASK_DEAD 0x80

/*
 * Whether a CPU handles an interrupt: the NMI and hardware bits of its preempt_count, and the
 * lowest bit of the soft interrupts, which is not set where they are only disabled
 * (include/linux/preempt.h, the same since 2.6.37).
 */
#define INTERRUPT_BITS 0x00ff0100
#define INTERRUPT_NAME "(interrupt)"

#ifdef __TARGET_ARCH_x86
/* Linux 6.2 to 6.14 */
struct pcpu_hot {
	int preempt_count;
} __attribute__((preserve_access_index));

extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

static __always_inline bool in_interrupt(struct task_struct *current)
{
	int count = 0;

	if (&__preempt_count)
		count = *(int *)bpf_this_cpu_ptr(&__preempt_count);
	else if (&pcpu_hot)
		count = ((struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return count & INTERRUPT_BITS;
}
#else
struct thread_info___arm64 {
	struct {
		__u32 count;
	} preempt;
} __attribute__((preserve_access_index));

static __always_inline bool in_interrupt(struct task_struct *current)
{
	struct thread_info___arm64 *info = (void *)&current->thread_info;

	return BPF_CORE_READ(info, preempt.count) & INTERRUPT_BITS;
}
#endif

/*
 * The handlers of interrupts have sections of text of their own (include/asm-generic/vmlinux.lds.h,
 * since 4.6): the kernel's stack depot finds the end of an interrupt's stack in the same manner.
 * Each section has its first address and the one after its end.
 */
const volatile __u64 interrupt_text[GT_INTERRUPT_SECTIONS][2];

#define MAX_FRAMES 64

struct kernel_stack {
	__u64 addresses[MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

/* Whether the stack of a program's caller has the handler of an interrupt. */
static __noinline bool has_interrupt_on_stack(void *context)
{
	const __u32 zero = 0;
	struct kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &zero);
	long size = stack ? bpf_get_stack(context, stack->addresses, sizeof(*stack), 0) : 0;

	for (unsigned i = 0; stack && i < MAX_FRAMES && (long)(i * sizeof(__u64)) < size; i++) {
		__u64 address = stack->addresses[i];

		for (unsigned section = 0; section < GT_INTERRUPT_SECTIONS; section++)
			if (address >= interrupt_text[section][0] &&
			    address < interrupt_text[section][1])
				return true;
	}
	return false;
}

/* A traced thread that is not running. */
struct sched_wait {
	__u64 left;  /* when it left its CPU; 0: it runs */
	__u64 woken; /* when it became runnable; 0: not yet */
	__u32 state;
	__u32 waker_process, waker_thread;
	__u32 interrupted; /* an interrupt woke it */
	__u32 reserved;
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

	if (state & TASK_DEAD || !traced_thread())
		return;
	wait = create_storage(&waits, task);
	if (!wait) {
		COUNT_EVENTS(lost);
		return;
	}
	wait->left = bpf_ktime_get_ns();
	wait->woken = state ? 0 : wait->left;
	wait->state = state;
	wait->waker_process = wait->waker_thread = wait->interrupted = 0;
}

static __noinline int put_wait(struct task_struct *task, struct sched_wait *wait, __u32 cpu)
{
	__u64 room[(sizeof(struct gt_event_off_cpu) + GT_NAME_SIZE) / sizeof(__u64)] = {};
	struct gt_event_off_cpu *event = (void *)room;
	struct layer_thread *thread = bpf_task_storage_get(&layer_threads, task, NULL, 0);

	if (!wait)
		return 0;
	if (!thread) {
		COUNT_EVENTS(lost);
		return 0;
	}
	fill_head(&event->head, thread, GT_EVENT_off_cpu, sizeof(room));
	event->duration = event->head.time - wait->left;
	event->runnable = wait->woken ? event->head.time - wait->woken : 0;
	event->waker_process = wait->waker_process;
	event->waker_thread = wait->waker_thread;
	event->state = wait->state;
	event->cpu = cpu;
	if (wait->interrupted)
		__builtin_memcpy(event->waker, INTERRUPT_NAME, sizeof(INTERRUPT_NAME));
	else if (wait->waker_thread)
		__builtin_memcpy(event->waker, wait->waker, GT_NAME_SIZE);
	put_event(room, sizeof(room));
	return 0;
}

static __always_inline void end_wait(struct task_struct *task, __u32 cpu)
{
	struct sched_wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);

	if (!wait || !wait->left)
		return;
	put_wait(task, wait, cpu);
	wait->left = 0;
}

/* bool preempt, struct task_struct *prev, *next, unsigned int prev_state (since Linux 5.18) */
SEC("tp_btf/sched_switch")
int sched_switch(__u64 *arguments)
{
	begin_wait((void *)arguments[1], arguments[0] ? 0 : (__u32)arguments[3]);
	end_wait((void *)arguments[2], bpf_get_smp_processor_id());
	return 0;
}

/* What is kept of a thread that waits, and that nothing has woken yet; or NULL. */
static __always_inline struct sched_wait *find_unwoken(struct task_struct *task)
{
	struct sched_wait *wait = bpf_task_storage_get(&waits, task, NULL, 0);

	return wait && wait->left && !wait->woken ? wait : NULL;
}

static __always_inline void note_waker(struct sched_wait *wait, bool interrupted)
{
	struct task_struct *current = bpf_get_current_task_btf();

	wait->woken = bpf_ktime_get_ns();
	/* In an interrupt, the current thread is any; the idle one wakes nobody. */
	if (interrupted || !BPF_CORE_READ(current, pid)) {
		wait->interrupted = 1;
		return;
	}
	wait->waker_process = id_in_our_namespace(BPF_CORE_READ(current, group_leader));
	wait->waker_thread = id_in_our_namespace(current);
	/* An earlier waker's name may be longer. */
	__builtin_memset(wait->waker, 0, GT_NAME_SIZE);
	bpf_probe_read_kernel_str(wait->waker, GT_NAME_SIZE, &current->comm);
}

/* struct task_struct *p; the current task is the waker. */
SEC("tp_btf/sched_waking")
int sched_waking(__u64 *arguments)
{
	struct sched_wait *wait = find_unwoken((void *)arguments[0]);

	if (wait)
		note_waker(wait, in_interrupt(bpf_get_current_task_btf()));
	return 0;
}

/* Where the address of preempt_count is not known (CONFIG_KALLSYMS_ALL). */
SEC("tp_btf/sched_waking")
int sched_waking_any(__u64 *arguments)
{
	struct sched_wait *wait = find_unwoken((void *)arguments[0]);

	/* Only then the cost of a stack. */
	if (wait)
		note_waker(wait, has_interrupt_on_stack(arguments));
	return 0;
}

/* At the end of the session, with the other programs detached: threads that do not run. */
SEC("iter/task")
int put_waiting(struct bpf_iter__task *context)
{
	/* The verifier of Linux 6.1 wants a NULL test for each read: read it once. */
	struct task_struct *task = *(struct task_struct *volatile *)&context->task;

	if (task)
		end_wait(task, GT_NO_CPU);
	return 0;
}
