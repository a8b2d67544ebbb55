/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The steps of a standalone run on a device. */
#pragma once

#include "gpubpf/translate.h"
#include "run/standalone.h"

/* The instance is open. */
int gt_standalone_device_prepare(struct gt_standalone_run *run, struct gt_diag *diag);
int gt_standalone_device_start(struct gt_standalone_run *run, struct gt_diag *diag);
int gt_standalone_device_finish(struct gt_standalone_run *run, struct gt_diag *diag);
void gt_standalone_device_clear(struct gt_standalone_run *run);

/* Translate the program of the run into run->text, as the kernel <prefix>run. */
int gt_standalone_translate(struct gt_standalone_run *run, const struct gt_code_target *target,
			    const struct gt_translate_options *options, struct gt_diag *diag);
/* Process id << 32 | thread id of the calling thread, which launches the program. */
uint64_t gt_standalone_pid_tgid(void);
