/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The totals of layer sources, and how calls were recorded. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clean.h"
#include "event/kinds.h"
#include "names/private.h"

void gt_known_totals_free(gt_known_totals_list *totals)
{
	gt_vec_each (row, totals)
		free((char *)row->source);
	gt_vec_free(totals);
}

static struct gt_known_totals *find_totals(gt_known_totals_list *totals, const char *source,
					   size_t length)
{
	gt_vec_each (row, totals)
		if (strlen(row->source) == length && !memcmp(row->source, source, length))
			return row;
	return NULL;
}

int gt_known_totals_take(gt_known_totals_list *totals, const struct gt_event *event)
{
	const struct gt_event_totals *record = (const void *)event;
	struct gt_known_totals known = {
		.recorded = record->recorded,
		.lost = record->lost,
		.unsampled = record->unsampled,
		.evicted = record->evicted,
		.unattributed = record->unattributed,
	};
	size_t length;
	const char *source = gt_event_text(event, &length);
	struct gt_known_totals *row = find_totals(totals, source, length);

	if (row) {
		known.source = row->source;
		*row = known;
		return 0;
	}
	if (totals->count >= GT_MAX_TOTALS)
		return 0;
	known.source = strndup(source, length);
	if (known.source && !gt_vec_push(totals, known))
		return 0;
	free((char *)known.source);
	return -ENOMEM;
}

const struct gt_known_totals *gt_names_totals(const struct gt_names *names, size_t *ret_count)
{
	*ret_count = names->totals.count;
	return names->totals.items;
}

bool gt_names_has_only_layers(const struct gt_names *names)
{
	const struct gt_event_account *account = gt_names_account(names);

	return names->totals.count &&
	       (!account || (!account->made && !account->lost && !account->orphans));
}

void gt_put_totals(struct gt_strbuf *text, const struct gt_known_totals *totals)
{
	uint64_t seen = totals->recorded + totals->lost + totals->unsampled + totals->unattributed;

	gt_strbuf_printf(text, "%s: %" PRIu64 " event%s: %" PRIu64 " recorded, %" PRIu64 " lost",
			 totals->source, seen, seen == 1 ? "" : "s", totals->recorded,
			 totals->lost);
	if (totals->unsampled)
		gt_strbuf_printf(text, ", %" PRIu64 " not sampled", totals->unsampled);
	if (totals->unattributed)
		gt_strbuf_printf(text,
				 ", %" PRIu64 " omitted (made by the kernel, process unknown)",
				 totals->unattributed);
	if (totals->evicted)
		gt_strbuf_printf(text, "; %" PRIu64 " evicted (a map was full)", totals->evicted);
}

void gt_json_totals(struct gt_json *json, const struct gt_names *names)
{
	gt_json_array_begin(json, "totals");
	gt_vec_each (totals, &names->totals) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "source", totals->source);
		gt_json_u64(json, "recorded", totals->recorded);
		gt_json_u64(json, "lost", totals->lost);
		gt_json_u64(json, "unsampled", totals->unsampled);
		gt_json_u64(json, "evicted", totals->evicted);
		gt_json_u64(json, "unattributed", totals->unattributed);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

const char *gt_names_via(const struct gt_names *names)
{
	static const char *const methods[] = {
		[GT_CALLS_VIA_KERNEL] = "kernel",
		[GT_CALLS_VIA_AGENT] = "agent",
		[GT_CALLS_VIA_KERNEL | GT_CALLS_VIA_AGENT] = "both",
	};

	return names->via < gt_countof(methods) ? methods[names->via] : NULL;
}

void gt_json_via(struct gt_json *json, const struct gt_names *names)
{
	const char *via = gt_names_via(names);

	if (via)
		gt_json_string(json, "via", via);
	else
		gt_json_null(json, "via");
}
