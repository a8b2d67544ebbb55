/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "layers/layers.h"

/* All calls are one part, whatever their library. */
#define CALLS "calls"
/* The part of --chains takes events of all sources. */
#define CHAINS "chains"

/* Layer sources with a report of their own; the others have gt_report_layer_events. */
static const struct {
	const char *source;
	const struct gt_report *report;
} reports[] = {
	{CALLS, &gt_report_calls},     {CHAINS, &gt_report_job_chains},
	{"sched", &gt_report_sched},   {"nvidia", &gt_report_nvidia},
	{"fence", &gt_report_fence},   {"drm", &gt_report_drm},
	{"vblank", &gt_report_vblank}, {"i915", &gt_report_drivers},
	{"xe", &gt_report_drivers},    {"amdgpu", &gt_report_drivers},
	{"pcie", &gt_report_pcie},     {"fault", &gt_report_fault},
	{"block", &gt_report_block},   {"cgroup", &gt_report_cgroup},
	{"power", &gt_report_power},
};

/* The summary of one source. */
struct stat_part {
	const char *source;
	const struct gt_report *report;
	void *state;
};

struct stat_report {
	const struct gt_report_options *options;
	GT_VEC(struct stat_part) parts;
};

static int stat_open(const struct gt_report_options *options, void **ret_state)
{
	struct stat_report *stat = calloc(1, sizeof(*stat));

	if (!stat)
		return -ENOMEM;
	stat->options = options;
	*ret_state = stat;
	return 0;
}

static void stat_close(void *opaque)
{
	struct stat_report *stat = opaque;

	gt_vec_each (part, &stat->parts)
		part->report->close(part->state);
	gt_vec_free(&stat->parts);
	free(stat);
}

static const struct gt_report *report_of(const char *source)
{
	for (size_t i = 0; i < gt_countof(reports); i++)
		if (!strcmp(reports[i].source, source))
			return reports[i].report;
	return &gt_report_layer_events;
}

static struct stat_part *find_part(struct stat_report *stat, const char *source)
{
	struct stat_part part = {.source = source, .report = report_of(source)};

	gt_vec_each (known, &stat->parts)
		if (!strcmp(known->source, source))
			return known;
	if (part.report->open(stat->options, &part.state))
		return NULL;
	if (!gt_vec_push(&stat->parts, part))
		return &stat->parts.items[stat->parts.count - 1];
	part.report->close(part.state);
	return NULL;
}

/* The source of an event; NULL: it belongs to no summary. */
static const char *source_of(const struct gt_event *event)
{
	const struct gt_layer_kind *kind = gt_layer_kind(event->kind);

	if (kind)
		return kind->source;
	return event->kind == GT_EVENT_call || event->kind == GT_EVENT_sums ? CALLS : NULL;
}

static int stat_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct stat_report *stat = opaque;
	const char *source = source_of(event);
	struct stat_part *part;

	if (stat->options->chains) {
		int error;

		part = find_part(stat, CHAINS);
		error = part ? part->report->event(part->state, names, event) : -ENOMEM;
		if (error)
			return error;
	}
	if (!source)
		return 0;
	part = find_part(stat, source);
	return part ? part->report->event(part->state, names, event) : -ENOMEM;
}

static int stat_put_text(void *opaque, const struct gt_report_options *options,
			 const struct gt_names *names, uint64_t now, struct gt_strbuf *text)
{
	struct stat_report *stat = opaque;
	int error = 0;

	if (!stat->parts.count)
		gt_strbuf_puts(text, "No events.\n");
	gt_vec_each (part, &stat->parts) {
		gt_strbuf_printf(text, "%s:\n", part->source);
		if (!error)
			error = part->report->put_text(part->state, options, names, now, text);
		gt_strbuf_putc(text, '\n');
	}
	return error;
}

static int stat_put_json(void *opaque, const struct gt_report_options *options,
			 const struct gt_names *names, uint64_t now, struct gt_json *json)
{
	struct stat_report *stat = opaque;
	int error = 0;

	gt_json_array_begin(json, "sources");
	gt_vec_each (part, &stat->parts) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "source", part->source);
		if (!error)
			error = part->report->put_json(part->state, options, names, now, json);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_totals(json, names);
	return error;
}

const struct gt_report gt_report_stat = {
	.name = "stat",
	.open = stat_open,
	.event = stat_event,
	.put_text = stat_put_text,
	.put_json = stat_put_json,
	.close = stat_close,
};
