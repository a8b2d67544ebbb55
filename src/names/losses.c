/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How complete a recording is, as sentences. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "names/private.h"

void gt_put_gaps_line(struct gt_strbuf *text, const struct gt_names *names)
{
	gt_auto_strbuf gaps = GT_STRBUF_INIT;

	gt_put_gaps(&gaps, names);
	if (gaps.length)
		gt_strbuf_printf(text, "C%s.\n", gt_strbuf_string(&gaps) + 1);
}

static bool saw_nothing(const struct gt_known_totals *totals)
{
	return !(totals->recorded | totals->lost | totals->unsampled | totals->evicted |
		 totals->unattributed);
}

/* The sources without an event, in one line. */
static void put_quiet_layers(struct gt_strbuf *text, const struct gt_known_totals *totals,
			     size_t count)
{
	const char *before = "Complete: no events of ";

	for (size_t i = 0; i < count; i++) {
		if (!saw_nothing(&totals[i]))
			continue;
		gt_strbuf_printf(text, "%s%s", before, totals[i].source);
		before = ", ";
	}
	if (*before == ',')
		gt_strbuf_puts(text, ".\n");
}

static void put_layers(struct gt_strbuf *text, const struct gt_names *names)
{
	size_t count;
	const struct gt_known_totals *totals = gt_names_totals(names, &count);

	for (size_t i = 0; i < count; i++) {
		bool complete = !totals[i].lost && !totals[i].evicted;

		if (saw_nothing(&totals[i]))
			continue;
		gt_strbuf_puts(text, complete ? "Complete: " : "Incomplete: ");
		gt_put_totals(text, &totals[i]);
		gt_strbuf_puts(text, ".\n");
	}
	put_quiet_layers(text, totals, count);
}

static void put_calls(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event_account *account)
{
	if (account->lost || account->others_lost || account->unfinished || account->filtered)
		gt_strbuf_printf(text,
				 "Incomplete: %" PRIu64 " of %" PRIu64 " call%s %s lost, %" PRIu64
				 " filtered, %" PRIu64 " unfinished; %" PRIu64
				 " other event%s lost.\n",
				 (uint64_t)account->lost, (uint64_t)account->made,
				 account->made == 1 ? "" : "s", account->lost == 1 ? "was" : "were",
				 (uint64_t)account->filtered, (uint64_t)account->unfinished,
				 (uint64_t)account->others_lost,
				 account->others_lost == 1 ? " was" : "s were");
	else if (gt_names_is_incomplete(names))
		gt_strbuf_printf(text, "Incomplete: %" PRIu64 " call%s, none lost.\n",
				 (uint64_t)account->made, account->made == 1 ? "" : "s");
	else if (account->made == 1)
		gt_strbuf_puts(text, "Complete: 1 call, none lost.\n");
	else
		gt_strbuf_printf(text, "Complete: %" PRIu64 " calls, none lost.\n",
				 (uint64_t)account->made);
	if (account->orphans)
		gt_strbuf_printf(text,
				 "%" PRIu64 " call%s began before the probes were attached.\n",
				 (uint64_t)account->orphans, account->orphans == 1 ? "" : "s");
}

void gt_put_losses(struct gt_strbuf *text, const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);

	if (account)
		put_layers(text, names);
	else
		gt_strbuf_puts(text, "The capture is truncated: its losses are unknown.\n");
	if (account && !gt_names_has_only_layers(names))
		put_calls(text, names, account);
	gt_put_gaps_line(text, names);
}

void gt_put_incomplete(struct gt_strbuf *text, const struct gt_names *names)
{
	static const char complete[] = "Complete: ", incomplete[] = "Incomplete: ";
	gt_auto_strbuf losses = GT_STRBUF_INIT;
	const char *line;

	if (!gt_names_is_incomplete(names))
		return;
	gt_strbuf_puts(text, "incomplete:");
	gt_put_losses(&losses, names);
	for (line = gt_strbuf_string(&losses); *line;) {
		size_t length = strcspn(line, "\n");
		size_t skipped =
			strncmp(line, incomplete, strlen(incomplete)) ? 0 : strlen(incomplete);

		if (strncmp(line, complete, strlen(complete))) {
			gt_strbuf_putc(text, ' ');
			gt_put_utf8(text, line + skipped, length - skipped);
		}
		line += length + (line[length] == '\n');
	}
}
