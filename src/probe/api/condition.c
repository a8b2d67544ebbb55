/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/condition.h"

#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "base/comparison.h"
#include "base/text.h"

#define MAX_ERROR 999 /* both APIs end at 999: "unknown error" */

static int parse_duration(const char *text, uint64_t *ret_value)
{
	/* A bare number is in ns, as the field is in every output. */
	return gt_parse_u64(text, ret_value) ? gt_parse_duration(text, ret_value) : 0;
}

/* The number of an error of either API, by its name or its short name; "Success" is 0. */
static int find_error(const char *name, uint64_t *ret_value)
{
	static const char *const functions[] = {"cudaMalloc", "cuMemAlloc_v2"};

	for (size_t i = 0; i < 2 * gt_countof(functions); i++) {
		const struct gt_api_function *function =
			gt_api_function((unsigned)gt_api_find(functions[i / 2]));

		for (uint64_t number = 0; number <= MAX_ERROR; number++) {
			gt_auto_strbuf text = GT_STRBUF_INIT;

			gt_api_format_result(&text, function, number, i % 2);
			if (strcmp(gt_strbuf_string(&text), name) != 0)
				continue;
			*ret_value = number;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_result(const char *text, uint64_t *ret_value)
{
	return gt_parse_u64(text, ret_value) ? find_error(text, ret_value) : 0;
}

static const struct {
	const char *name;
	enum gt_condition_field field;
	int (*parse)(const char *text, uint64_t *ret_value);
} fields[] = {
	{"duration", GT_CONDITION_DURATION, parse_duration},
	{"result", GT_CONDITION_RESULT, parse_result},
	{"depth", GT_CONDITION_DEPTH, gt_parse_u64},
	{"tid", GT_CONDITION_THREAD, gt_parse_u64},
};

static int read_comparison(const struct gt_comparison *comparison, struct gt_condition *ret,
			   struct gt_diag *diag)
{
	uint64_t number;

	for (size_t i = 0; i < gt_countof(fields); i++) {
		if (strcmp(comparison->field, fields[i].name) != 0)
			continue;
		if (fields[i].parse(comparison->value, &number))
			return gt_diag(diag, -EINVAL, "when", NULL,
				       "invalid value '%s' for %s, use one such as '%s'",
				       comparison->value, comparison->field,
				       i == GT_CONDITION_DURATION ? "1ms" : "2");
		*ret = (struct gt_condition){
			.value = number,
			.field = fields[i].field,
			.compare = comparison->compare,
		};
		return 0;
	}
	return gt_diag(diag, -EINVAL, "when", NULL,
		       "unknown field '%s' (one of: duration, result, depth, tid)",
		       comparison->field);
}

int gt_conditions_parse(const char *text, struct gt_condition conditions[GT_MAX_CONDITIONS],
			__u32 *ret_count, struct gt_diag *diag)
{
	gt_auto_comparisons comparisons = {0};
	struct gt_condition found[GT_MAX_CONDITIONS] = {0};
	int error =
		gt_comparisons_parse(text, GT_MAX_CONDITIONS, "duration>1ms", &comparisons, diag);

	for (__u32 i = 0; i < comparisons.count && !error; i++)
		error = read_comparison(&comparisons.items[i], &found[i], diag);
	if (error)
		return error;
	memcpy(conditions, found, sizeof(found));
	*ret_count = comparisons.count;
	return 0;
}

bool gt_conditions_hold(const struct gt_condition *conditions, __u32 count,
			const struct gt_event_call *call)
{
	for (__u32 i = 0; i < count; i++) {
		__u64 value = conditions[i].field == GT_CONDITION_DURATION ? call->duration
			      : conditions[i].field == GT_CONDITION_RESULT ? (__u32)call->result
			      : conditions[i].field == GT_CONDITION_THREAD ? call->head.thread
									   : call->depth;

		if (!gt_condition_holds(conditions[i].compare, value, conditions[i].value))
			return false;
	}
	return true;
}
