/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What probes cost the traced processes: the run time of the BPF programs, as the kernel measures
 * it, and the traps by which programs on user-space functions are reached, by their price on this
 * machine.
 */
#pragma once

#include <stdint.h>

struct bpf_object;

struct gt_probe_cost {
	uint64_t runs;   /* of programs, while the kernel measured */
	uint64_t run_ns; /* their time */
	uint64_t traps;  /* of the runs: by a trap of user space */
};

/*
 * Let the kernel measure the run time of BPF programs from now on (BPF_ENABLE_STATS, Linux 5.8).
 * Returns a descriptor that ends it when it is closed; -1: the kernel cannot, or must not
 * (CAP_SYS_ADMIN). Each run of a program takes two readings of the clock longer meanwhile.
 */
int gt_probe_cost_start(void);

/* Add the cost of the programs of an object so far. */
void gt_probe_cost_add(const struct bpf_object *object, struct gt_probe_cost *cost);

/*
 * Price of the trap of an entry or a return, ns: the mean of an empty pair of probes, measured at
 * the first call on a function of this process. That takes some milliseconds, and the kernel up to
 * 100 ms to remove the probes. 0: it cannot be measured. By any thread.
 */
uint64_t gt_probe_trap_ns(void);
