/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters of sites as rows of a report. A module that is loaded several times has new sites each
 * time: those of the same instruction, or line, are one row.
 */
#pragma once

#include "report/gpu.h"
#include "report/table.h"

enum gt_site_grouping {
	GT_SITES_BY_INSTRUCTION,
	GT_SITES_BY_LINE, /* and opcode; of the source, where it is known */
	GT_SITES_BY_LOOP, /* branches back to the same label, and the ends of its loop */
};

struct gt_site_row {
	struct gt_inject_site site; /* the first one */
	uint32_t instructions;      /* different ones, of all its sites */
	uint64_t *counters;
};

/*
 * A report on arrays whose key is a site and whose value is numbers of 64 bits: `map` has the first
 * `sums` counters, to which programs only add, so that it has stripes; `rest` has the others.
 */
struct gt_site_report {
	const char *map;
	uint32_t counters;              /* at most 64; a row whose first one is 0 did not run */
	uint32_t sums;                  /* 0: all of them */
	const char *rest;               /* NULL: sums is 0 */
	uint64_t not_summed;            /* bit n: of equal sites, counter n is that of the first */
	uint64_t maxima;                /* bit n: of equal sites, counter n is the highest */
	enum gt_site_grouping grouping; /* unless run->by_line or run->by_instruction is set */
	/* Rows are sorted by this, the highest first. */
	uint64_t (*weight)(const struct gt_site_row *row);
	/* The cells of the columns; the last columns are those of GT_SITE_COLUMNS. */
	const struct gt_column *columns;
	size_t column_count;
	void (*put_cells)(const struct gt_site_row *row, struct gt_table *table);
	/* The name of the array in JSON, and the members of its objects. */
	const char *key;
	void (*put_members)(const struct gt_site_row *row, struct gt_json *json);
};

/* The last columns of a report on sites. */
#define GT_SITE_COLUMNS                                                                            \
	{"AT", true, false}, {"KERNEL", true, false},                                              \
	{                                                                                          \
		"INSTRUCTION", true, false                                                         \
	}

/* A table, or members of the open object. With run->top, the first rows alone. */
void gt_site_report_put(const struct gt_gpu_run *run, const struct gt_site_report *report,
			struct gt_strbuf *text);
void gt_site_report_put_json(const struct gt_gpu_run *run, const struct gt_site_report *report,
			     struct gt_json *json);

/* Members "function", "ptx_line", "ptx", "source" of the open object. */
void gt_site_put_json(const struct gt_inject_site *site, struct gt_json *json);

/* A cell with a / b; empty if a is 0. */
void gt_site_put_ratio(struct gt_table *table, uint64_t a, uint64_t b);
/* A cell with a / b in percent. */
void gt_site_put_percent(struct gt_table *table, uint64_t a, uint64_t b);
