/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the screen of gputap top shows, and what its keys do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/top.h"

#define GT_TOP_FILTER_SIZE 64

/* Zeroed, then gt_top_view_init. */
struct gt_top_screen {
	enum gt_top_table table;
	unsigned sort[GT_TOP_TABLES]; /* column, of each table */
	bool ascending[GT_TOP_TABLES];
	size_t skip; /* rows above the first one that is shown */
	size_t page; /* rows of the last frame */
	size_t rows; /* of the table, in the last frame */
	char filter[GT_TOP_FILTER_SIZE];
	bool edits_filter;
	bool frozen;
	bool help;
	bool ended; /* the session */
	bool quit;
};

void gt_top_screen_init(struct gt_top_screen *screen);
/* Act on a key (enum gt_screen_key, or a character). Unknown ones do nothing. */
void gt_top_screen_key(struct gt_top_screen *screen, int key);
/*
 * Add the lines of a frame of `lines` lines: state, GPUs, tables, rows. *ret_titles is the line of
 * the titles of the table, -1: none. 0 or -ENOMEM.
 */
int gt_top_screen_put(struct gt_top_screen *screen, struct gt_strbuf *text,
		      const struct gt_top *top, const struct gt_names *names, size_t lines,
		      int *ret_titles);
