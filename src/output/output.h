/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An output: a format of events. The list is src/output/outputs.c. An output gets every event in
 * the order of the stream and writes to one file; it prints nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "event/event.h"
#include "names/names.h"

enum gt_time_style {
	GT_TIME_WALL,     /* 17:35:41.123456 */
	GT_TIME_RELATIVE, /* seconds since the start of the session */
	GT_TIME_NS,       /* CLOCK_MONOTONIC */
	GT_TIME_NONE,
};

struct gt_output_options {
	const char *path; /* file to create; NULL: `fd` */
	int fd;           /* not closed by the output */
	enum gt_time_style time;
	bool returns;   /* show the ends of calls */
	bool entries;   /* the stream has entry events; else one line shows the whole call */
	bool processes; /* show what processes do */
	bool verbose;   /* show also what is omitted by default */
};

struct gt_output {
	const char *name;
	const char *help; /* one line */
	int (*open)(const struct gt_output_options *options, void **ret_state,
		    struct gt_diag *diag);
	/* 0 or -Exxx: the file cannot be written; -EPIPE: nobody reads it any more. */
	int (*event)(void *state, const struct gt_names *names, const struct gt_event *event);
	/* Writes out what is buffered. */
	int (*flush)(void *state);
	/*
	 * Print what close would print of the events so far, `since` ns after the start of the
	 * session. NULL: the output prints events as they come.
	 */
	int (*report)(void *state, uint64_t since);
	/* Flushes, closes, frees. 0 or the first error that there was. */
	int (*close)(void *state, struct gt_diag *diag);
};

/* All outputs; *ret_count of them. */
const struct gt_output *const *gt_outputs(size_t *ret_count);
/* NULL if there is none of that name. */
const struct gt_output *gt_output_find(const char *name);

extern const struct gt_output gt_output_lines;
extern const struct gt_output gt_output_one_line;
extern const struct gt_output gt_output_json;
/* Add a line to an open gt_output_json: an object. 0 or -Exxx. */
int gt_output_json_line(void *state, const struct gt_strbuf *line);
extern const struct gt_output gt_output_capture;
extern const struct gt_output gt_output_counts;
