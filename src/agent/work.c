/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/work.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/environment.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/protocol.h"
#include "agent/report.h"
#include "agent/ring.h"
#include "base/clock.h"

enum {
	MAX_CONTEXTS = 16,
	MAX_OPERATIONS = 4096, /* of a context, that are not complete */
	MAX_WAITING_STREAMS = 64,

	LOCK_S = 1,        /* longer only if a signal handler interrupts the agent */
	PASS_US = 1000,    /* between two passes over what is not complete */
	SUSPEND_MS = 1000, /* for the end of a pass */

	FIRST_MOMENTS = 6,            /* of a new clock, of which the best one counts */
	MOMENT_MS = 200,              /* between two moments of a clock */
	MOMENT_WAIT_US = 2000,        /* for an event in a stream without other work */
	FIRST_MOMENT_WAIT_US = 20000, /* for the first one of a context */
	CLOCK_PAUSE_MS = 2000,        /* a longer time between two events is not precise */
	MAX_CLOCK = GT_AGENT_FIRST_CL_CLOCK - 1,

	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CU_STREAM_NON_BLOCKING = 1,
};
#define STREAM_LEGACY ((void *)1)
#define STREAM_PER_THREAD ((void *)2)

struct operation_list {
	struct gt_agent_timed_operation *first, **last;
};

struct gt_agent_work_context {
	void *handle;        /* NULL: not used */
	uint64_t generation; /* counts the contexts that it stood for */
	int device;
	bool suspended; /* it may end: do not touch it */
	bool busy;      /* a thread makes a pass */
	struct gt_agent_timed_operation *operations;
	unsigned made;                         /* of these, that have events */
	struct gt_agent_timed_operation *free; /* with events */
	struct operation_list submitted;       /* since the last pass */

	/* Of the thread that makes a pass. */
	struct operation_list waiting;                     /* not complete at the last pass */
	void *stream;                                      /* of the agent */
	void *moments[2];                                  /* events of it */
	uint16_t clock;                                    /* 0: none yet */
	void *anchor;                                      /* an event whose time is known */
	struct gt_agent_timed_operation *anchor_operation; /* that it belongs to, or NULL */
	int64_t anchor_time;                               /* on the clock */
	uint64_t anchor_host;                              /* when it was read */
	uint64_t last_moment;
};

static struct {
	uint64_t period; /* 0: off; every n-th operation is timed */
	atomic_uint_least64_t operations;
	atomic_bool stopped;
	pthread_mutex_t lock; /* no driver is called while it is held */
	struct gt_agent_work_context contexts[MAX_CONTEXTS];
	atomic_uint resolver_sleeps; /* a futex */
	bool resolver_exists;
	uint16_t last_clock;
} times = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread uint32_t thread_id;

bool gt_agent_work_is_timed(void)
{
	return times.period;
}

static uint32_t current_thread(void)
{
	if (!thread_id)
		thread_id = (uint32_t)syscall(SYS_gettid);
	return thread_id;
}

/*
 * False: a signal handler calls the driver and has interrupted this thread here, or another one
 * that cannot continue: then the operation is not timed.
 */
static bool take_lock(void)
{
	struct timespec end;

	if (!pthread_mutex_trylock(&times.lock))
		return true;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LOCK_S;
	return !pthread_mutex_timedlock(&times.lock, &end);
}

static void release_lock(void)
{
	pthread_mutex_unlock(&times.lock);
}

/* ---- lists ------------------------------------------------------------------------------ */

static void list_clear(struct operation_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void list_add(struct operation_list *list, struct gt_agent_timed_operation *operation)
{
	operation->next = NULL;
	*list->last = operation;
	list->last = &operation->next;
}

/* Move all of `from` to the end of `list`. */
static void list_move(struct operation_list *list, struct operation_list *from)
{
	if (!from->first)
		return;
	*list->last = from->first;
	list->last = from->last;
	list_clear(from);
}

/* ---- the resolver's thread ---------------------------------------------------------------- */

static void call_futex(atomic_uint *word, int operation, unsigned value)
{
	syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void wake_resolver(void)
{
	if (atomic_load_explicit(&times.resolver_sleeps, memory_order_seq_cst) &&
	    atomic_exchange(&times.resolver_sleeps, 0))
		call_futex(&times.resolver_sleeps, FUTEX_WAKE, INT_MAX);
}

static bool make_passes(void);

static void *resolve_operations(void *unused)
{
	const struct timespec pause = {.tv_nsec = PASS_US * 1000};
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	/* A capture of another thread forbids to ask for events otherwise. */
	if (gt_driver.cuThreadExchangeStreamCaptureMode)
		OWN1(cuThreadExchangeStreamCaptureMode, &mode);
	for (;;) {
		atomic_store(&times.resolver_sleeps, 1);
		while (make_passes()) {
			atomic_store(&times.resolver_sleeps, 0);
			nanosleep(&pause, NULL);
		}
		/* What was submitted since the store has set it to 0. */
		atomic_exchange(&times.resolver_sleeps, 1);
		if (make_passes())
			continue;
		while (atomic_load(&times.resolver_sleeps))
			call_futex(&times.resolver_sleeps, FUTEX_WAIT, 1);
	}
	return unused;
}

static void stop_at_exit(void);

/* The caller holds the lock. */
static bool start_resolver(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	if (times.resolver_exists)
		return true;
	/* The program's handlers run in its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, resolve_operations, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return false;
	pthread_setname_np(thread, "gputap-times");
	/* After the driver's handlers were registered, hence before these run. */
	atexit(stop_at_exit);
	times.resolver_exists = true;
	return true;
}

/* ---- contexts --------------------------------------------------------------------------- */

/* The caller holds the lock. */
static struct gt_agent_work_context *find_context_locked(const void *handle)
{
	for (unsigned i = 0; i < MAX_CONTEXTS; i++)
		if (times.contexts[i].handle == handle)
			return &times.contexts[i];
	return NULL;
}

/* The caller holds the lock. The context is current. */
static struct gt_agent_work_context *add_context_locked(void *handle, int device)
{
	struct gt_agent_work_context *context = find_context_locked(NULL);
	const size_t size = MAX_OPERATIONS * sizeof(*context->operations);

	if (!context || !start_resolver())
		return NULL;
	*context = (struct gt_agent_work_context){
		.generation = context->generation,
		.operations = context->operations ? context->operations : gt_agent_allocate(size),
		.device = device,
	};
	if (!context->operations)
		return NULL;
	list_clear(&context->submitted);
	list_clear(&context->waiting);
	context->handle = handle;
	return context;
}

/*
 * The caller holds the lock. Its events have ended with it; the memory stays, since a thread of the
 * program may submit an operation at the same time.
 */
static void forget_context_locked(struct gt_agent_work_context *context)
{
	*context = (struct gt_agent_work_context){
		.generation = context->generation + 1,
		.operations = context->operations,
	};
}

/* ---- operations ------------------------------------------------------------------------- */

/* Create the events of an operation in the current context. */
static bool make_events(struct gt_agent_timed_operation *operation)
{
	if (OWN2(cuEventCreate, &operation->start, 0))
		return false;
	if (!OWN2(cuEventCreate, &operation->end, 0))
		return true;
	OWN1(cuEventDestroy_v2, operation->start);
	return false;
}

static void return_operation(struct gt_agent_work *work)
{
	if (!take_lock())
		return;
	if (work->generation == work->context->generation) {
		work->operation->next = work->context->free;
		work->context->free = work->operation;
	}
	release_lock();
	work->operation = NULL;
}

/* Take an operation with events in the current context. False: `reason` says why. */
static bool take_operation(struct gt_agent_work *work, void *handle)
{
	struct gt_agent_work_context *context;
	struct gt_agent_timed_operation *operation = NULL;
	bool is_new = false;
	int device = -1;

	work->reason = GT_AGENT_UNTIMED;
	if (!take_lock())
		return false;
	context = find_context_locked(handle);
	if (!context) {
		release_lock();
		OWN1(cuCtxGetDevice, &device);
		if (!take_lock())
			return false;
		context = find_context_locked(handle);
		if (!context && !find_context_locked(NULL))
			work->reason = GT_AGENT_CROWDED;
		else if (!context)
			context = add_context_locked(handle, device);
	}
	if (context && !context->suspended) {
		operation = context->free;
		work->reason = GT_AGENT_EXHAUSTED;
		if (operation) {
			context->free = operation->next;
		} else if (context->made < MAX_OPERATIONS) {
			operation = &context->operations[context->made++];
			is_new = true;
		}
	}
	work->context = context;
	work->generation = context ? context->generation : 0;
	release_lock();
	if (!operation || (is_new && !make_events(operation)))
		return false;
	work->operation = operation;
	return true;
}

/* Whether no event may be recorded in a stream. */
static bool is_closed(struct gt_agent_work *work)
{
	int status = 0, error = gt_driver.cuStreamIsCapturing
					? OWN2(cuStreamIsCapturing, work->stream, &status)
					: CUDA_ERROR_NOT_FOUND;

	/* The legacy stream cannot be asked for while others are captured: nor be used. */
	work->reason = !error || error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? GT_AGENT_CAPTURED
									     : GT_AGENT_UNTIMED;
	return error || status;
}

static void begin_work(struct gt_agent_work *work, void *handle)
{
	if (atomic_fetch_add_explicit(&times.operations, 1, memory_order_relaxed) % times.period) {
		work->reason = GT_AGENT_UNSAMPLED;
		return;
	}
	if (is_closed(work) || !take_operation(work, handle))
		return;
	if (OWN2(cuEventRecord, work->operation->start, work->stream)) {
		work->reason = GT_AGENT_UNTIMED;
		return_operation(work);
	}
}

bool gt_agent_work_begin(struct gt_agent_work *work, void *stream, bool per_thread)
{
	int error = errno;
	void *handle = NULL;

	if (!times.period || atomic_load_explicit(&times.stopped, memory_order_relaxed) ||
	    !gt_agent_ring() || OWN1(cuCtxGetCurrent, &handle) || !handle)
		return false;
	work->operation = NULL;
	work->is_synchronous = stream == SYNCHRONOUS;
	if (work->is_synchronous)
		stream = NULL;
	work->stream = stream ? stream : per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
	begin_work(work, handle);
	work->submitted = gt_clock_monotonic();
	errno = error;
	return true;
}

static void submit_work(struct gt_agent_work *work, const struct gt_agent_ring *ring)
{
	bool is_there;

	if (OWN2(cuEventRecord, work->operation->end, work->stream)) {
		gt_agent_count(ring, GT_AGENT_UNTIMED);
		return_operation(work);
		return;
	}
	if (!take_lock()) {
		gt_agent_count(ring, GT_AGENT_UNTIMED);
		return;
	}
	is_there = work->generation == work->context->generation;
	if (is_there)
		list_add(&work->context->submitted, work->operation);
	release_lock();
	gt_agent_count(ring, is_there ? GT_AGENT_TIMED : GT_AGENT_UNTIMED);
	if (is_there)
		wake_resolver();
}

void gt_agent_work_end(struct gt_agent_work *work, int error, enum gt_gpu_operation operation,
		       uint64_t object, uint64_t bytes)
{
	const struct gt_agent_ring *ring = gt_agent_ring();
	uint64_t returned = gt_clock_monotonic();
	struct gt_agent_timed_operation *ended = work->operation;
	int saved = errno;

	if (!ended) {
		if (ring && !error)
			gt_agent_count(ring, work->reason);
	} else if (error || !ring) {
		return_operation(work);
	} else {
		ended->submitted = work->submitted;
		ended->returned = returned;
		ended->stream = work->stream;
		ended->operation = operation;
		ended->object = object;
		ended->bytes = bytes;
		ended->thread = current_thread();
		ended->flags = (times.period > 1 ? GT_GPU_SAMPLED : 0) |
			       (work->is_synchronous ? GT_AGENT_SYNCHRONOUS : 0);
		submit_work(work, ring);
	}
	errno = saved;
}

/* ---- clocks ----------------------------------------------------------------------------- */

/* Time from one event to another, in ns. False: the driver has an error. */
static bool elapsed_ns(void *from, void *to, int64_t *ret_ns)
{
	float ms = 0;

	if (OWN3(cuEventElapsedTime, &ms, from, to))
		return false;
	*ret_ns = (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
	return true;
}

static bool is_complete(void *event, unsigned wait_us)
{
	uint64_t end = gt_clock_monotonic() + wait_us * UINT64_C(1000);
	int error;

	while ((error = OWN1(cuEventQuery, event)) == CUDA_ERROR_NOT_READY &&
	       gt_clock_monotonic() < end)
		sched_yield();
	return !error;
}

static void put_moment(const struct gt_agent_work_context *context, int64_t time, uint64_t before,
		       uint64_t after)
{
	const struct gt_agent_ring *ring = gt_agent_ring();
	struct gt_agent_clock clock = {
		.head = {.time = (uint64_t)time,
			 .thread = current_thread(),
			 .kind = GT_AGENT_EVENT_CLOCK,
			 .size = sizeof(clock),
			 .clock = context->clock,
			 .device = (int16_t)context->device},
		.before = before,
		.after = after,
	};

	if (ring)
		gt_agent_ring_put(ring, &clock.head);
}

/* The first moment of a new clock, which has the host's time. False: not now. */
static bool begin_clock(struct gt_agent_work_context *context)
{
	uint64_t before, after;
	void *event = context->moments[0];

	if (times.last_clock == MAX_CLOCK)
		return false;
	before = gt_clock_monotonic();
	if (OWN2(cuEventRecord, event, context->stream) ||
	    !is_complete(event, FIRST_MOMENT_WAIT_US))
		return false;
	after = gt_clock_monotonic();
	if (times.last_clock < GT_AGENT_FIRST_CLOCK)
		times.last_clock = GT_AGENT_FIRST_CLOCK - 1;
	context->clock = ++times.last_clock;
	context->anchor = event;
	context->anchor_operation = NULL;
	context->anchor_time = (int64_t)(before + (after - before) / 2);
	context->anchor_host = after;
	put_moment(context, context->anchor_time, before, after);
	return true;
}

static void take_moment(struct gt_agent_work_context *context)
{
	uint64_t before = gt_clock_monotonic(), after;
	void *event = context->moments[1];
	int64_t ns;

	context->last_moment = before;
	if (OWN2(cuEventRecord, event, context->stream) || !is_complete(event, MOMENT_WAIT_US))
		return;
	after = gt_clock_monotonic();
	if (elapsed_ns(context->anchor, event, &ns))
		put_moment(context, context->anchor_time + ns, before, after);
}

static void return_to_pool(struct gt_agent_work_context *context,
			   struct gt_agent_timed_operation *operation)
{
	if (!operation || !take_lock())
		return;
	operation->next = context->free;
	context->free = operation;
	release_lock();
}

/* Have a clock that runs, and relate it to that of the host. False: not now. */
static bool keep_clock(struct gt_agent_work_context *context)
{
	uint64_t now = gt_clock_monotonic();

	if (!context->stream) {
		if (OWN2(cuStreamCreate, &context->stream, CU_STREAM_NON_BLOCKING))
			return false;
		for (int i = 0; i < 2; i++)
			if (OWN2(cuEventCreate, &context->moments[i], 0))
				return false;
	}
	if (!context->clock || now - context->anchor_host > CLOCK_PAUSE_MS * UINT64_C(1000000)) {
		return_to_pool(context, context->anchor_operation);
		context->anchor_operation = NULL;
		context->clock = 0;
		if (!begin_clock(context))
			return false;
		for (int i = 1; i < FIRST_MOMENTS; i++)
			take_moment(context);
	} else if (now - context->last_moment > MOMENT_MS * UINT64_C(1000000)) {
		take_moment(context);
	}
	return true;
}

/* ---- passes ----------------------------------------------------------------------------- */

static void put_work(const struct gt_agent_work_context *context,
		     const struct gt_agent_timed_operation *operation, int64_t start, int64_t end)
{
	const struct gt_agent_ring *ring = gt_agent_ring();
	struct gt_event_gpu_work work = {
		.head = {.time = (uint64_t)end,
			 .thread = operation->thread,
			 .kind = GT_EVENT_gpu_work,
			 .size = sizeof(work),
			 .clock = context->clock,
			 .device = (int16_t)context->device},
		.submitted = operation->submitted,
		.returned = operation->returned,
		.start = (uint64_t)start,
		.stream = operation->stream == STREAM_LEGACY
				  ? 0
				  : (uint64_t)(uintptr_t)operation->stream,
		.object = operation->object,
		.bytes = operation->bytes,
		.handle = (uint64_t)(uintptr_t)context->handle,
		.operation = operation->operation,
		.flags = operation->flags,
	};

	if (ring)
		gt_agent_ring_put(ring, &work.head);
}

/* Write an operation that is complete; its end is the next anchor. */
static void resolve_operation(struct gt_agent_work_context *context,
			      struct gt_agent_timed_operation *operation)
{
	int64_t start, duration;

	if (!elapsed_ns(context->anchor, operation->start, &start) ||
	    !elapsed_ns(operation->start, operation->end, &duration)) {
		return_to_pool(context, operation);
		return;
	}
	start += context->anchor_time;
	put_work(context, operation, start, start + duration);
	return_to_pool(context, context->anchor_operation);
	context->anchor = operation->end;
	context->anchor_operation = operation;
	context->anchor_time = start + duration;
	context->anchor_host = gt_clock_monotonic();
}

/* Streams whose first operation is not complete. */
struct waiting_streams {
	void *streams[MAX_WAITING_STREAMS];
	unsigned count;
};

static bool is_waiting(const struct waiting_streams *waiting, const void *stream)
{
	for (unsigned i = 0; i < waiting->count; i++)
		if (waiting->streams[i] == stream)
			return true;
	return false;
}

/*
 * Write the operations that are complete, those of a stream in their order. Streams of threads
 * (STREAM_PER_THREAD) have one handle, so each of their operations is examined.
 */
static void resolve_waiting(struct gt_agent_work_context *context)
{
	struct gt_agent_timed_operation *operation = context->waiting.first, *next;
	struct waiting_streams waiting = {.count = 0};
	struct operation_list rest;
	int error;

	list_clear(&rest);
	for (; operation; operation = next) {
		next = operation->next;
		error = is_waiting(&waiting, operation->stream)
				? CUDA_ERROR_NOT_READY
				: OWN1(cuEventQuery, operation->end);
		if (!error) {
			resolve_operation(context, operation);
		} else if (error == CUDA_ERROR_NOT_READY) {
			list_add(&rest, operation);
			if (operation->stream != STREAM_PER_THREAD &&
			    !is_waiting(&waiting, operation->stream) &&
			    waiting.count < MAX_WAITING_STREAMS)
				waiting.streams[waiting.count++] = operation->stream;
		} else {
			/* The context has failed, and no time of it is known any more. */
			return_to_pool(context, operation);
		}
	}
	context->waiting = rest;
	if (!rest.first)
		list_clear(&context->waiting);
}

/* The context is marked as busy by this thread. Returns whether operations are not complete. */
static bool make_pass(struct gt_agent_work_context *context)
{
	void *popped;

	if (!take_lock())
		return true;
	list_move(&context->waiting, &context->submitted);
	release_lock();
	if (!context->waiting.first || OWN1(cuCtxPushCurrent_v2, context->handle))
		return context->waiting.first;
	if (keep_clock(context))
		resolve_waiting(context);
	OWN1(cuCtxPopCurrent_v2, &popped);
	return context->waiting.first;
}

/* Returns whether operations are not complete. */
static bool make_passes(void)
{
	bool is_waiting = false;

	for (unsigned i = 0; i < MAX_CONTEXTS; i++) {
		struct gt_agent_work_context *context = &times.contexts[i];
		bool usable;

		if (!take_lock())
			return true;
		usable = context->handle && !context->suspended && !context->busy;
		context->busy |= usable;
		release_lock();
		if (!usable)
			continue;
		is_waiting |= make_pass(context);
		while (!take_lock())
			;
		context->busy = false;
		release_lock();
	}
	return is_waiting;
}

/* ---- contexts that end ------------------------------------------------------------------ */

/* Whether an operation is done of which only the event is not complete. */
static bool is_nearly_complete(const struct gt_agent_work_context *context)
{
	for (const struct gt_agent_timed_operation *operation = context->waiting.first; operation;
	     operation = operation->next)
		if (operation->flags & GT_AGENT_SYNCHRONOUS)
			return true;
	return false;
}

/* Make a last pass, in this thread, and keep all threads out of the context. */
static void suspend_context(struct gt_agent_work_context *context)
{
	uint64_t end = gt_clock_monotonic() + SUSPEND_MS * UINT64_C(1000000);
	bool is_mine = false;

	/* A pass does not wait for the GPU, and so ends soon. */
	while (!is_mine && gt_clock_monotonic() < end) {
		if (!take_lock())
			return;
		is_mine = !context->busy;
		context->suspended = true;
		context->busy = true;
		release_lock();
		if (!is_mine)
			sched_yield();
	}
	if (!is_mine)
		return;
	while (make_pass(context) && is_nearly_complete(context) && gt_clock_monotonic() < end)
		sched_yield();
	while (!take_lock())
		;
	context->busy = false;
	release_lock();
}

void gt_agent_work_suspend(void *handle)
{
	struct gt_agent_work_context *context;
	struct gt_agent_caller caller;

	if (!times.period || !handle || !take_lock())
		return;
	context = find_context_locked(handle);
	release_lock();
	if (!context)
		return;
	caller = gt_agent_save_caller();
	suspend_context(context);
	gt_agent_restore_caller(&caller);
}

void gt_agent_work_resume(void *handle, bool has_ended)
{
	struct gt_agent_work_context *context;

	if (!times.period || !handle || !take_lock())
		return;
	context = find_context_locked(handle);
	if (context && context->suspended) {
		if (has_ended && !context->busy)
			forget_context_locked(context);
		else if (!has_ended)
			context->suspended = false;
	}
	release_lock();
}

/* The driver ends after this, and must not be called then. */
static void stop_at_exit(void)
{
	atomic_store(&times.stopped, true);
	for (unsigned i = 0; i < MAX_CONTEXTS; i++)
		gt_agent_work_suspend(times.contexts[i].handle);
}

/* ---- the process ------------------------------------------------------------------------ */

void gt_agent_work_open(void)
{
	if (gt_driver.cuEventCreate && gt_driver.cuEventDestroy_v2 && gt_driver.cuEventRecord &&
	    gt_driver.cuEventQuery && gt_driver.cuEventElapsedTime && gt_driver.cuStreamCreate &&
	    gt_driver.cuCtxGetCurrent && gt_driver.cuCtxGetDevice &&
	    gt_driver.cuCtxPushCurrent_v2 && gt_driver.cuCtxPopCurrent_v2)
		times.period = gt_agent_environment()->gpu_times;
}

/* The driver cannot be used in the child of a process that has used it. */
void gt_agent_work_forked(void)
{
	thread_id = 0;
	pthread_mutex_init(&times.lock, NULL);
	memset(times.contexts, 0, sizeof(times.contexts));
	times.resolver_exists = false;
	times.last_clock = 0;
	atomic_store(&times.resolver_sleeps, 0);
	atomic_store(&times.stopped, false);
}
