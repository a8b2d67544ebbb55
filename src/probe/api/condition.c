/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/condition.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"

static const struct {
	const char *text;
	enum gt_condition_operator compare;
} operators[] = {
	/* Longer ones first: "<=" begins as "<" does. */
	{"<=", GT_LESS_OR_EQUAL}, {">=", GT_GREATER_OR_EQUAL},
	{"==", GT_EQUAL},         {"!=", GT_NOT_EQUAL},
	{"<", GT_LESS},           {">", GT_GREATER},
	{"=", GT_EQUAL},
};

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

/* Remove the spaces at both ends, in place. */
static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Splits "field op value" in place: returns the operator's row, or -EINVAL. */
static int split(char *text, char **ret_field, char **ret_value)
{
	size_t at = strcspn(text, "<>=!");

	for (size_t i = 0; i < gt_countof(operators); i++) {
		size_t length = strlen(operators[i].text);

		if (strncmp(text + at, operators[i].text, length))
			continue;
		*ret_value = trim(text + at + length);
		text[at] = '\0';
		*ret_field = trim(text);
		return i;
	}
	return -EINVAL;
}

static int parse_one(char *text, struct gt_condition *ret, struct gt_diag *diag)
{
	gt_autofree char *whole = strdup(text);
	char *name, *value;
	uint64_t number;
	int row = split(text, &name, &value);

	if (row < 0)
		return gt_diag(diag, -EINVAL, "when", NULL,
			       "no comparison in '%s', use one such as 'duration>1ms' "
			       "(operators: < <= == != >= >)",
			       whole ? whole : "");
	for (size_t i = 0; i < gt_countof(fields); i++) {
		if (strcmp(name, fields[i].name))
			continue;
		if (fields[i].parse(value, &number))
			return gt_diag(diag, -EINVAL, "when", NULL,
				       "invalid value '%s' for %s, use one such as '%s'", value,
				       name, i == GT_CONDITION_DURATION ? "1ms" : "2");
		*ret = (struct gt_condition){
			.value = number,
			.field = fields[i].field,
			.compare = operators[row].compare,
		};
		return 0;
	}
	return gt_diag(diag, -EINVAL, "when", NULL,
		       "unknown field '%s' (one of: duration, result, depth)", name);
}

int gt_conditions_parse(const char *text, struct gt_condition conditions[GT_MAX_CONDITIONS],
			__u32 *ret_count, struct gt_diag *diag)
{
	gt_autofree char *copy = strdup(text);
	struct gt_condition found[GT_MAX_CONDITIONS] = {0};
	__u32 count = 0;

	if (!copy)
		return gt_diag(diag, -ENOMEM, "when", NULL, "out of memory");
	for (char *part = copy, *next; part; part = next) {
		int error;

		next = strstr(part, "&&");
		if (next) {
			*next = '\0';
			next += 2;
		}
		if (count == GT_MAX_CONDITIONS)
			return gt_diag(diag, -E2BIG, "when", NULL, "more than %d comparisons",
				       GT_MAX_CONDITIONS);
		error = parse_one(part, &found[count], diag);
		if (error)
			return error;
		count++;
	}
	memcpy(conditions, found, sizeof(found));
	*ret_count = count;
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
