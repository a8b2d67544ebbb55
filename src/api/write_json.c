/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>

#include "api/value.h"

static void write_value(struct gt_json *json, const struct gt_call *call, const char *key,
			enum gt_api_role role, const struct gt_api_value *value);

static void write_enumerator(struct gt_json *json, const char *key, const struct gt_api_type *type,
			     uint64_t number)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (!gt_api_enumerator(type, number) && (type->kind != GT_KIND_FLAGS || !number)) {
		gt_json_i64(json, key, (int32_t)number);
		return;
	}
	gt_api_add_enumerator(&name, type, number);
	gt_json_string(json, key, gt_strbuf_string(&name));
}

static void write_number(struct gt_json *json, const char *key, const struct gt_api_value *value)
{
	double real;
	uint64_t number;

	if (gt_value_load_double(value, &real)) {
		gt_json_double(json, key, real);
		return;
	}
	if (!gt_value_load(value, &number)) {
		gt_json_null(json, key);
		return;
	}
	switch (value->type->kind) {
	case GT_KIND_SIGNED:
		gt_json_i64(json, key, (int64_t)number);
		break;
	case GT_KIND_UNSIGNED:
		gt_json_u64(json, key, number);
		break;
	case GT_KIND_VALUES:
	case GT_KIND_FLAGS:
	case GT_KIND_ERRORS:
		write_enumerator(json, key, value->type, number);
		break;
	default:
		gt_json_hex(json, key, number);
	}
}

/* An array of characters (an identifier, a handle of another process): its bytes in hexadecimal. */
static void write_bytes(struct gt_json *json, const struct gt_api_value *structure,
			const struct gt_api_field *field)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, "0x");
	for (unsigned i = 0; i < field->count; i++) {
		struct gt_api_value byte = gt_value_field(structure, field, i);

		if (!byte.size) {
			gt_json_null(json, field->name);
			return;
		}
		gt_strbuf_printf(&text, "%02x", byte.data[0]);
	}
	gt_json_string(json, field->name, gt_strbuf_string(&text));
}

static void write_field(struct gt_json *json, const struct gt_call *call,
			const struct gt_api_value *structure, const struct gt_api_field *field)
{
	struct gt_api_value value = gt_value_field(structure, field, 0);

	if (field->count == 1) {
		write_value(json, call, field->name, field->role, &value);
	} else if (field->type->size == 1) {
		write_bytes(json, structure, field);
	} else {
		gt_json_array_begin(json, field->name);
		for (unsigned i = 0; i < field->count; i++) {
			value = gt_value_field(structure, field, i);
			write_value(json, call, NULL, field->role, &value);
		}
		gt_json_array_end(json);
	}
}

static void write_struct(struct gt_json *json, const struct gt_call *call, const char *key,
			 const struct gt_api_value *value)
{
	if (value->type->kind == GT_KIND_DIMENSIONS) {
		gt_json_array_begin(json, key);
		for (unsigned i = 0; i < value->type->count; i++) {
			struct gt_api_value number =
				gt_value_field(value, &value->type->fields[i], 0);

			if (!i || number.size || !gt_api_is_array(value->type))
				write_value(json, call, NULL, GT_ROLE_IN, &number);
		}
		gt_json_array_end(json);
		return;
	}
	gt_json_object_begin(json, key);
	for (unsigned i = 0; i < value->type->count; i++)
		write_field(json, call, value, &value->type->fields[i]);
	gt_json_object_end(json);
}

static void write_value(struct gt_json *json, const struct gt_call *call, const char *key,
			enum gt_api_role role, const struct gt_api_value *value)
{
	const char *stream = role == GT_ROLE_STREAM ? gt_call_stream_name(call, value) : NULL;

	if (!value->size)
		gt_json_null(json, key);
	else if (gt_api_is_struct(value->type))
		write_struct(json, call, key, value);
	else if (stream)
		gt_json_string(json, key, stream);
	else
		write_number(json, key, value);
}

static void write_list(struct gt_json *json, const struct gt_call *call, unsigned index)
{
	uint64_t handles[GT_API_MAX_LIST];
	unsigned count = gt_call_list(call, index, handles);

	gt_json_array_begin(json, call->function->arguments[index].name);
	for (unsigned i = 0; i < count; i++)
		gt_json_hex(json, NULL, handles[i]);
	gt_json_array_end(json);
}

static void write_argument(struct gt_json *json, const struct gt_call *call, unsigned index)
{
	const struct gt_api_argument *argument = &call->function->arguments[index];
	struct gt_api_value pointed = gt_call_pointed_value(call, index);
	struct gt_api_value value = gt_call_argument_value(call, index);
	bool truncated;
	const char *text = gt_call_string(call, index, &truncated);

	if (text) {
		gt_json_string(json, argument->name, text);
		return;
	}
	if (argument->role == GT_ROLE_LIST) {
		write_list(json, call, index);
		return;
	}
	/* A planned copy that is not there: the call failed, runs still, or passed NULL. */
	if (pointed.size || (argument->role == GT_ROLE_OUT &&
			     call->layout->locations[index].copy != GT_LAYOUT_NONE))
		write_value(json, call, argument->name, argument->role, &pointed);
	else
		write_value(json, call, argument->name, argument->role, &value);
}

void gt_call_json_arguments(struct gt_json *json, const char *key, const struct gt_call *call)
{
	gt_json_object_begin(json, key);
	for (unsigned i = 0; i < call->function->argument_count; i++)
		write_argument(json, call, i);
	gt_json_object_end(json);
}
