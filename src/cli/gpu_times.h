/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of the agent in the processes of the traced command. --gpu-times: the times of a GPU's
 * work (agent/work.h); they come on clocks of contexts, and are related to CLOCK_MONOTONIC here.
 * --via agent: calls of APIs (agent_calls.h).
 */
#pragma once

#include "probe/options.h"
#include "session/companion.h"

struct gt_gpu_times;

/*
 * Bytes of the ring that each process gets with these options (gt_inject_options.event_bytes): with
 * --via agent those of --ring-size, up to GT_AGENT_RING_MAX; `period` as in gt_gpu_times_open.
 */
uint32_t gt_gpu_times_ring(const struct gt_trace_options *options, uint64_t period);

/*
 * Parse the option's value: "off" or NULL 0, "all" and "exact" 1, "sampled=N" N, of which every
 * N-th operation is timed. *ret_exact: kernels record their first and last instruction, too. 0 or
 * -EINVAL.
 */
int gt_gpu_times_parse(const char *text, uint64_t *ret_period, bool *ret_exact);

/*
 * Open for options; `period` is that of `gpu_times`, 0: no work is timed. A companion of them
 * continues inside this one; its collector has rings of gt_gpu_times_ring. 0 or -Exxx. `options`
 * must outlive the result. With `gpu_times_exact` of the options, the program of exact_grids.h is
 * in the kernels of the command.
 */
int gt_gpu_times_open(const struct gt_trace_options *options, uint64_t period,
		      struct gt_gpu_times **ret_times, struct gt_diag *diag);
void gt_gpu_times_close(struct gt_gpu_times *times);
GT_DEFINE_AUTO(gpu_times, struct gt_gpu_times, gt_gpu_times_close)

/* For the session's options. */
const struct gt_companion *gt_gpu_times_companion(const struct gt_gpu_times *times);
