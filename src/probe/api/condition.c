/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/condition.h"

#include <errno.h>
#include <string.h>

#include "base/comparison.h"
#include "base/text.h"

static int parse_duration(const char *text, uint64_t *ret_value)
{
	/* A bare number is in ns, as the field is in every output. */
	return gt_parse_u64(text, ret_value) ? gt_parse_duration(text, ret_value) : 0;
}

static const struct {
	const char *name;
	enum gt_condition_field field;
	int (*parse)(const char *text, uint64_t *ret_value);
} fields[] = {
	{"duration", GT_CONDITION_DURATION, parse_duration},
	{"result", GT_CONDITION_RESULT, gt_parse_u64},
	{"depth", GT_CONDITION_DEPTH, gt_parse_u64},
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
		       "unknown field '%s' (one of: duration, result, depth)", comparison->field);
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
									   : call->depth;

		if (!gt_condition_holds(conditions[i].compare, value, conditions[i].value))
			return false;
	}
	return true;
}
