/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How cgroups were limited: throttling, memory events, stalls, and for how long they were frozen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/hash.h"
#include "base/vec.h"
#include "event/event.h"

struct gt_cgroup_row {
	char *path;
	uint64_t throttled, throttled_ns; /* periods, and the time of all CPUs in them */
	uint64_t memory_high, memory_max, oom_kills;
	uint64_t cpu_stall, memory_stall, io_stall; /* ns in which some thread could not run */
	uint64_t freezes, frozen_ns;                /* that ended */
	uint64_t frozen_since;                      /* ns; 0: it is not frozen */
};

struct gt_cgroup_states {
	GT_VEC(struct gt_cgroup_row *) rows; /* in the order of their first event */
	struct gt_hash *by_path;             /* -> the row */
};

struct gt_cgroup_states *gt_cgroup_states_new(void);
void gt_cgroup_states_free(struct gt_cgroup_states *states);
GT_DEFINE_AUTO(cgroup_states, struct gt_cgroup_states, gt_cgroup_states_free)

/* Take an event of the source "cgroup". 0 or -ENOMEM. */
int gt_cgroup_states_take(struct gt_cgroup_states *states, const struct gt_event *event);
/* For how long it was frozen up to a time of the session. */
uint64_t gt_cgroup_frozen(const struct gt_cgroup_row *row, uint64_t now);
