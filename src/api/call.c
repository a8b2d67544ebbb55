/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/call.h"

#include <string.h>

#include "api/value.h"

static size_t words_of(size_t bytes)
{
	return (bytes + 7) / 8;
}

void gt_call_decode(struct gt_call *ret_call, const struct gt_api_layout *layout,
		    const struct gt_event_call *event)
{
	uint8_t result = layout ? layout->plan.result : GT_RESULT_ANY;
	bool error = (result == GT_RESULT_ERROR && (uint32_t)event->result) ||
		     (result == GT_RESULT_POINTER && gt_api_is_error(event->result));

	*ret_call = (struct gt_call){
		.event = event,
		.function = layout ? layout->function : NULL,
		.layout = layout,
	};
	if (event->head.size > sizeof(*event))
		ret_call->words = (event->head.size - sizeof(*event)) / sizeof(event->words[0]);
	ret_call->returned =
		event->head.kind != GT_EVENT_entry && !(event->state & GT_CALL_UNFINISHED);
	ret_call->succeeded = ret_call->returned && !error;
	ret_call->failed = error && (uint32_t)event->result != layout->plan.pending;
}

static struct gt_api_value value_at(const struct gt_call *call, const struct gt_api_type *type,
				    size_t word, size_t words)
{
	struct gt_api_value value = {.type = type};

	if (word >= call->words)
		return value;
	if (words > call->words - word)
		words = call->words - word;
	value.data = (const uint8_t *)&call->event->words[word];
	value.size = words * 8 < type->size ? words * 8 : type->size;
	return value;
}

static struct gt_api_value copied_value(const struct gt_call *call, const struct gt_api_type *type,
					unsigned copy)
{
	const struct gt_plan *plan = &call->layout->plan;
	size_t word = call->event->slots;
	struct gt_api_value value = {.type = type};

	if (!(call->event->copied & 1u << copy))
		return value;
	if (plan->copy[copy].when == GT_COPY_AT_SUCCESS && !call->succeeded)
		return value;
	for (unsigned i = 0; i < copy; i++)
		if (call->event->copied & 1u << i)
			word += words_of(plan->copy[i].bytes);
	return value_at(call, type, word, words_of(plan->copy[copy].bytes));
}

struct gt_api_value gt_call_argument_value(const struct gt_call *call, unsigned argument)
{
	const struct gt_api_location *location = &call->layout->locations[argument];
	const struct gt_api_type *type = call->function->arguments[argument].type;
	struct gt_api_value value = {.type = type};

	if (location->reference)
		return location->copy == GT_LAYOUT_NONE
			       ? value
			       : copied_value(call, type, (unsigned)location->copy);
	if (location->slot == GT_LAYOUT_NONE || location->slot >= call->event->slots)
		return value;
	/* A structure may be recorded in part; the copies after the slots do not belong to it. */
	if (location->slots > call->event->slots - location->slot)
		return value_at(call, type, (size_t)location->slot,
				(size_t)(call->event->slots - location->slot));
	return value_at(call, type, (size_t)location->slot, location->slots);
}

/* An array of sizes has as many as the call has dimensions. */
static void limit_elements(const struct gt_call *call, unsigned argument,
			   struct gt_api_value *value)
{
	int number = gt_api_count_argument(call->function, argument);
	struct gt_api_value counter;
	uint64_t count;
	unsigned bytes;

	if (number < 0 || !gt_api_is_struct(value->type))
		return;
	counter = gt_call_argument_value(call, (unsigned)number);
	bytes = value->type->fields[0].type->size;
	if (!gt_value_load(&counter, &count))
		count = 0;
	if (count < value->size / bytes)
		value->size = count * bytes;
}

struct gt_api_value gt_call_pointed_value(const struct gt_call *call, unsigned argument)
{
	const struct gt_api_location *location = &call->layout->locations[argument];
	const struct gt_api_type *type = call->function->arguments[argument].type;
	struct gt_api_value value = {.type = type->target};

	if (type->kind != GT_KIND_POINTER || location->reference ||
	    location->copy == GT_LAYOUT_NONE ||
	    call->function->arguments[argument].role == GT_ROLE_SIZES ||
	    call->function->arguments[argument].role == GT_ROLE_LIST)
		return value;
	value = copied_value(call, type->target, (unsigned)location->copy);
	limit_elements(call, argument, &value);
	return value;
}

unsigned gt_call_list(const struct gt_call *call, unsigned argument,
		      uint64_t ret_handles[GT_API_MAX_LIST])
{
	static const struct gt_api_type array = {.size = GT_API_MAX_LIST * 8};
	const struct gt_api_location *location = &call->layout->locations[argument];
	struct gt_api_value value, number;
	uint64_t count;

	if (call->function->arguments[argument].role != GT_ROLE_LIST || !argument ||
	    location->copy == GT_LAYOUT_NONE)
		return 0;
	number = gt_call_argument_value(call, argument - 1);
	value = copied_value(call, &array, (unsigned)location->copy);
	if (!gt_value_load(&number, &count))
		return 0;
	if (count > value.size / 8)
		count = value.size / 8;
	for (unsigned i = 0; i < count; i++)
		memcpy(&ret_handles[i], value.data + (size_t)i * 8, 8);
	return (unsigned)count;
}

const char *gt_call_string(const struct gt_call *call, unsigned argument, bool *ret_truncated)
{
	enum gt_api_role role = call->function->arguments[argument].role;
	const struct gt_api_location *location = &call->layout->locations[argument];

	if (!call->strings || (role != GT_ROLE_TEXT && role != GT_ROLE_KERNEL_NAME) ||
	    location->slot == GT_LAYOUT_NONE)
		return NULL;
	return call->strings->find(call->strings->context, call->event, (uint8_t)location->slot,
				   ret_truncated);
}

bool gt_call_size_at(const struct gt_call *call, unsigned argument, uint64_t index,
		     uint64_t *ret_size)
{
	static const struct gt_api_type array = {.size = GT_API_MAX_SIZES * 8};
	const struct gt_api_location *location = &call->layout->locations[argument];
	struct gt_api_value value;

	if (location->copy == GT_LAYOUT_NONE)
		return false;
	value = copied_value(call, &array, (unsigned)location->copy);
	if (index >= value.size / 8)
		return false;
	memcpy(ret_size, value.data + index * 8, 8);
	return true;
}

const char *gt_call_stream_label(const struct gt_call *call, uint64_t stream)
{
	switch (stream) {
	case 0:
		return call->event->state & GT_CALL_PER_THREAD ? "per-thread" : NULL;
	case 1: /* cudaStreamLegacy (driver_types.h), CU_STREAM_LEGACY (cuda.h) */
		return "legacy";
	case 2: /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
		return "per-thread";
	default:
		return NULL;
	}
}

const char *gt_call_stream_name(const struct gt_call *call, const struct gt_api_value *value)
{
	uint64_t stream;

	return gt_value_load(value, &stream) ? gt_call_stream_label(call, stream) : NULL;
}
