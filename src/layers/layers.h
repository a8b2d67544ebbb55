/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the events of layer sources (src/probe/layer.h) are shown: one row per kind of event, in a
 * file per source. From a row come the details of a text line, the keys of a JSON object and the
 * rows of 'gputap stat'. Fields are shown as event.def describes them unless a row formats them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "names/names.h"

/* How a field is shown that is more than a number with a unit. */
struct gt_layer_field {
	const char *name; /* as in event.def */
	/*
	 * Add the value as text; nothing: the field is not shown in text, and null in JSON. NULL:
	 * it is a number, and 0 if it is not known.
	 */
	void (*format)(struct gt_strbuf *text, const struct gt_names *names,
		       const struct gt_event *event, uint64_t value);
};

struct gt_layer_kind {
	enum gt_event_kind kind;
	const char *source; /* as in -e */
	const char *name;   /* of the event, "wait_end"; NULL: by `variant` */
	const char *(*variant)(const struct gt_event *event);
	const struct gt_layer_field *fields; /* those with a format of their own */
	size_t field_count;
	bool has_unknown; /* a field of which all bits are 1 is not known: not shown, null */
	/* The details of a text line in place of "name=value …"; NULL: these. */
	void (*text)(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *event);
	/* The error of an event that failed, an errno; 0: it did not. NULL: such events do not
	 * fail. */
	int (*error)(const struct gt_event *event);
	/* Add keys after those of the fields; NULL: none. */
	void (*json)(struct gt_json *json, const struct gt_names *names,
		     const struct gt_event *event);
};

/* One source's rows. */
struct gt_layer_kinds {
	const struct gt_layer_kind *rows;
	size_t count;
};

/* The row of a kind of event; NULL: it is not an event of a layer source. */
const struct gt_layer_kind *gt_layer_kind(unsigned kind);
/* Why a thread left its CPU, by the task state of an `off_cpu` event: "sleeping", "preempted". */
const char *gt_layer_task_state(uint32_t state);

/* The name of an event: "wait_end". */
const char *gt_layer_event_name(const struct gt_layer_kind *row, const struct gt_event *event);
/* Add the details of a text line. `event` is a checked record of this kind. */
void gt_layer_format(struct gt_strbuf *text, const struct gt_layer_kind *row,
		     const struct gt_names *names, const struct gt_event *event);
/* Whether an event happened in the thread that it has, not later or elsewhere because of it. */
bool gt_layer_is_in_thread(const struct gt_event *event);
/*
 * Add the members of an object, beginning with "schema": "gputap.event.1". "time" is that of the
 * beginning where the event has a duration.
 */
void gt_layer_json(struct gt_json *json, const struct gt_layer_kind *row,
		   const struct gt_names *names, const struct gt_event *event);

extern const struct gt_layer_kinds gt_layer_gpu_work;
extern const struct gt_layer_kinds gt_layer_nvml;
extern const struct gt_layer_kinds gt_layer_sched;
extern const struct gt_layer_kinds gt_layer_fault;
extern const struct gt_layer_kinds gt_layer_block;
extern const struct gt_layer_kinds gt_layer_cgroup;
extern const struct gt_layer_kinds gt_layer_power;
extern const struct gt_layer_kinds gt_layer_fence;
extern const struct gt_layer_kinds gt_layer_drm;
extern const struct gt_layer_kinds gt_layer_drivers; /* i915, xe, amdgpu */
extern const struct gt_layer_kinds gt_layer_pcie;
extern const struct gt_layer_kinds gt_layer_vblank;
extern const struct gt_layer_kinds gt_layer_syscall;
extern const struct gt_layer_kinds gt_layer_nvidia;
extern const struct gt_layer_kinds gt_layer_nvlink;
