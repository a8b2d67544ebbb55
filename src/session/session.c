/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/session.h"

#include <errno.h>

#include "capture/capture.h"
#include "session/live.h"

struct gt_session {
	struct gt_live *live;
	struct gt_capture_reader *replay;
	uint64_t max_events;
};

int gt_session_open(const struct gt_session_options *options, struct gt_session **ret_session,
		    struct gt_diag *diag)
{
	gt_auto(session) struct gt_session *session = calloc(1, sizeof(*session));
	int error;

	if (!session)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	session->max_events = options->max_events;
	if (options->from)
		error = gt_capture_open(options->from, &session->replay, diag);
	else
		error = gt_live_open(options, &session->live, diag);
	if (error)
		return error;
	*ret_session = gt_take(session);
	return 0;
}

static int replay(struct gt_session *session, gt_event_sink sink, void *context,
		  struct gt_diag *diag)
{
	uint64_t calls = 0;
	const struct gt_event *event;
	int result;

	while ((result = gt_capture_next(session->replay, &event, diag)) > 0) {
		/* What comes behind the last wanted call is not shown, but what was counted is. */
		if (session->max_events && calls >= session->max_events &&
		    event->kind != GT_EVENT_account)
			continue;
		calls += event->kind == GT_EVENT_call;
		result = sink(context, event);
		if (result)
			return result;
	}
	return result;
}

int gt_session_run(struct gt_session *session, gt_event_sink sink, int (*idle)(void *context),
		   void *context, struct gt_diag *diag)
{
	return session->live ? gt_live_run(session->live, sink, idle, context, diag)
			     : replay(session, sink, context, diag);
}

int gt_session_wait(struct gt_session *session)
{
	return session->live ? gt_live_wait(session->live) : 0;
}

void gt_session_close(struct gt_session *session)
{
	if (!session)
		return;
	gt_live_close(session->live);
	gt_capture_free(session->replay);
	free(session);
}
