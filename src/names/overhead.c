/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tracing cost. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/text.h"
#include "event/kinds.h"
#include "names/private.h"

const struct gt_event_overhead *gt_names_overhead(const struct gt_names *names)
{
	return names->has_overhead ? &names->overhead : NULL;
}

struct gt_event_overhead gt_overhead_until_now(const struct gt_event_overhead *overhead)
{
	struct gt_event_overhead updated = *overhead;

	updated.own_time = gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return updated;
}

double gt_overhead_share(const struct gt_event_overhead *overhead)
{
	double cost = (double)overhead->run_time + (double)overhead->trap_time;

	return overhead->elapsed ? cost / (double)overhead->elapsed : 0;
}

void gt_put_overhead(struct gt_strbuf *text, const struct gt_event_overhead *overhead)
{
	if (!overhead->measured) {
		gt_strbuf_puts(
			text, "what probes cost is not known (too few calls, or no CAP_SYS_ADMIN)");
	} else {
		gt_strbuf_printf(text, "probes took %.2f %% of the time of a CPU: ",
				 gt_overhead_share(overhead) * 100);
		gt_format_duration(text, overhead->run_time);
		gt_strbuf_printf(text, " in %" PRIu64 " runs", (uint64_t)overhead->runs);
		if (overhead->traps) {
			gt_strbuf_puts(text, ", ");
			gt_format_duration(text, overhead->trap_time);
			gt_strbuf_printf(text, " in %" PRIu64 " traps", (uint64_t)overhead->traps);
		}
	}
	gt_strbuf_puts(text, "; gputap used ");
	gt_format_duration(text, overhead->own_time);
	gt_strbuf_puts(text, " of CPU time");
}

void gt_json_overhead(struct gt_json *json, const char *key,
		      const struct gt_event_overhead *overhead)
{
	const struct {
		const char *key;
		uint64_t value;
	} measured[] = {
		{"probe_runs", overhead ? overhead->runs : 0},
		{"probe_time", overhead ? overhead->run_time : 0},
		{"traps", overhead ? overhead->traps : 0},
		{"trap_time", overhead ? overhead->trap_time : 0},
	};

	if (!overhead) {
		gt_json_null(json, key);
		return;
	}
	gt_json_object_begin(json, key);
	gt_json_u64(json, "elapsed", overhead->elapsed);
	gt_json_u64(json, "measured", overhead->measured);
	for (size_t i = 0; i < gt_countof(measured); i++) {
		if (overhead->measured)
			gt_json_u64(json, measured[i].key, measured[i].value);
		else
			gt_json_null(json, measured[i].key);
	}
	if (overhead->measured)
		gt_json_double(json, "share", gt_overhead_share(overhead));
	else
		gt_json_null(json, "share");
	gt_json_u64(json, "cpu", overhead->own_time);
	gt_json_object_end(json);
}
