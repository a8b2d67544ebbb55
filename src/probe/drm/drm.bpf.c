/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs of the DRM scheduler. A job is its `finished` fence: context and seqno are the same key in
 * all kernels, and in the events of Linux 6.17 and later. It belongs to the process that queued it:
 * the scheduler runs and completes it in kernel threads and interrupts.
 */
#include "probe/layer.bpf.h"

#include "probe/api/registers.bpf.h"
#include "probe/drm/drm.h"
#include "probe/drm/types.h"
#include "probe/fence/key.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define FENCE_SIGNALED 1 /* bit 0 of the flags: DMA_FENCE_FLAG_SIGNALED_BIT */

/* A job that is not done. */
struct drm_job_state {
	__u64 queued;        /* when */
	__u64 run;           /* when; 0: not yet */
	__u64 blocked;       /* ns, by dependencies that it no longer waits for */
	__u64 blocked_since; /* when; 0: it is not blocked */
	struct fence_key blocker;
	__u32 process, thread;
	__u32 traced;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_MAX_DRM_JOBS);
	__type(key, struct fence_key);
	__type(value, struct drm_job_state);
} jobs SEC(".maps");

/* Fences that block jobs, and when each was signaled; 0: it is not. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_DRM_BLOCKERS);
	__type(key, struct fence_key);
	__type(value, __u64);
} blockers SEC(".maps");

/* The names of a scheduler's ring, and what they were read from: strings cost most of an event. */
struct drm_ring_names {
	const char *name;
	struct device *device;
	char names[2 * GT_DRM_NAME_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_DRM_RINGS);
	__type(key, __u64);
	__type(value, struct drm_ring_names);
} rings SEC(".maps");

/* An event of a kind with room for the names in its tail. */
#define ROOM(kind) ((sizeof(struct gt_event_##kind) + 2 * GT_DRM_NAME_SIZE) / sizeof(__u64))

/* ---- events ------------------------------------------------------------------------------- */

static __always_inline void put_ring(void *names, struct drm_gpu_scheduler *scheduler)
{
	const char *name = BPF_CORE_READ(scheduler, name);
	struct device *device = BPF_CORE_READ(scheduler, dev);
	__u64 key = (__u64)scheduler;
	const struct drm_ring_names *known = bpf_map_lookup_elem(&rings, &key);
	struct drm_ring_names ring = {};

	if (known && known->name == name && known->device == device) {
		__builtin_memcpy(names, known->names, sizeof(known->names));
		return;
	}
	ring.name = name;
	ring.device = device;
	if (name)
		bpf_probe_read_kernel_str(ring.names, GT_DRM_NAME_SIZE, name);
	put_device_name(ring.names + GT_DRM_NAME_SIZE, device);
	bpf_map_update_elem(&rings, &key, &ring, BPF_ANY);
	__builtin_memcpy(names, ring.names, sizeof(ring.names));
}

/*
 * Whether an event of a job is to be emitted; *ret_thread is whose it is, without one if that is
 * unknown.
 */
static __always_inline bool is_shown(const struct drm_job_state *job,
				     struct layer_thread *ret_thread)
{
	if (!job) {
		if (filters_processes())
			COUNT_EVENTS(unattributed);
		return !filters_processes();
	}
	ret_thread->process = job->process;
	ret_thread->thread = job->thread;
	return job->traced;
}

static __always_inline __u32 count_on_hardware(struct drm_gpu_scheduler *scheduler)
{
	if (bpf_core_field_exists(scheduler->credit_count))
		return BPF_CORE_READ(scheduler, credit_count.counter);
	if (bpf_core_field_exists(scheduler->hw_rq_count))
		return BPF_CORE_READ(scheduler, hw_rq_count.counter);
	return 0;
}

/* The error of a job: at `done` its own fence may not have it yet. */
static __always_inline int error_of(struct drm_sched_fence *fence)
{
	int error = BPF_CORE_READ(fence, finished.error);

	return error ? error : BPF_CORE_READ(fence, parent, error);
}

static __noinline int put_job(struct drm_sched_fence *fence, const struct fence_key *key,
			      const struct drm_job_state *job, __u32 operation,
			      struct drm_sched_entity *entity)
{
	__u64 room[ROOM(drm_job)] = {};
	struct gt_event_drm_job *event = (void *)room;
	struct drm_gpu_scheduler *scheduler = BPF_CORE_READ(fence, sched);
	struct layer_thread thread = {};

	if (!key || !is_shown(job, &thread))
		return 0;
	fill_head(&event->head, &thread, GT_EVENT_drm_job, sizeof(room));
	event->context = key->context;
	event->seqno = key->seqno;
	event->operation = operation;
	if (job) {
		event->blocked = job->blocked;
		if (job->run)
			event->queued = job->run - job->queued;
		if (job->run && operation != GT_DRM_RUN)
			event->ran = event->head.time - job->run;
	}
	if (bpf_core_field_exists(fence->drm_client_id))
		event->client = BPF_CORE_READ(fence, drm_client_id);
	if (entity)
		event->depth = BPF_CORE_READ(entity, job_queue.job_count.counter);
	event->hardware = count_on_hardware(scheduler);
	if (operation == GT_DRM_DONE)
		event->error = error_of(fence);
	put_ring(event->names, scheduler);
	put_event(room, sizeof(room));
	return 0;
}

static __noinline int put_dependency(struct drm_sched_job *job, const struct drm_job_state *state,
				     const struct fence_key *on, __u32 operation, __u64 blocked)
{
	__u64 room[ROOM(drm_dependency)] = {};
	struct gt_event_drm_dependency *event = (void *)room;
	struct layer_thread thread = {};

	if (!on || !is_shown(state, &thread))
		return 0;
	fill_head(&event->head, &thread, GT_EVENT_drm_dependency, sizeof(room));
	event->context = BPF_CORE_READ(job, s_fence, finished.context);
	event->seqno = BPF_CORE_READ(job, s_fence, finished.seqno);
	event->on_context = on->context;
	event->on_seqno = on->seqno;
	event->operation = operation;
	event->blocked = blocked;
	put_ring(event->names, BPF_CORE_READ(job, sched));
	put_event(room, sizeof(room));
	return 0;
}

static __always_inline struct fence_key key_of_job(struct drm_sched_fence *fence)
{
	return (struct fence_key){BPF_CORE_READ(fence, finished.context),
				  BPF_CORE_READ(fence, finished.seqno)};
}

/* ---- dependencies ------------------------------------------------------------------------- */

/* The job no longer waits for the fence that blocked it: it runs now, or another one does. */
static __always_inline void unblock(struct drm_sched_job *job, struct drm_job_state *state,
				    __u64 now)
{
	struct fence_key blocker = state->blocker;
	__u64 *signaled, end = now, blocked;

	if (!state->blocked_since)
		return;
	signaled = bpf_map_lookup_elem(&blockers, &blocker);
	if (!signaled)
		COUNT_EVENTS(evicted);
	else if (*signaled)
		end = *signaled;
	blocked = end > state->blocked_since ? end - state->blocked_since : 0;
	state->blocked += blocked;
	state->blocked_since = 0;
	put_dependency(job, state, &blocker, GT_DRM_UNBLOCKED, blocked);
}

static __always_inline void block(struct drm_sched_job *job, struct drm_job_state *state,
				  const struct fence_key *on)
{
	__u64 now = bpf_ktime_get_ns(), zero = 0;

	if (state) {
		unblock(job, state, now);
		state->blocker = *on;
		state->blocked_since = now;
		bpf_map_update_elem(&blockers, on, &zero, BPF_NOEXIST);
	}
	put_dependency(job, state, on, GT_DRM_BLOCKED, 0);
}

/* struct drm_sched_job *job, struct dma_fence *fence */
UNPREEMPTED_TRACEPOINT(drm_sched_job_add_dep, job_add_dep)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct fence_key key = key_of_job(BPF_CORE_READ(job, s_fence));
	struct fence_key on = key_of((void *)ctx->args[1]);

	put_dependency(job, bpf_map_lookup_elem(&jobs, &key), &on, GT_DRM_DEPENDS, 0);
	return 0;
}

UNPREEMPTED_TRACEPOINT(drm_sched_job_unschedulable, job_unschedulable)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct fence_key key = key_of_job(BPF_CORE_READ(job, s_fence));
	struct fence_key on = key_of((void *)ctx->args[1]);

	block(job, bpf_map_lookup_elem(&jobs, &key), &on);
	return 0;
}

/*
 * Until Linux 6.16: each dependency when the scheduler comes to it, whether it blocks the job or
 * not. Fences of the same entity never do: its jobs run in order.
 */
UNPREEMPTED_TRACEPOINT(drm_sched_job_wait_dep, job_wait_dep)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct dma_fence *fence = (void *)ctx->args[1];
	struct fence_key key = key_of_job(BPF_CORE_READ(job, s_fence));
	struct fence_key on = key_of(fence);
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &key);
	/* The fences `scheduled` and `finished` of an entity have adjacent contexts. */
	bool same_entity = on.context == key.context || on.context + 1 == key.context;

	if (same_entity || BPF_CORE_READ(fence, flags) & FENCE_SIGNALED)
		put_dependency(job, state, &on, GT_DRM_DEPENDS, 0);
	else
		block(job, state, &on);
	return 0;
}

/* ---- jobs --------------------------------------------------------------------------------- */

static __always_inline int queue(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	struct drm_sched_fence *fence = BPF_CORE_READ(job, s_fence);
	struct layer_thread *thread = traced_thread();
	struct fence_key key = key_of_job(fence);
	struct drm_job_state state = {};

	state.queued = bpf_ktime_get_ns();
	if (thread) {
		state.process = thread->process;
		state.thread = thread->thread;
		state.traced = 1;
	}
	if (bpf_map_update_elem(&jobs, &key, &state, BPF_ANY))
		COUNT_EVENTS(evicted);
	return put_job(fence, &key, &state, GT_DRM_QUEUE, entity);
}

static __always_inline int run(struct drm_sched_job *job, struct drm_sched_entity *entity)
{
	struct drm_sched_fence *fence = BPF_CORE_READ(job, s_fence);
	struct fence_key key = key_of_job(fence);
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &key);

	if (state) {
		state->run = bpf_ktime_get_ns();
		unblock(job, state, state->run);
	}
	return put_job(fence, &key, state, GT_DRM_RUN, entity);
}

static __always_inline int done(struct drm_sched_fence *fence)
{
	struct fence_key key = key_of_job(fence);

	put_job(fence, &key, bpf_map_lookup_elem(&jobs, &key), GT_DRM_DONE, NULL);
	bpf_map_delete_elem(&jobs, &key);
	return 0;
}

/* struct drm_sched_job *job, struct drm_sched_entity *entity */
UNPREEMPTED_TRACEPOINT(drm_sched_job_queue, job_queue)
{
	return queue((void *)ctx->args[0], (void *)ctx->args[1]);
}

UNPREEMPTED_TRACEPOINT(drm_sched_job, job_queue_6_16)
{
	return queue((void *)ctx->args[0], (void *)ctx->args[1]);
}

/* The same arguments */
UNPREEMPTED_TRACEPOINT(drm_sched_job_run, job_run)
{
	return run((void *)ctx->args[0], (void *)ctx->args[1]);
}

UNPREEMPTED_TRACEPOINT(drm_run_job, job_run_6_16)
{
	return run((void *)ctx->args[0], (void *)ctx->args[1]);
}

/* struct drm_sched_fence *fence */
UNPREEMPTED_TRACEPOINT(drm_sched_job_done, job_done)
{
	return done((void *)ctx->args[0]);
}

UNPREEMPTED_TRACEPOINT(drm_sched_process_job, job_done_6_16)
{
	return done((void *)ctx->args[0]);
}

/* struct work_struct *work: work_tdr of the scheduler, whose oldest job is late. */
SEC("kprobe/drm_sched_job_timedout")
int job_timeout(struct pt_regs *ctx)
{
	struct drm_gpu_scheduler *scheduler = NULL;
	struct drm_sched_job *job = NULL;
	__u64 arguments[ARGUMENT_REGISTERS];
	struct list_head *first, *list;
	struct drm_sched_fence *fence;
	struct fence_key key;

	copy_registers(arguments, ctx);
	scheduler = (void *)arguments[0] - bpf_core_field_offset(scheduler->work_tdr);
	list = (void *)scheduler + bpf_core_field_offset(scheduler->pending_list);
	first = BPF_CORE_READ(scheduler, pending_list.next);
	if (!first || first == list)
		return 0;
	job = (void *)first - bpf_core_field_offset(job->list);
	fence = BPF_CORE_READ(job, s_fence);
	key = key_of_job(fence);
	return put_job(fence, &key, bpf_map_lookup_elem(&jobs, &key), GT_DRM_TIMEOUT, NULL);
}

/*
 * The end of a fence that blocks jobs; or of a job that is not done. The fence of a job is signaled
 * after its `done`, so such a job is known no more, with two exceptions. Its entity was killed, so
 * it never ran; or its `done` came in an interrupt while this CPU ran the program of another one.
 */
UNPREEMPTED_TRACEPOINT(dma_fence_signaled, job_fence_signaled)
{
	struct dma_fence *fence = (void *)ctx->args[0];
	struct fence_key key = key_of(fence);
	__u64 *signaled = bpf_map_lookup_elem(&blockers, &key);
	struct drm_job_state *job = bpf_map_lookup_elem(&jobs, &key);
	struct drm_sched_fence *of = NULL;

	if (signaled)
		*signaled = bpf_ktime_get_ns();
	if (!job)
		return 0;
	of = (void *)fence - bpf_core_field_offset(of->finished);
	if (job->run)
		COUNT_EVENTS(recovered);
	put_job(of, &key, job, job->run ? GT_DRM_DONE : GT_DRM_CANCELED, NULL);
	bpf_map_delete_elem(&jobs, &key);
	return 0;
}
