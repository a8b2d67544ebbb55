/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of a standalone run on an OpenCL device. Its kernels access the maps by their addresses
 * in this process, as host programs do. A device that cannot gets copies (standalone_copies.h).
 */
#pragma once

#include "run/standalone.h"

/* The instance is open, without a CUDA device. run->copies: whether the maps are copied. */
int gt_standalone_opencl_prepare(struct gt_standalone_run *run, struct gt_diag *diag);
int gt_standalone_opencl_start(struct gt_standalone_run *run, struct gt_diag *diag);
int gt_standalone_opencl_finish(struct gt_standalone_run *run, struct gt_diag *diag);
/* A program that did not end in time keeps what it can access: the process ends soon. */
void gt_standalone_opencl_clear(struct gt_standalone_run *run);
