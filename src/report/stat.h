/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The report "stat": a summary of each source. A source has a report of its own in the table of
 * stat.c, or the one of all layer sources: events, rates, durations and processes.
 */
#pragma once

#include "report/report.h"

extern const struct gt_report gt_report_calls;        /* API calls by function */
extern const struct gt_report gt_report_nvidia;       /* NVIDIA's driver */
extern const struct gt_report gt_report_layer_events; /* of any layer source */

extern const struct gt_report gt_report_job_chains; /* --chains: jobs, and what submitted them */
extern const struct gt_report gt_report_sched;
extern const struct gt_report gt_report_fence;
extern const struct gt_report gt_report_drm;
extern const struct gt_report gt_report_vblank;
extern const struct gt_report gt_report_pcie;
extern const struct gt_report gt_report_fault;
extern const struct gt_report gt_report_block;
extern const struct gt_report gt_report_cgroup;
extern const struct gt_report gt_report_power;
extern const struct gt_report gt_report_drivers; /* i915, xe, amdgpu */

extern const struct gt_report gt_report_stat;
