/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trace events of tracefs, each of which stands for uprobes on many functions of a file
 * (Documentation/trace/uprobetracer.rst; several in one event: Linux 5.4). They are names in the
 * kernel's list until they are removed, so they carry the number of the process that made them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes the event `number` of this process. Its id, which a perf event of PERF_TYPE_TRACEPOINT
 * takes, or -Exxx: -EOPNOTSUPP where tracefs cannot be used.
 */
int gt_trace_event_make(unsigned number, int file, const uint64_t *offsets, size_t count,
			bool is_return);

/* No perf event has it open any more; the kernel may take a moment to see that. */
void gt_trace_event_remove(unsigned number);

/* Removes what processes left that were killed. */
void gt_trace_events_sweep(void);
