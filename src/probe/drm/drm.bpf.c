/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs of the DRM scheduler. A job is its `finished` fence: context and seqno are the same key in
 * all kernels, and in the events of Linux 6.17 and later. It belongs to the process that queued it:
 * the scheduler runs and completes it in kernel threads and interrupts.
 */
#define UNPREEMPTED_PROGRAMS

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
	struct drm_sched_fence *fence; /* of it; NULL: not known, as records do not have it */
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

/*
 * The names of a scheduler's ring, and what they were read from: strings cost most of an event. The
 * key is the scheduler, or the context of jobs of which there are records only.
 */
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
	cache_entry(&rings, &key, &ring);
	__builtin_memcpy(names, ring.names, sizeof(ring.names));
}

static __always_inline void copy_name(char *to, const void *record, __u32 location)
{
	bpf_probe_read_kernel_str(to, GT_DRM_NAME_SIZE, record + (location & 0xffff));
}

/* Remember the names in a record for the jobs of its context. */
static __always_inline void learn_ring(struct trace_event_raw_drm_sched_job *record,
				       const struct fence_key *job)
{
	struct drm_ring_names ring = {};

	copy_name(ring.names, record, BPF_CORE_READ(record, __data_loc_name));
	copy_name(ring.names + GT_DRM_NAME_SIZE, record, BPF_CORE_READ(record, __data_loc_dev));
	cache_entry(&rings, &job->context, &ring);
}

/* The names of the ring of a job: by its fence, else those that records had. */
static __always_inline void put_ring_of(void *names, struct drm_sched_fence *fence,
					const struct fence_key *job)
{
	const struct drm_ring_names *known;

	if (fence) {
		put_ring(names, BPF_CORE_READ(fence, sched));
		return;
	}
	known = bpf_map_lookup_elem(&rings, &job->context);
	if (known)
		__builtin_memcpy(names, known->names, sizeof(known->names));
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

/* What an event of a job shows, beside what is remembered of it. */
struct drm_step {
	struct fence_key key;
	__u32 operation;
	struct drm_sched_fence *fence;   /* NULL: the numbers below are those of the record */
	struct drm_sched_entity *entity; /* NULL: not known */
	__u32 depth, hardware;
	__u64 client;
};

static __always_inline void put_step(struct gt_event_drm_job *event, const struct drm_step *step)
{
	struct drm_sched_fence *fence = step->fence;
	struct drm_sched_entity *entity = step->entity;

	if (!fence) {
		event->depth = step->depth;
		event->hardware = step->hardware;
		event->client = step->client;
		return;
	}
	if (bpf_core_field_exists(fence->drm_client_id))
		event->client = BPF_CORE_READ(fence, drm_client_id);
	if (entity)
		event->depth = BPF_CORE_READ(entity, job_queue.job_count.counter);
	event->hardware = count_on_hardware(BPF_CORE_READ(fence, sched));
	if (step->operation == GT_DRM_DONE)
		event->error = error_of(fence);
}

static __noinline int put_job(const struct drm_step *step, const struct drm_job_state *job)
{
	__u64 room[ROOM(drm_job)] = {};
	struct gt_event_drm_job *event = (void *)room;
	struct layer_thread thread = {};

	if (!step || !is_shown(job, &thread))
		return 0;
	fill_head(&event->head, &thread, GT_EVENT_drm_job, sizeof(room));
	event->context = step->key.context;
	event->seqno = step->key.seqno;
	event->operation = step->operation;
	if (job) {
		event->blocked = job->blocked;
		if (job->run)
			event->queued = job->run - job->queued;
		if (job->run && step->operation != GT_DRM_RUN)
			event->ran = event->head.time - job->run;
	}
	put_step(event, step);
	put_ring_of(event->names, step->fence, &step->key);
	put_event(room, sizeof(room));
	return 0;
}

/* That a job depends on a fence. */
struct drm_wait {
	struct fence_key job, on;
	__u32 operation;
	__u64 blocked;                 /* ns */
	struct drm_sched_fence *fence; /* of the job; NULL: not known */
};

static __noinline int put_dependency(const struct drm_wait *wait, const struct drm_job_state *state)
{
	__u64 room[ROOM(drm_dependency)] = {};
	struct gt_event_drm_dependency *event = (void *)room;
	struct layer_thread thread = {};

	if (!wait || !is_shown(state, &thread))
		return 0;
	fill_head(&event->head, &thread, GT_EVENT_drm_dependency, sizeof(room));
	event->context = wait->job.context;
	event->seqno = wait->job.seqno;
	event->on_context = wait->on.context;
	event->on_seqno = wait->on.seqno;
	event->operation = wait->operation;
	event->blocked = wait->blocked;
	put_ring_of(event->names, wait->fence, &wait->job);
	put_event(room, sizeof(room));
	return 0;
}

static __always_inline struct fence_key key_of_job(struct drm_sched_fence *fence)
{
	return (struct fence_key){BPF_CORE_READ(fence, finished.context),
				  BPF_CORE_READ(fence, finished.seqno)};
}

/* Whether a program is to handle a hit of a tracepoint with these arguments; see is_first_at(). */
static __always_inline bool is_first_of_job(__u32 operation, const struct fence_key *key,
					    bool has_record)
{
	return is_first_at(name_hit(operation, key->context, key->seqno), has_record);
}

static __always_inline bool is_first_of_wait(const struct drm_wait *wait, bool has_record)
{
	return is_first_at(name_hit(wait->operation, wait->job.context ^ wait->on.context << 32,
				    wait->job.seqno ^ wait->on.seqno << 32),
			   has_record);
}

/* ---- dependencies ------------------------------------------------------------------------- */

/* The job no longer waits for the fence that blocked it: it runs now, or another one does. */
static __always_inline void unblock(struct drm_wait *wait, struct drm_job_state *state, __u64 now)
{
	__u64 *signaled, end = now;

	if (!state->blocked_since)
		return;
	wait->on = state->blocker;
	wait->operation = GT_DRM_UNBLOCKED;
	signaled = bpf_map_lookup_elem(&blockers, &wait->on);
	if (!signaled)
		COUNT_EVENTS(evicted);
	else if (*signaled)
		end = *signaled;
	wait->blocked = end > state->blocked_since ? end - state->blocked_since : 0;
	state->blocked += wait->blocked;
	state->blocked_since = 0;
	put_dependency(wait, state);
}

static __always_inline void block(struct drm_wait *wait, struct drm_job_state *state)
{
	struct drm_wait before = *wait;
	__u64 now = bpf_ktime_get_ns(), zero = 0;

	if (state) {
		unblock(&before, state, now);
		state->blocker = wait->on;
		state->blocked_since = now;
		add_map_entry(&blockers, &state->blocker, &zero);
	}
	put_dependency(wait, state);
}

/* struct drm_sched_job *job, struct dma_fence *fence */
static __always_inline struct drm_wait wait_of(const struct bpf_raw_tracepoint_args *ctx,
					       __u32 operation)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_sched_fence *fence = BPF_CORE_READ(job, s_fence);

	return (struct drm_wait){
		.job = key_of_job(fence),
		.on = key_of((void *)ctx->args[1]),
		.operation = operation,
		.fence = fence,
	};
}

/* The fence of a job that is remembered, for a program that has a record only. */
static __always_inline struct drm_sched_fence *fence_of(const struct drm_job_state *state)
{
	return state ? state->fence : NULL;
}

UNPREEMPTED_TRACEPOINT(drm_sched_job_add_dep, job_add_dep)
{
	struct drm_wait wait = wait_of(ctx, GT_DRM_DEPENDS);

	if (is_first_of_wait(&wait, false))
		put_dependency(&wait, bpf_map_lookup_elem(&jobs, &wait.job));
	return 0;
}

SEC("tp/gpu_scheduler/drm_sched_job_add_dep")
int job_add_dep_record(struct trace_event_raw_drm_sched_job_add_dep *record)
{
	struct drm_wait wait = {
		.job = {BPF_CORE_READ(record, fence_context), BPF_CORE_READ(record, fence_seqno)},
		.on = {BPF_CORE_READ(record, ctx), BPF_CORE_READ(record, seqno)},
		.operation = GT_DRM_DEPENDS,
	};
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &wait.job);

	wait.fence = fence_of(state);
	if (is_first_of_wait(&wait, true))
		put_dependency(&wait, state);
	return 0;
}

UNPREEMPTED_TRACEPOINT(drm_sched_job_unschedulable, job_unschedulable)
{
	struct drm_wait wait = wait_of(ctx, GT_DRM_BLOCKED);

	if (is_first_of_wait(&wait, false))
		block(&wait, bpf_map_lookup_elem(&jobs, &wait.job));
	return 0;
}

SEC("tp/gpu_scheduler/drm_sched_job_unschedulable")
int job_unschedulable_record(struct trace_event_raw_drm_sched_job_unschedulable *record)
{
	struct drm_wait wait = {
		.job = {BPF_CORE_READ(record, fence_context), BPF_CORE_READ(record, fence_seqno)},
		.on = {BPF_CORE_READ(record, ctx), BPF_CORE_READ(record, seqno)},
		.operation = GT_DRM_BLOCKED,
	};
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &wait.job);

	wait.fence = fence_of(state);
	if (is_first_of_wait(&wait, true))
		block(&wait, state);
	return 0;
}

/*
 * Until Linux 6.16: each dependency when the scheduler comes to it, whether it blocks the job or
 * not. Fences of the same entity never do: its jobs run in order.
 */
UNPREEMPTED_TRACEPOINT(drm_sched_job_wait_dep, job_wait_dep)
{
	struct drm_wait wait = wait_of(ctx, GT_DRM_BLOCKED);
	struct dma_fence *on = (void *)ctx->args[1];
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &wait.job);
	/* The fences `scheduled` and `finished` of an entity have adjacent contexts. */
	bool same_entity =
		wait.on.context == wait.job.context || wait.on.context + 1 == wait.job.context;

	if (same_entity || BPF_CORE_READ(on, flags) & FENCE_SIGNALED) {
		wait.operation = GT_DRM_DEPENDS;
		put_dependency(&wait, state);
	} else {
		block(&wait, state);
	}
	return 0;
}

/* ---- jobs --------------------------------------------------------------------------------- */

/* A step of a job, by the arguments of a raw tracepoint. */
static __always_inline struct drm_step step_of(struct drm_sched_fence *fence, __u32 operation,
					       struct drm_sched_entity *entity)
{
	return (struct drm_step){
		.key = key_of_job(fence),
		.operation = operation,
		.fence = fence,
		.entity = entity,
	};
}

/* A step of a job, by the record of a trace event. */
static __always_inline struct drm_step step_in(struct trace_event_raw_drm_sched_job *record,
					       __u32 operation)
{
	return (struct drm_step){
		.key = {BPF_CORE_READ(record, fence_context), BPF_CORE_READ(record, fence_seqno)},
		.operation = operation,
		.depth = BPF_CORE_READ(record, job_count),
		.hardware = BPF_CORE_READ(record, hw_job_count),
		.client = BPF_CORE_READ(record, client_id),
	};
}

static __always_inline int queue(const struct drm_step *step)
{
	struct layer_thread *thread = traced_thread();
	struct drm_job_state state = {};

	state.queued = bpf_ktime_get_ns();
	state.fence = step->fence;
	if (thread) {
		state.process = thread->process;
		state.thread = thread->thread;
		state.traced = 1;
	}
	put_map_entry(&jobs, &step->key, &state);
	return put_job(step, &state);
}

/* For those who have records only: a job whose queue event was handled by its record. */
static __always_inline void learn_fence(const struct drm_step *step)
{
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &step->key);

	if (state)
		state->fence = step->fence;
}

static __always_inline int run(const struct drm_step *step)
{
	struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &step->key);
	struct drm_wait wait = {.job = step->key, .fence = step->fence};

	if (state) {
		if (!wait.fence)
			wait.fence = state->fence;
		state->run = bpf_ktime_get_ns();
		unblock(&wait, state, state->run);
	}
	return put_job(step, state);
}

static __always_inline int done(const struct drm_step *step, const struct drm_job_state *state)
{
	put_job(step, state);
	bpf_map_delete_elem(&jobs, &step->key);
	return 0;
}

/* struct drm_sched_job *job, struct drm_sched_entity *entity */
UNPREEMPTED_TRACEPOINT(drm_sched_job_queue, job_queue)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_step step =
		step_of(BPF_CORE_READ(job, s_fence), GT_DRM_QUEUE, (void *)ctx->args[1]);

	if (is_first_of_job(GT_DRM_QUEUE, &step.key, false))
		queue(&step);
	else
		learn_fence(&step);
	return 0;
}

SEC("tp/gpu_scheduler/drm_sched_job_queue")
int job_queue_record(struct trace_event_raw_drm_sched_job *record)
{
	struct drm_step step = step_in(record, GT_DRM_QUEUE);

	if (!is_first_of_job(GT_DRM_QUEUE, &step.key, true))
		return 0;
	learn_ring(record, &step.key);
	return queue(&step);
}

UNPREEMPTED_TRACEPOINT(drm_sched_job, job_queue_6_16)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_step step =
		step_of(BPF_CORE_READ(job, s_fence), GT_DRM_QUEUE, (void *)ctx->args[1]);

	return queue(&step);
}

/* The same arguments */
UNPREEMPTED_TRACEPOINT(drm_sched_job_run, job_run)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_step step =
		step_of(BPF_CORE_READ(job, s_fence), GT_DRM_RUN, (void *)ctx->args[1]);

	if (is_first_of_job(GT_DRM_RUN, &step.key, false))
		run(&step);
	return 0;
}

SEC("tp/gpu_scheduler/drm_sched_job_run")
int job_run_record(struct trace_event_raw_drm_sched_job *record)
{
	struct drm_step step = step_in(record, GT_DRM_RUN);

	if (!is_first_of_job(GT_DRM_RUN, &step.key, true))
		return 0;
	learn_ring(record, &step.key);
	return run(&step);
}

UNPREEMPTED_TRACEPOINT(drm_run_job, job_run_6_16)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_step step =
		step_of(BPF_CORE_READ(job, s_fence), GT_DRM_RUN, (void *)ctx->args[1]);

	return run(&step);
}

/* struct drm_sched_fence *fence */
UNPREEMPTED_TRACEPOINT(drm_sched_job_done, job_done)
{
	struct drm_step step = step_of((void *)ctx->args[0], GT_DRM_DONE, NULL);

	if (is_first_of_job(GT_DRM_DONE, &step.key, false))
		done(&step, bpf_map_lookup_elem(&jobs, &step.key));
	return 0;
}

SEC("tp/gpu_scheduler/drm_sched_job_done")
int job_done_record(struct trace_event_raw_drm_sched_job_done *record)
{
	struct drm_step step = {
		.key = {BPF_CORE_READ(record, fence_context), BPF_CORE_READ(record, fence_seqno)},
		.operation = GT_DRM_DONE,
	};
	const struct drm_job_state *state = bpf_map_lookup_elem(&jobs, &step.key);

	step.fence = fence_of(state);
	if (is_first_of_job(GT_DRM_DONE, &step.key, true))
		done(&step, state);
	return 0;
}

UNPREEMPTED_TRACEPOINT(drm_sched_process_job, job_done_6_16)
{
	struct drm_step step = step_of((void *)ctx->args[0], GT_DRM_DONE, NULL);

	return done(&step, bpf_map_lookup_elem(&jobs, &step.key));
}

/* struct work_struct *work: work_tdr of the scheduler, whose oldest job is late. */
SEC("kprobe/drm_sched_job_timedout")
int job_timeout(struct pt_regs *ctx)
{
	struct drm_gpu_scheduler *scheduler = NULL;
	struct drm_sched_job *job = NULL;
	__u64 arguments[ARGUMENT_REGISTERS];
	struct list_head *first, *list;
	struct drm_step step;

	copy_registers(arguments, ctx);
	scheduler = (void *)arguments[0] - bpf_core_field_offset(scheduler->work_tdr);
	list = (void *)scheduler + bpf_core_field_offset(scheduler->pending_list);
	first = BPF_CORE_READ(scheduler, pending_list.next);
	if (!first || first == list)
		return 0;
	job = (void *)first - bpf_core_field_offset(job->list);
	step = step_of(BPF_CORE_READ(job, s_fence), GT_DRM_TIMEOUT, NULL);
	return put_job(&step, bpf_map_lookup_elem(&jobs, &step.key));
}

/*
 * The end of a fence that blocks jobs; or of a job that is not done. The fence of a job is signaled
 * after its `done`, so such a job is known no more, with two exceptions. Its entity was killed, so
 * it never ran; or its `done` came in an interrupt while this CPU ran the program of another one.
 */
static __always_inline int end_fence(const struct fence_key *key, struct drm_sched_fence *of)
{
	__u64 *signaled = bpf_map_lookup_elem(&blockers, key);
	struct drm_job_state *job = bpf_map_lookup_elem(&jobs, key);
	struct drm_step step = {.key = *key, .operation = GT_DRM_CANCELED};

	if (signaled)
		*signaled = bpf_ktime_get_ns();
	if (!job)
		return 0;
	if (job->run) {
		COUNT_EVENTS(recovered);
		step.operation = GT_DRM_DONE;
	}
	step.fence = of ? of : job->fence;
	return done(&step, job);
}

UNPREEMPTED_TRACEPOINT(dma_fence_signaled, job_fence_signaled)
{
	struct dma_fence *fence = (void *)ctx->args[0];
	struct fence_key key = key_of(fence);
	struct drm_sched_fence *of = NULL;

	of = (void *)fence - bpf_core_field_offset(of->finished);
	if (is_first_at(name_fence_hit(GT_DRM_CANCELED, &key), false))
		end_fence(&key, of);
	return 0;
}

/*
 * A job has no larger numbers than the record; for a fence that has, and blocks a job, the wait
 * ends when the job runs.
 */
SEC("tp/dma_fence/dma_fence_signaled")
int job_fence_signaled_record(struct trace_event_raw_dma_fence *record)
{
	struct fence_key key = {BPF_CORE_READ(record, context), BPF_CORE_READ(record, seqno)};

	if (is_first_at(name_fence_hit(GT_DRM_CANCELED, &key), true))
		end_fence(&key, NULL);
	return 0;
}
