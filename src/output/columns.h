/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The first columns of a line of text: time, process, PID and, from the moment on in which a second
 * thread of a process makes calls, TID. Then the titles are printed again.
 */
#pragma once

#include <time.h>

#include "base/hash.h"
#include "output/output.h"

struct gt_columns {
	enum gt_time_style style;
	const char *titles; /* of the columns that follow */
	bool titled;        /* the titles were printed */
	bool with_threads;
	struct gt_hash *threads; /* process id -> the only thread that made calls so far */
	time_t second;           /* that `clock_text` is about */
	char clock_text[16];
};

/* 0 or -ENOMEM. `titles` must outlive the columns. */
int gt_columns_init(struct gt_columns *columns, enum gt_time_style style, const char *titles);
void gt_columns_free(struct gt_columns *columns);

/* Add the titles, unless they were added. */
void gt_columns_put_titles(struct gt_columns *columns, struct gt_strbuf *text);
/*
 * Note that a thread makes calls. Where it is the second one of its process, the titles are due
 * again, now with TID.
 */
void gt_columns_note_thread(struct gt_columns *columns, const struct gt_event *event);
/* Add the columns of a line about an event at a time (ns), with the titles if they are due. */
void gt_columns_put(struct gt_columns *columns, struct gt_strbuf *text,
		    const struct gt_names *names, const struct gt_event *event, uint64_t time);
