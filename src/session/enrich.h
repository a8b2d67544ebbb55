/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User space's additions to the events of BPF programs: command line, cgroup, mappings and kernel
 * handles of a new process, strings whose page a program could not read, stacks unwound from
 * copied memory.
 */
#pragma once

#include <stdbool.h>

#include "base/clean.h"
#include "base/hash.h"
#include "event/queue.h"

struct gt_enrich;
struct gt_pythons;
struct gt_unwind_maps;

struct gt_enrich_options {
	unsigned stack_depth; /* callers to record of `memory` events; 0: there are none */
	bool cgroups;         /* add the cgroups of processes */
};

/* What becomes of one event, in the order in which it is to be delivered. */
struct gt_enriched {
	struct gt_event_queue before;
	const struct gt_event *event; /* NULL: dropped, since it says nothing new or was replaced */
	struct gt_event_queue after;
};

/* NULL: out of memory. */
struct gt_enrich *gt_enrich_new(const struct gt_enrich_options *options);
void gt_enrich_free(struct gt_enrich *enrich);
GT_DEFINE_AUTO(enrich, struct gt_enrich, gt_enrich_free)

/* Enter the processes that map a Python interpreter; `pythons` must outlive the last event. */
void gt_enrich_find_pythons(struct gt_enrich *enrich, struct gt_pythons *pythons);
/* Add the unwinding rules of mapped files to these maps, which must outlive the last event. */
void gt_enrich_fill_unwind_maps(struct gt_enrich *enrich, struct gt_unwind_maps *maps);

/*
 * Take a checked event of the stream. The result is valid until the next call; events that could
 * not be allocated are counted by gt_enrich_lost.
 */
const struct gt_enriched *gt_enrich_event(struct gt_enrich *enrich, const struct gt_event *event);
/* Events that could not be allocated so far. */
uint64_t gt_enrich_lost(const struct gt_enrich *enrich);
/* The processes that were named by an event: process id -> its latest `process` event. */
const struct gt_hash *gt_enrich_processes(const struct gt_enrich *enrich);
