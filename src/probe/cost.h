/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The CPU time that the BPF programs of this process take, as the kernel measures it. */
#pragma once

#include <stdint.h>

/*
 * Let the kernel measure the run time of BPF programs from now on (BPF_ENABLE_STATS, Linux 5.8).
 * Returns a descriptor that ends it when it is closed; -1: the kernel cannot, or must not.
 */
int gt_probe_cost_start(void);
/*
 * The runs of the programs of which this process has descriptors, and their time, ns. Traps that
 * lead to them are not included.
 */
void gt_probe_cost(uint64_t *ret_runs, uint64_t *ret_ns);
