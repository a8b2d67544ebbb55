/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/why_event.h"

#include <errno.h>
#include <string.h>

#include "base/clean.h"
#include "base/text.h"

static const struct {
	const char *name;
	enum gt_explained_kind kind;
} kinds[] = {
	{"gap", GT_EXPLAIN_GAPS},     {"call", GT_EXPLAIN_CALLS}, {"syscall", GT_EXPLAIN_SYSCALLS},
	{"fault", GT_EXPLAIN_FAULTS}, {"job", GT_EXPLAIN_JOBS},   {"xid", GT_EXPLAIN_XIDS},
};

/* "CONTEXT:SEQNO" */
static int parse_fence(const char *text, struct gt_explain_request *events)
{
	const char *colon = strchr(text, ':');
	gt_autofree char *context = strndup(text, (size_t)(colon - text));
	uint64_t values[2];

	if (!context)
		return -ENOMEM;
	if (gt_parse_u64(context, &values[0]) || gt_parse_u64(colon + 1, &values[1]) ||
	    (!values[0] && !values[1]))
		return -EINVAL;
	events->fence_context = values[0];
	events->fence_seqno = values[1];
	return 0;
}

/* What follows "KIND:". */
static int parse_kind(const char *text, enum gt_explained_kind kind, struct gt_report_options *how)
{
	uint64_t number = 0;
	int error;

	if (kind == GT_EXPLAIN_JOBS && strchr(text, ':'))
		error = parse_fence(text, &how->events);
	else
		error = gt_parse_u64(text, &number) || !number || number > GT_MAX_WHY_NUMBER
				? -EINVAL
				: 0;
	if (error)
		return error;
	how->events.kinds = kind;
	how->number = number;
	return 0;
}

int gt_why_event_parse(const char *text, struct gt_report_options *how)
{
	uint64_t operation;

	for (size_t i = 0; i < gt_countof(kinds); i++) {
		size_t length = strlen(kinds[i].name);

		if (!strncmp(text, kinds[i].name, length) && text[length] == ':')
			return parse_kind(text + length + 1, kinds[i].kind, how);
	}
	if (gt_parse_u64(text + (*text == '#'), &operation) || !operation)
		return -ENOENT;
	how->operation = operation;
	return 0;
}
