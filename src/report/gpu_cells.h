/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cells and keys that the reports of layer sources share. */
#pragma once

#include "analysis/keyed_rows.h"
#include "report/report.h"

/* A cell with a name of `size` bytes at most; "-" if it is empty. */
void gt_table_padded(struct gt_table *table, const char *name, size_t size);
/* A cell with a process; "-" for 0. */
void gt_table_process(struct gt_table *table, const struct gt_names *names, uint32_t process);
/* Count, total, mean, median, 99th percentile and maximum, a cell each. */
void gt_table_times(struct gt_table *table, const struct gt_histogram *histogram);
/* A cell with events per second, of a count in a time (ns); "-" without a time. */
void gt_table_rate(struct gt_table *table, uint64_t count, uint64_t ns);
/* The titles of the cells of gt_table_times. */
#define GT_TIMES_COLUMNS                                                                           \
	{"COUNT", false}, {"TOTAL", false}, {"MEAN", false}, {"P50", false}, {"P99", false},       \
	{                                                                                          \
		"MAX", false                                                                       \
	}

/* An array of objects under `key`, one for each row; `put` adds its members. */
void gt_json_keyed_rows(struct gt_json *json, const char *key, const struct gt_keyed_rows *rows,
			const struct gt_names *names,
			void (*put)(struct gt_json *json, const struct gt_names *names,
				    const void *row));
/* The name as a string; null if it is empty. */
void gt_json_padded_name(struct gt_json *json, const char *key, const char *name, size_t size);
