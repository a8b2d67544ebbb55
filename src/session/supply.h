/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What user space adds to the events that BPF programs write: command line, cgroup, mappings and
 * handles of kernels of a process that is new, strings whose page a program could not read, stacks
 * of copied memory.
 */
#pragma once

#include <stdbool.h>

#include "base/clean.h"
#include "event/event.h"

struct gt_supply;

struct gt_supply_options {
	unsigned stack_depth; /* callers to tell of `memory` events; 0: none come */
	bool cgroups;         /* tell the cgroups of processes */
	/* Takes the events: those of the ring and those that are added, each in its place. */
	void (*tell)(void *context, const struct gt_event *event);
	void *context;
};

/* NULL: no memory. */
struct gt_supply *gt_supply_new(const struct gt_supply_options *options);
void gt_supply_free(struct gt_supply *supply);
GT_DEFINE_AUTO(supply, struct gt_supply, gt_supply_free)

/*
 * Takes a checked event of the ring: tells it, and before and after it what belongs to it. A
 * `memory` event is told as the stack that it is unwound to. 0 or -ENOMEM.
 */
int gt_supply_take(struct gt_supply *supply, const struct gt_event *event);
/* Learns from an event that others told: `mapping` and `process`. 0 or -ENOMEM. */
int gt_supply_learn(struct gt_supply *supply, const struct gt_event *event);
/* Whether a process was named by an event that was taken. */
bool gt_supply_has_met(const struct gt_supply *supply, __u32 process);
