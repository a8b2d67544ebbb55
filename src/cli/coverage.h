/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which modules and sites were patched, and why others were not. */
#pragma once

#include "base/json.h"
#include "cli/injection.h"

/* The runs of all programs that --sample skipped. */
uint64_t gt_cli_coverage_skipped(const struct gt_cli_injection *self);
/* Print the outcome for a module to standard error. */
void gt_cli_coverage_print_module(const struct gt_inject_module *module);
/* Print the sums, the reasons and what was missed or lost to standard error. */
void gt_cli_coverage_print(const struct gt_cli_injection *self);
/* Add what the numbers that programs read stand for: `sites`, `kernels`. */
void gt_cli_coverage_put_numbers(const struct gt_cli_injection *self, struct gt_json *json);
/* Add the object `coverage`. */
void gt_cli_coverage_put_json(const struct gt_cli_injection *self, struct gt_json *json);
