/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditions of the command line: "field op value && field op value". */
#pragma once

#include <stdint.h>

#include "base/diag.h"
#include "base/operators.h"

enum {
	GT_MAX_COMPARISONS = 16,
};

struct gt_comparison {
	const char *field; /* without spaces at its ends, as the value */
	enum gt_comparison_operator compare;
	const char *value;
};

struct gt_comparisons {
	char *text; /* owned; the strings below point into it */
	struct gt_comparison items[GT_MAX_COMPARISONS];
	uint32_t count;
};

/*
 * Split "field op value" in place; ret_comparison points into it. 0 or -EINVAL with a diag;
 * example: a comparison for its text.
 */
int gt_comparison_split(char *text, const char *example, struct gt_comparison *ret_comparison,
			struct gt_diag *diag);

/*
 * Parse up to `max` comparisons joined by "&&". Operators: < <= == = != >= >. 0; -EINVAL; -E2BIG;
 * -ENOMEM; the diag's stage is "when". example: a comparison for the text of errors.
 */
int gt_comparisons_parse(const char *text, uint32_t max, const char *example,
			 struct gt_comparisons *ret_comparisons, struct gt_diag *diag);
void gt_comparisons_clear(struct gt_comparisons *comparisons);
#define gt_auto_comparisons __attribute__((cleanup(gt_comparisons_clear))) struct gt_comparisons
