/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a session may have missed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "names/private.h"

#define MAX_SHOWN 3 /* gaps in a line of text */

static const char *const reasons[] = {
	[GT_GAP_MAPPED] = "mapped",         [GT_GAP_RUNNING] = "running",
	[GT_GAP_UNATTACHED] = "unattached", [GT_GAP_UNWATCHED] = "unwatched",
	[GT_GAP_UNTRACED] = "untraced",     [GT_GAP_CORRUPT] = "corrupt",
	[GT_GAP_REDUCED] = "reduced",
};

void gt_known_gaps_free(struct gt_known_gaps *gaps)
{
	gt_vec_each (gap, &gaps->kept) {
		free((char *)gap->name);
		free((char *)gap->library);
	}
	gt_vec_free(&gaps->kept);
}

int gt_known_gaps_take(struct gt_known_gaps *gaps, const struct gt_event *event)
{
	const struct gt_event_gap *record = (const void *)event;
	char name[2 * sizeof(record->name_first) + 1] = {0};
	struct gt_known_gap gap = {
		.process = event->process,
		.reason = record->reason,
		.start = record->start,
		.end = record->end,
	};
	const char *library;
	size_t length;

	if (gaps->kept.count >= GT_MAX_GAPS || record->reason >= gt_countof(reasons)) {
		gaps->omitted++;
		return 0;
	}
	memcpy(name, &record->name_first, sizeof(record->name_first));
	memcpy(name + sizeof(record->name_first), &record->name_last, sizeof(record->name_last));
	library = gt_event_text(event, &length);
	gap.name = strdup(name);
	gap.library = strndup(library, length);
	if (gap.name && gap.library && !gt_vec_push(&gaps->kept, gap))
		return 0;
	free((char *)gap.name);
	free((char *)gap.library);
	return -ENOMEM;
}

const struct gt_known_gap *gt_names_gaps(const struct gt_names *names, size_t *ret_count,
					 __u64 *ret_omitted)
{
	*ret_count = names->gaps.kept.count;
	*ret_omitted = names->gaps.omitted;
	return names->gaps.kept.items;
}

bool gt_names_is_incomplete(const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);

	gt_vec_each (totals, &names->totals)
		if (totals->lost || totals->evicted)
			return true;
	return names->gaps.kept.count || names->gaps.omitted || !account || account->lost ||
	       account->others_lost || account->entries_lost || account->orphans;
}

/* The name of the process of a gap; "": unknown. It may have ended before the gap was found. */
static const char *name_of(const struct gt_names *names, const struct gt_known_gap *gap)
{
	const char *known = gap->process ? gt_names_process(names, gap->process) : "?";

	if (gap->name[0])
		return gap->name;
	return strcmp(known, "?") ? known : "";
}

static void put_process(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_known_gap *gap)
{
	const char *name = name_of(names, gap);

	if (!gap->process) {
		gt_strbuf_puts(text, GT_PROCESS_OUTSIDE);
		return;
	}
	gt_put_printable(text, name[0] ? name : "process");
	gt_strbuf_puts(text, " (");
	gt_put_id(text, gap->process);
	gt_strbuf_putc(text, ')');
}

static void put_gap(struct gt_strbuf *text, const struct gt_names *names,
		    const struct gt_known_gap *gap)
{
	const char *slash = strrchr(gap->library, '/');

	switch (gap->reason) {
	case GT_GAP_MAPPED:
	case GT_GAP_RUNNING:
		put_process(text, names, gap);
		gt_strbuf_puts(text, gap->reason == GT_GAP_MAPPED ? ", in " : ", which ran ");
		if (gap->start && gap->end >= gap->start)
			gt_format_duration(text, gap->end - gap->start);
		else
			gt_strbuf_puts(text, "an unknown time");
		gt_strbuf_puts(text, " before the probes in ");
		gt_put_printable(text, slash ? slash + 1 : gap->library);
		gt_strbuf_puts(text, " were attached");
		break;
	case GT_GAP_UNATTACHED:
		gt_put_printable(text, gap->library);
		gt_strbuf_puts(text, ", which has no probes");
		break;
	case GT_GAP_UNWATCHED:
		gt_strbuf_puts(text, "libraries that were opened later");
		break;
	case GT_GAP_UNTRACED:
		gt_strbuf_puts(text, "child processes that were not traced");
		break;
	case GT_GAP_CORRUPT:
		gt_strbuf_puts(text, "a corrupt part of the capture (");
		gt_put_printable(text, gap->library);
		gt_strbuf_puts(text, ")");
		break;
	case GT_GAP_REDUCED:
		gt_strbuf_puts(text, "the times in which ");
		gt_put_printable(text, gap->library);
		gt_strbuf_puts(text, " were not traced (--max-overhead)");
		break;
	}
}

/* Of several files that a running process has mapped, the first one stands for all. */
static bool is_repeated(const struct gt_known_gap *gaps, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (gaps[index].reason == GT_GAP_RUNNING && gaps[i].reason == GT_GAP_RUNNING &&
		    gaps[i].process == gaps[index].process)
			return true;
	return false;
}

void gt_put_gaps(struct gt_strbuf *text, const struct gt_names *names)
{
	const struct gt_known_gaps *gaps = &names->gaps;
	uint64_t more = gaps->omitted;
	unsigned shown = 0;

	if (gaps->kept.count || more)
		gt_strbuf_puts(text, "calls may be missing from ");
	for (size_t i = 0; i < gaps->kept.count; i++) {
		if (is_repeated(gaps->kept.items, i))
			continue;
		if (shown == MAX_SHOWN) {
			more++;
			continue;
		}
		gt_strbuf_puts(text, shown++ ? "; from " : "");
		put_gap(text, names, &gaps->kept.items[i]);
	}
	if (more)
		gt_strbuf_printf(text, "%s%" PRIu64 " %s", shown ? "; and " : "", more,
				 shown ? "more" : "processes or libraries");
}

static void json_u64_or_null(struct gt_json *json, const char *key, uint64_t value)
{
	if (value)
		gt_json_u64(json, key, value);
	else
		gt_json_null(json, key);
}

static void json_string_or_null(struct gt_json *json, const char *key, const char *value)
{
	if (value[0])
		gt_json_string(json, key, value);
	else
		gt_json_null(json, key);
}

static void json_gap(struct gt_json *json, const struct gt_names *names,
		     const struct gt_known_gap *gap)
{
	gt_json_object_begin(json, NULL);
	gt_json_string(json, "reason", reasons[gap->reason]);
	json_u64_or_null(json, "pid", gt_id_number(gap->process));
	json_string_or_null(json, "process", name_of(names, gap));
	json_string_or_null(json, "library", gap->library);
	json_u64_or_null(json, "start", gap->start);
	json_u64_or_null(json, "end", gap->end);
	json_u64_or_null(json, "duration",
			 gap->start && gap->end > gap->start ? gap->end - gap->start : 0);
	gt_json_object_end(json);
}

void gt_json_gaps(struct gt_json *json, const struct gt_names *names)
{
	gt_json_bool(json, "incomplete", gt_names_is_incomplete(names));
	gt_json_array_begin(json, "gaps");
	for (size_t i = 0; i < names->gaps.kept.count; i++)
		json_gap(json, names, &names->gaps.kept.items[i]);
	gt_json_array_end(json);
	gt_json_u64(json, "gaps_omitted", names->gaps.omitted);
}
