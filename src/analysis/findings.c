/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every operation is counted at the call sites of the kinds that it may belong to. Sites with
 * enough occurrences become findings.
 */
#include "analysis/findings.h"

#include <errno.h>
#include <string.h>

#include "analysis/call_sites.h"
#include "analysis/errors.h"
#include "analysis/evidence.h"
#include "analysis/flight.h"
#include "analysis/memory.h"
#include "base/hash.h"
#include "base/launch_limits.h"
#include "base/vec.h"

#define RETRY_WITHIN 8 /* allocations of the thread */

struct finding_process {
	uint64_t launches;
	bool lost; /* a sticky error was seen */
};

struct finding_thread {
	uint32_t process;
	uint64_t launches;              /* since the last synchronisation */
	struct gt_call_site_key failed; /* the site of an allocation that failed … */
	uint64_t allocations_left;      /* … and how many may go by until it is forgotten */
};

struct gt_findings {
	struct gt_operations *operations;
	struct gt_memory *memory;
	struct gt_flight *flight;
	struct gt_hash *sites, *processes, *threads;
	struct gt_hash *merged;   /* the sites as rows are made of them; NULL: none yet */
	struct gt_hash *launches; /* site of each kernel's launches: struct gt_call_site_key ->
				    struct gt_call_site */
	GT_VEC(struct gt_finding) rows;
};

/* The APIs for which the advice differs. */
enum {
	ADVICE_RUNTIME,
	ADVICE_DRIVER,
	ADVICE_HIP,
	ADVICE_OTHER,
	ADVICE_COUNT,
};

static const struct {
	const char *name;
	uint64_t min;
	const char *advice[ADVICE_COUNT];
} kinds[GT_FINDINGS] = {
#define FINDING(name, min, ...) {#name, min, {__VA_ARGS__}},
#include "analysis/findings.def"
#undef FINDING
};

static int take_change(void *opaque, const struct gt_names *names,
		       const struct gt_memory_change *change);

struct gt_findings *gt_findings_new(void)
{
	gt_auto(findings) struct gt_findings *findings = calloc(1, sizeof(*findings));

	if (!findings)
		return NULL;
	findings->operations = gt_operations_new();
	findings->memory = gt_memory_new(false, take_change, findings);
	findings->flight = gt_flight_new(GT_FLIGHT_DEFAULT);
	findings->sites = gt_hash_new();
	findings->processes = gt_hash_new();
	findings->threads = gt_hash_new();
	findings->launches = gt_hash_new();
	if (!findings->operations || !findings->memory || !findings->flight || !findings->sites ||
	    !findings->processes || !findings->threads || !findings->launches)
		return NULL;
	return gt_take(findings);
}

static void forget_rows(struct gt_findings *findings)
{
	gt_vec_each (row, &findings->rows)
		free((char *)row->evidence);
	findings->rows.count = 0;
}

void gt_findings_free(struct gt_findings *findings)
{
	if (!findings)
		return;
	forget_rows(findings);
	gt_vec_free(&findings->rows);
	gt_operations_free(findings->operations);
	gt_memory_free(findings->memory);
	gt_flight_free(findings->flight);
	if (findings->merged)
		gt_hash_free_with(findings->merged, free);
	if (findings->sites)
		gt_hash_free_with(findings->sites, gt_call_site_free);
	if (findings->launches)
		gt_hash_free_with(findings->launches, gt_call_site_free);
	if (findings->processes)
		gt_hash_free_with(findings->processes, free);
	if (findings->threads)
		gt_hash_free_with(findings->threads, free);
	free(findings);
}

/* NULL: no room; then nothing is counted. */
static struct gt_call_site *call_site_of(struct gt_findings *findings, const struct gt_names *names,
					 enum gt_finding_kind kind,
					 const struct gt_event_call *call, uint64_t detail)
{
	struct gt_call_site_key key = gt_call_site_key_of(kind, call, detail);

	return gt_call_site_in(findings->sites, names, &key);
}

static void *item_of(struct gt_hash *map, uint64_t id, size_t size)
{
	void *item = gt_hash_get_u64(map, id);

	if (item)
		return item;
	item = calloc(1, size);
	if (item && gt_hash_set_u64(map, id, item)) {
		free(item);
		return NULL;
	}
	return item;
}

/* Allocations that are freed again: a loop, unless many of them stand at once. */
static void take_allocated(struct gt_findings *findings, const struct gt_names *names,
			   const struct gt_memory_change *change)
{
	const struct gt_operation *operation = change->operation;
	struct gt_call_site *site;

	if (operation->names_stream)
		return; /* from a pool: cheap, and meant so */
	site = call_site_of(findings, names, GT_FINDING_allocation_in_loop, operation->event,
			    change->allocation->bytes);
	if (!site)
		return;
	site->ns += operation->event->duration;
	if (++site->live > site->max_live)
		site->max_live = site->live;
}

static void take_freed(struct gt_findings *findings, const struct gt_memory_change *change)
{
	const struct gt_allocation *allocation = change->allocation;
	struct gt_call_site_key key = {
		.stack = allocation->stack,
		.detail = allocation->bytes,
		.process = allocation->process,
		.function = allocation->function,
		.kind = GT_FINDING_allocation_in_loop,
	};
	struct gt_call_site *site = gt_hash_get(findings->sites, &key, sizeof(key));

	if (!site)
		return;
	if (site->live)
		site->live--;
	if (change->what == GT_MEMORY_FREED || change->what == GT_MEMORY_RELEASE_SEEN)
		gt_call_site_count(site, change->operation, allocation->bytes);
}

static int take_change(void *opaque, const struct gt_names *names,
		       const struct gt_memory_change *change)
{
	struct gt_findings *findings = opaque;

	switch (change->what) {
	case GT_MEMORY_ALLOCATED:
		take_allocated(findings, names, change);
		break;
	case GT_MEMORY_FREED:
	case GT_MEMORY_RELEASE_SEEN:
		take_freed(findings, change);
		break;
	case GT_MEMORY_FREED_TWICE:
		gt_call_site_count(call_site_of(findings, names, GT_FINDING_freed_twice,
						change->operation->event, 0),
				   change->operation, 0);
		break;
	case GT_MEMORY_FREED_FOREIGN:
		gt_call_site_count(call_site_of(findings, names, GT_FINDING_freed_foreign,
						change->operation->event, 0),
				   change->operation, 0);
		break;
	default:
		break;
	}
	return 0;
}

/* The source line that a stack begins at; false: unknown. */
static bool line_of(const struct gt_names *names, uint32_t process, uint64_t stack,
		    struct gt_source_frame *ret_frame)
{
	size_t count;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);
	struct gt_location location;

	if (!addresses || !count)
		return false;
	gt_names_location(names, process, addresses[0], true, &location);
	if (!location.frame_count || !location.frames[0].file)
		return false;
	*ret_frame = location.frames[0];
	return true;
}

/* The same stack, or one from the same line: compilers unroll loops. */
static bool is_call_site_of(const struct gt_names *names, const struct gt_call_site_key *key,
			    const struct gt_event_call *call)
{
	struct gt_source_frame one, other;

	if (!key->stack || key->stack == call->stack)
		return key->stack;
	return line_of(names, key->process, key->stack, &one) &&
	       line_of(names, key->process, call->stack, &other) && one.line == other.line &&
	       !strcmp(one.file, other.file);
}

static bool is_retry(const struct gt_names *names, const struct finding_thread *thread,
		     const struct gt_event_call *call, uint64_t bytes)
{
	const struct gt_call_site_key *failed = &thread->failed;

	if (!thread->allocations_left || failed->process != thread->process)
		return false;
	return failed->detail == bytes ||
	       (bytes < failed->detail && is_call_site_of(names, failed, call));
}

/* An allocation that failed is tried again: of the same size, or for less at the same site. */
static int take_alloc(struct gt_findings *findings, const struct gt_names *names,
		      const struct gt_operation *operation)
{
	const struct gt_event_call *call = operation->event;
	uint64_t bytes = operation->has_bytes ? operation->bytes : 0;
	struct finding_thread *thread =
		item_of(findings->threads, call->head.thread, sizeof(struct finding_thread));
	struct gt_call_site *site;

	if (!thread)
		return -ENOMEM;
	thread->process = call->head.process;
	if (is_retry(names, thread, call, bytes)) {
		struct gt_call_site_key key = thread->failed;

		key.detail = 0;
		site = gt_call_site_in(findings->sites, names, &key);
		gt_call_site_count(site, operation, bytes);
		if (site)
			site->all += !operation->failed; /* went well at last */
		thread->allocations_left = 0;
	}
	if (thread->allocations_left)
		thread->allocations_left--;
	if (operation->failed && !gt_error_is_sticky(call->result)) {
		thread->failed = gt_call_site_key_of(GT_FINDING_allocation_retried, call, bytes);
		thread->allocations_left = RETRY_WITHIN;
	}
	return 0;
}

static void take_copy(struct gt_findings *findings, const struct gt_names *names,
		      const struct gt_operation *operation)
{
	struct gt_call_site *site;

	if (operation->failed || !operation->has_bytes || operation->has_other)
		return;
	site = call_site_of(findings, names, GT_FINDING_tiny_copies, operation->event, 0);
	if (!site)
		return;
	site->all++;
	if (operation->bytes <= GT_TINY_COPY)
		gt_call_site_count(site, operation, operation->bytes);
}

/*
 * A wait for a single launch, after which nothing is known to be in any stream: the device idles
 * until the next launch. The flight has taken the operation before.
 */
static int take_sync(struct gt_findings *findings, const struct gt_names *names,
		     const struct gt_operation *operation)
{
	uint32_t id = operation->event->head.thread;
	struct finding_thread *thread =
		item_of(findings->threads, id, sizeof(struct finding_thread));

	if (!thread)
		return -ENOMEM;
	if (!operation->failed && thread->launches == 1 &&
	    !gt_flight_count_in(findings->flight, operation->event->head.process))
		gt_call_site_count(call_site_of(findings, names, GT_FINDING_sync_after_launch,
						operation->event, 0),
				   operation, 0);
	thread->launches = 0;
	return 0;
}

/* The label of what a call launches, by which a person knows it. */
static char *label_launch(const struct gt_names *names, const struct gt_operation *operation)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	uint64_t handle = 0;

	if (gt_call_kernel(&operation->call, &handle))
		gt_label_kernel(&text, NULL, gt_names_launched(names, &operation->call), handle);
	else
		gt_strbuf_puts(&text, "a graph");
	return gt_strbuf_steal(&text);
}

/* Launch sites are kept by kernel, to name the launch that caused an error. */
static int take_launch(struct gt_findings *findings, const struct gt_names *names,
		       const struct gt_operation *operation, struct gt_call_site **ret_site)
{
	const struct gt_event_call *call = operation->event;
	struct finding_process *process =
		item_of(findings->processes, call->head.process, sizeof(struct finding_process));
	struct finding_thread *thread =
		item_of(findings->threads, call->head.thread, sizeof(struct finding_thread));
	uint64_t handle = 0;
	struct gt_call_site_key key;
	struct gt_call_site *site;

	if (!process || !thread)
		return -ENOMEM;
	process->launches++;
	thread->process = call->head.process;
	thread->launches++;
	gt_call_kernel(&operation->call, &handle);
	key = gt_call_site_key_of(GT_FINDING_small_launches, call, handle);
	site = gt_call_site_in(findings->launches, names, &key);
	if (site && !site->text)
		site->text = label_launch(names, operation);
	*ret_site = site;
	return 0;
}

static int take_small_launch(struct gt_findings *findings, const struct gt_names *names,
			     const struct gt_operation *operation,
			     const struct gt_call_site *launch)
{
	struct gt_call_launch how;
	struct gt_call_site *site;

	if (!gt_call_launch(&operation->call, &how) ||
	    (uint64_t)how.block[0] * how.block[1] * how.block[2] >= GT_WARP_SIZE)
		return 0;
	site = call_site_of(findings, names, GT_FINDING_small_launches, operation->event,
			    launch->key.detail);
	if (site && !site->text && launch->text)
		site->text = strdup(launch->text);
	gt_call_site_count(site, operation, 0);
	return 0;
}

/* The first error that stays names the last launch of which nothing says that it went well. */
static int take_sticky(struct gt_findings *findings, const struct gt_names *names,
		       const struct gt_operation *operation)
{
	uint32_t id = operation->event->head.process;
	struct finding_process *process =
		item_of(findings->processes, id, sizeof(struct finding_process));
	struct gt_call_site_key key =
		gt_call_site_key_of(GT_FINDING_sticky_error, operation->event, 0);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	const struct gt_work *work;
	struct gt_call_site *site;
	size_t candidates;

	if (!process)
		return -ENOMEM;
	if (process->lost)
		return 0;
	process->lost = true;
	work = gt_flight_last(findings->flight, id, &candidates);
	gt_api_format_result(&text, operation->call.function, operation->event->result, false);
	gt_strbuf_printf(&text, ", first returned by %s", operation->call.function->name);
	if (work) {
		const struct gt_call_site *launch =
			(const struct gt_call_site *)(uintptr_t)work->tag;

		key.stack = launch->key.stack;
		gt_strbuf_printf(&text, "; probably caused by the launch of %s",
				 launch->text ? launch->text : "?");
		if (candidates > 1)
			gt_strbuf_printf(&text, ", the last of %zu that were not yet synchronized",
					 candidates);
	} else {
		gt_strbuf_puts(&text, "; no launch was seen that could have caused it");
	}
	site = gt_call_site_in(findings->sites, names, &key);
	if (!site)
		return 0;
	gt_call_site_count(site, operation, 0);
	free(site->text);
	site->text = gt_strbuf_steal(&text);
	return 0;
}

static void ignore_ended(void *context, const struct gt_work *work, uint64_t end)
{
}

static int take_by_kind(struct gt_findings *findings, const struct gt_names *names,
			const struct gt_operation *operation, struct gt_call_site **ret_launch)
{
	int error;

	if (operation->capture)
		return 0;
	switch (operation->kind) {
	case GT_OPERATION_ALLOC:
		return take_alloc(findings, names, operation);
	case GT_OPERATION_COPY:
		take_copy(findings, names, operation);
		return 0;
	case GT_OPERATION_LAUNCH:
		if (operation->failed)
			return 0;
		error = take_launch(findings, names, operation, ret_launch);
		return error || !*ret_launch
			       ? error
			       : take_small_launch(findings, names, operation, *ret_launch);
	default:
		return 0;
	}
}

/* Whether it puts a copy or a fill into a stream and does not wait for it. */
static bool is_queued_copy(const struct gt_operation *operation)
{
	return (operation->kind == GT_OPERATION_COPY || operation->kind == GT_OPERATION_SET) &&
	       operation->names_stream && !operation->failed && !operation->capture;
}

static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_operation *operation)
{
	struct gt_findings *findings = opaque;
	int direction = gt_call_direction(&operation->call);
	struct gt_call_site *launch = NULL;
	uint64_t tag;
	bool is_work;
	int error = gt_memory_take(findings->memory, names, operation);

	if (!error)
		error = take_by_kind(findings, names, operation, &launch);
	if (!error && operation->failed && gt_error_is_sticky(operation->event->result))
		error = take_sticky(findings, names, operation);
	tag = (uintptr_t)launch;
	is_work = launch || is_queued_copy(operation);
	if (!error)
		error = gt_flight_take(findings->flight, operation, is_work ? &tag : NULL,
				       direction == 1 || direction == 2, ignore_ended, NULL);
	if (error || operation->capture)
		return error;
	return operation->kind == GT_OPERATION_SYNC || operation->kind == GT_OPERATION_EVENT_SYNC
		       ? take_sync(findings, names, operation)
		       : 0;
}

static void forget_threads(struct gt_findings *findings, uint32_t process)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (gt_hash_next(findings->threads, &cursor, &key, &length, &value)) {
		if (((struct finding_thread *)value)->process != process)
			continue;
		gt_hash_remove(findings->threads, key, length);
		free(value);
	}
}

int gt_findings_take(struct gt_findings *findings, const struct gt_names *names,
		     const struct gt_event *event)
{
	int error =
		gt_operations_take(findings->operations, names, event, take_operation, findings);

	if (error || event->kind != GT_EVENT_exit)
		return error;
	forget_threads(findings, event->process);
	gt_flight_end_process(findings->flight, event->process);
	return gt_memory_end_process(findings->memory, names, event->process, event->time);
}

static bool is_enough(const struct gt_findings *findings, const struct gt_call_site *site)
{
	const struct finding_process *process;

	if (site->count < kinds[site->key.kind].min)
		return false;
	switch (site->key.kind) {
	case GT_FINDING_allocation_in_loop:
		return site->max_live <= site->count / 4;
	case GT_FINDING_tiny_copies:
		return site->count >= site->all / 2;
	case GT_FINDING_sync_after_launch:
		process = gt_hash_get_u64(findings->processes, site->key.process);
		return process && site->count >= process->launches / 2;
	default:
		return true;
	}
}

static char *evidence_of(const struct gt_findings *findings, const struct gt_call_site *site)
{
	const struct finding_process *process =
		gt_hash_get_u64(findings->processes, site->key.process);

	return gt_evidence_text(&(struct gt_evidence){
		.kind = site->key.kind,
		.function = site->function ? site->function : "?",
		.text = site->text ? site->text : "?",
		.count = site->count,
		.all = site->all,
		.bytes = site->key.kind == GT_FINDING_allocation_in_loop ? site->key.detail
									 : site->bytes,
		.ns = site->ns,
		.launches = process ? process->launches : 0,
	});
}

/* Libraries on top of CUDA's have the advice for its runtime. */
static const char *advice_for(enum gt_finding_kind kind, const char *library)
{
	static const struct {
		const char *library;
		int advice;
	} libraries[] = {{"cuda", ADVICE_DRIVER},
			 {"amdhip64", ADVICE_HIP},
			 {"OpenCL", ADVICE_OTHER},
			 {"ze_loader", ADVICE_OTHER}};

	for (size_t i = 0; library && i < gt_countof(libraries); i++)
		if (!strcmp(libraries[i].library, library))
			return kinds[kind].advice[libraries[i].advice];
	return kinds[kind].advice[ADVICE_RUNTIME];
}

static int add_row(struct gt_findings *findings, const struct gt_call_site *site)
{
	struct gt_finding row = {
		.kind = site->key.kind,
		.name = kinds[site->key.kind].name,
		.advice = advice_for(site->key.kind, site->library),
		.process = site->key.process,
		.process_name = site->process_name,
		.function = site->function,
		.stack = site->key.stack,
		.stacks = site->stacks,
		.count = site->count,
		.bytes = site->bytes,
		.ns = site->ns,
		.evidence = evidence_of(findings, site),
	};

	if (!row.evidence || gt_vec_push(&findings->rows, row)) {
		free((char *)row.evidence);
		return -ENOMEM;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gt_finding *left = a, *right = b;

	if (left->kind != right->kind)
		return (int)left->kind - (int)right->kind;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return left->process < right->process ? -1 : left->process > right->process;
}

int gt_findings_rows(struct gt_findings *findings, const struct gt_names *names,
		     const struct gt_finding **ret_rows, size_t *ret_count)
{
	size_t cursor = 0;
	void *value;
	int error;

	forget_rows(findings);
	if (findings->merged)
		gt_hash_free_with(findings->merged, free);
	findings->merged = NULL;
	error = gt_call_sites_merge(findings->sites, names, &findings->merged);
	while (!error && gt_hash_next(findings->merged, &cursor, NULL, NULL, &value))
		if (is_enough(findings, value))
			error = add_row(findings, value);
	if (error)
		return error;
	if (findings->rows.count)
		qsort(findings->rows.items, findings->rows.count, sizeof(*findings->rows.items),
		      compare_rows);
	*ret_rows = findings->rows.items;
	*ret_count = findings->rows.count;
	return 0;
}
