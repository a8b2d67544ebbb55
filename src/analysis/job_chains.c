/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/job_chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/keyed_rows.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "event/kinds.h"
#include "kernel/syscalls.h"

#define MAX_LABELS 4096    /* names of system calls; further ioctls have no command */
#define MAX_DEPENDENCIES 4 /* of a job, whose submitters are kept */

struct fence_number {
	uint64_t context, seqno;
};

/* A chain that is not complete. */
struct open_chain {
	struct gt_job_chain chain;
	struct open_chain *older, *newer;
	bool is_submitted; /* no call that encloses the submission can return any more */
	bool has_ended;    /* the job */
	struct gt_job_chain_dependency dependencies[MAX_DEPENDENCIES]; /* `blocked` is 0 */
	unsigned dependency_count;
};

/* The chains of a thread's submissions that are not submitted, in their order. */
struct submitting_thread {
	uint32_t process, thread;
	GT_VEC(struct open_chain *) chains;
	size_t in_syscall; /* those from here on were queued since the last system call returned */
	struct gt_job_chain_call running; /* the outermost call, where its entry is in the stream */
};

struct gt_job_chains {
	gt_job_chain_sink sink;
	void *context;
	struct gt_hash *by_key;    /* struct fence_number -> struct open_chain */
	struct gt_hash *by_thread; /* u64 -> struct submitting_thread */
	struct gt_hash *labels;    /* names of system calls -> char * */
	struct open_chain *oldest, *newest;
	size_t count;
	bool has_fences;                     /* the source "fence" is traced */
	struct open_chain *ended;            /* by the last event: completed at the next one */
	struct submitting_thread *submitted; /* likewise, all its chains */
};

uint64_t gt_job_chain_start(const struct gt_job_chain *chain)
{
	if (chain->outermost.start)
		return chain->outermost.start;
	if (chain->syscall.start)
		return chain->syscall.start;
	return chain->queued ? chain->queued : chain->run;
}

uint64_t gt_job_chain_end(const struct gt_job_chain *chain)
{
	const uint64_t times[] = {chain->queued, chain->run, chain->done, chain->signaled};
	uint64_t end = 0;

	for (size_t i = 0; i < gt_countof(times); i++)
		if (times[i] > end)
			end = times[i];
	return end;
}

bool gt_job_chain_key(const struct gt_event *event, uint64_t *ret_context, uint64_t *ret_seqno)
{
	switch (event->kind) {
		/* The first two fields of these kinds, or those after the duration. */
#define KEY_OF(kind)                                                                               \
	case GT_EVENT_##kind:                                                                      \
		*ret_context = ((const struct gt_event_##kind *)event)->context;                   \
		*ret_seqno = ((const struct gt_event_##kind *)event)->seqno;                       \
		return true
		KEY_OF(drm_job);
		KEY_OF(drm_dependency);
		KEY_OF(fence);
		KEY_OF(fence_wait);
		KEY_OF(fence_interrupt);
#undef KEY_OF
	default:
		return false;
	}
}

/* ---- open chains -------------------------------------------------------------------------- */

struct gt_job_chains *gt_job_chains_new(gt_job_chain_sink sink, void *context)
{
	gt_auto(job_chains) struct gt_job_chains *chains = calloc(1, sizeof(*chains));

	if (!chains)
		return NULL;
	chains->sink = sink;
	chains->context = context;
	chains->by_key = gt_hash_new();
	chains->by_thread = gt_hash_new();
	chains->labels = gt_hash_new();
	if (!chains->by_key || !chains->by_thread || !chains->labels)
		return NULL;
	return gt_take(chains);
}

static void free_thread(void *opaque)
{
	struct submitting_thread *thread = opaque;

	gt_vec_free(&thread->chains);
	free(thread);
}

void gt_job_chains_free(struct gt_job_chains *chains)
{
	if (!chains)
		return;
	if (chains->by_key)
		gt_hash_free_with(chains->by_key, free);
	if (chains->by_thread)
		gt_hash_free_with(chains->by_thread, free_thread);
	if (chains->labels)
		gt_hash_free_with(chains->labels, free);
	free(chains);
}

static struct open_chain *find_chain(const struct gt_job_chains *chains, uint64_t context,
				     uint64_t seqno)
{
	const struct fence_number key = {context, seqno};

	return gt_hash_get(chains->by_key, &key, sizeof(key));
}

const struct gt_job_chain *gt_job_chains_find(const struct gt_job_chains *chains, uint64_t context,
					      uint64_t seqno)
{
	struct open_chain *open = find_chain(chains, context, seqno);

	return open ? &open->chain : NULL;
}

static uint64_t thread_key(uint32_t process, uint32_t thread)
{
	return (uint64_t)process << 32 | thread;
}

static struct submitting_thread *find_thread(const struct gt_job_chains *chains, uint32_t process,
					     uint32_t thread)
{
	return gt_hash_get_u64(chains->by_thread, thread_key(process, thread));
}

static struct submitting_thread *get_thread(struct gt_job_chains *chains, uint32_t process,
					    uint32_t thread)
{
	struct submitting_thread *known = find_thread(chains, process, thread);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->process = process;
	known->thread = thread;
	if (!gt_hash_set_u64(chains->by_thread, thread_key(process, thread), known))
		return known;
	free(known);
	return NULL;
}

/* Pass a chain on and forget it; it is in no thread's list. */
static int complete_chain(struct gt_job_chains *chains, struct open_chain *open)
{
	const struct fence_number key = {open->chain.context, open->chain.seqno};
	int error = chains->sink(chains->context, &open->chain);

	*(open->older ? &open->older->newer : &chains->oldest) = open->newer;
	*(open->newer ? &open->newer->older : &chains->newest) = open->older;
	gt_hash_remove(chains->by_key, &key, sizeof(key));
	chains->count--;
	free(open);
	return error;
}

/* No call of the thread encloses the submissions in its list: complete those that have ended. */
static int close_thread(struct gt_job_chains *chains, struct submitting_thread *thread)
{
	int error = 0;

	for (size_t i = 0; i < thread->chains.count; i++) {
		struct open_chain *open = thread->chains.items[i];

		open->is_submitted = true;
		if (open->has_ended && !error)
			error = complete_chain(chains, open);
	}
	thread->chains.count = 0;
	thread->in_syscall = 0;
	return error;
}

/* Complete what the last event ended. */
static int settle(struct gt_job_chains *chains)
{
	struct open_chain *ended = chains->ended;
	struct submitting_thread *submitted = chains->submitted;
	int error = 0;

	chains->ended = NULL;
	chains->submitted = NULL;
	if (ended && ended->is_submitted)
		error = complete_chain(chains, ended);
	if (!error && submitted)
		error = close_thread(chains, submitted);
	return error;
}

/* Make room: complete the oldest chain as it is. */
static int complete_oldest(struct gt_job_chains *chains)
{
	struct open_chain *open = chains->oldest;
	int error = 0;

	if (!open->is_submitted)
		error = close_thread(chains,
				     find_thread(chains, open->chain.process, open->chain.thread));
	/* This may have completed it. */
	return error || chains->oldest != open ? error : complete_chain(chains, open);
}

static struct open_chain *add_chain(struct gt_job_chains *chains, const struct fence_number *key)
{
	struct open_chain *open = calloc(1, sizeof(*open));

	if (!open)
		return NULL;
	open->chain.context = key->context;
	open->chain.seqno = key->seqno;
	if (gt_hash_set(chains->by_key, key, sizeof(*key), open)) {
		free(open);
		return NULL;
	}
	open->older = chains->newest;
	*(chains->newest ? &chains->newest->newer : &chains->oldest) = open;
	chains->newest = open;
	chains->count++;
	return open;
}

/* ---- steps of jobs ------------------------------------------------------------------------ */

static void end_job(struct gt_job_chains *chains, struct open_chain *open)
{
	open->has_ended = true;
	chains->ended = open;
}

/* A new job; a key that is known already is of a malformed stream, and its chain is kept. */
static int take_queue(struct gt_job_chains *chains, const struct gt_event_drm_job *job)
{
	const struct fence_number key = {job->context, job->seqno};
	struct submitting_thread *thread;
	struct open_chain *open;
	int error = 0;

	if (find_chain(chains, key.context, key.seqno))
		return 0;
	if (chains->count >= GT_MAX_OPEN_JOB_CHAINS)
		error = complete_oldest(chains);
	thread = get_thread(chains, job->head.process, job->head.thread);
	open = thread && !error ? add_chain(chains, &key) : NULL;
	if (!open)
		return error ? error : -ENOMEM;
	open->chain.process = job->head.process;
	open->chain.thread = job->head.thread;
	open->chain.queued = job->head.time;
	open->chain.outermost = thread->running;
	gt_tail_names(&job->head, open->chain.names);
	if (!gt_vec_push(&thread->chains, open))
		return 0;
	open->is_submitted = true; /* it is in no list */
	return -ENOMEM;
}

static int take_job(struct gt_job_chains *chains, const struct gt_event_drm_job *job)
{
	struct open_chain *open;

	if (job->operation == GT_DRM_QUEUE)
		return take_queue(chains, job);
	open = find_chain(chains, job->context, job->seqno);
	if (!open)
		return 0;
	if (job->error)
		open->chain.error = job->error;
	switch (job->operation) {
	case GT_DRM_RUN:
		open->chain.run = job->head.time;
		open->chain.blocked = job->blocked;
		break;
	case GT_DRM_TIMEOUT:
		open->chain.timed_out = true;
		break;
	case GT_DRM_DONE:
	case GT_DRM_CANCELED:
		open->chain.done = job->head.time;
		open->chain.canceled = job->operation == GT_DRM_CANCELED;
		/* The fence follows, where fences are traced. A canceled job's came before. */
		if (!chains->has_fences || open->chain.signaled)
			end_job(chains, open);
		break;
	default:
		break;
	}
	return 0;
}

static void take_fence(struct gt_job_chains *chains, const struct gt_event_fence *fence)
{
	struct open_chain *open;

	chains->has_fences = true;
	if (fence->operation != GT_FENCE_SIGNALED)
		return;
	open = find_chain(chains, fence->context, fence->seqno);
	if (!open)
		return;
	open->chain.signaled = fence->head.time;
	if (fence->error)
		open->chain.error = fence->error;
	/* The events of an interrupted program: `done` may come after it. */
	if (open->chain.done)
		end_job(chains, open);
}

static void take_interrupt(struct gt_job_chains *chains,
			   const struct gt_event_fence_interrupt *event)
{
	struct open_chain *open = find_chain(chains, event->context, event->seqno);
	struct gt_job_chain_interrupt *interrupt;
	size_t length;
	const char *handler = gt_event_text(&event->head, &length);

	chains->has_fences = true;
	if (!open)
		return;
	interrupt = &open->chain.interrupt;
	interrupt->start = event->head.time;
	interrupt->irq = event->irq;
	memset(interrupt->handler, 0, sizeof(interrupt->handler));
	memcpy(interrupt->handler, handler,
	       length < sizeof(interrupt->handler) ? length : sizeof(interrupt->handler));
}

/* A dependency of a job, while the job that it waits for is open: its submitter is known. */
static void keep_dependency(struct gt_job_chains *chains, struct open_chain *open,
			    const struct gt_event_drm_dependency *event)
{
	const struct open_chain *on = find_chain(chains, event->on_context, event->on_seqno);

	if (!on || open->dependency_count == MAX_DEPENDENCIES)
		return;
	open->dependencies[open->dependency_count++] = (struct gt_job_chain_dependency){
		.context = event->on_context,
		.seqno = event->on_seqno,
		.process = on->chain.process,
		.thread = on->chain.thread,
	};
}

static void take_dependency(struct gt_job_chains *chains,
			    const struct gt_event_drm_dependency *event)
{
	struct open_chain *open = find_chain(chains, event->context, event->seqno);
	struct gt_job_chain_dependency found = {event->on_context, event->on_seqno, event->blocked,
						0, 0};

	if (!open)
		return;
	if (event->operation != GT_DRM_UNBLOCKED) {
		keep_dependency(chains, open, event);
		return;
	}
	if (event->blocked <= open->chain.dependency.blocked)
		return;
	for (unsigned i = 0; i < open->dependency_count; i++) {
		const struct gt_job_chain_dependency *known = &open->dependencies[i];

		if (known->context != event->on_context || known->seqno != event->on_seqno)
			continue;
		found.process = known->process;
		found.thread = known->thread;
	}
	open->chain.dependency = found;
}

/* ---- submissions -------------------------------------------------------------------------- */

/* "ioctl DRM_IOCTL_…", owned by the table of labels; NULL: out of memory. */
static const char *label_syscall(struct gt_job_chains *chains, const struct gt_event_syscall *call)
{
	const char *name = gt_syscall_name(call->machine, call->number);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	char *label;

	gt_strbuf_puts(&text, name ? name : "syscall");
	if (name && !strcmp(name, "ioctl") && gt_hash_count(chains->labels) < MAX_LABELS) {
		gt_strbuf_putc(&text, ' ');
		gt_syscall_put_argument(&text, call, 1);
	}
	label = gt_hash_get_str(chains->labels, gt_strbuf_string(&text));
	if (label)
		return label;
	label = strdup(gt_strbuf_string(&text));
	if (!label || !gt_hash_set_str(chains->labels, label, label))
		return label;
	free(label);
	return NULL;
}

/* A system call that returned: what its thread queued since it began. They do not nest. */
static int take_syscall(struct gt_job_chains *chains, const struct gt_event_syscall *call)
{
	struct submitting_thread *thread =
		find_thread(chains, call->head.process, call->head.thread);
	uint64_t start = call->head.time - call->duration;
	const char *label = NULL;

	if (!thread)
		return 0;
	for (; thread->in_syscall < thread->chains.count; thread->in_syscall++) {
		struct gt_job_chain *chain = &thread->chains.items[thread->in_syscall]->chain;

		if (chain->queued < start || chain->queued > call->head.time)
			continue;
		if (!label)
			label = label_syscall(chains, call);
		if (!label)
			return -ENOMEM;
		chain->syscall =
			(struct gt_job_chain_syscall){start, call->head.time, call->call, label};
	}
	return 0;
}

/* A call that returned: inner ones come before those that enclose them. */
static void take_call(struct gt_job_chains *chains, const struct gt_event_call *call)
{
	struct submitting_thread *thread =
		find_thread(chains, call->head.process, call->head.thread);
	const struct gt_job_chain_call this = {call->head.time - call->duration, call->head.time,
					       call->function};

	if (!thread)
		return;
	for (size_t i = thread->chains.count; i-- > 0;) {
		struct gt_job_chain *chain = &thread->chains.items[i]->chain;

		if (chain->queued < this.start)
			break;
		if (chain->queued > this.end)
			continue;
		chain->outermost = this;
		if (!chain->innermost.start)
			chain->innermost = this;
	}
	if (call->depth)
		return;
	thread->running.start = 0;
	chains->submitted = thread;
}

static int take_entry(struct gt_job_chains *chains, const struct gt_event_call *call)
{
	struct submitting_thread *thread;

	if (call->depth)
		return 0;
	thread = get_thread(chains, call->head.process, call->head.thread);
	if (!thread)
		return -ENOMEM;
	thread->running = (struct gt_job_chain_call){call->head.time, 0, call->function};
	return 0;
}

/* The threads of a process have ended. */
static int take_exit(struct gt_job_chains *chains, const struct gt_event *event)
{
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (!error && gt_hash_next(chains->by_thread, &cursor, NULL, NULL, &value)) {
		struct submitting_thread *thread = value;

		if (thread->process != event->process)
			continue;
		error = close_thread(chains, thread);
		gt_hash_remove_u64(chains->by_thread, thread_key(thread->process, thread->thread));
		free_thread(thread);
	}
	return error;
}

int gt_job_chains_take(struct gt_job_chains *chains, const struct gt_event *event)
{
	int error = settle(chains);

	if (error)
		return error;
	switch (event->kind) {
	case GT_EVENT_call:
		take_call(chains, (const void *)event);
		return 0;
	case GT_EVENT_entry:
		return take_entry(chains, (const void *)event);
	case GT_EVENT_syscall:
		return take_syscall(chains, (const void *)event);
	case GT_EVENT_drm_job:
		return take_job(chains, (const void *)event);
	case GT_EVENT_drm_dependency:
		take_dependency(chains, (const void *)event);
		return 0;
	case GT_EVENT_fence:
		take_fence(chains, (const void *)event);
		return 0;
	case GT_EVENT_fence_interrupt:
		take_interrupt(chains, (const void *)event);
		return 0;
	case GT_EVENT_exit:
		return take_exit(chains, event);
	default:
		return 0;
	}
}

int gt_job_chains_finish(struct gt_job_chains *chains)
{
	int error = settle(chains);

	while (!error && chains->oldest)
		error = complete_oldest(chains);
	return error;
}
