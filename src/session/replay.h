/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The replaying half of a session: events of a capture, filtered as in a live session. */
#pragma once

#include "session/session.h"

struct gt_replay;

int gt_replay_open(const struct gt_trace_options *options, struct gt_replay **ret_replay,
		   struct gt_diag *diag);
int gt_replay_run(struct gt_replay *replay, gt_event_sink sink, void *context,
		  struct gt_diag *diag);
const struct gt_names *gt_replay_names(const struct gt_replay *replay);
void gt_replay_close(struct gt_replay *replay);
GT_DEFINE_AUTO(replay, struct gt_replay, gt_replay_close)
