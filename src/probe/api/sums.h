/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sums by function that BPF programs count in place of records of calls: user space's side. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/queue.h"

struct bpf_map;

/* The functions that are counted: rows of the API tables by their keys (gt_plan.sums). */
typedef GT_VEC(uint32_t) gt_summed_functions;

/*
 * Make the map `sums` of calls.bpf.c large enough for so many functions; before it is loaded. It
 * becomes an array if that takes no more than 32 MiB on all CPUs, else it has the functions that
 * are called.
 */
void gt_call_sums_prepare(struct bpf_map *map, size_t functions);
/*
 * Emit a `sums` event with the totals so far for each function that was called. `map_fd` is that
 * map. `is_over`: nothing is traced any more, so that calls that only began (gt_call_sums.begun)
 * are unfinished. An event for which memory is missing is counted by the queue.
 */
void gt_call_sums_emit(int map_fd, const gt_summed_functions *functions, bool is_over,
		       struct gt_event_queue *events);
/* Return the number of calls that returned and were counted so far. */
uint64_t gt_call_sums_complete(int map_fd);
/* Return the numbers of calls that count_session saw begin … */
uint64_t gt_call_sums_begun(int map_fd);
/* … and, of those, of calls that did not return; once nothing is traced any more. */
uint64_t gt_call_sums_unfinished(int map_fd);
