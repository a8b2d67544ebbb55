/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of layer sources that are made up, and how they are shown: as text and as JSON. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"
#include "layers/layers.h"
#include "tap.h"

/* Without a NUL: a name may fill its room. */
static inline void put_name(char *at, const char *name)
{
	while (*name)
		*at++ = *name++;
}

/* A record with two names in its tail, `size` bytes each. */
static inline struct gt_event *new_named(enum gt_event_kind kind, const char *first,
					 const char *second, size_t size)
{
	char tail[128] = "";

	put_name(tail, first);
	put_name(tail + size, second);
	return gt_event_new(kind, tail, 2 * size);
}

static inline void expect_row(const struct gt_event *event, const char *name, const char *text)
{
	const struct gt_layer_kind *row = gt_layer_kind(event->kind);
	gt_auto(names) struct gt_names *names = gt_names_new();
	gt_auto_strbuf details = GT_STRBUF_INIT;

	CHECK(row != NULL);
	gt_layer_format(&details, row, names, event);
	CHECK_STR(gt_layer_event_name(row, event), name);
	CHECK_STR(gt_strbuf_string(&details), text);
}

static inline void put_json(struct gt_strbuf *text, const struct gt_event *event)
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_json json = GT_JSON_INIT(text);

	gt_json_object_begin(&json, NULL);
	gt_layer_json(&json, gt_layer_kind(event->kind), names, event);
	gt_json_object_end(&json);
}

/* The object begins so: with the keys up to "source". */
static inline void expect_json_begin(const struct gt_event *event, const char *begin)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_json(&text, event);
	if (strncmp(gt_strbuf_string(&text), begin, strlen(begin)) != 0)
		CHECK_STR(gt_strbuf_string(&text), begin);
}

/* The members from "source" on. */
static inline void expect_json(const struct gt_event *event, const char *members)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_json(&text, event);
	CHECK_STR(strstr(gt_strbuf_string(&text), "\"source\""), members);
}
