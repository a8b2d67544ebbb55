/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "api/value.h"

struct gt_api_value gt_value_field(const struct gt_api_value *structure,
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

bool gt_value_load(const struct gt_api_value *value, uint64_t *ret_number)
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

bool gt_value_load_double(const struct gt_api_value *value, double *ret_number)
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
