/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "api/value.h"

static size_t words_of(size_t bytes)
{
	return (bytes + 7) / 8;
}

void gt_api_open_record(struct gt_api_record *ret_record, const struct gt_api_function *function,
			const struct gt_event_call *call, enum gt_machine machine)
{
	struct gt_api_record *record = ret_record;
	bool error = function->result->kind == GT_KIND_ERRORS && (uint32_t)call->result;

	record->function = function;
	record->call = call;
	record->strings = NULL;
	record->words = 0;
	if (call->head.size > sizeof(*call))
		record->words = (call->head.size - sizeof(*call)) / sizeof(call->words[0]);
	record->returned = call->head.kind != GT_EVENT_entry && !(call->state & GT_CALL_UNFINISHED);
	record->succeeded = record->returned && !error;
	gt_api_lay_out(function, machine, &record->layout);
}

static struct gt_api_value value_at(const struct gt_api_record *record,
				    const struct gt_api_type *type, size_t word, size_t words)
{
	struct gt_api_value value = {.type = type};

	if (word >= record->words)
		return value;
	if (words > record->words - word)
		words = record->words - word;
	value.data = (const uint8_t *)&record->call->words[word];
	value.size = words * 8 < type->size ? words * 8 : type->size;
	return value;
}

static struct gt_api_value copied_value(const struct gt_api_record *record,
					const struct gt_api_type *type, unsigned copy)
{
	const struct gt_plan *plan = &record->layout.plan;
	size_t word = record->call->slots;
	struct gt_api_value value = {.type = type};

	if (!(record->call->copied & 1u << copy))
		return value;
	if (plan->copy[copy].when == GT_COPY_AT_SUCCESS && !record->succeeded)
		return value;
	for (unsigned i = 0; i < copy; i++)
		if (record->call->copied & 1u << i)
			word += words_of(plan->copy[i].bytes);
	return value_at(record, type, word, words_of(plan->copy[copy].bytes));
}

struct gt_api_value gt_api_argument_value(const struct gt_api_record *record, unsigned argument)
{
	const struct gt_api_place *place = &record->layout.places[argument];
	const struct gt_api_type *type = record->function->arguments[argument].type;
	struct gt_api_value value = {.type = type};

	if (place->reference)
		return place->copy == GT_LAYOUT_NONE
			       ? value
			       : copied_value(record, type, (unsigned)place->copy);
	if (place->slot == GT_LAYOUT_NONE || place->slot >= record->call->slots)
		return value;
	/* A structure may lie half in what is recorded, never in the copies behind the slots. */
	if (place->slots > record->call->slots - place->slot)
		return value_at(record, type, (size_t)place->slot,
				(size_t)(record->call->slots - place->slot));
	return value_at(record, type, (size_t)place->slot, place->slots);
}

struct gt_api_value gt_api_pointed_value(const struct gt_api_record *record, unsigned argument)
{
	const struct gt_api_place *place = &record->layout.places[argument];
	const struct gt_api_type *type = record->function->arguments[argument].type;
	struct gt_api_value value = {.type = type->target};

	if (type->kind != GT_KIND_POINTER || place->reference || place->copy == GT_LAYOUT_NONE ||
	    record->function->arguments[argument].role == GT_ROLE_SIZES)
		return value;
	return copied_value(record, type->target, (unsigned)place->copy);
}

const char *gt_api_text(const struct gt_api_record *record, unsigned argument, bool *ret_cut)
{
	enum gt_api_role role = record->function->arguments[argument].role;
	const struct gt_api_place *place = &record->layout.places[argument];

	if (!record->strings || (role != GT_ROLE_TEXT && role != GT_ROLE_KERNEL_NAME) ||
	    place->slot == GT_LAYOUT_NONE)
		return NULL;
	return record->strings->find(record->strings->context, record->call, (uint8_t)place->slot,
				     ret_cut);
}

bool gt_api_size_at(const struct gt_api_record *record, unsigned argument, uint64_t index,
		    uint64_t *ret_size)
{
	static const struct gt_api_type array = {.size = GT_API_MAX_SIZES * 8};
	const struct gt_api_place *place = &record->layout.places[argument];
	struct gt_api_value value;

	if (place->copy == GT_LAYOUT_NONE)
		return false;
	value = copied_value(record, &array, (unsigned)place->copy);
	if (index >= value.size / 8)
		return false;
	memcpy(ret_size, value.data + index * 8, 8);
	return true;
}

struct gt_api_value gt_api_field_value(const struct gt_api_value *structure,
				       const struct gt_api_field *field, unsigned index)
{
	size_t offset = field->offset + (size_t)index * field->type->size;
	struct gt_api_value value = {.type = field->type};

	if (offset >= structure->size)
		return value;
	value.data = structure->data + offset;
	value.size = structure->size - offset;
	if (value.size > field->type->size)
		value.size = field->type->size;
	return value;
}

bool gt_api_load(const struct gt_api_value *value, uint64_t *ret_number)
{
	const struct gt_api_type *type = value->type;
	uint64_t number = 0;

	if (!type->size || type->size > sizeof(number) || value->size < type->size ||
	    gt_api_is_struct(type))
		return false;
	memcpy(&number, value->data, type->size); /* both machines are little-endian */
	if (type->kind == GT_KIND_SIGNED && type->size < sizeof(number)) {
		unsigned shift = 64 - 8 * type->size;

		number = (uint64_t)((int64_t)(number << shift) >> shift);
	}
	*ret_number = number;
	return true;
}

bool gt_api_load_double(const struct gt_api_value *value, double *ret_number)
{
	float single;

	if (value->type->kind != GT_KIND_FLOAT || value->size < value->type->size)
		return false;
	if (value->type->size == sizeof(single)) {
		memcpy(&single, value->data, sizeof(single));
		*ret_number = (double)single;
	} else {
		memcpy(ret_number, value->data, sizeof(*ret_number));
	}
	return true;
}

const struct gt_api_enumerator *gt_api_enumerator(const struct gt_api_type *type, uint64_t value)
{
	for (unsigned i = 0; i < type->count; i++)
		if ((uint32_t)type->enumerators[i].value == (uint32_t)value)
			return &type->enumerators[i];
	return NULL;
}

static const char *name_of(const struct gt_api_enumerator *enumerator)
{
	return enumerator->short_name ? enumerator->short_name : enumerator->name;
}

static void add_flags(struct gt_strbuf *buffer, const struct gt_api_type *type, uint32_t left)
{
	const char *separator = "";

	for (unsigned i = 0; i < type->count && left; i++) {
		uint32_t bits = (uint32_t)type->enumerators[i].value;

		if (!bits || (left & bits) != bits)
			continue;
		gt_strbuf_printf(buffer, "%s%s", separator, name_of(&type->enumerators[i]));
		separator = "|";
		left &= ~bits;
	}
	if (left)
		gt_strbuf_printf(buffer, "%s0x%x", separator, left);
}

void gt_api_add_enumerator(struct gt_strbuf *buffer, const struct gt_api_type *type, uint64_t value)
{
	const struct gt_api_enumerator *exact = gt_api_enumerator(type, value);

	if (exact)
		gt_strbuf_puts(buffer, name_of(exact));
	else if (type->kind == GT_KIND_FLAGS && (uint32_t)value)
		add_flags(buffer, type, (uint32_t)value);
	else
		gt_strbuf_printf(buffer, "%d", (int32_t)value);
}

bool gt_api_has_labels(const struct gt_api_type *type)
{
	for (unsigned i = 0; gt_api_is_struct(type) && i < type->count; i++)
		if (type->fields[i].label)
			return true;
	return false;
}

const char *gt_api_stream_label(const struct gt_event_call *call, uint64_t stream)
{
	switch (stream) {
	case 0:
		return call->state & GT_CALL_PER_THREAD ? "per-thread" : NULL;
	case 1: /* cudaStreamLegacy (driver_types.h), CU_STREAM_LEGACY (cuda.h) */
		return "legacy";
	case 2: /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
		return "per-thread";
	default:
		return NULL;
	}
}

const char *gt_api_stream_name(const struct gt_api_record *record, const struct gt_api_value *value)
{
	uint64_t stream;

	return gt_api_load(value, &stream) ? gt_api_stream_label(record->call, stream) : NULL;
}
