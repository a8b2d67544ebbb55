/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/operation.h"

#include <errno.h>
#include <string.h>

#include "analysis/nesting.h"
#include "analysis/nodes.h"
#include "analysis/stream_captures.h"
#include "api/value.h"
#include "base/hash.h"

#define ABSENT (-1)
#define RESULT (-2) /* what the call returns */

/* How a function's calls become operations. */
struct operation_form {
	enum gt_operation_kind kind;
	enum gt_memory_space space;
	int address, bytes, other; /* arguments, or ABSENT … */
	int waits, signal;         /* … as are a list of events and an event … */
	int freed, callback; /* … and a list of what is freed, and what may do that instead */
	bool names_stream;
	struct gt_node_form *node; /* of a function that adds a node to a graph; else NULL */
};

struct gt_operations {
	struct gt_nesting *nesting;
	struct gt_stream_captures *captures;
	struct gt_hash *forms; /* function -> struct operation_form */
	gt_operation_sink sink;
	void *context;
};

static const struct {
	const char *function;
	enum gt_operation_kind kind;
	const char *address, *bytes, *other;
} named_operations[] = {
#define OPERATION(function, kind, address, bytes, other)                                           \
	{#function, GT_OPERATION_##kind, #address, #bytes, #other},
#define SPACE(function, space)
#define FREES(function, list, callback)
#include "analysis/operations.def"
#undef OPERATION
#undef SPACE
#undef FREES
};

static const struct {
	const char *function;
	enum gt_memory_space space;
} named_spaces[] = {
#define OPERATION(function, kind, address, bytes, other)
#define SPACE(function, space) {#function, GT_SPACE_##space},
#define FREES(function, list, callback)
#include "analysis/operations.def"
#undef OPERATION
#undef SPACE
#undef FREES
};

static const struct {
	const char *function, *list, *callback;
} named_frees[] = {
#define OPERATION(function, kind, address, bytes, other)
#define SPACE(function, space)
#define FREES(function, list, callback) {#function, #list, #callback},
#include "analysis/operations.def"
#undef OPERATION
#undef SPACE
#undef FREES
};

static const enum gt_operation_kind kinds_of_categories[GT_CATEGORY_COUNT] = {
	[GT_CATEGORY_ALLOC] = GT_OPERATION_ALLOC,   [GT_CATEGORY_FREE] = GT_OPERATION_FREE,
	[GT_CATEGORY_COPY] = GT_OPERATION_COPY,     [GT_CATEGORY_SET] = GT_OPERATION_SET,
	[GT_CATEGORY_LAUNCH] = GT_OPERATION_LAUNCH, [GT_CATEGORY_SYNC] = GT_OPERATION_SYNC,
};

/* Of a function with a list of events to wait for: the event that its own work completes. */
static const char *const signals[] = {"event", "hSignalEvent"};

const char *gt_space_name(enum gt_memory_space space)
{
	static const char *const names[GT_SPACES] = {"device", "host", "managed", "array",
						     "physical"};

	return names[space];
}

static int argument_called(const struct gt_api_function *function, const char *name)
{
	int argument = gt_api_find_argument(function, name);

	if (argument >= 0)
		return argument;
	return strcmp(name, "result") ? ABSENT : RESULT;
}

/* The rows of a function in operations.def. */
static void look_up(struct operation_form *form, const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(named_operations); i++) {
		if (strcmp(named_operations[i].function, function->name))
			continue;
		form->kind = named_operations[i].kind;
		form->address = argument_called(function, named_operations[i].address);
		form->bytes = argument_called(function, named_operations[i].bytes);
		form->other = argument_called(function, named_operations[i].other);
	}
	for (size_t i = 0; i < gt_countof(named_spaces); i++)
		if (!strcmp(named_spaces[i].function, function->name))
			form->space = named_spaces[i].space;
}

static void look_up_freed(struct operation_form *form, const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(named_frees); i++) {
		if (strcmp(named_frees[i].function, function->name))
			continue;
		form->freed = argument_called(function, named_frees[i].list);
		form->callback = argument_called(function, named_frees[i].callback);
	}
}

/* The list of events that a call waits for: it is after all other lists. */
static int find_waits(const struct gt_api_function *function)
{
	for (unsigned i = function->argument_count; i--;)
		if (function->arguments[i].role == GT_ROLE_LIST)
			return (int)i;
	return ABSENT;
}

static void form_of(const struct gt_api_function *function, struct operation_form *form)
{
	*form = (struct operation_form){
		.kind = kinds_of_categories[function->category],
		.address = ABSENT,
		.bytes = ABSENT,
		.other = ABSENT,
		.waits = find_waits(function),
		.signal = ABSENT,
		.freed = ABSENT,
		.callback = ABSENT,
		.names_stream = gt_api_has_stream(function),
	};

	if (form->kind == GT_OPERATION_FREE)
		form->address = gt_api_freed_argument(function);
	look_up(form, function);
	look_up_freed(form, function);
	for (size_t i = 0; i < gt_countof(signals) && form->waits != ABSENT; i++)
		if (form->signal == ABSENT)
			form->signal = argument_called(function, signals[i]);
	if (form->kind == GT_OPERATION_OTHER && form->signal != ABSENT && form->names_stream)
		form->kind = GT_OPERATION_EVENT_RECORD;
}

enum gt_operation_kind gt_operation_kind_of(const struct gt_api_function *function)
{
	struct operation_form form;

	form_of(function, &form);
	return form.kind;
}

struct gt_operations *gt_operations_new(void)
{
	gt_auto(operations) struct gt_operations *operations = calloc(1, sizeof(*operations));

	if (!operations)
		return NULL;
	operations->nesting = gt_nesting_new();
	operations->captures = gt_stream_captures_new();
	operations->forms = gt_hash_new();
	if (!operations->nesting || !operations->captures || !operations->forms)
		return NULL;
	return gt_take(operations);
}

static void form_free(void *opaque)
{
	struct operation_form *form = opaque;

	gt_node_form_free(form->node);
	free(form);
}

void gt_operations_free(struct gt_operations *operations)
{
	if (!operations)
		return;
	gt_nesting_free(operations->nesting);
	gt_stream_captures_free(operations->captures);
	if (operations->forms)
		gt_hash_free_with(operations->forms, form_free);
	free(operations);
}

static const struct operation_form *known_form(struct gt_operations *operations,
					       const struct gt_api_function *function)
{
	struct operation_form *form = gt_hash_get_u64(operations->forms, (uintptr_t)function);

	if (form)
		return form;
	form = malloc(sizeof(*form));
	if (!form)
		return NULL;
	form_of(function, form);
	if (gt_node_is_added(form->kind))
		form->node = gt_node_form_new(function, form->kind, form->address);
	if ((gt_node_is_added(form->kind) && !form->node) ||
	    gt_hash_set_u64(operations->forms, (uintptr_t)function, form)) {
		form_free(form);
		return NULL;
	}
	return form;
}

static bool number_of(const struct gt_operation *operation, int argument, uint64_t *ret_number)
{
	if (argument == RESULT) {
		*ret_number = operation->event->result;
		return operation->call.succeeded;
	}
	return argument != ABSENT &&
	       gt_call_number(&operation->call, (unsigned)argument, ret_number);
}

/* Functions compiled for it (_ptsz, _ptds) mean the thread's own default stream by 0 or none. */
static void choose_default_stream(struct gt_operation *operation)
{
	if (!(operation->event->state & GT_CALL_PER_THREAD))
		return;
	if (operation->has_stream ? operation->stream : operation->names_stream)
		return;
	operation->has_stream = true;
	operation->stream = GT_STREAM_PER_THREAD;
}

/* CL_QUEUE_PROPERTIES: the value after it in a list of properties is a set of flags. */
#define QUEUE_FLAGS_KEY 0x1093

/* The flags of a queue: a number, or the first of a list of properties. */
static bool queue_flags(const struct gt_call *call, int argument, uint64_t *ret_flags)
{
	struct gt_api_value pair;
	uint64_t key = 0;

	if (argument == ABSENT || call->function->arguments[argument].role != GT_ROLE_STRUCT)
		return argument != ABSENT && gt_call_number(call, (unsigned)argument, ret_flags);
	pair = gt_call_pointed_value(call, (unsigned)argument);
	for (unsigned i = 0; pair.size && i < pair.type->count; i++) {
		const struct gt_api_field *field = &pair.type->fields[i];
		struct gt_api_value value = gt_value_field(&pair, field, 0);

		if (field->offset)
			return key == QUEUE_FLAGS_KEY && gt_value_load(&value, ret_flags);
		if (!gt_value_load(&value, &key))
			return false;
	}
	return false;
}

static void decode_events(struct gt_operation *operation, const struct operation_form *form)
{
	if (form->waits != ABSENT)
		operation->wait_count =
			gt_call_list(&operation->call, (unsigned)form->waits, operation->waits);
	if (!number_of(operation, form->signal, &operation->signal))
		operation->signal = 0;
}

static void decode_operation(struct gt_operation *operation, const struct operation_form *form)
{
	const struct gt_call *call = &operation->call;

	operation->has_address = number_of(operation, form->address, &operation->address);
	operation->has_bytes = number_of(operation, form->bytes, &operation->bytes);
	operation->has_other = number_of(operation, form->other, &operation->other);
	operation->names_stream = form->names_stream;
	operation->has_stream = form->names_stream && gt_call_stream(call, &operation->stream);
	choose_default_stream(operation);
	decode_events(operation, form);
	switch (form->kind) {
	case GT_OPERATION_ALLOC:
		operation->has_address = gt_call_allocated(call, &operation->address);
		operation->has_bytes = gt_call_allocated_bytes(call, &operation->bytes);
		break;
	case GT_OPERATION_COPY:
	case GT_OPERATION_SET:
		operation->has_bytes = gt_call_bytes(call, &operation->bytes);
		break;
	case GT_OPERATION_QUEUE_CREATE:
		operation->has_other = queue_flags(call, form->other, &operation->other);
		break;
	default:
		break;
	}
}

/* What a call frees of its list is freed one by one, after what the call is itself. */
static int pass_freed(struct gt_operations *operations, const struct gt_names *names,
		      const struct operation_form *form, struct gt_operation *operation)
{
	uint64_t freed[GT_API_MAX_LIST], callback = 0;
	unsigned count;
	int error = 0;

	if (form->freed == ABSENT || (number_of(operation, form->callback, &callback) && callback))
		return 0;
	count = gt_call_list(&operation->call, (unsigned)form->freed, freed);
	operation->kind = GT_OPERATION_FREE;
	operation->has_address = true;
	operation->wait_count = 0;
	operation->signal = 0;
	for (unsigned i = 0; i < count && !error; i++) {
		operation->address = freed[i];
		error = operations->sink(operations->context, names, operation);
	}
	return error;
}

static int take_call(void *opaque, const struct gt_names *names, const struct gt_event_call *event)
{
	struct gt_operations *operations = opaque;
	struct gt_operation operation = {
		.event = event,
		.start = event->head.time - event->duration,
		.end = event->head.time,
	};
	const struct operation_form *form;
	int error;

	gt_names_decode(names, event, &operation.call);
	if (!operation.call.function || (event->state & GT_CALL_UNFINISHED))
		return 0;
	form = known_form(operations, operation.call.function);
	if (!form)
		return -ENOMEM;
	operation.kind = form->kind;
	operation.space = form->space;
	operation.failed = operation.call.failed;
	if (form->kind != GT_OPERATION_OTHER)
		decode_operation(&operation, form);
	if (form->node)
		gt_node_decode(form->node, &operation);
	error = gt_stream_captures_take(operations->captures, &operation);
	if (error)
		return error;
	error = operations->sink(operations->context, names, &operation);
	return error ? error : pass_freed(operations, names, form, &operation);
}

int gt_operations_take(struct gt_operations *operations, const struct gt_names *names,
		       const struct gt_event *event, gt_operation_sink sink, void *context)
{
	int error;

	operations->sink = sink;
	operations->context = context;
	error = gt_nesting_take(operations->nesting, names, event, take_call, operations);
	if (event->kind == GT_EVENT_exit)
		gt_stream_captures_end_process(operations->captures, event->process);
	return error;
}
