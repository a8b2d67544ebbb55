/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/session.h"

#include <errno.h>

#include "session/live.h"
#include "session/replay.h"

struct gt_session {
	struct gt_live *live; /* either this or the other */
	struct gt_replay *replay;
};

int gt_session_open(const struct gt_trace_options *options, struct gt_session **ret_session,
		    struct gt_diag *diag)
{
	gt_auto(session) struct gt_session *session = calloc(1, sizeof(*session));
	int error;

	if (!session)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	if (options->from)
		error = gt_replay_open(options, &session->replay, diag);
	else
		error = gt_live_open(options, &session->live, diag);
	if (error)
		return error;
	*ret_session = gt_take(session);
	return 0;
}

int gt_session_run(struct gt_session *session, gt_event_sink sink, int (*idle)(void *context),
		   void *context, struct gt_diag *diag)
{
	return session->live ? gt_live_run(session->live, sink, idle, context, diag)
			     : gt_replay_run(session->replay, sink, context, diag);
}

void gt_session_sources(const struct gt_session *session, const char **ret_enabled,
			const char **ret_unavailable)
{
	*ret_enabled = *ret_unavailable = "";
	if (session->live)
		gt_live_sources(session->live, ret_enabled, ret_unavailable);
}

uint64_t gt_session_start(const struct gt_session *session)
{
	return session->live ? gt_live_start(session->live)
			     : gt_names_start_time(gt_replay_names(session->replay));
}

void gt_session_collect(struct gt_session *session)
{
	if (session->live)
		gt_live_collect(session->live);
}

void gt_session_account(const struct gt_session *session, struct gt_event_account *ret_account)
{
	*ret_account = (struct gt_event_account){0};
	if (session->live)
		gt_live_account(session->live, ret_account);
}

const struct gt_names *gt_session_names(const struct gt_session *session)
{
	return session->live ? gt_live_names(session->live) : gt_replay_names(session->replay);
}

enum gt_session_wait gt_session_wait(struct gt_session *session, int limit_ms,
				     struct gt_session_command_state *ret_state)
{
	if (session->live)
		return gt_live_wait(session->live, limit_ms, ret_state);
	*ret_state = (struct gt_session_command_state){0};
	return GT_SESSION_WAIT_ENDED;
}

void gt_session_close(struct gt_session *session)
{
	if (!session)
		return;
	gt_live_close(session->live);
	gt_replay_close(session->replay);
	free(session);
}
