/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The links of the program, by the driver or by nvJitLink, while they are under way. */
#pragma once

#include <stdatomic.h>

#include "agent/report.h"

enum {
	GT_AGENT_MAX_LINK_OPTIONS = 64,
	GT_AGENT_MAX_OPTION_BYTES = 4096,
};

struct gt_agent_program_link {
	_Atomic(void *) handle; /* NULL: free */
	struct gt_agent_report report;
	int types[GT_AGENT_MAX_INPUTS]; /* of nvJitLink, by input */
	/* Of nvJitLink: each with a NUL. */
	char options[GT_AGENT_MAX_OPTION_BYTES];
	unsigned option_count;
	size_t options_size;
};

/* Begin to collect the inputs of a link; NULL: nobody listens, or there is no room. */
struct gt_agent_program_link *gt_agent_open_link(void *handle);
/* NULL: its inputs are not collected. */
struct gt_agent_program_link *gt_agent_find_link(void *handle);
/* The link is over. */
void gt_agent_close_link(void *handle);
