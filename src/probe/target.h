/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is to be traced, as the user said it. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "elf/loader.h"

struct gt_target {
	/* A command that the session starts: what it executes, and the loader's surroundings. */
	const struct gt_command *command; /* NULL: none */
	struct gt_loader loader;

	const pid_t *pids; /* processes that run already */
	size_t pid_count;

	const char *path; /* -p: a library or program; NULL: none */
};

/* Whether nothing was named: every process is a target. */
static inline int gt_target_is_all(const struct gt_target *target)
{
	return !target->command && !target->pid_count;
}
