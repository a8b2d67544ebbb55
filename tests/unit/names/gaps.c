/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a session may have missed, in text and in JSON, and how it saw calls. */
#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"
#include "names/names.h"
#include "tap.h"

static void take_gap(struct gt_names *names, enum gt_gap_reason reason, __u32 process,
		     const char *library, __u64 start, __u64 end)
{
	struct gt_event_gap *event = (void *)gt_event_new(GT_EVENT_gap, library, strlen(library));

	event->head.process = process;
	event->reason = reason;
	event->start = start;
	event->end = end;
	if (process)
		memcpy(&event->name_first, "train", 5);
	CHECK_INT(gt_names_take(names, &event->head), 0);
	free(event);
}

static void take_account(struct gt_names *names, struct gt_event_account account)
{
	account.head.kind = GT_EVENT_account;
	account.head.size = sizeof(account);
	CHECK_INT(gt_names_take(names, &account.head), 0);
}

static void expect_text(const struct gt_names *names, const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_put_gaps(&text, names);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

TEST("a run is incomplete without an account, with a loss, and with a gap, and else it is not")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	CHECK(gt_names_is_incomplete(names));
	take_account(names, (struct gt_event_account){.made = 2, .complete = 1, .unfinished = 1});
	CHECK(!gt_names_is_incomplete(names));
	take_account(names, (struct gt_event_account){.lost = 1});
	CHECK(gt_names_is_incomplete(names));
	take_account(names, (struct gt_event_account){.orphans = 1});
	CHECK(gt_names_is_incomplete(names));
	take_account(names, (struct gt_event_account){.entries_lost = 1});
	CHECK(gt_names_is_incomplete(names));
	take_account(names, (struct gt_event_account){.others_lost = 1});
	CHECK(gt_names_is_incomplete(names));
	take_account(names, (struct gt_event_account){.filtered = 1});
	CHECK(!gt_names_is_incomplete(names));
	expect_text(names, "");
	take_gap(names, GT_GAP_UNWATCHED, 0, "", 5, 0);
	CHECK(gt_names_is_incomplete(names));
	expect_text(names, "calls may be missing from libraries that were opened later");
}

TEST("a gap has its process, its length and its library")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_gap(names, GT_GAP_MAPPED, 7, "/site/libcudart.so.13", 1000, 13000);
	expect_text(names, "calls may be missing from train (7), in 12.0 µs before the probes in "
			   "libcudart.so.13 were attached");
}

TEST("the process of a gap may be outside of the PID namespace, where it has no number")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_gap(names, GT_GAP_MAPPED, 0, "/site/libcudart.so.13", 1000, 13000);
	expect_text(names,
		    "calls may be missing from a process outside of gputap's PID namespace, in "
		    "12.0 µs before the probes in libcudart.so.13 were attached");
}

TEST("a running process counts once, whatever it has mapped; further gaps are counted")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_gap(names, GT_GAP_RUNNING, 7, "/lib/libcudart.so.13", 1000, 2000001000);
	take_gap(names, GT_GAP_RUNNING, 7, "/lib/libcuda.so.1", 1000, 2000001000);
	take_gap(names, GT_GAP_UNATTACHED, 0, "/lib/libx.so", 0, 0);
	take_gap(names, GT_GAP_UNTRACED, 0, "", 0, 0);
	take_gap(names, GT_GAP_RUNNING, 8, "/lib/libcudart.so.13", 0, 5);
	expect_text(
		names,
		"calls may be missing from train (7), which ran 2.00 s before the probes in "
		"libcudart.so.13 were attached; from /lib/libx.so, which has no probes; from child "
		"processes that were not traced; and 1 more");
}

TEST("a process that has ended before its gap was found has the name of its events")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_gap *gap = (void *)gt_event_new(GT_EVENT_gap, "/a.so", 5);
	struct gt_event *process = gt_event_new(GT_EVENT_process, "short", 5);

	gap->head.process = process->process = 7;
	gap->start = 1;
	gap->end = 2001;
	CHECK_INT(gt_names_take(names, &gap->head), 0);
	expect_text(names, "calls may be missing from process (7), in 2.00 µs before the probes in "
			   "a.so were attached");
	CHECK_INT(gt_names_take(names, process), 0);
	expect_text(names,
		    "calls may be missing from short (7), in 2.00 µs before the probes in a.so "
		    "were attached");
	free(gap);
	free(process);
}

TEST("a name in a gap cannot control a terminal")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_gap(names, GT_GAP_UNATTACHED, 0, "/lib/\033[2J", 0, 0);
	expect_text(names, "calls may be missing from /lib/?[2J, which has no probes");
}

TEST("JSON has every gap with its times, or null where they are unknown")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	take_gap(names, GT_GAP_MAPPED, 7, "/a.so", 10, 30);
	take_gap(names, GT_GAP_UNWATCHED, 0, "", 40, 0);
	gt_json_object_begin(&json, NULL);
	gt_json_gaps(&json, names);
	gt_json_object_end(&json);
	CHECK_STR(gt_strbuf_string(&text),
		  "{\"incomplete\":true,\"gaps\":[{\"reason\":\"mapped\",\"pid\":7,\"process\":"
		  "\"train\",\"library\":\"/a.so\",\"start\":10,\"end\":30,\"duration\":20},"
		  "{\"reason\":\"unwatched\",\"pid\":null,\"process\":null,\"library\":null,"
		  "\"start\":40,\"end\":null,\"duration\":null}],\"gaps_omitted\":0}");
}

TEST("gaps beyond the limit are counted, as are those with an unknown reason")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	__u64 omitted;
	size_t count;

	take_gap(names, (enum gt_gap_reason)99, 1, "/a.so", 1, 2);
	for (unsigned i = 0; i < GT_MAX_GAPS + 5; i++)
		take_gap(names, GT_GAP_MAPPED, i + 1, "/a.so", 1, 2);
	gt_names_gaps(names, &count, &omitted);
	CHECK_INT(count, GT_MAX_GAPS);
	CHECK_INT(omitted, 6);
}

TEST("events of the kernel whose process is unknown are omitted, and lost are those it dropped")
{
	struct gt_known_totals totals = {
		.source = "block", .recorded = 3, .lost = 1, .unattributed = 19};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_put_totals(&text, &totals);
	CHECK_STR(gt_strbuf_string(&text),
		  "block: 23 events: 3 recorded, 1 lost, 19 omitted (made by the kernel, process "
		  "unknown)");
}

TEST_MAIN

static void take_via(struct gt_names *names, __u32 methods)
{
	struct gt_event_via event = {
		.head = {.kind = GT_EVENT_via, .size = sizeof(event)},
		.methods = methods,
	};

	CHECK_INT(gt_names_take(names, &event.head), 0);
}

TEST("how calls were recorded is known by its event, and of several captures it may be both")
{
	gt_auto(names) struct gt_names *kernel = gt_names_new(), *agent = gt_names_new();
	gt_auto(names) struct gt_names *newer = gt_names_new();

	CHECK(!gt_names_via(agent));
	take_via(kernel, GT_CALLS_VIA_KERNEL);
	CHECK_STR(gt_names_via(kernel), "kernel");
	take_via(agent, GT_CALLS_VIA_AGENT);
	CHECK_STR(gt_names_via(agent), "agent");
	take_via(agent, GT_CALLS_VIA_KERNEL);
	CHECK_STR(gt_names_via(agent), "both");
	take_via(newer, 1u << 31);
	CHECK(!gt_names_via(newer));
}
