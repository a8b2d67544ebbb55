/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What opening and running a live session have in common. */
#pragma once

#include "base/vec.h"
#include "probe/target.h"
#include "session/command.h"
#include "session/companion.h"
#include "session/event_reader.h"
#include "session/live.h"
#include "session/opened.h"
#include "session/overhead.h"
#include "session/pipeline.h"
#include "session/reduce.h"
#include "session/signals.h"
#include "session/when.h"

#define LIVE_MAX_PROCESSES 65536 /* traced at a time */

struct gt_live {
	const struct gt_trace_options *options;
	struct gt_host host;
	struct gt_target target;
	struct gt_session_command command;
	struct gt_when *when; /* NULL: none */
	struct gt_condition conditions[GT_MAX_CONDITIONS];

	int ring_fd, processes_fd, epoll;
	struct gt_pythons *pythons;         /* NULL: not wanted */
	struct gt_unwind_maps *unwind_maps; /* NULL: the stack method needs none */
	struct gt_signals signals;
	struct gt_event_reader *reader;
	gt_opened_list sources;
	struct gt_event_queue records; /* of the companion, not yet in the stream */
	size_t records_put;            /* of these, that are */
	uint64_t polled;               /* when the companion was asked for them last */
	GT_VEC(int) target_fds;        /* pidfds of options->processes */
	size_t targets_left;

	/* With -e all: sources that work here, and others with the reason. */
	struct gt_strbuf enabled, unavailable;
	struct gt_pipeline *pipeline;
	uint64_t start; /* when everything was in place */
	struct gt_overhead overhead;
	struct gt_reduce *reduce; /* --max-overhead; NULL: no limit */
	bool stop;
};

/* What an entry of `epoll` is about: its data is this << 32 | an index. */
enum live_wait {
	WAIT_RING,
	WAIT_SIGNAL,
	WAIT_CHILD,
	WAIT_TARGET,
	WAIT_SOURCE,
	WAIT_COMPANION,
};

/* Whether the companion records the calls, so that probes on them are not needed. */
static inline bool live_is_via_agent(const struct gt_live *live)
{
	return live->options->via == GT_VIA_AGENT;
}

void live_emit_clock(struct gt_live *live);
