/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#pragma once

#include "run/execute.h"

/* The steps of a run on a device. The instance is there. */
int gt_device_run_prepare(struct gt_grid_run *run, struct gt_diag *diag);
int gt_device_run_start(struct gt_grid_run *run, struct gt_diag *diag);
int gt_device_run_finish(struct gt_grid_run *run, struct gt_diag *diag);
void gt_device_run_clear(struct gt_grid_run *run);

/* Process id << 32 | thread id of the calling thread, which counts as the one that launches. */
uint64_t gt_execution_thread(void);
