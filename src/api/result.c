/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <string.h>

#include "api/value.h"

static const struct {
	const char *type;
	uint32_t value;
} pending[] = {
#define PENDING(enumeration, enumerator, value) {#enumeration, value},
#include "api/pending.def"
#undef PENDING
};

const struct gt_api_type *gt_api_error_type(const struct gt_api_function *function)
{
	int error = gt_api_find_role(function, GT_ROLE_ERROR);

	if (function->result->kind == GT_KIND_ERRORS)
		return function->result;
	return error >= 0 ? function->arguments[error].type->target : NULL;
}

uint32_t gt_api_pending(const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(pending); i++)
		if (!strcmp(pending[i].type, function->result->name))
			return pending[i].value;
	return 0;
}

bool gt_api_failed(const struct gt_api_function *function, uint64_t result)
{
	if (function->result->kind == GT_KIND_POINTER || function->result->kind == GT_KIND_HANDLE)
		return gt_api_is_error(result);
	return function->result->kind == GT_KIND_ERRORS && (uint32_t)result &&
	       (uint32_t)result != gt_api_pending(function);
}

void gt_api_format_result(struct gt_strbuf *buffer, const struct gt_api_function *function,
			  uint64_t result, bool in_short)
{
	const struct gt_api_type *type = function->result;
	struct gt_api_value value = {type, (const uint8_t *)&result, sizeof(result)};
	const struct gt_api_enumerator *enumerator;
	uint64_t number = result;

	if (gt_api_failed(function, result))
		type = gt_api_error_type(function);
	if (!type || result == (uint64_t)-GT_API_UNKNOWN_ERROR) {
		gt_strbuf_puts(buffer, "NULL");
		return;
	}
	switch (type->kind) {
	case GT_KIND_ERRORS:
	case GT_KIND_VALUES:
	case GT_KIND_FLAGS:
		enumerator = gt_api_enumerator(type, result);
		if (!enumerator)
			gt_strbuf_printf(buffer, "error %" PRIu32, (uint32_t)result);
		else if (in_short && enumerator->short_name)
			gt_strbuf_puts(buffer, enumerator->short_name);
		else
			gt_strbuf_puts(buffer, enumerator->name);
		break;
	case GT_KIND_SIGNED:
		gt_value_load(&value, &number);
		gt_strbuf_i64(buffer, (int64_t)number);
		break;
	case GT_KIND_UNSIGNED:
		gt_value_load(&value, &number);
		gt_strbuf_u64(buffer, number);
		break;
	case GT_KIND_POINTER:
	case GT_KIND_HANDLE:
		gt_strbuf_hex(buffer, result);
		break;
	default: /* void, a float or a structure: not in the result register */
		gt_strbuf_puts(buffer, "void");
	}
}
