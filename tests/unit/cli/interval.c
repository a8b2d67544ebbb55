/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When a report is due: the order of events, the signal that requests a report, and the report. */
#include <signal.h>

#include "cli/interval.h"
#include "tap.h"

/* A session in rounds: it reads the events up to now, then asks whether a report is due. */
struct session {
	struct gt_report_interval interval;
	unsigned written, seen; /* events */
};

static void begin_session(struct session *session)
{
	gt_interval_prepare(&session->interval);
	gt_interval_begin(&session->interval);
}

static void read_events(struct session *session)
{
	session->seen = session->written;
}

/* An event happens, and a report is requested that is to have it. */
static void request_report(struct session *session)
{
	session->written++;
	CHECK(!raise(SIGUSR1));
}

TEST("a report that is requested after the events were read waits until they are read again")
{
	struct session session = {0};

	begin_session(&session);
	read_events(&session);
	request_report(&session);
	CHECK(!gt_interval_is_requested(&session.interval));
	read_events(&session);
	CHECK(gt_interval_is_requested(&session.interval));
	CHECK_INT(session.seen, session.written);
	CHECK(!gt_interval_is_requested(&session.interval));
	gt_interval_end(&session.interval);
}

TEST("a report that is requested in each round has the events up to its request")
{
	struct session session = {0};

	begin_session(&session);
	for (unsigned round = 0; round < 4; round++) {
		read_events(&session);
		request_report(&session);
		CHECK_INT(gt_interval_is_requested(&session.interval), round > 0);
		CHECK_INT(session.seen, round);
	}
	read_events(&session);
	CHECK(gt_interval_is_requested(&session.interval));
	CHECK(!gt_interval_is_requested(&session.interval));
	gt_interval_end(&session.interval);
}

TEST("requests in one round are one report")
{
	struct session session = {0};

	begin_session(&session);
	request_report(&session);
	request_report(&session);
	CHECK(!gt_interval_is_requested(&session.interval));
	CHECK(gt_interval_is_requested(&session.interval));
	CHECK(!gt_interval_is_requested(&session.interval));
	gt_interval_end(&session.interval);
}

TEST_MAIN
