/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frequencies and the time at each, the runtime power management of GPUs, and the suspend and
 * resume of the system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

#define GT_FREQUENCY_STEP 100000 /* kHz: frequencies of CPUs within it are added up */

/* A CPU, or a GPU. Its frequency is known from its first change on. */
struct gt_frequency_unit {
	struct gt_frequency_unit_key {
		uint32_t is_gpu;
		uint32_t unit;
	} key;
	uint64_t changes;        /* those that were not shown included */
	uint64_t min, max, last; /* kHz of a CPU; of a GPU as the driver has it */
	uint64_t since;          /* time of the last change, ns */
	uint64_t time;           /* ns up to then for which the frequency is known */
	double weighted;         /* the frequencies by their time: the sum */
};

/* The time of all CPUs, or all GPUs, at a frequency. */
struct gt_frequency_time {
	struct gt_frequency_time_key {
		uint64_t is_gpu;
		uint64_t frequency; /* of CPUs a multiple of GT_FREQUENCY_STEP */
	} key;
	uint64_t time; /* ns */
};

#define GT_POWER_NESTING 4 /* operations of a device in each other */

/* A GPU. */
struct gt_power_device {
	char name[GT_DEVICE_NAME_SIZE]; /* may have no NUL */
	uint64_t idles, suspends, resumes, errors;
	uint64_t suspended;             /* ns, up to the last resume */
	uint64_t suspended_since;       /* time of the last suspend that succeeded; 0: none */
	struct gt_histogram suspending; /* ns of suspends */
	struct gt_histogram resuming;   /* ns of resumes */
	struct gt_histogram callbacks;  /* ns of the driver's, in the suspend of the system */
	unsigned depth;
	struct gt_power_pending {
		uint32_t operation; /* enum gt_power_operation */
		uint32_t flags;
		uint64_t time;
	} pending[GT_POWER_NESTING];
};

/* A step of the suspend or resume of the system. */
struct gt_power_step {
	char name[GT_DEVICE_NAME_SIZE];
	uint64_t begun;            /* time; 0: it has ended */
	struct gt_histogram times; /* ns */
};

struct gt_power_states {
	struct gt_keyed_rows units;       /* of struct gt_frequency_unit */
	struct gt_keyed_rows frequencies; /* of struct gt_frequency_time */
	struct gt_keyed_rows devices;     /* of struct gt_power_device */
	struct gt_keyed_rows steps;       /* of struct gt_power_step */
};

struct gt_power_states *gt_power_states_new(void);
void gt_power_states_free(struct gt_power_states *states);
GT_DEFINE_AUTO(power_states, struct gt_power_states, gt_power_states_free)

/* Take an event of the source "power". 0 or -ENOMEM. */
int gt_power_states_take(struct gt_power_states *states, const struct gt_event *event);
/* Add the time since the last change of each unit. 0 or -ENOMEM. */
int gt_power_states_advance(struct gt_power_states *states, uint64_t now);
/* The mean frequency by time; the last one, if no time is known. */
uint64_t gt_frequency_mean(const struct gt_frequency_unit *unit);
/* Sort the times by frequency. */
void gt_power_states_sort(struct gt_power_states *states);
