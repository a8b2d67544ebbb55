/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target of a session: a command, processes, a file, or the whole system. */
#pragma once

#include <stdbool.h>

#include "elf/loader.h"
#include "probe/options.h"

struct gt_target {
	const struct gt_trace_options *options;
	const struct gt_command *command; /* the files of the command; NULL: none */
	struct gt_loader loader;          /* the environment of the dynamic loader */
};

/* Whether every process is a target, since none was named. */
static inline bool gt_target_is_all(const struct gt_target *target)
{
	return !target->command && !target->options->process_count;
}
