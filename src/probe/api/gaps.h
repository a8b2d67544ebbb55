/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `gap` events: what may be missing, since probes were not in place in time. */
#pragma once

#include "probe/api/find.h"
#include "probe/source.h"

/*
 * Record a gap. `process` is 0 if it is not that of one; `library` is the path of the file as the
 * process sees it, or "". The event's times are `start` and `end` (gap in event.def).
 */
void gt_gap_emit(const struct gt_host *host, enum gt_gap_reason reason, pid_t process,
		 const char *library, uint64_t start, uint64_t end);

/*
 * For processes that were running before the session: record a gap for each traced process that has
 * mapped a file of the list before now: it could call the file's functions since it started. Adds
 * these processes to the session's maps of rules and of interpreters.
 */
void gt_gaps_find_running(const struct gt_host *host, const struct gt_traced_files *files);
