/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <string.h>

#include "api/parts.h"
#include "api/value.h"
#include "base/text.h"

static void add_value(struct gt_strbuf *buffer, const struct gt_api_value *value);

static void add_number(struct gt_strbuf *buffer, const struct gt_api_value *value)
{
	double real;
	uint64_t number;

	if (value->type->kind == GT_KIND_FLOAT) {
		if (gt_api_load_double(value, &real))
			gt_strbuf_printf(buffer, "%g", real);
		else
			gt_strbuf_putc(buffer, '?');
		return;
	}
	if (!gt_api_load(value, &number)) {
		gt_strbuf_putc(buffer, '?');
		return;
	}
	switch (value->type->kind) {
	case GT_KIND_SIGNED:
		gt_strbuf_printf(buffer, "%" PRId64, (int64_t)number);
		break;
	case GT_KIND_UNSIGNED:
		gt_strbuf_printf(buffer, "%" PRIu64, number);
		break;
	case GT_KIND_VALUES:
	case GT_KIND_FLAGS:
	case GT_KIND_ERRORS:
		gt_api_add_enumerator(buffer, value->type, number);
		break;
	default:
		gt_strbuf_printf(buffer, "0x%" PRIx64, number);
	}
}

/* The bytes of an array of characters: names of devices are not among those that are copied. */
static void add_bytes(struct gt_strbuf *buffer, const struct gt_api_value *structure,
		      const struct gt_api_field *field)
{
	gt_strbuf_puts(buffer, "0x");
	for (unsigned i = 0; i < field->count; i++) {
		struct gt_api_value byte = gt_api_field_value(structure, field, i);

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
		struct gt_api_value value = gt_api_field_value(structure, field, i);

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
		if (i)
			gt_strbuf_puts(buffer, plain ? ", " : "x");
		if (plain)
			gt_strbuf_printf(buffer, "%s=", value->type->fields[i].name);
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

static void add_stream(struct gt_strbuf *buffer, const struct gt_api_record *record,
		       const struct gt_api_value *value)
{
	const char *name = gt_api_stream_name(record, value);

	if (name)
		gt_strbuf_puts(buffer, name);
	else
		add_value(buffer, value);
}

/* As C would write it, but for control characters. False: it was not told. */
static bool add_text(struct gt_strbuf *buffer, const struct gt_api_record *record,
		     unsigned argument)
{
	bool cut = false;
	const char *text = gt_api_text(record, argument, &cut);

	if (!text)
		return false;
	gt_strbuf_putc(buffer, '"');
	gt_put_printable(buffer, text);
	gt_strbuf_puts(buffer, cut ? "…\"" : "\"");
	return true;
}

static bool is_number(const struct gt_api_type *type)
{
	return type->kind == GT_KIND_UNSIGNED || type->kind == GT_KIND_SIGNED;
}

static void format_arguments(struct gt_strbuf *buffer, const struct gt_api_record *record)
{
	const char *separator = "";

	for (unsigned i = 0; i < record->function->argument_count; i++) {
		const struct gt_api_argument *argument = &record->function->arguments[i];
		struct gt_api_value value = gt_api_argument_value(record, i);
		struct gt_api_value pointed = gt_api_pointed_value(record, i);

		if (argument->role == GT_ROLE_OUT && !pointed.size)
			continue;
		if (pointed.size)
			value = pointed;
		gt_strbuf_printf(buffer, "%s%s=", separator, argument->name);
		if (argument->role == GT_ROLE_STREAM)
			add_stream(buffer, record, &value);
		else if (!add_text(buffer, record, i))
			add_value(buffer, &value);
		if (argument->role == GT_ROLE_SIZE && is_number(argument->type))
			gt_strbuf_puts(buffer, " bytes");
		separator = ", ";
	}
}

/* The live view's items: "label=value", neighbours of one label joined by x. */
struct items {
	struct gt_strbuf *buffer;
	const struct gt_api_record *record;
	const char *last;
	bool any;
};

static void add_label(struct items *items, const char *label)
{
	if (items->last && !strcmp(items->last, label))
		gt_strbuf_putc(items->buffer, 'x');
	else
		gt_strbuf_printf(items->buffer, "%s%s=", items->any ? " " : "", label);
	items->last = label;
	items->any = true;
}

static void add_item(struct items *items, const char *label, enum gt_api_role role,
		     const struct gt_api_value *value)
{
	add_label(items, label);
	if (role == GT_ROLE_STREAM)
		add_stream(items->buffer, items->record, value);
	else
		add_value(items->buffer, value);
	if (role == GT_ROLE_SIZE && is_number(value->type))
		gt_strbuf_puts(items->buffer, " bytes");
}

static void add_argument(struct items *items, unsigned index, const struct gt_api_value *value)
{
	const struct gt_api_argument *argument = &items->record->function->arguments[index];
	bool cut;

	if (!gt_api_text(items->record, index, &cut)) {
		add_item(items, argument->label, argument->role, value);
		return;
	}
	add_label(items, argument->label);
	add_text(items->buffer, items->record, index);
}

static void add_direction(struct items *items)
{
	const char *name = gt_api_direction_name(gt_api_record_direction(items->record));

	if (!name)
		return;
	gt_strbuf_printf(items->buffer, "%skind=%s", items->any ? " " : "", name);
	items->last = "kind";
	items->any = true;
}

static void add_labelled_fields(struct items *items, const struct gt_api_value *structure,
				bool *kind_shown)
{
	for (unsigned i = 0; i < structure->type->count; i++) {
		const struct gt_api_field *field = &structure->type->fields[i];
		struct gt_api_value value = gt_api_field_value(structure, field, 0);

		if (!field->label)
			continue;
		add_item(items, field->label, field->role, &value);
		*kind_shown |= field->role == GT_ROLE_DIRECTION;
	}
}

/* A pointer to a string that is told as the kernel's name, or to an input that there is not. */
static bool tells_nothing(const struct gt_api_argument *argument, const struct gt_api_value *value)
{
	uint64_t number;

	return argument->role == GT_ROLE_KERNEL_NAME ||
	       ((argument->role == GT_ROLE_IN || argument->role == GT_ROLE_TEXT) &&
		argument->type->kind == GT_KIND_POINTER && gt_api_load(value, &number) && !number);
}

static void format_entry(struct gt_strbuf *buffer, const struct gt_api_record *record)
{
	struct items items = {.buffer = buffer, .record = record};
	bool kind_shown = record->function->meaning != GT_MEANS_COPY;

	for (unsigned i = 0; i < record->function->argument_count; i++) {
		const struct gt_api_argument *argument = &record->function->arguments[i];
		struct gt_api_value value = gt_api_argument_value(record, i);
		struct gt_api_value pointed = gt_api_pointed_value(record, i);

		if (!argument->label || argument->role == GT_ROLE_OUT ||
		    tells_nothing(argument, &value))
			continue;
		if (argument->role == GT_ROLE_STREAM && !kind_shown) {
			add_direction(&items);
			kind_shown = true;
		}
		kind_shown |= argument->role == GT_ROLE_DIRECTION;
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
	/* Else nothing would tell them from those that use the legacy default stream. */
	if (record->call->state & GT_CALL_PER_THREAD && !gt_api_has_stream(record->function))
		gt_strbuf_printf(buffer, "%sstream=per-thread", items.any ? " " : "");
}

static void format_return(struct gt_strbuf *buffer, const struct gt_api_record *record)
{
	struct items items = {.buffer = buffer, .record = record, .any = true};

	if (!record->returned) {
		gt_strbuf_puts(buffer, "unfinished");
		return;
	}
	gt_strbuf_puts(buffer, "returned");
	if (record->function->result->kind != GT_KIND_VOID &&
	    !gt_api_is_struct(record->function->result)) {
		gt_strbuf_putc(buffer, '=');
		gt_api_format_result(buffer, record->function, record->call->result, true);
	}
	for (unsigned i = 0; i < record->function->argument_count; i++) {
		const struct gt_api_argument *argument = &record->function->arguments[i];
		struct gt_api_value pointed = gt_api_pointed_value(record, i);

		if (argument->role == GT_ROLE_OUT && argument->label && pointed.size)
			add_item(&items, argument->label, GT_ROLE_OUT, &pointed);
	}
}

void gt_api_format_arguments(struct gt_strbuf *buffer, const struct gt_api_function *function,
			     const struct gt_event_call *call, const struct gt_api_strings *strings)
{
	struct gt_api_record record;

	gt_api_open_record(&record, function, call, GT_MACHINE_HERE);
	record.strings = strings;
	format_arguments(buffer, &record);
}

void gt_api_format_details(struct gt_strbuf *buffer, const struct gt_api_function *function,
			   const struct gt_event_call *call, const struct gt_api_strings *strings,
			   bool entering)
{
	struct gt_api_record record;

	gt_api_open_record(&record, function, call, GT_MACHINE_HERE);
	record.strings = strings;
	if (entering)
		format_entry(buffer, &record);
	else
		format_return(buffer, &record);
}
