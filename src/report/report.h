/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A report: an analysis of a session, and the two forms in which it is read, a table and a JSON
 * object (docs/analyses.md). It can be asked for at any time.
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/chains.h"
#include "analysis/operation.h"
#include "analysis/timeline/explain_request.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/string_list.h"
#include "event/event.h"
#include "names/names.h"
#include "report/table.h"

struct gt_report_options {
	enum gt_by by;
	uint64_t top;        /* rows of each table; 0: all */
	uint64_t max_copies; /* kept in flight */
	bool captured;       /* the session is a capture's, not what happens now */
	bool chains;         /* of stat: join jobs with the calls that submitted them */
	bool verbose;        /* show also what is omitted by default */
	bool continued;      /* reports were put before: the last one is headed, too */
	bool final;          /* the session ended: set when a report is put */
	uint64_t operation;  /* of `why`: its number; 0: none */
	struct gt_explain_request events; /* of `why` */
	uint64_t number;                  /* of `why`: of its lists the n-th row alone; 0: all */
};

struct gt_report {
	const char *name;
	/* Whether it needs to see operations of a kind; NULL: all calls that mean anything. */
	bool (*needs)(enum gt_operation_kind kind);
	int (*open)(const struct gt_report_options *options, void **ret_state);
	/* 0 or -ENOMEM. */
	int (*event)(void *state, const struct gt_names *names, const struct gt_event *event);
	/* Adds the tables as of a time of the session (ns); 0 or -ENOMEM. */
	int (*put_text)(void *state, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_strbuf *text);
	/* Adds the members of an object that is begun, but for schema, time, by and losses. */
	int (*put_json)(void *state, const struct gt_report_options *options,
			const struct gt_names *names, uint64_t now, struct gt_json *json);
	/* How many problems were found up to a time (ns), for --error-exitcode; NULL: none ever. */
	uint64_t (*problems)(void *state, const struct gt_names *names, uint64_t now);
	/* After the last report: 0, or -ENOENT if what the options ask for was not found; NULL: 0.
	 */
	int (*check)(void *state, const struct gt_report_options *options, struct gt_diag *diag);
	void (*close)(void *state);
};

extern const struct gt_report gt_report_kernels;
extern const struct gt_report gt_report_leaks;
extern const struct gt_report gt_report_copies;
extern const struct gt_report gt_report_errors;

/* When and how a report is printed. */
struct gt_report_format {
	uint64_t now;   /* time of the session, ns */
	uint64_t start; /* of the session, ns; used if not final */
	bool final;     /* at the end of the session */
	bool json;
};

/*
 * Adds a whole report to a text. `options` are those that it was opened with. Both forms state what
 * was lost, as far as it is known. 0 or -ENOMEM.
 */
int gt_report_put(const struct gt_report *report, void *state,
		  const struct gt_report_options *options, const struct gt_names *names,
		  const struct gt_report_format *format, struct gt_strbuf *text);

/* Shared by reports: */

struct gt_histogram;

/* What the cells of rows are named by. */
struct gt_report_labels {
	const struct gt_names *names;
	enum gt_by by;
	const struct gt_chains *chains;       /* of the stacks of the rows; NULL: whole stacks */
	const struct gt_short_names *kernels; /* of the rows; NULL: out of memory */
};

/* The rows of an analysis that are split by something, and their two forms. */
struct gt_report_rows {
	const char *key; /* of the array in JSON */
	/*
	 * The column "BY" shows the group of a row under the group's own title; it is omitted
	 * if the rows are not split.
	 */
	const struct gt_column *columns;
	size_t column_count;
	size_t group;      /* offset of a row's struct gt_group */
	size_t row_size;   /* of the rows in an array; 0: it is an array of pointers to them */
	bool by_process;   /* every row is one process's and says whose */
	const char *empty; /* the text where there are no rows; NULL: the titles alone */
	const char *note;  /* below rows that are there; NULL: none */
	/* The mangled name of a row's kernel; NULL: unknown. NULL: rows are not of kernels. */
	const char *(*kernel)(const void *row);
	/* Adds the cells of a row; that of "BY" by gt_report_put_group. */
	void (*put)(struct gt_table *table, const struct gt_report_labels *labels, const void *row);
	/* Adds the members of a row's object. */
	void (*json)(struct gt_json *json, const struct gt_names *names, enum gt_by by,
		     const void *row);
};

/* A table of the first --top rows. It says so where rows by stack have none. */
void gt_report_put_rows(const struct gt_report_rows *form, const struct gt_report_options *options,
			const struct gt_names *names, const void *rows, size_t count,
			struct gt_strbuf *text);
/* The same rows as an array of objects. */
void gt_report_json_rows(const struct gt_report_rows *form, const struct gt_report_options *options,
			 const struct gt_names *names, const void *rows, size_t count,
			 struct gt_json *json);
/* "… and 12 more" below a table that --top has cut. */
void gt_report_put_rest(struct gt_strbuf *text, uint64_t top, size_t count);
/* Whether a row of a table is to be shown. */
static inline bool gt_report_shows(uint64_t top, size_t row)
{
	return !top || row < top;
}
/* The cell of the column "BY". */
void gt_report_put_group(struct gt_table *table, const struct gt_report_labels *labels,
			 enum gt_by by, const struct gt_group *group);
/* Total, mean, median and 99th percentile, a cell each; "-" where nothing was counted. */
void gt_report_put_durations(struct gt_table *table, const struct gt_histogram *histogram);
/* A distribution of durations under `key`: count, mean, p50, p99, max. */
void gt_report_json_durations(struct gt_json *json, const char *key,
			      const struct gt_histogram *histogram);
/* Process id and name; cgroup and container, where these were asked for. */
void gt_report_json_process(struct gt_json *json, const struct gt_names *names, uint32_t process,
			    const char *name);
/* The group's own members by `by`, but for its process. */
void gt_report_json_group(struct gt_json *json, const struct gt_names *names, enum gt_by by,
			  const struct gt_group *group);
/* A number, or null if it is not known. */
void gt_report_json_known(struct gt_json *json, const char *key, bool known, uint64_t number);
/* That so many launches were of graphs of which nobody knows what is in them. */
void gt_report_put_unknown_graphs(struct gt_strbuf *text, uint64_t launches, const char *what);
/* "s", but for one. */
static inline const char *gt_report_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}
