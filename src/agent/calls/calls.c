/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/calls/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/calls/clock.h"
#include "agent/calls/slots.h"

enum {
	REGISTERS = 6,
	MAX_CALLERS = 64, /* files that use the driver; further ones are not written */
	/* Of a full ring. */
	WAIT_NS = 50 * 1000,              /* between two looks */
	STUCK_NS = 300 * 1000 * 1000,     /* without a read: the reader is stopped or gone */
	MAX_WAIT_NS = 1000 * 1000 * 1000, /* of an event, while other threads take the room */
	/* An entry or return that takes longer, but for waiting, was interrupted. */
	MAX_RUN_NS = 50 * 1000,
	/* What stubs.S saves: the registers, the frame pointer, the return address; then the stack.
	 */
	SAVED_FRAME = REGISTERS,
	SAVED_RETURN,
	SAVED_STACK,
	/* A flag of frames beside those of rows: the call began while calls were paused. */
	BEGAN_PAUSED = 1 << 16,
};

const struct gt_agent_services *gt_call_services;

/* Of the process. */
static struct {
	const struct gt_agent_call_table *table; /* NULL: calls are not recorded */
	pthread_key_t ended;                     /* its destructor ends the calls of a thread */
	bool has_key;
	const struct gt_agent_ring *_Atomic ring;
	atomic_bool has_no_ring;
	atomic_bool is_named;                 /* its `process` event was written */
	atomic_uint libraries;                /* bit n: the event of library n was written */
	_Atomic(void *) callers[MAX_CALLERS]; /* files that were written, by their addresses */
	_Atomic uint64_t stuck; /* what the reader had released when it was given up, + 1; or 0 */
} process;

static __thread struct gt_call_thread *own_thread __attribute__((tls_model("initial-exec")));

/* ---- events ---------------------------------------------------------------------------- */

static const struct gt_agent_ring *ring_here(void)
{
	const struct gt_agent_ring *ring =
		atomic_load_explicit(&process.ring, memory_order_acquire);

	if (ring || atomic_load_explicit(&process.has_no_ring, memory_order_relaxed))
		return ring;
	ring = gt_call_services->wait_for_ring();
	if (ring)
		atomic_store(&process.ring, ring);
	else
		atomic_store(&process.has_no_ring, true);
	return ring;
}

static void count(enum gt_agent_count what)
{
	const struct gt_agent_ring *ring = ring_here();

	if (ring)
		gt_agent_count(ring, what);
}

/*
 * Wait until a full ring has room, while its reader reads. Where it stops reading, because it is
 * stopped or gone, only the first event waits. NULL: there is no room.
 */
static struct gt_event *wait_for_room(const struct gt_agent_ring *ring, size_t size,
				      __u64 *ret_position)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};
	uint64_t released = __atomic_load_n(&ring->head->released, __ATOMIC_ACQUIRE);
	uint64_t begin = gt_call_now(), moved = begin, now = begin;

	if (size + sizeof(uint64_t) > ring->capacity)
		return NULL;
	while (released + 1 != process.stuck && now - begin < MAX_WAIT_NS) {
		struct gt_event *record;
		uint64_t before = released;

		nanosleep(&pause, NULL);
		record = gt_agent_ring_try(ring, size, ret_position);
		if (record)
			return record;
		now = gt_call_now();
		released = __atomic_load_n(&ring->head->released, __ATOMIC_ACQUIRE);
		if (released != before)
			moved = now;
		else if (now - moved >= STUCK_NS)
			process.stuck = released + 1;
	}
	return NULL;
}

static struct gt_event *wait_and_measure(const struct gt_agent_ring *ring, size_t size,
					 __u64 *ret_position)
{
	uint64_t begin = gt_call_now(), waited;
	struct gt_event *record = wait_for_room(ring, size, ret_position);

	waited = gt_call_now() - begin;
	gt_agent_add(ring, GT_AGENT_CALL_WAIT_NS, waited);
	if (own_thread)
		own_thread->waited += waited;
	return record;
}

/* The ring counts what it has no room for; here it is counted by what was lost. */
static bool put_record(const struct gt_event *event, enum gt_agent_count lost)
{
	const struct gt_agent_ring *ring = ring_here();
	__u64 position = 0;
	struct gt_event *record = ring ? gt_agent_ring_try(ring, event->size, &position) : NULL;

	if (!record && ring && !(process.table && process.table->drops))
		record = wait_and_measure(ring, event->size, &position);
	if (!record) {
		count(lost);
		return false;
	}
	memcpy(record, event, event->size);
	gt_agent_ring_commit(ring, position);
	return true;
}

bool gt_call_put(const struct gt_event *event)
{
	return put_record(event, GT_AGENT_CALL_OTHERS_LOST);
}

bool gt_call_is_active(void)
{
	return process.table;
}

const struct gt_agent_call_row *gt_call_row(uint32_t row)
{
	return process.table && row < process.table->row_count ? &process.table->rows[row] : NULL;
}

void gt_call_count_unhooked(void)
{
	count(GT_AGENT_CALL_UNHOOKED);
}

/* Emit a file, in an event with the layout of `library` events. */
static void put_file(uint16_t kind, uint32_t number, const char *path)
{
	union {
		struct gt_event_library event;
		char bytes[sizeof(struct gt_event_library) + 4096 + sizeof(uint64_t)];
	} room = {0};
	size_t length = strnlen(path, 4096);

	memcpy(room.event.path, path, length);
	room.event.head = (struct gt_event){
		.time = gt_call_now(),
		.thread = (uint32_t)syscall(SYS_gettid),
		.kind = kind,
		.size = (uint16_t)((sizeof(room.event) + length + 7) & ~7ull),
		.device = GT_DEVICE_UNKNOWN,
	};
	room.event.number = number;
	gt_call_put(&room.event.head);
}

void gt_call_report_library(uint32_t row, const void *function)
{
	const struct gt_agent_call_row *known = gt_call_row(row);
	Dl_info info, agent;

	if (!known || !dladdr(function, &info) || !info.dli_fname ||
	    (dladdr((void *)gt_call_services, &agent) && agent.dli_fbase == info.dli_fbase) ||
	    atomic_fetch_or(&process.libraries, 1u << known->library) & 1u << known->library)
		return;
	put_file(GT_EVENT_library, known->library, info.dli_fname);
}

void gt_call_report_caller(const void *address)
{
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return;
	for (int i = 0; i < MAX_CALLERS; i++) {
		void *known = NULL;

		if (atomic_compare_exchange_strong(&process.callers[i], &known, info.dli_fbase)) {
			put_file(GT_AGENT_EVENT_CALLER, 0, info.dli_fname);
			return;
		}
		if (known == info.dli_fbase)
			return;
	}
}

/* The first call of a process, at `now`: its name, which is that of its first thread. */
static void report_process(const struct gt_call_thread *thread, uint64_t now)
{
	union {
		struct gt_event_process event;
		char bytes[sizeof(struct gt_event_process) + 16];
	} room = {0};
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, room.event.name, 16) : -1;

	if (fd >= 0)
		close(fd);
	if (size <= 0)
		prctl(PR_GET_NAME, room.event.name);
	else if (room.event.name[size - 1] == '\n')
		room.event.name[size - 1] = '\0';
	room.event.head = (struct gt_event){
		.time = now,
		.thread = thread->thread,
		.kind = GT_EVENT_process,
		.size = sizeof(room),
		.device = GT_DEVICE_UNKNOWN,
	};
	room.event.parent = (uint32_t)getppid();
	room.event.uid = getuid();
	if (!gt_call_put(&room.event.head))
		atomic_store(&process.is_named, false);
}

/* ---- threads --------------------------------------------------------------------------- */

static void reset_thread(struct gt_call_thread *thread)
{
	memset(thread, 0, offsetof(struct gt_call_thread, frames));
	thread->process = (uint32_t)getpid();
	thread->thread = (uint32_t)syscall(SYS_gettid);
	thread->where.device = process.table->first_device;
}

__attribute__((noinline)) static struct gt_call_thread *make_thread(void)
{
	struct gt_call_thread *thread;
	int error = errno;

	thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	errno = error;
	if (thread == MAP_FAILED)
		return NULL;
	reset_thread(thread);
	own_thread = thread;
	if (process.has_key)
		pthread_setspecific(process.ended, thread);
	return thread;
}

/* Copy what the call read: at its end, when it is known to be there, but for entry events. */
static void complete_entry_copies(struct gt_call_frame *frame, bool succeeded)
{
	if (process.table->entries && !frame->is_uncounted)
		return;
	gt_call_copy(frame, GT_COPY_AT_ENTRY, succeeded);
	if (frame->plan->apart && !(frame->flags & GT_AGENT_CALL_WATCHED))
		gt_call_put_strings(frame, succeeded);
}

/* Of a call that ends now. */
static uint64_t duration_of(const struct gt_call_frame *frame, uint64_t now)
{
	return now > frame->call.head.time ? now - frame->call.head.time : 0;
}

/* End the innermost call without a result. */
static void abandon_call(struct gt_call_thread *thread, uint64_t now)
{
	struct gt_call_frame *frame = &thread->frames[--thread->depth];

	if (frame->is_uncounted)
		return;
	frame->call.duration = duration_of(frame, now);
	complete_entry_copies(frame, false);
	frame->call.head.time = now;
	frame->call.head.kind = GT_EVENT_call;
	frame->call.state |= GT_CALL_UNFINISHED;
	frame->call.head.size = (uint16_t)((GT_CALL_HEAD_WORDS + frame->words) * sizeof(uint64_t));
	put_record(&frame->call.head, GT_AGENT_CALL_OTHERS_LOST);
}

/* Calls with frames below this stack pointer were abandoned, by longjmp or an exception. */
static inline void abandon_below(struct gt_call_thread *thread, uint64_t stack, uint64_t now)
{
	while (thread->depth && thread->frames[thread->depth - 1].stack_pointer < stack)
		abandon_call(thread, now);
}

static void end_thread(void *opaque)
{
	struct gt_call_thread *thread = own_thread;

	/* A library that sets the value of a key that it has not created sets that of another one.
	 */
	if (!thread || opaque != thread)
		return;
	thread->busy = true;
	abandon_below(thread, UINT64_MAX, gt_call_now());
	own_thread = NULL;
	munmap(thread, sizeof(*thread));
}

/* ---- calls ----------------------------------------------------------------------------- */

/* Whether driver calls inside such a call are its own. */
static bool hides_calls(uint32_t flags)
{
	return flags & (GT_AGENT_CALL_WATCHED | GT_AGENT_CALL_BOUNDARY) ||
	       !(flags & (GT_AGENT_CALL_IMPLICIT | GT_AGENT_CALL_LIBRARY));
}

/* Whether nothing is recorded of a call. */
static bool is_boundary(const struct gt_call_frame *frame)
{
	return (frame->flags & GT_AGENT_CALL_UNCOUNTED) == GT_AGENT_CALL_BOUNDARY;
}

static struct gt_call_frame *push_frame(struct gt_call_thread *thread, uint32_t flags,
					uint64_t stack, uint64_t now)
{
	const struct gt_call_frame *around =
		thread->depth ? &thread->frames[thread->depth - 1] : NULL;
	struct gt_call_frame *frame = &thread->frames[thread->depth];
	uint16_t outer = around ? around->counted : 0, hiding = around ? around->hiding : 0;

	frame->stack_pointer = stack;
	frame->flags = flags;
	frame->is_uncounted = flags & GT_AGENT_CALL_UNCOUNTED;
	frame->counted = (uint16_t)(outer + !frame->is_uncounted);
	frame->hiding = (uint16_t)(hiding + hides_calls(flags));
	frame->call.head.time = now;
	frame->call.depth = (uint8_t)outer;
	frame->call.state = outer ? GT_CALL_NESTED : 0;
	thread->depth++;
	return frame;
}

static void begin_record(struct gt_call_thread *thread, struct gt_call_frame *frame,
			 const struct gt_agent_call_row *row, const struct gt_call_slot *slot,
			 const uint64_t *saved)
{
	struct gt_event_call *call = &frame->call;
	const struct gt_plan *plan = &row->plan;
	unsigned registers = plan->registers < REGISTERS ? plan->registers : REGISTERS;
	uint64_t *words = gt_call_words(frame);

	frame->plan = plan;
	call->head.process = thread->process;
	call->head.thread = thread->thread;
	call->head.kind = GT_EVENT_entry;
	call->head.clock = GT_CLOCK_MONOTONIC;
	gt_call_put_current(thread, call, row->flags & GT_AGENT_CALL_RUNTIME);
	call->duration = call->result = call->stack = 0;
	call->function = slot->row;
	call->library = row->library;
	if (slot->per_thread)
		call->state |= GT_CALL_PER_THREAD;
	call->copied = 0;
	call->sequence = thread->sequence++;
	for (unsigned i = 0; i < registers; i++)
		words[i] = saved[i];
	for (unsigned i = 0; i < plan->stack; i++)
		words[registers + i] = saved[SAVED_STACK + i];
	frame->words = (uint16_t)(registers + plan->stack);
	call->slots = (uint8_t)frame->words;
}

static void put_entry(struct gt_call_frame *frame)
{
	gt_call_copy(frame, GT_COPY_AT_ENTRY, false);
	gt_call_put_strings(frame, false);
	frame->call.head.size = (uint16_t)((GT_CALL_HEAD_WORDS + frame->words) * sizeof(uint64_t));
	put_record(&frame->call.head, GT_AGENT_CALL_ENTRIES_LOST);
}

/* Whether the innermost call has left by a jump to this function. */
static bool is_jump(struct gt_call_thread *thread, const uint64_t *saved)
{
	if (!thread->depth || saved[SAVED_RETURN] != (uintptr_t)gt_call_returned)
		return false;
	if (!is_boundary(&thread->frames[thread->depth - 1]) ||
	    thread->frames[thread->depth - 1].flags & BEGAN_PAUSED)
		return true;
	/* A function that is not traced jumps to one that is. */
	thread->depth--;
	return false;
}

/*
 * Change the flags of a call that begins while calls are not recorded: its effect on the thread is
 * kept, and that driver calls inside it are its own, also where they are recorded again. False:
 * there is nothing to keep.
 */
static bool pause_call(const struct gt_agent_call_row *row, uint32_t *flags)
{
	bool hides = hides_calls(*flags);

	if (row->plan.effect)
		*flags |= GT_AGENT_CALL_IMPLICIT;
	if (!(*flags & GT_AGENT_CALL_IMPLICIT) && (!hides || *flags & GT_AGENT_CALL_OUTERMOST))
		return false;
	*flags &= ~(uint32_t)GT_AGENT_CALL_WATCHED;
	*flags |= BEGAN_PAUSED | (hides ? GT_AGENT_CALL_BOUNDARY : 0);
	return true;
}

/* Whether the call is recorded; it is counted. */
static bool begin_call(struct gt_call_thread *thread, const struct gt_call_slot *slot,
		       const struct gt_agent_call_row *row, const uint64_t *saved, bool is_paused)
{
	uint64_t now = gt_call_now(), stack = (uintptr_t)&saved[SAVED_RETURN];
	uint32_t flags = row->flags;
	bool is_inside, is_outermost;
	struct gt_call_frame *frame;

	abandon_below(thread, stack + 1, now);
	if (is_jump(thread, saved))
		return false;
	is_inside = thread->depth && thread->frames[thread->depth - 1].hiding;
	if (flags & GT_AGENT_CALL_OUTERMOST && is_inside) {
		if (!row->plan.effect && !(flags & GT_AGENT_CALL_IMPLICIT))
			return false;
		flags |= GT_AGENT_CALL_IMPLICIT;
		flags &= ~(uint32_t)GT_AGENT_CALL_WATCHED;
	}
	if (is_paused && !pause_call(row, &flags))
		return false;
	if (!(flags & GT_AGENT_CALL_UNCOUNTED))
		count(GT_AGENT_CALLS_MADE);
	if (!atomic_load_explicit(&process.is_named, memory_order_relaxed) &&
	    !atomic_exchange(&process.is_named, true))
		report_process(thread, now);
	if (thread->depth == GT_CALL_DEPTH) {
		if (!(flags & GT_AGENT_CALL_UNCOUNTED))
			count(GT_AGENT_CALLS_LOST);
		return false;
	}
	is_outermost = !is_inside;
	frame = push_frame(thread, flags, stack, now);
	if (is_paused && is_boundary(frame)) {
		frame->plan = &row->plan;
		return true;
	}
	begin_record(thread, frame, row, slot, saved);
	if (process.table->stack_depth && !frame->is_uncounted && is_outermost)
		frame->call.stack = gt_call_take_stack(thread, frame, &saved[SAVED_FRAME],
						       process.table->stack_depth);
	if (process.table->kernel_arguments && !(flags & GT_AGENT_CALL_WATCHED))
		gt_call_put_arguments(frame);
	if (process.table->entries && !frame->is_uncounted)
		put_entry(frame);
	return true;
}

/* What an entry or return costs. 0: this one is not measured. */
static uint64_t begin_cost(struct gt_call_thread *thread)
{
	if (thread->runs++ % GT_AGENT_COST_PERIOD != GT_AGENT_COST_PERIOD / 2)
		return 0;
	thread->waited = 0;
	return gt_call_now();
}

static void end_cost(const struct gt_call_thread *thread, uint64_t begun)
{
	const struct gt_agent_ring *ring = begun ? ring_here() : NULL;
	uint64_t run;

	if (!ring)
		return;
	run = gt_call_now() - begun - thread->waited;
	if (run > MAX_RUN_NS)
		run = MAX_RUN_NS;
	gt_agent_count(ring, GT_AGENT_CALL_RUNS);
	gt_agent_add(ring, GT_AGENT_CALL_RUN_NS, run);
}

/* Whether gt_call_end follows, and the words of arguments on the stack. Called by stubs.S. */
struct gt_call_begun {
	uint64_t is_recorded;
	uint64_t stack_words;
};

__attribute__((visibility("hidden"))) struct gt_call_begun gt_call_begin(const uint64_t *saved,
									 struct gt_call_slot *slot);

struct gt_call_begun gt_call_begin(const uint64_t *saved, struct gt_call_slot *slot)
{
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	const struct gt_agent_call_row *row;
	struct gt_call_thread *thread = own_thread;
	const struct gt_agent_ring *ring;
	int error = errno;
	uint64_t begun, mode;
	bool recorded;

	if (state == GT_SLOT_UNRESOLVED) {
		gt_call_resolve(slot, (const void *)saved[SAVED_RETURN]);
		state = atomic_load_explicit(&slot->state, memory_order_acquire);
	}
	ring = state == GT_SLOT_TRACED ? ring_here() : NULL;
	if (!ring)
		return (struct gt_call_begun){0};
	mode = __atomic_load_n(&ring->head->calls_mode, __ATOMIC_RELAXED);
	if (mode == GT_AGENT_CALLS_OFF) {
		atomic_store_explicit(&slot->state, GT_SLOT_PASSES, memory_order_release);
		return (struct gt_call_begun){0};
	}
	row = &process.table->rows[slot->row];
	if (!thread)
		thread = make_thread();
	/* No memory, or in a signal handler, which must not change what it has interrupted. */
	if (!thread || thread->busy) {
		if (!mode && !(row->flags & GT_AGENT_CALL_UNCOUNTED)) {
			count(GT_AGENT_CALLS_MADE);
			count(GT_AGENT_CALLS_LOST);
		}
		return (struct gt_call_begun){0};
	}
	thread->busy = true;
	begun = begin_cost(thread);
	recorded = begin_call(thread, slot, row, saved, mode == GT_AGENT_CALLS_PAUSED);
	end_cost(thread, begun);
	thread->busy = false;
	errno = error;
	return (struct gt_call_begun){recorded, row->stack_words};
}

/* The error code of a failed call that returned NULL, negative. */
static uint64_t error_code(struct gt_call_frame *frame)
{
	const struct gt_plan *plan = frame->plan;
	uint64_t pointer = gt_call_words(frame)[(plan->error - 1u) & (GT_PLAN_MAX_SLOTS - 1)];
	int32_t code = 0;

	if (!plan->error || gt_call_read(&code, sizeof(code), pointer) != sizeof(code) ||
	    code >= 0 || code < -GT_PLAN_UNKNOWN_ERROR)
		code = -GT_PLAN_UNKNOWN_ERROR;
	return (uint64_t)(int64_t)code;
}

static bool has_failed(const struct gt_call_frame *frame)
{
	uint32_t result = (uint32_t)frame->call.result;

	if (frame->plan->result == GT_RESULT_POINTER)
		return frame->call.result >= (uint64_t)-GT_PLAN_UNKNOWN_ERROR;
	return frame->plan->result == GT_RESULT_ERROR && result && result != frame->plan->pending;
}

/* Whether the result says that the call succeeded. */
static bool has_succeeded(const struct gt_call_frame *frame)
{
	if (frame->plan->result == GT_RESULT_POINTER)
		return !has_failed(frame);
	return frame->plan->result == GT_RESULT_ERROR && !(uint32_t)frame->call.result;
}

/* The innermost call has returned. */
static void end_call(struct gt_call_thread *thread, struct gt_call_frame *frame, uint64_t now)
{
	const struct gt_plan *plan = frame->plan;
	bool succeeded, failed;

	frame->call.duration = duration_of(frame, now);
	if (is_boundary(frame))
		return;
	if (plan->result == GT_RESULT_POINTER && !frame->call.result)
		frame->call.result = error_code(frame);
	succeeded = has_succeeded(frame);
	failed = has_failed(frame);
	if (frame->flags & GT_AGENT_CALL_WATCHED && failed) {
		/* From here on it is a call that was made. */
		count(GT_AGENT_CALLS_MADE);
		frame->is_uncounted = false;
	} else if (frame->flags & GT_AGENT_CALL_WATCHED &&
		   !(frame->flags & GT_AGENT_CALL_IMPLICIT)) {
		return;
	}
	/* The runtime creates its context when it first needs one: inside a call. */
	if (!frame->call.context)
		gt_call_put_current(thread, &frame->call, frame->flags & GT_AGENT_CALL_RUNTIME);
	complete_entry_copies(frame, succeeded);
	frame->call.head.kind = frame->is_uncounted ? GT_EVENT_implicit : GT_EVENT_call;
	frame->call.head.time = now;
	if (plan->effect && !(uint32_t)frame->call.result)
		gt_call_apply_effect(thread, frame);
	if (!frame->is_uncounted && process.table->failed_only && !failed) {
		count(GT_AGENT_CALLS_FILTERED);
		return;
	}
	if (plan->result == GT_RESULT_ANY || succeeded)
		gt_call_copy(frame, GT_COPY_AT_SUCCESS, succeeded);
	if (frame->is_uncounted && plan->effect)
		return;
	frame->call.head.size = (uint16_t)((GT_CALL_HEAD_WORDS + frame->words) * sizeof(uint64_t));
	put_record(&frame->call.head,
		   frame->is_uncounted ? GT_AGENT_CALL_OTHERS_LOST : GT_AGENT_CALLS_LOST);
}

__attribute__((visibility("hidden"))) void gt_call_end(const void *stack, uint64_t result);

void gt_call_end(const void *stack, uint64_t result)
{
	struct gt_call_thread *thread = own_thread;
	int error = errno;
	uint64_t now, begun;

	if (!thread || thread->busy || !process.table)
		return;
	now = gt_call_now();
	thread->busy = true;
	begun = begin_cost(thread);
	abandon_below(thread, (uintptr_t)stack, now);
	if (thread->depth) {
		struct gt_call_frame *frame = &thread->frames[thread->depth - 1];

		if (frame->stack_pointer == (uintptr_t)stack) {
			thread->depth--;
			frame->call.result = result;
			end_call(thread, frame, now);
		}
	}
	end_cost(thread, begun);
	thread->busy = false;
	errno = error;
}

/* ---- the process ----------------------------------------------------------------------- */

/* The child has a ring of its own, this thread alone, and none of the parent's calls. */
static void reset_after_fork(void)
{
	gt_call_services->forked();
	gt_call_clock_forked();
	atomic_store(&process.ring, NULL);
	atomic_store(&process.has_no_ring, false);
	atomic_store(&process.is_named, false);
	gt_call_slots_forked();
	gt_call_current_forked();
	gt_call_stacks_forked();
	if (own_thread)
		reset_thread(own_thread);
}

static bool is_valid(const struct gt_agent_call_table *table, size_t size)
{
	return size >= sizeof(*table) &&
	       table->row_count <= (size - sizeof(*table)) / sizeof(table->rows[0]) &&
	       table->stack_depth <= GT_CALL_CALLERS;
}

__attribute__((constructor)) static void open_calls(void)
{
	int error = errno;
	const struct gt_agent_call_table *table;
	size_t size = 0;

	gt_call_services = gt_agent_services();
	table = gt_call_services->request_calls(&size);
	if (table && is_valid(table, size)) {
		gt_call_clock_open();
		process.has_key = !pthread_key_create(&process.ended, end_thread);
		pthread_atfork(NULL, NULL, reset_after_fork);
		process.table = table;
		gt_call_services->set_wrap(gt_call_wrap);
	}
	errno = error;
}
