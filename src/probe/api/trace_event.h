/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trace events of tracefs, each with uprobes on many functions of a file
 * (Documentation/trace/uprobetracer.rst; several in one event: Linux 5.4). They remain in the
 * kernel's list until they are removed, so their names contain the id of the creating process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Create the event `number` of this process. Returns its id, for a perf event of
 * PERF_TYPE_TRACEPOINT, or -Exxx: -EOPNOTSUPP if tracefs cannot be used.
 */
int gt_trace_event_create(unsigned number, int file, const uint64_t *offsets, size_t count,
			  bool is_return);

/* Remove an event, which no perf event has open any more; waits for the kernel to notice. */
void gt_trace_event_remove(unsigned number);

/* Remove the events of processes that no longer exist. */
void gt_trace_events_sweep(void);
