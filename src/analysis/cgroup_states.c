/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/cgroup_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"

struct gt_cgroup_states *gt_cgroup_states_new(void)
{
	gt_auto(cgroup_states) struct gt_cgroup_states *states = calloc(1, sizeof(*states));

	if (!states)
		return NULL;
	states->by_path = gt_hash_new();
	return states->by_path ? gt_take(states) : NULL;
}

static void free_row(struct gt_cgroup_row *row)
{
	if (row)
		free(row->path);
	free(row);
}

void gt_cgroup_states_free(struct gt_cgroup_states *states)
{
	if (!states)
		return;
	gt_vec_each (row, &states->rows)
		free_row(*row);
	gt_vec_free(&states->rows);
	if (states->by_path)
		gt_hash_free(states->by_path);
	free(states);
}

static struct gt_cgroup_row *find_row(struct gt_cgroup_states *states, const char *path,
				      size_t length)
{
	struct gt_cgroup_row *row = gt_hash_get(states->by_path, path, length);

	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->path = strndup(path, length);
	if (!row->path || gt_vec_push(&states->rows, row)) {
		free_row(row);
		return NULL;
	}
	return gt_hash_set(states->by_path, path, length, row) ? NULL : row;
}

static void end_freeze(struct gt_cgroup_row *row, uint64_t time)
{
	if (row->frozen_since && time > row->frozen_since)
		row->frozen_ns += time - row->frozen_since;
	row->frozen_since = 0;
}

static void add_state(struct gt_cgroup_row *row, const struct gt_event_cgroup_state *state)
{
	switch (state->operation) {
	case GT_CGROUP_THROTTLED:
		row->throttled += state->count;
		row->throttled_ns += state->duration;
		break;
	case GT_CGROUP_FROZEN:
		row->freezes++;
		row->frozen_since = state->head.time;
		break;
	case GT_CGROUP_THAWED:
		end_freeze(row, state->head.time);
		break;
	case GT_CGROUP_MEMORY_HIGH:
		row->memory_high += state->count;
		break;
	case GT_CGROUP_MEMORY_MAX:
		row->memory_max += state->count;
		break;
	case GT_CGROUP_OOM_KILL:
		row->oom_kills += state->count;
		break;
	case GT_CGROUP_CPU_STALL:
		row->cpu_stall += state->duration;
		break;
	case GT_CGROUP_MEMORY_STALL:
		row->memory_stall += state->duration;
		break;
	case GT_CGROUP_IO_STALL:
		row->io_stall += state->duration;
		break;
	}
}

int gt_cgroup_states_take(struct gt_cgroup_states *states, const struct gt_event *event)
{
	struct gt_cgroup_row *row;
	const char *path;
	size_t length;

	if (event->kind != GT_EVENT_cgroup_state)
		return 0;
	path = gt_event_text(event, &length);
	row = find_row(states, path, length);
	if (!row)
		return -ENOMEM;
	add_state(row, (const void *)event);
	return 0;
}

uint64_t gt_cgroup_frozen(const struct gt_cgroup_row *row, uint64_t now)
{
	return row->frozen_ns +
	       (row->frozen_since && now > row->frozen_since ? now - row->frozen_since : 0);
}
