/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 'gputap trace --inject': GPU programs in the kernels of the traced command. The records of their
 * rings are events of the session; their maps are printed at the end.
 */
#pragma once

#include "cli/injection.h"
#include "names/names.h"
#include "session/companion.h"

struct gt_trace_injection;

/*
 * Verify the programs of objects, load their host programs, and open the collector. GT_GO_ON, or
 * the exit status of an error that was printed. `given` must outlive the result.
 */
int gt_trace_injection_open(const struct gt_cli_injection_options *given,
			    const struct gt_strings *paths,
			    struct gt_trace_injection **ret_injection);
void gt_trace_injection_close(struct gt_trace_injection *injection);
GT_DEFINE_AUTO(trace_injection, struct gt_trace_injection, gt_trace_injection_close)

/* For the session's options. */
const struct gt_companion *gt_trace_injection_companion(const struct gt_trace_injection *injection);
/* Note the times of launches, which bound the relation of the clocks. */
void gt_trace_injection_event(struct gt_trace_injection *injection, const struct gt_names *names,
			      const struct gt_event *event);
/*
 * Print the maps, as text or as one JSON object, after the session: at the end of the file `path`,
 * or to `fd` if that is NULL. Then print the coverage to standard error. 0 or -Exxx.
 */
int gt_trace_injection_print(struct gt_trace_injection *injection, const char *path, int fd);
