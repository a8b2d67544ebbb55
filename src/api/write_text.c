/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "api/value.h"
#include "base/text.h"

static void add_value(struct gt_strbuf *buffer, const struct gt_api_value *value);

static void add_number(struct gt_strbuf *buffer, const struct gt_api_value *value)
{
	double real;
	uint64_t number;

	if (value->type->kind == GT_KIND_FLOAT) {
		if (gt_value_load_double(value, &real))
			gt_strbuf_printf(buffer, "%g", real);
		else
			gt_strbuf_putc(buffer, '?');
		return;
	}
	if (!gt_value_load(value, &number)) {
		gt_strbuf_putc(buffer, '?');
		return;
	}
	switch (value->type->kind) {
	case GT_KIND_SIGNED:
		gt_strbuf_i64(buffer, (int64_t)number);
		break;
	case GT_KIND_UNSIGNED:
		gt_strbuf_u64(buffer, number);
		break;
	case GT_KIND_VALUES:
	case GT_KIND_FLAGS:
	case GT_KIND_ERRORS:
		gt_api_add_enumerator(buffer, value->type, number);
		break;
	default:
		gt_strbuf_hex(buffer, number);
	}
}

/* The bytes of an array of characters, in hexadecimal. */
static void add_bytes(struct gt_strbuf *buffer, const struct gt_api_value *structure,
		      const struct gt_api_field *field)
{
	gt_strbuf_puts(buffer, "0x");
	for (unsigned i = 0; i < field->count; i++) {
		struct gt_api_value byte = gt_value_field(structure, field, i);

		if (!byte.size) {
			gt_strbuf_putc(buffer, '?');
			return;
		}
		gt_strbuf_printf(buffer, "%02x", byte.data[0]);
	}
}

static void add_field(struct gt_strbuf *buffer, const struct gt_api_value *structure,
		      const struct gt_api_field *field)
{
	if (field->count > 1 && field->type->size == 1) {
		add_bytes(buffer, structure, field);
		return;
	}
	if (field->count > 1)
		gt_strbuf_putc(buffer, '[');
	for (unsigned i = 0; i < field->count; i++) {
		struct gt_api_value value = gt_value_field(structure, field, i);

		if (i)
			gt_strbuf_puts(buffer, ", ");
		add_value(buffer, &value);
	}
	if (field->count > 1)
		gt_strbuf_putc(buffer, ']');
}

static void add_struct(struct gt_strbuf *buffer, const struct gt_api_value *value)
{
	bool plain = value->type->kind == GT_KIND_PLAIN;

	if (plain)
		gt_strbuf_putc(buffer, '{');
	for (unsigned i = 0; i < value->type->count; i++) {
		if (i && gt_api_is_array(value->type) &&
		    value->size <= value->type->fields[i].offset)
			break;
		if (i)
			gt_strbuf_puts(buffer, plain ? ", " : "x");
		if (plain) {
			gt_strbuf_puts(buffer, value->type->fields[i].name);
			gt_strbuf_putc(buffer, '=');
		}
		add_field(buffer, value, &value->type->fields[i]);
	}
	if (plain)
		gt_strbuf_putc(buffer, '}');
}

static void add_value(struct gt_strbuf *buffer, const struct gt_api_value *value)
{
	if (gt_api_is_struct(value->type))
		add_struct(buffer, value);
	else
		add_number(buffer, value);
}

static void add_stream(struct gt_strbuf *buffer, const struct gt_call *call,
		       const struct gt_api_value *value)
{
	const char *name = gt_call_stream_name(call, value);

	if (name)
		gt_strbuf_puts(buffer, name);
	else
		add_value(buffer, value);
}

/* A string as a C literal, without control characters. False: it is unknown. */
static bool add_text(struct gt_strbuf *buffer, const struct gt_call *call, unsigned argument)
{
	bool truncated = false;
	const char *text = gt_call_string(call, argument, &truncated);

	if (!text)
		return false;
	gt_strbuf_putc(buffer, '"');
	gt_put_printable(buffer, text);
	gt_strbuf_puts(buffer, truncated ? "…\"" : "\"");
	return true;
}

/* The handles of an array. False: there are none. */
static bool add_list(struct gt_strbuf *buffer, const struct gt_call *call, unsigned argument)
{
	uint64_t handles[GT_API_MAX_LIST];
	unsigned count = gt_call_list(call, argument, handles);

	for (unsigned i = 0; i < count; i++) {
		gt_strbuf_puts(buffer, i ? ", " : "[");
		gt_strbuf_hex(buffer, handles[i]);
	}
	if (count)
		gt_strbuf_putc(buffer, ']');
	return count;
}

static bool is_number(const struct gt_api_type *type)
{
	return type->kind == GT_KIND_UNSIGNED || type->kind == GT_KIND_SIGNED;
}

static void format_argument(struct gt_strbuf *buffer, const struct gt_call *call, unsigned index)
{
	const struct gt_api_argument *argument = &call->function->arguments[index];
	struct gt_api_value value = gt_call_argument_value(call, index);
	struct gt_api_value pointed = gt_call_pointed_value(call, index);

	if (pointed.size)
		value = pointed;
	gt_strbuf_puts(buffer, argument->name);
	gt_strbuf_putc(buffer, '=');
	if (argument->role == GT_ROLE_STREAM)
		add_stream(buffer, call, &value);
	else if (!add_text(buffer, call, index) && !add_list(buffer, call, index))
		add_value(buffer, &value);
}

static void format_some(struct gt_strbuf *buffer, const struct gt_call *call, bool inputs)
{
	const char *separator = "";

	for (unsigned i = 0; i < call->function->argument_count; i++) {
		bool is_output = call->function->arguments[i].role == GT_ROLE_OUT;

		if (is_output ? !gt_call_pointed_value(call, i).size : !inputs)
			continue;
		gt_strbuf_puts(buffer, separator);
		format_argument(buffer, call, i);
		separator = ", ";
	}
}

void gt_call_format_arguments(struct gt_strbuf *buffer, const struct gt_call *call)
{
	format_some(buffer, call, true);
}

void gt_call_format_outputs(struct gt_strbuf *buffer, const struct gt_call *call)
{
	format_some(buffer, call, false);
}

/* Items of the live view: "label=value"; neighbours with the same label are joined by x. */
struct text_items {
	struct gt_strbuf *buffer;
	const struct gt_call *call;
	const char *last;
	bool any;
};

static void add_label(struct text_items *items, const char *label)
{
	if (items->last && !strcmp(items->last, label)) {
		gt_strbuf_putc(items->buffer, 'x');
	} else {
		if (items->any)
			gt_strbuf_putc(items->buffer, ' ');
		gt_strbuf_puts(items->buffer, label);
		gt_strbuf_putc(items->buffer, '=');
	}
	items->last = label;
	items->any = true;
}

static void add_item(struct text_items *items, const char *label, enum gt_api_role role,
		     const struct gt_api_value *value)
{
	add_label(items, label);
	if (role == GT_ROLE_STREAM)
		add_stream(items->buffer, items->call, value);
	else
		add_value(items->buffer, value);
	if (role == GT_ROLE_SIZE && is_number(value->type))
		gt_strbuf_puts(items->buffer, " bytes");
}

/* The label of an argument; NULL: it is not shown. The stream of a launch always is. */
static const char *label_of(const struct gt_api_function *function,
			    const struct gt_api_argument *argument)
{
	if (!argument->label && function->category == GT_CATEGORY_LAUNCH &&
	    argument->role == GT_ROLE_STREAM)
		return argument->name;
	return argument->label;
}

static void add_argument(struct text_items *items, unsigned index, const struct gt_api_value *value)
{
	const struct gt_api_argument *argument = &items->call->function->arguments[index];
	const char *label = label_of(items->call->function, argument);
	uint64_t handles[GT_API_MAX_LIST];
	bool truncated;

	if (gt_call_string(items->call, index, &truncated)) {
		add_label(items, label);
		add_text(items->buffer, items->call, index);
	} else if (gt_call_list(items->call, index, handles)) {
		add_label(items, label);
		add_list(items->buffer, items->call, index);
	} else {
		add_item(items, label, argument->role, value);
	}
}

static void add_direction(struct text_items *items)
{
	const char *name = gt_api_direction_name(gt_call_direction(items->call));

	if (!name)
		return;
	add_label(items, "kind");
	gt_strbuf_puts(items->buffer, name);
}

static void add_labelled_fields(struct text_items *items, const struct gt_api_value *structure,
				bool *kind_shown)
{
	for (unsigned i = 0; i < structure->type->count; i++) {
		const struct gt_api_field *field = &structure->type->fields[i];
		struct gt_api_value value = gt_value_field(structure, field, 0);

		if (!field->label)
			continue;
		add_item(items, field->label, field->role, &value);
		*kind_shown |= field->role == GT_ROLE_DIRECTION;
	}
}

/* The name of a kernel, which is shown on its own, or an input pointer that is NULL. */
static bool is_omitted(const struct gt_api_argument *argument, const struct gt_api_value *value)
{
	uint64_t number;

	return argument->role == GT_ROLE_KERNEL_NAME ||
	       ((argument->role == GT_ROLE_IN || argument->role == GT_ROLE_TEXT) &&
		argument->type->kind == GT_KIND_POINTER && gt_value_load(value, &number) &&
		!number);
}

/* The ends of a copy, where they are arguments that the tables do not label. */
static void add_copy_ends(struct text_items *items)
{
	const struct gt_api_function *function = items->call->function;

	for (unsigned i = 0; i < function->argument_count; i++) {
		const struct gt_api_argument *argument = &function->arguments[i];
		struct gt_api_value value = gt_call_argument_value(items->call, i);
		bool is_end = argument->role == GT_ROLE_DEVICE_POINTER ||
			      argument->role == GT_ROLE_HOST_POINTER ||
			      argument->role == GT_ROLE_POINTER;

		if (!is_end || argument->label)
			continue;
		add_item(items,
			 !strncmp(argument->name, "dst", 3)   ? "dst"
			 : !strncmp(argument->name, "src", 3) ? "src"
							      : argument->name,
			 argument->role, &value);
	}
}

void gt_call_format_entry(struct gt_strbuf *buffer, const struct gt_call *call)
{
	struct text_items items = {.buffer = buffer, .call = call};
	bool kind_shown = call->function->category != GT_CATEGORY_COPY;

	for (unsigned i = 0; i < call->function->argument_count; i++) {
		const struct gt_api_argument *argument = &call->function->arguments[i];
		struct gt_api_value value = gt_call_argument_value(call, i);
		struct gt_api_value pointed = gt_call_pointed_value(call, i);

		if (!label_of(call->function, argument) || argument->role == GT_ROLE_OUT ||
		    is_omitted(argument, &value))
			continue;
		if (argument->role == GT_ROLE_STREAM && !kind_shown) {
			add_direction(&items);
			kind_shown = true;
		}
		kind_shown |= argument->role == GT_ROLE_DIRECTION;
		if ((argument->role == GT_ROLE_VALUE || argument->type->kind == GT_KIND_POINTER) &&
		    argument->role != GT_ROLE_ERROR && pointed.size &&
		    pointed.type->kind != GT_KIND_PLAIN)
			value = pointed;
		if (argument->role == GT_ROLE_STRUCT && pointed.size &&
		    gt_api_has_labels(pointed.type))
			add_labelled_fields(&items, &pointed, &kind_shown);
		else if (gt_api_has_labels(value.type) && value.size)
			add_labelled_fields(&items, &value, &kind_shown);
		else
			add_argument(&items, i, &value);
	}
	if (!kind_shown)
		add_direction(&items);
	if (call->group) {
		add_label(&items, "block");
		gt_strbuf_printf(buffer, "%ux%ux%u", call->group[0], call->group[1],
				 call->group[2]);
	}
	/* Without an argument, only this distinguishes it from the legacy default stream. */
	if (call->event->state & GT_CALL_PER_THREAD && !gt_api_has_stream(call->function)) {
		add_label(&items, "stream");
		gt_strbuf_puts(buffer, "per-thread");
	}
	if (call->function->category == GT_CATEGORY_COPY)
		add_copy_ends(&items);
}

void gt_call_format_return(struct gt_strbuf *buffer, const struct gt_call *call)
{
	struct text_items items = {.buffer = buffer, .call = call, .any = true};

	if (!call->returned) {
		gt_strbuf_puts(buffer, "unfinished");
		return;
	}
	gt_strbuf_puts(buffer, "returned");
	if (call->function->result->kind != GT_KIND_VOID &&
	    !gt_api_is_struct(call->function->result)) {
		gt_strbuf_putc(buffer, '=');
		gt_api_format_result(buffer, call->function, call->event->result, true);
	}
	for (unsigned i = 0; i < call->function->argument_count; i++) {
		const struct gt_api_argument *argument = &call->function->arguments[i];
		struct gt_api_value pointed = gt_call_pointed_value(call, i);

		if (argument->role == GT_ROLE_OUT && argument->label && pointed.size)
			add_item(&items, argument->label, GT_ROLE_OUT, &pointed);
	}
}
