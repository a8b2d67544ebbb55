/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/why_event.h"

#include <errno.h>
#include <string.h>

#include "base/clean.h"
#include "base/text.h"

static const struct event_kind {
	const char *name;
	enum gt_explained_kind kind;
	bool has_number, has_fence; /* what may follow it */
} kinds[] = {
	{"gap", GT_EXPLAIN_GAPS, true, false},         {"call", GT_EXPLAIN_CALLS, true, false},
	{"syscall", GT_EXPLAIN_SYSCALLS, true, false}, {"fault", GT_EXPLAIN_FAULTS, true, false},
	{"job", GT_EXPLAIN_JOBS, true, true},          {"fence", GT_EXPLAIN_JOBS, false, true},
	{"xid", GT_EXPLAIN_XIDS, true, false},
};

/* "CONTEXT:SEQNO", with its colon. */
static int parse_fence(const char *text, const char *colon, struct gt_explain_request *events)
{
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
static int parse_kind(const char *text, const struct event_kind *kind,
		      struct gt_report_options *how)
{
	const char *colon = strchr(text, ':');
	uint64_t number = 0;
	int error = -EINVAL;

	if (kind->has_fence && colon)
		error = parse_fence(text, colon, &how->events);
	else if (kind->has_number && !gt_parse_u64(text, &number) && number &&
		 number <= GT_MAX_WHY_NUMBER)
		error = 0;
	if (error)
		return error;
	how->events.kinds = kind->kind;
	how->number = number;
	return 0;
}

int gt_why_event_parse(const char *text, struct gt_report_options *how)
{
	uint64_t operation;

	for (size_t i = 0; i < gt_countof(kinds); i++) {
		size_t length = strlen(kinds[i].name);

		if (!strncmp(text, kinds[i].name, length) && text[length] == ':')
			return parse_kind(text + length + 1, &kinds[i], how);
	}
	if (gt_parse_u64(text + (*text == '#'), &operation) || !operation)
		return -ENOENT;
	how->operation = operation;
	return 0;
}
