/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two sessions compared: as tables, or as a JSON object (docs/analyses.md). */
#pragma once

#include "analysis/timeline/profile.h"
#include "base/json.h"

struct gt_diff_report {
	const char *names[2];  /* of the captures */
	const char *losses[2]; /* what each lacks, in lines; NULL: it is complete */
	const struct gt_event_overhead *overheads[2]; /* of each recording; NULL: not known */
	const struct gt_profile *profiles[2];
	const struct gt_profile_change *rows;
	size_t count;
	uint64_t threshold; /* percent */
	uint64_t top;       /* rows of each part; 0: all */
};

/* How many rows became slower; of the path, kernels, copies and calls. */
uint64_t gt_diff_slower(const struct gt_diff_report *report);
void gt_diff_put_text(const struct gt_diff_report *report, struct gt_strbuf *text);
void gt_diff_put_json(const struct gt_diff_report *report, struct gt_json *json);
