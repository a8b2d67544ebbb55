/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * --via agent: the calls of APIs that the agent in the processes of the command records
 * (agent/calls/calls.h). They need no privilege.
 */
#pragma once

#include <stdbool.h>

#include "event/queue.h"
#include "launch/environment.h"
#include "probe/options.h"
#include "probe/source.h"

struct gt_agent_calls;
struct gt_inject;

/*
 * Select the functions, and pass them to the collector, which has rings. 0 or -Exxx. `options` and
 * `inject` must outlive the result.
 */
int gt_agent_calls_open(const struct gt_trace_options *options, struct gt_inject *inject,
			struct gt_agent_calls **ret_calls, struct gt_diag *diag);
void gt_agent_calls_close(struct gt_agent_calls *calls);

/* Preload the hooks; after the agent is preloaded, which they precede. 0 or -Exxx. */
int gt_agent_calls_prepare(struct gt_environment *environment, struct gt_diag *diag);
/* Find files of the command whose calls the agent cannot see. 0 or -Exxx. */
int gt_agent_calls_attach(struct gt_agent_calls *calls, const struct gt_command *files,
			  const struct gt_environment *environment, struct gt_diag *diag);
/* Queue an event of a ring, and what it refers to. False: it is not one of calls, or malformed. */
bool gt_agent_calls_take(struct gt_agent_calls *calls, const struct gt_event *event,
			 struct gt_event_queue *events);
/* After a round. ended: the last one; then notes say what was not seen. */
void gt_agent_calls_poll(struct gt_agent_calls *calls, struct gt_event_queue *events, bool ended);
/* Add the counts so far. */
void gt_agent_calls_count(const struct gt_agent_calls *calls, struct gt_counts *counts);
