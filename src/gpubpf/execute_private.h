/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#pragma once

#include "gpubpf/execute.h"

/* Checks the sizes, and makes room for the results and fresh memory for the maps. 0 or -Exxx. */
int gt_execution_prepare(struct gt_execution *execution, uint32_t multiprocessors,
			 struct gt_diag *diag);
/* Process id << 32 | thread id of the calling thread, which counts as the one that launches. */
uint64_t gt_execution_thread(void);
