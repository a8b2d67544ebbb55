/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sums by function that BPF programs count in place of records of calls: user space's side. */
#pragma once

#include <stdint.h>

#include "event/queue.h"

/*
 * Emit a `sums` event with the totals so far for each function that was called. `map_fd` is the map
 * `sums` of calls.bpf.c. An event for which memory is missing is counted by the queue.
 */
void gt_call_sums_emit(int map_fd, struct gt_event_queue *events);
/* Return the number of calls that returned and were counted so far. */
uint64_t gt_call_sums_complete(int map_fd);
