/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that failed, gathered by function, kernel, error, process and call site. */
#pragma once

#include "analysis/analysis.h"
#include "base/clean.h"

struct gt_error {
	const char *function;
	char *result; /* the error's name */
	uint32_t process;
	char *process_name; /* at the first one */
	char *kernel;       /* of a launch, with its parameters; NULL: none */
	char *kernel_name;  /* mangled; NULL: none, or unknown */
	uint64_t stack;
	struct gt_group group; /* with GT_BY_NOTHING all zeros */
	uint64_t count;
	uint64_t first, last; /* ns */
	bool sticky;          /* it stays: every later call fails, too */
};

/* Whether an error of either API is one that leaves the context of no use. */
bool gt_error_is_sticky(uint64_t result);

struct gt_errors;

/*
 * By GT_BY_STACK one row a function, kernel, error, process and own caller (gt_label_stack), with
 * the stack of the first such call; by others that instead of the caller.
 */
struct gt_errors *gt_errors_new(enum gt_by by);
void gt_errors_free(struct gt_errors *errors);
GT_DEFINE_AUTO(errors, struct gt_errors, gt_errors_free)

/* 0 or -ENOMEM. */
int gt_errors_take(struct gt_errors *errors, const struct gt_names *names,
		   const struct gt_event *event);
/* The rows, most frequent first; valid until the next event. 0 or -ENOMEM. */
int gt_errors_rows(struct gt_errors *errors, const struct gt_names *names,
		   const struct gt_error *const **ret_rows, size_t *ret_count);
