/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/gpu_drivers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layers/drivers.h"

#define MAX_BUFFERS 262144  /* that are followed at a time */
#define MAX_BINDINGS 262144 /* of them */

/* The three layouts are the same: event.def. */
typedef struct gt_event_i915_buffer driver_buffer;
typedef struct gt_event_i915_request driver_request;

/* An address on the GPU at which a buffer is bound. */
struct driver_binding {
	struct driver_binding_key {
		uint64_t buffer, space, offset;
	} key;
	uint64_t bytes;
	struct driver_binding *next, **link; /* of the same buffer; what points to this one */
};

/* A buffer that exists. */
struct driver_state {
	struct driver_binding *bindings;
	uint64_t binds, moves;
};

static void release_engine(void *opaque)
{
	struct gt_driver_engine *engine = opaque;

	gt_histogram_free(&engine->delay);
	gt_histogram_free(&engine->ran);
	gt_histogram_free(&engine->waits);
}

struct gt_gpu_drivers *gt_gpu_drivers_new(void)
{
	gt_auto(gpu_drivers) struct gt_gpu_drivers *drivers = calloc(1, sizeof(*drivers));

	if (!drivers)
		return NULL;
	drivers->buffers = gt_hash_new();
	drivers->bindings = gt_hash_new();
	if (!drivers->buffers || !drivers->bindings || gt_keyed_rows_init(&drivers->devices) ||
	    gt_keyed_rows_init(&drivers->processes) || gt_keyed_rows_init(&drivers->operations) ||
	    gt_keyed_rows_init(&drivers->engines) || gt_keyed_rows_init(&drivers->interrupts) ||
	    gt_keyed_rows_init(&drivers->findings))
		return NULL;
	return gt_take(drivers);
}

void gt_gpu_drivers_free(struct gt_gpu_drivers *drivers)
{
	if (!drivers)
		return;
	gt_keyed_rows_free(&drivers->devices, NULL);
	gt_keyed_rows_free(&drivers->processes, NULL);
	gt_keyed_rows_free(&drivers->operations, NULL);
	gt_keyed_rows_free(&drivers->engines, release_engine);
	gt_keyed_rows_free(&drivers->interrupts, NULL);
	gt_keyed_rows_free(&drivers->findings, NULL);
	if (drivers->buffers)
		gt_hash_free_with(drivers->buffers, free);
	if (drivers->bindings)
		gt_hash_free_with(drivers->bindings, free);
	free(drivers);
}

uint64_t gt_driver_live(const struct gt_driver_ledger *ledger)
{
	return ledger->created_bytes > ledger->destroyed_bytes
		       ? ledger->created_bytes - ledger->destroyed_bytes
		       : 0;
}

static struct gt_driver_process *find_process(struct gt_gpu_drivers *drivers, uint32_t process)
{
	return gt_keyed_rows_get(&drivers->processes, &process, sizeof(process),
				 sizeof(struct gt_driver_process));
}

/* ---- findings ----------------------------------------------------------------------------- */

/* The finding that an event is evidence of; `engine` may be NULL. NULL: out of memory. */
static struct gt_driver_finding *find_finding(struct gt_gpu_drivers *drivers, unsigned kind,
					      const struct gt_event *event, const char *device,
					      const char *engine)
{
	struct gt_driver_finding_key key = {.kind = kind, .process = event->process};
	struct gt_driver_finding *finding;

	memcpy(key.device, device, sizeof(key.device));
	if (engine)
		memcpy(key.engine, engine, sizeof(key.engine));
	finding = gt_keyed_rows_get(&drivers->findings, &key, sizeof(key), sizeof(*finding));
	return finding;
}

static void add_evidence(struct gt_driver_finding *finding, uint64_t time, uint64_t bytes)
{
	if (!finding->count++)
		finding->first = time;
	finding->last = time;
	finding->bytes += bytes;
}

/* A buffer was bound or moved, for the `repeats`th time after the first. */
static int add_repeat(struct gt_gpu_drivers *drivers, unsigned kind, const driver_buffer *buffer,
		      const char *device, uint64_t repeats)
{
	struct gt_driver_finding *finding;

	if (!repeats)
		return 0;
	finding = find_finding(drivers, kind, &buffer->head, device, NULL);
	if (!finding)
		return -ENOMEM;
	add_evidence(finding, buffer->head.time, buffer->bytes);
	finding->buffers += repeats == GT_THRASH_REPEATS;
	if (repeats > finding->repeats) {
		finding->repeats = repeats;
		finding->buffer = buffer->buffer;
	}
	return 0;
}

static int add_misplaced(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
			 const char *device)
{
	const uint32_t either = GT_DRIVER_DOMAIN_VRAM | GT_DRIVER_DOMAIN_GTT;
	struct gt_driver_finding *finding;

	if ((buffer->from & either) != GT_DRIVER_DOMAIN_VRAM ||
	    (buffer->to != GT_DRIVER_MEMORY_GTT && buffer->to != GT_DRIVER_MEMORY_SYSTEM))
		return 0;
	finding = find_finding(drivers, GT_DRIVER_FINDING_MISPLACED, &buffer->head, device, NULL);
	if (!finding)
		return -ENOMEM;
	if (!finding->count)
		finding->buffer = buffer->buffer;
	add_evidence(finding, buffer->head.time, buffer->bytes);
	return 0;
}

static int add_shrink(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
		      const char *device)
{
	struct gt_driver_finding *finding =
		find_finding(drivers, GT_DRIVER_FINDING_SHRUNK, &buffer->head, device, NULL);

	if (!finding)
		return -ENOMEM;
	add_evidence(finding, buffer->head.time, buffer->bytes);
	return 0;
}

/* ---- buffers ------------------------------------------------------------------------------ */

/* The state of a buffer; *ret_state is NULL where it has none, or there are too many. */
static int find_state(struct gt_gpu_drivers *drivers, uint64_t buffer,
		      struct driver_state **ret_state)
{
	struct driver_state *state = gt_hash_get_u64(drivers->buffers, buffer);

	*ret_state = state;
	if (state || !buffer)
		return 0;
	if (gt_hash_count(drivers->buffers) >= MAX_BUFFERS) {
		drivers->unfollowed++;
		return 0;
	}
	state = calloc(1, sizeof(*state));
	if (!state || gt_hash_set_u64(drivers->buffers, buffer, state)) {
		free(state);
		return -ENOMEM;
	}
	*ret_state = state;
	return 0;
}

static struct driver_binding *find_binding(const struct gt_gpu_drivers *drivers,
					   const driver_buffer *buffer)
{
	const struct driver_binding_key key = {buffer->buffer, buffer->space, buffer->offset};

	return gt_hash_get(drivers->bindings, &key, sizeof(key));
}

/* Enter a binding into the tables. 0 or -ENOMEM. */
static int insert_binding(struct gt_gpu_drivers *drivers, struct driver_state *state,
			  const driver_buffer *buffer)
{
	struct driver_binding *binding = malloc(sizeof(*binding));

	if (!binding)
		return -ENOMEM;
	*binding = (struct driver_binding){
		.key = {buffer->buffer, buffer->space, buffer->offset},
		.bytes = buffer->bytes,
		.next = state->bindings,
		.link = &state->bindings,
	};
	if (gt_hash_set(drivers->bindings, &binding->key, sizeof(binding->key), binding)) {
		free(binding);
		return -ENOMEM;
	}
	if (binding->next)
		binding->next->link = &binding->next;
	state->bindings = binding;
	return 0;
}

/* The device's ledger and the process's. */
struct driver_ledgers {
	struct gt_driver_ledger *each[2];
};

static void add_bound(const struct driver_ledgers *ledgers, uint64_t bytes)
{
	for (size_t i = 0; i < gt_countof(ledgers->each); i++) {
		struct gt_driver_ledger *ledger = ledgers->each[i];

		ledger->bound += bytes;
		if (ledger->bound > ledger->max_bound)
			ledger->max_bound = ledger->bound;
	}
}

static void subtract_bound(const struct driver_ledgers *ledgers, uint64_t bytes)
{
	for (size_t i = 0; i < gt_countof(ledgers->each); i++) {
		struct gt_driver_ledger *ledger = ledgers->each[i];

		ledger->bound -= bytes < ledger->bound ? bytes : ledger->bound;
	}
}

static void remove_binding(struct gt_gpu_drivers *drivers, struct driver_binding *binding,
			   const struct driver_ledgers *ledgers)
{
	subtract_bound(ledgers, binding->bytes);
	*binding->link = binding->next;
	if (binding->next)
		binding->next->link = binding->link;
	gt_hash_remove(drivers->bindings, &binding->key, sizeof(binding->key));
	free(binding);
}

/* A buffer is bound; where it is bound at this address already, nothing is added. */
static int add_binding(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
		       const char *device, const struct driver_ledgers *ledgers)
{
	struct driver_state *state;
	int error = find_state(drivers, buffer->buffer, &state);

	if (!state)
		return error;
	error = add_repeat(drivers, GT_DRIVER_FINDING_REBOUND, buffer, device, state->binds++);
	if (error || find_binding(drivers, buffer))
		return error;
	if (gt_hash_count(drivers->bindings) >= MAX_BINDINGS) {
		drivers->unfollowed++;
		return 0;
	}
	error = insert_binding(drivers, state, buffer);
	if (!error)
		add_bound(ledgers, buffer->bytes);
	return error;
}

static void end_binding(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
			const struct driver_ledgers *ledgers)
{
	struct driver_binding *binding = find_binding(drivers, buffer);

	if (binding)
		remove_binding(drivers, binding, ledgers);
}

static void end_buffer(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
		       const struct driver_ledgers *ledgers)
{
	struct driver_state *state = gt_hash_remove_u64(drivers->buffers, buffer->buffer);

	while (state && state->bindings)
		remove_binding(drivers, state->bindings, ledgers);
	free(state);
}

static int add_move(struct gt_gpu_drivers *drivers, const driver_buffer *buffer, const char *device)
{
	struct driver_state *state;
	int error;

	if (buffer->flags & GT_DRIVER_NO_COPY)
		return 0;
	error = find_state(drivers, buffer->buffer, &state);
	return state ? add_repeat(drivers, GT_DRIVER_FINDING_MOVED, buffer, device, state->moves++)
		     : error;
}

static void add_to_ledger(struct gt_driver_ledger *ledger, const driver_buffer *buffer)
{
	switch (buffer->operation) {
	case GT_DRIVER_CREATE:
		ledger->created++;
		ledger->created_bytes += buffer->bytes;
		if (gt_driver_live(ledger) > ledger->max_live)
			ledger->max_live = gt_driver_live(ledger);
		break;
	case GT_DRIVER_DESTROY:
		ledger->destroyed++;
		ledger->destroyed_bytes += buffer->bytes;
		break;
	case GT_DRIVER_MOVE:
		ledger->moved += buffer->flags & GT_DRIVER_NO_COPY ? 0 : buffer->bytes;
		break;
	case GT_DRIVER_FAULT:
	case GT_DRIVER_GPU_FAULT:
		ledger->faults++;
		break;
	case GT_DRIVER_EVICT:
		ledger->evictions++;
		break;
	}
}

static int add_operation(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
			 const char *device)
{
	struct gt_driver_operation_key key = {
		.operation = buffer->operation,
		.kind = buffer->head.kind,
	};
	struct gt_driver_operation *row;

	memcpy(key.device, device, sizeof(key.device));
	if (buffer->operation == GT_DRIVER_MOVE) {
		key.from = buffer->from;
		key.to = buffer->to;
	}
	row = gt_keyed_rows_get(&drivers->operations, &key, sizeof(key), sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->count++;
	row->bytes += buffer->bytes;
	row->writes += buffer->operation == GT_DRIVER_FAULT && buffer->flags & GT_DRIVER_WRITE;
	row->visible += buffer->operation == GT_DRIVER_CREATE && buffer->flags & GT_DRIVER_VISIBLE;
	row->no_copy += buffer->operation == GT_DRIVER_MOVE && buffer->flags & GT_DRIVER_NO_COPY;
	return 0;
}

static int follow_buffer(struct gt_gpu_drivers *drivers, const driver_buffer *buffer,
			 const char *device, const struct driver_ledgers *ledgers)
{
	switch (buffer->operation) {
	case GT_DRIVER_CREATE:
		/* The address is a new buffer's: the end of the one before was not seen. */
		end_buffer(drivers, buffer, ledgers);
		return add_misplaced(drivers, buffer, device);
	case GT_DRIVER_DESTROY:
		end_buffer(drivers, buffer, ledgers);
		return 0;
	case GT_DRIVER_BIND:
	case GT_DRIVER_REBIND:
		return add_binding(drivers, buffer, device, ledgers);
	case GT_DRIVER_UNBIND:
		end_binding(drivers, buffer, ledgers);
		return 0;
	case GT_DRIVER_MOVE:
		return add_move(drivers, buffer, device);
	case GT_DRIVER_SHRINK:
		return add_shrink(drivers, buffer, device);
	}
	return 0;
}

static int take_buffer(struct gt_gpu_drivers *drivers, const driver_buffer *buffer)
{
	char device[GT_TAIL_NAMES];
	struct gt_driver_device *device_row;
	struct gt_driver_process *process;
	struct driver_ledgers ledgers;

	gt_tail_names(&buffer->head, device);
	device_row =
		gt_keyed_rows_get(&drivers->devices, device, GT_DRM_NAME_SIZE, sizeof(*device_row));
	process = find_process(drivers, buffer->head.process);
	if (!device_row || !process || add_operation(drivers, buffer, device))
		return -ENOMEM;
	ledgers = (struct driver_ledgers){{&device_row->ledger, &process->ledger}};
	for (size_t i = 0; i < gt_countof(ledgers.each); i++)
		add_to_ledger(ledgers.each[i], buffer);
	return follow_buffer(drivers, buffer, device, &ledgers);
}

/* ---- requests and interrupts -------------------------------------------------------------- */

static int add_run(struct gt_gpu_drivers *drivers, struct gt_driver_engine *engine,
		   const driver_request *request)
{
	struct gt_driver_finding *finding =
		find_finding(drivers, GT_DRIVER_FINDING_LATE, &request->head, engine->key.device,
			     engine->key.name);

	engine->run++;
	if (!finding)
		return -ENOMEM;
	finding->of++;
	if (!request->delay)
		return 0;
	if (request->delay > GT_LATE_SUBMISSION) {
		engine->late++;
		add_evidence(finding, request->head.time, 0);
	}
	if (request->delay > finding->max) {
		finding->max = request->delay;
		finding->context = request->context;
		finding->seqno = request->seqno;
	}
	return gt_histogram_add(&engine->delay, request->delay);
}

static int add_step(struct gt_gpu_drivers *drivers, struct gt_driver_engine *engine,
		    struct gt_driver_process *process, const driver_request *request)
{
	switch (request->operation) {
	case GT_DRIVER_QUEUE:
		engine->queued++;
		return 0;
	case GT_DRIVER_SUBMIT:
		engine->submitted++;
		engine->buffers += request->count;
		process->requests++;
		return 0;
	case GT_DRIVER_RUN:
		return add_run(drivers, engine, request);
	case GT_DRIVER_DONE:
		engine->done++;
		return request->ran ? gt_histogram_add(&engine->ran, request->ran) : 0;
	case GT_DRIVER_WAIT:
		return gt_histogram_add(&engine->waits, request->duration);
	case GT_DRIVER_TIMEOUT:
		engine->timeouts++;
		return 0;
	case GT_DRIVER_ERROR:
		engine->errors++;
		return 0;
	}
	return 0;
}

static int take_request(struct gt_gpu_drivers *drivers, const driver_request *request)
{
	struct gt_driver_process *process = find_process(drivers, request->head.process);
	struct gt_driver_engine_key key;
	struct gt_driver_engine *engine;
	char names[GT_TAIL_NAMES];

	gt_tail_names(&request->head, names);
	memcpy(key.name, names, sizeof(key.name));
	memcpy(key.device, names + GT_DRM_NAME_SIZE, sizeof(key.device));
	engine = gt_keyed_rows_get(&drivers->engines, &key, sizeof(key), sizeof(*engine));
	return engine && process ? add_step(drivers, engine, process, request) : -ENOMEM;
}

static int take_interrupt(struct gt_gpu_drivers *drivers,
			  const struct gt_event_amdgpu_interrupt *event)
{
	const struct gt_driver_interrupt_key key = {event->handler, event->client, event->interrupt,
						    event->ring};
	struct gt_driver_interrupt *interrupt =
		gt_keyed_rows_get(&drivers->interrupts, &key, sizeof(key), sizeof(*interrupt));
	struct gt_driver_process *process = find_process(drivers, event->head.process);

	if (!interrupt || !process)
		return -ENOMEM;
	process->interrupts++;
	if (!interrupt->count++)
		interrupt->first = event->head.time;
	interrupt->last = event->head.time;
	return 0;
}

int gt_gpu_drivers_take(struct gt_gpu_drivers *drivers, const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_i915_buffer:
	case GT_EVENT_xe_buffer:
	case GT_EVENT_amdgpu_buffer:
		return take_buffer(drivers, (const void *)event);
	case GT_EVENT_i915_request:
	case GT_EVENT_xe_request:
	case GT_EVENT_amdgpu_request:
		return take_request(drivers, (const void *)event);
	case GT_EVENT_amdgpu_interrupt:
		return take_interrupt(drivers, (const void *)event);
	}
	return 0;
}

static uint64_t bytes_of_process(const void *row)
{
	return ((const struct gt_driver_process *)row)->ledger.created_bytes;
}

void gt_gpu_drivers_sort(struct gt_gpu_drivers *drivers)
{
	gt_keyed_rows_sort(&drivers->processes, bytes_of_process);
}
