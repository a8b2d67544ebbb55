/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Triggers of the flight recorder. */
#include "cli/recorder.h"

#include "event/kinds.h"
#include "tap.h"

/* In place of that of the command line, which prints it. */
int gt_cli_usage_error(const struct gt_cli_command *command, const char *format, ...)
{
	return GT_EXIT_USAGE;
}

/* Whether an event matches triggers, and why. */
static bool matches(const struct gt_triggers *triggers, const struct gt_event *event,
		    struct gt_strbuf *why)
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	gt_strbuf_clear(why);
	return gt_triggers_match(triggers, names, event, why);
}

TEST("without --trigger, a signal and the end are triggers; an unknown one is an error")
{
	struct gt_strings texts = {0};
	struct gt_triggers triggers;

	CHECK_INT(gt_triggers_parse(NULL, &texts, &triggers), GT_EXIT_OK);
	CHECK(triggers.signal && triggers.exit && !triggers.xid && !triggers.error);
	gt_strings_add(&texts, "slow=10ms", 9);
	gt_strings_add(&texts, "xid", 3);
	CHECK_INT(gt_triggers_parse(NULL, &texts, &triggers), GT_EXIT_OK);
	CHECK(triggers.slow == 10000000 && triggers.xid && !triggers.signal && !triggers.exit);
	gt_strings_add(&texts, "slow=soon", 9);
	CHECK_INT(gt_triggers_parse(NULL, &texts, &triggers), GT_EXIT_USAGE);
	gt_strings_free(&texts);
}

TEST("an Xid is a trigger if it was asked for")
{
	gt_autofree struct gt_event *xid = gt_event_new(GT_EVENT_nvidia_xid, "0000:3b:00.0 x", 14);
	gt_auto_strbuf why = GT_STRBUF_INIT;

	((struct gt_event_nvidia_xid *)xid)->code = 79;
	CHECK(matches(&(struct gt_triggers){.xid = true}, xid, &why));
	CHECK_STR(gt_strbuf_string(&why), "Xid 79");
	CHECK(!matches(&(struct gt_triggers){.error = true, .slow = 1}, xid, &why));
}

TEST("a call is a trigger from its duration on")
{
	struct gt_event_call call = {.head = {.kind = GT_EVENT_call, .size = sizeof(call)},
				     .duration = 10000000};
	gt_auto_strbuf why = GT_STRBUF_INIT;

	CHECK(matches(&(struct gt_triggers){.slow = 10000000}, &call.head, &why));
	CHECK_STR(gt_strbuf_string(&why), "? took 10.0 ms");
	CHECK(!matches(&(struct gt_triggers){.slow = 10000001}, &call.head, &why));
	CHECK(!matches(&(struct gt_triggers){.xid = true}, &call.head, &why));
}

TEST("the files of a flight recorder have numbers before their suffix")
{
	static const char *const names[][2] = {{"run.gtap", "run.3.gtap"},
					       {"a.b/run", "a.b/run.3"},
					       {"a/.hidden", "a/.hidden.3"},
					       {"run", "run.3"}};

	for (size_t i = 0; i < gt_countof(names); i++) {
		gt_auto_strbuf path = GT_STRBUF_INIT;

		gt_put_numbered_path(&path, names[i][0], 3);
		CHECK_STR(gt_strbuf_string(&path), names[i][1]);
	}
}

TEST_MAIN
