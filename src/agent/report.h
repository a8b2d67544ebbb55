/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports about cubins that are compiled in this process (GT_AGENT_COMPILED). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/protocol.h"

/*
 * What a cubin is compiled from. It is in memory and not in a file: a program may close descriptors
 * that it does not know.
 */
struct gt_agent_report {
	char *data; /* NULL: nobody listens, or there is no memory */
	size_t size, capacity;
	struct gt_agent_compiled compiled;
};

/* Begin a report; end it with gt_agent_report_end. */
void gt_agent_report_begin(struct gt_agent_report *report);
void gt_agent_report_add(struct gt_agent_report *report, enum gt_agent_input_kind kind,
			 const void *data, size_t size);
/* The same for the contents of a file. */
void gt_agent_report_add_file(struct gt_agent_report *report, enum gt_agent_input_kind kind,
			      const char *path);
/* Send the report; true: the collector wants PTX that the inputs do not have. */
bool gt_agent_report_send(struct gt_agent_report *report, const void *cubin, size_t size);
/* Forget the inputs. */
void gt_agent_report_end(struct gt_agent_report *report);

/* Memory that is not the program's; NULL: none. */
void *gt_agent_allocate(size_t size);
void gt_agent_release(void *memory, size_t size);
