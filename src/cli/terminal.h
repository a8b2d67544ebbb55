/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What depends on a terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/inject.h"

/* The columns of the terminal of a descriptor; 80 if it is none. 40 to 400. */
unsigned gt_cli_terminal_columns(int fd);

/*
 * A line on standard error while modules are patched and compiled, if that takes long. Nothing is
 * written if standard error is no terminal. Clear the line before other output.
 */
struct gt_cli_progress {
	bool enabled, shown;
	uint64_t since; /* when the work began, ns; 0: there is none */
};

struct gt_cli_progress gt_cli_progress_new(void);
/* Show the state, or remove the line if there is nothing in progress. */
void gt_cli_progress_update(struct gt_cli_progress *progress,
			    const struct gt_inject_progress *state);
void gt_cli_progress_clear(struct gt_cli_progress *progress);
