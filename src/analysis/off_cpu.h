/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads off the CPU: for how long and why, how long they waited for a CPU, and who woke them. */
#pragma once

#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

/* What a thread waited for, by the state in which it left its CPU. */
struct gt_off_cpu_row {
	struct gt_off_cpu_key {
		uint32_t process, thread;
		const char *state; /* "sleeping": gt_layer_task_state */
	} key;
	struct gt_histogram durations; /* ns off the CPU */
	struct gt_histogram runnable;  /* ns of them in which it waited for a CPU */
};

/* Who ended waits. */
struct gt_waker_row {
	struct gt_waker_key {
		uint32_t process, thread; /* 0: an interrupt */
		char name[16];
	} key;
	struct gt_histogram ended; /* ns that the waits lasted which it ended */
};

struct gt_off_cpu {
	struct gt_keyed_rows waits;  /* of struct gt_off_cpu_row */
	struct gt_keyed_rows wakers; /* of struct gt_waker_row */
};

struct gt_off_cpu *gt_off_cpu_new(void);
void gt_off_cpu_free(struct gt_off_cpu *off_cpu);
GT_DEFINE_AUTO(off_cpu, struct gt_off_cpu, gt_off_cpu_free)

/* Take an event of the source "sched". 0 or -ENOMEM. */
int gt_off_cpu_take(struct gt_off_cpu *off_cpu, const struct gt_event *event);
/* Sort the rows: the longest total time first. */
void gt_off_cpu_sort(struct gt_off_cpu *off_cpu);
