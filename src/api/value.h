/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finding the values of arguments in a record. Nothing outside the record is ever read. */
#pragma once

#include "api/call.h"
#include "api/layout.h"

/* Bytes of a record that hold a value. */
struct gt_api_value {
	const struct gt_api_type *type;
	const uint8_t *data;
	size_t size; /* bytes in the record: fewer than the type's if truncated, 0 if missing */
};

/* The argument as passed; a structure passed by reference is that structure. */
struct gt_api_value gt_call_argument_value(const struct gt_call *call, unsigned argument);
/* What the argument points to, if it was copied: a structure that is read, or an output. */
struct gt_api_value gt_call_pointed_value(const struct gt_call *call, unsigned argument);
/* The string that an argument points to, and whether it is truncated. NULL: unknown, or none. */
const char *gt_call_string(const struct gt_call *call, unsigned argument, bool *ret_truncated);
/* Element `index` of an array of sizes (GT_ROLE_SIZES); false if it was not copied. */
bool gt_call_size_at(const struct gt_call *call, unsigned argument, uint64_t index,
		     uint64_t *ret_size);
/* Element `index` of a field of a structure. */
struct gt_api_value gt_value_field(const struct gt_api_value *structure,
				   const struct gt_api_field *field, unsigned index);

/* The bits of a scalar value (sign-extended). False: a structure, or not all in the record. */
bool gt_value_load(const struct gt_api_value *value, uint64_t *ret_number);
bool gt_value_load_double(const struct gt_api_value *value, double *ret_number);

/* Whether the result of GT_RESULT_POINTER is a negative error code. */
static inline bool gt_api_is_error(uint64_t result)
{
	return result >= (uint64_t)-GT_API_UNKNOWN_ERROR;
}

/* The enumerator of exactly this value, or NULL. */
const struct gt_api_enumerator *gt_api_enumerator(const struct gt_api_type *type, uint64_t value);
/* Adds the name of an enumeration's value ("a|b" for flags), or its number. */
void gt_api_add_enumerator(struct gt_strbuf *buffer, const struct gt_api_type *type,
			   uint64_t value);

/* gt_call_stream_label of a value; NULL also if it is no stream or not in the record. */
const char *gt_call_stream_name(const struct gt_call *call, const struct gt_api_value *value);

/* Whether the live view shows fields of a structure on their own. */
bool gt_api_has_labels(const struct gt_api_type *type);
