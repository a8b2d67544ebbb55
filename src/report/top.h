/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The live view of gputap top as text and as JSON: its tables, sorted and filtered. */
#pragma once

#include "analysis/top.h"
#include "base/json.h"
#include "base/strbuf.h"

struct gt_top_view {
	enum gt_top_table table;
	unsigned sort;      /* index of a column */
	bool ascending;     /* else the largest first; names are the other way round */
	const char *filter; /* rows whose names contain it, whatever the case; NULL or "": all */
	size_t skip;        /* rows at the start that are not shown */
	size_t limit;       /* rows at most; 0: all */
};

/* "processes", "functions" … in the order of enum gt_top_table, ended by NULL. */
extern const char *const gt_top_table_names[];
/* The columns of a table. */
unsigned gt_top_columns(enum gt_top_table table);
/* The column that a table is sorted by at first. */
unsigned gt_top_default_sort(enum gt_top_table table);
/* Find a column by its key in JSON; -EINVAL: there is none. */
int gt_top_find_column(enum gt_top_table table, const char *key, unsigned *ret_column);
/* Add the keys of the columns: "pid, name …". */
void gt_top_put_keys(struct gt_strbuf *text, enum gt_top_table table);

/* Add the lines above the tables: events, losses, and a line for each GPU that NVML reports. */
void gt_top_put_head(struct gt_strbuf *text, const struct gt_top *top,
		     const struct gt_names *names);
/*
 * Add the titles and rows of a table, a line each. *ret_rows is how many rows pass the filter,
 * shown or not. 0 or -ENOMEM.
 */
int gt_top_put_table(struct gt_strbuf *text, const struct gt_top *top, const struct gt_names *names,
		     const struct gt_top_view *view, size_t *ret_rows);
/* Add an object with all tables. */
void gt_top_json(struct gt_json *json, const struct gt_top *top, const struct gt_names *names,
		 uint64_t now);
