/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Page faults by process: minor ones, major ones that waited for I/O, those of UVM's memory. */
#pragma once

#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

enum gt_page_fault_type {
	GT_PAGE_FAULT_MINOR,
	GT_PAGE_FAULT_MAJOR,
	GT_PAGE_FAULT_UVM, /* of a CPU */
	GT_PAGE_FAULT_GPU, /* of a GPU, on UVM's memory; of no process, without times */
	GT_PAGE_FAULT_TYPES
};

struct gt_page_fault_row {
	uint32_t process;
	uint64_t counts[GT_PAGE_FAULT_TYPES];
	uint64_t reads, writes, fetches; /* by access */
	uint64_t kernel;                 /* of the kernel, for the process */
	uint64_t errors;
	struct gt_histogram times[GT_PAGE_FAULT_TYPES]; /* ns, where they are known */
};

struct gt_page_faults {
	struct gt_keyed_rows processes; /* of struct gt_page_fault_row */
};

struct gt_page_faults *gt_page_faults_new(void);
void gt_page_faults_free(struct gt_page_faults *faults);
GT_DEFINE_AUTO(page_faults, struct gt_page_faults, gt_page_faults_free)

/* Take an event of the source "fault". 0 or -ENOMEM. */
int gt_page_faults_take(struct gt_page_faults *faults, const struct gt_event *event);
/* Sort the processes by the number of their faults, the most first. */
void gt_page_faults_sort(struct gt_page_faults *faults);
/* "minor", "major", "UVM", "GPU" */
const char *gt_page_fault_type_name(enum gt_page_fault_type type);
