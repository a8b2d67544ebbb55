/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DMA fences: from initialization to destruction, and the waits for them. A fence belongs to the
 * process that initialized it, whoever signals it.
 */
#define UNPREEMPTED_PROGRAMS

#include "probe/layer.bpf.h"

#include "probe/fence/fence.h"
#include "probe/fence/key.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct fence_names {
	char driver[GT_FENCE_NAME_SIZE];
	char timeline[GT_FENCE_NAME_SIZE];
};

/* A fence that exists. */
struct fence_owner {
	__u64 begun;             /* when it was emitted, else initialized */
	struct dma_fence *fence; /* NULL: not known, as records do not have it */
	__u32 process, thread;
	__u8 traced;
};

/* Deleted with the fence. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_MAX_FENCES);
	__type(key, struct fence_key);
	__type(value, struct fence_owner);
} owners SEC(".maps");

/*
 * By the low 32 bits of a context, all that the trace events have. A signaled fence has lost its
 * names since Linux 6.17, so they are taken from the events before.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_TIMELINES);
	__type(key, __u32);
	__type(value, struct fence_names);
} timelines SEC(".maps");

#define MAX_NESTED 4 /* waits of one thread inside each other */

/* The waits of a thread; they end with it. */
struct fence_waits {
	struct fence_wait_start {
		struct fence_key key;
		__u64 start; /* 0: unused */
	} waits[MAX_NESTED];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fence_waits);
} waits SEC(".maps");

/* An event of a kind with room for the names in its tail. */
#define ROOM(kind) ((sizeof(struct gt_event_##kind) + sizeof(struct fence_names)) / sizeof(__u64))

/* ---- names -------------------------------------------------------------------------------- */

static __always_inline void copy_name(char *to, const void *record, __u32 location)
{
	bpf_probe_read_kernel_str(to, GT_FENCE_NAME_SIZE, record + (location & 0xffff));
}

/* Of a fence that is not signaled. */
static __always_inline int learn_names(struct trace_event_raw_dma_fence *record)
{
	struct fence_names names = {};
	__u32 context = BPF_CORE_READ(record, context);

	if (bpf_map_lookup_elem(&timelines, &context))
		return 0;
	copy_name(names.driver, record, BPF_CORE_READ(record, __data_loc_driver));
	copy_name(names.timeline, record, BPF_CORE_READ(record, __data_loc_timeline));
	add_lru_entry(&timelines, &context, &names);
	return 0;
}

/* Attached before the raw tracepoints, so called before them. */
SEC("tp/dma_fence/dma_fence_init")
int name_init(struct trace_event_raw_dma_fence *record)
{
	return learn_names(record);
}

SEC("tp/dma_fence/dma_fence_emit")
int name_emit(struct trace_event_raw_dma_fence *record)
{
	return learn_names(record);
}

SEC("tp/dma_fence/dma_fence_enable_signal")
int name_enable_signal(struct trace_event_raw_dma_fence *record)
{
	return learn_names(record);
}

static __always_inline void put_names(void *to, __u64 context)
{
	__u32 key = context;
	const struct fence_names *known = bpf_map_lookup_elem(&timelines, &key);

	if (known)
		__builtin_memcpy(to, known, sizeof(*known));
}

/* ---- interrupts --------------------------------------------------------------------------- */

/* The interrupt that a CPU handles. Handlers run with interrupts disabled: they do not nest. */
struct handled_interrupt {
	__u64 start; /* of the handler; 0: it handles none */
	struct irqaction *action;
	__u32 irq;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct handled_interrupt);
} handled_interrupts SEC(".maps");

/* int irq, struct irqaction *action */
UNPREEMPTED_TRACEPOINT(irq_handler_entry, interrupt_begin)
{
	__u32 zero = 0;
	struct handled_interrupt *now = bpf_map_lookup_elem(&handled_interrupts, &zero);

	if (!now)
		return 0;
	now->irq = ctx->args[0];
	now->action = (void *)ctx->args[1];
	now->start = bpf_ktime_get_ns();
	return 0;
}

UNPREEMPTED_TRACEPOINT(irq_handler_exit, interrupt_end)
{
	__u32 zero = 0;
	struct handled_interrupt *now = bpf_map_lookup_elem(&handled_interrupts, &zero);

	if (now)
		now->start = 0;
	return 0;
}

/* Emit the interrupt in which a fence is signaled, if it is one. */
static __always_inline void put_interrupt(const struct fence_key *key,
					  const struct layer_thread *owner)
{
	__u64 room[(sizeof(struct gt_event_fence_interrupt) + GT_INTERRUPT_NAME_SIZE) /
		   sizeof(__u64)] = {};
	struct gt_event_fence_interrupt *event = (void *)room;
	__u32 zero = 0;
	const struct handled_interrupt *now = bpf_map_lookup_elem(&handled_interrupts, &zero);

	struct irqaction *action;

	if (!now || !now->start)
		return;
	action = now->action;
	fill_head(&event->head, owner, GT_EVENT_fence_interrupt, sizeof(room));
	event->context = key->context;
	event->seqno = key->seqno;
	event->delay = event->head.time - now->start;
	event->head.time = now->start;
	event->irq = now->irq;
	event->cpu = bpf_get_smp_processor_id();
	bpf_probe_read_kernel_str(event->handler, GT_INTERRUPT_NAME_SIZE,
				  BPF_CORE_READ(action, name));
	put_event(room, sizeof(room));
}

/* ---- fences ------------------------------------------------------------------------------- */

/* Emit an event of a process; NULL: unknown, as for the fence. */
static __always_inline void put_fence(struct dma_fence *fence, const struct fence_key *key,
				      const struct layer_thread *owner, __u16 operation,
				      __u64 begun)
{
	__u64 room[ROOM(fence)] = {};
	struct gt_event_fence *event = (void *)room;

	fill_head(&event->head, owner, GT_EVENT_fence, sizeof(room));
	event->context = key->context;
	event->seqno = key->seqno;
	event->operation = operation;
	if (begun)
		event->age = event->head.time - begun;
	if (fence && (operation == GT_FENCE_SIGNALED || operation == GT_FENCE_DESTROY))
		event->error = BPF_CORE_READ(fence, error);
	put_names(event->names, key->context);
	put_event(room, sizeof(room));
}

/* Emit an event of the process that the fence belongs to. */
static __always_inline void put_owned(struct dma_fence *fence, const struct fence_key *key,
				      const struct fence_owner *owner, __u16 operation)
{
	struct layer_thread thread = {};

	if (!owner && filters_processes()) {
		COUNT_EVENTS(unattributed);
		return;
	}
	if (owner && !owner->traced)
		return;
	if (owner) {
		thread.process = owner->process;
		thread.thread = owner->thread;
	}
	if (operation == GT_FENCE_SIGNALED)
		put_interrupt(key, &thread);
	put_fence(fence, key, &thread, operation, owner ? owner->begun : 0);
}

/* ---- the steps of a fence; `fence` is NULL if only its key is known ---- */

static __always_inline void init_fence(struct dma_fence *fence, const struct fence_key *key)
{
	struct layer_thread *thread = traced_thread();
	struct fence_owner owner = {};

	owner.begun = bpf_ktime_get_ns();
	owner.fence = fence;
	if (thread) {
		owner.process = thread->process;
		owner.thread = thread->thread;
		owner.traced = 1;
	}
	put_map_entry(&owners, key, &owner);
	if (thread)
		put_fence(fence, key, thread, GT_FENCE_INIT, 0);
}

static __always_inline void put_step(struct dma_fence *fence, const struct fence_key *key,
				     __u16 operation)
{
	struct fence_owner *owner = bpf_map_lookup_elem(&owners, key);

	put_owned(fence || !owner ? fence : owner->fence, key, owner, operation);
	if (operation == GT_FENCE_EMIT && owner)
		owner->begun = bpf_ktime_get_ns();
	if (operation == GT_FENCE_DESTROY)
		bpf_map_delete_elem(&owners, key);
}

/* ---- waits -------------------------------------------------------------------------------- */

/* The entry of a wait; without a key, an unused one. NULL: none. */
static __always_inline struct fence_wait_start *find_wait(struct fence_waits *of,
							  const struct fence_key *key)
{
	for (int i = 0; i < MAX_NESTED; i++) {
		struct fence_wait_start *wait = &of->waits[i];

		if (key ? wait->start && wait->key.context == key->context &&
				    wait->key.seqno == key->seqno
			: !wait->start)
			return wait;
	}
	return NULL;
}

static __always_inline void begin_wait(struct dma_fence *fence, const struct fence_key *key)
{
	struct layer_thread *thread = traced_thread();
	struct fence_wait_start *wait;
	struct fence_waits *all;

	if (!thread)
		return;
	put_fence(fence, key, thread, GT_FENCE_WAIT_START, 0);
	all = create_storage(&waits, bpf_get_current_task_btf());
	wait = all ? find_wait(all, NULL) : NULL;
	if (!wait) {
		COUNT_EVENTS(evicted);
		return;
	}
	wait->key = *key;
	wait->start = bpf_ktime_get_ns();
}

static __always_inline void end_wait(const struct fence_key *key)
{
	struct layer_thread *thread = traced_thread();
	__u64 room[ROOM(fence_wait)] = {};
	struct gt_event_fence_wait *event = (void *)room;
	struct fence_wait_start *wait;
	struct fence_waits *all;

	if (!thread)
		return;
	fill_head(&event->head, thread, GT_EVENT_fence_wait, sizeof(room));
	all = bpf_task_storage_get(&waits, bpf_get_current_task_btf(), NULL, 0);
	wait = all ? find_wait(all, key) : NULL;
	if (wait) {
		event->duration = event->head.time - wait->start;
		wait->start = 0;
	}
	event->context = key->context;
	event->seqno = key->seqno;
	put_names(event->names, key->context);
	put_event(room, sizeof(room));
}

/* ---- tracepoints -------------------------------------------------------------------------- */

/* In the order of a fence's life; beside those of enum gt_fence_operation, only a name of hits. */
#define WAIT_END 0xffff

static __always_inline int handle(struct dma_fence *fence, const struct fence_key *key,
				  __u16 operation)
{
	if (operation == GT_FENCE_INIT)
		init_fence(fence, key);
	else if (operation == GT_FENCE_WAIT_START)
		begin_wait(fence, key);
	else if (operation == WAIT_END)
		end_wait(key);
	else
		put_step(fence, key, operation);
	return 0;
}

/*
 * Whether a raw tracepoint leaves a hit to the trace event, which is called after it and has the
 * names: where both are attached, names are not learnt before.
 */
static __always_inline bool is_left(const struct fence_key *key, __u16 operation)
{
	__u32 context = key->context;

	if (!has_preemptible_tracepoints ||
	    (operation != GT_FENCE_INIT && operation != GT_FENCE_EMIT &&
	     operation != GT_FENCE_ENABLE_SIGNAL) ||
	    bpf_map_lookup_elem(&timelines, &context))
		return false;
	ADD_EVENTS(recovered, -1ull);
	return true;
}

static __always_inline int handle_raw(struct bpf_raw_tracepoint_args *ctx, __u16 operation)
{
	struct dma_fence *fence = (void *)ctx->args[0];
	struct fence_key key = key_of(fence);

	if (is_left(&key, operation) || !is_first_at(name_fence_hit(operation, &key), false))
		return 0;
	return handle(fence, &key, operation);
}

static __always_inline int handle_record(struct trace_event_raw_dma_fence *record, __u16 operation)
{
	struct fence_key key = {BPF_CORE_READ(record, context), BPF_CORE_READ(record, seqno)};

	if (operation == GT_FENCE_INIT || operation == GT_FENCE_EMIT ||
	    operation == GT_FENCE_ENABLE_SIGNAL)
		learn_names(record);
	if (!is_first_at(name_fence_hit(operation, &key), true))
		return 0;
	return handle(NULL, &key, operation);
}

/* The programs of a tracepoint; see is_first_at(). */
#define FENCE_TRACEPOINT(name, operation)                                                          \
	UNPREEMPTED_TRACEPOINT(dma_fence_##name, fence_##name)                                     \
	{                                                                                          \
		return handle_raw(ctx, operation);                                                 \
	}                                                                                          \
	SEC("tp/dma_fence/dma_fence_" #name)                                                       \
	int fence_##name##_record(struct trace_event_raw_dma_fence *record)                        \
	{                                                                                          \
		return handle_record(record, operation);                                           \
	}

FENCE_TRACEPOINT(init, GT_FENCE_INIT)
FENCE_TRACEPOINT(emit, GT_FENCE_EMIT)
FENCE_TRACEPOINT(enable_signal, GT_FENCE_ENABLE_SIGNAL)
FENCE_TRACEPOINT(signaled, GT_FENCE_SIGNALED)
FENCE_TRACEPOINT(destroy, GT_FENCE_DESTROY)
FENCE_TRACEPOINT(wait_start, GT_FENCE_WAIT_START)
FENCE_TRACEPOINT(wait_end, WAIT_END)
