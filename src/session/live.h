/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The live half of a session: maps, sources, the command, and the event loop. */
#pragma once

#include "session/session.h"

struct gt_live;

int gt_live_open(const struct gt_trace_options *options, struct gt_live **ret_live,
		 struct gt_diag *diag);
int gt_live_run(struct gt_live *live, gt_event_sink sink, int (*idle)(void *context), void *context,
		struct gt_diag *diag);
uint64_t gt_live_start(const struct gt_live *live);
void gt_live_sources(const struct gt_live *live, const char **ret_enabled,
		     const char **ret_unavailable);
void gt_live_collect(struct gt_live *live);
void gt_live_account(const struct gt_live *live, struct gt_event_account *ret_account);
const struct gt_names *gt_live_names(const struct gt_live *live);
enum gt_session_wait gt_live_wait(struct gt_live *live, int limit_ms,
				  struct gt_session_command_state *ret_state);
void gt_live_close(struct gt_live *live);
GT_DEFINE_AUTO(live, struct gt_live, gt_live_close)
