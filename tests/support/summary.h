/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The summary of a source on events that are made up: what it prints, and its JSON. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"
#include "report/stat.h"
#include "tap.h"

static struct {
	const struct gt_report *report;
	struct gt_report_options options;
	struct gt_names *names;
	void *state;
} shown;

static uint64_t report_time; /* of the session, ns */

static inline void open_report(const struct gt_report *report)
{
	shown.report = report;
	shown.names = gt_names_new();
	CHECK_INT(report->open(&shown.options, &shown.state), 0);
}

static inline void close_report(void)
{
	shown.report->close(shown.state);
	gt_names_free(shown.names);
}

static inline void take(struct gt_event *event)
{
	CHECK_INT(shown.report->event(shown.state, shown.names, event), 0);
	free(event);
}

static inline void expect_text(const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK_INT(shown.report->put_text(shown.state, &shown.options, shown.names, report_time,
					 &text),
		  0);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

static inline void expect_json(const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_json_object_begin(&json, NULL);
	CHECK_INT(shown.report->put_json(shown.state, &shown.options, shown.names, report_time,
					 &json),
		  0);
	gt_json_object_end(&json);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

/* An event with two names of 32 bytes in its tail. */
static inline void *new_named(enum gt_event_kind kind, const char *first, const char *second)
{
	char tail[64] = "";

	snprintf(tail, 32, "%s", first);
	snprintf(tail + 32, 32, "%s", second);
	return gt_event_new(kind, tail, sizeof(tail));
}

/* The text ends with `expected`. */
static inline void expect_text_end(const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	size_t length = strlen(expected);

	CHECK_INT(shown.report->put_text(shown.state, &shown.options, shown.names, report_time,
					 &text),
		  0);
	CHECK(text.length >= length);
	if (text.length >= length)
		CHECK_STR(gt_strbuf_string(&text) + text.length - length, expected);
}

/* The JSON has a member `key` with a value that begins with `expected`. */
static inline void expect_json_part(const char *key, const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT, member = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);
	const char *found;

	gt_json_object_begin(&json, NULL);
	CHECK_INT(shown.report->put_json(shown.state, &shown.options, shown.names, report_time,
					 &json),
		  0);
	gt_json_object_end(&json);
	gt_strbuf_printf(&member, "\"%s\":", key);
	found = strstr(gt_strbuf_string(&text), gt_strbuf_string(&member));
	CHECK(found);
	if (found && strncmp(found + member.length, expected, strlen(expected)))
		CHECK_STR(found + member.length, expected);
}
