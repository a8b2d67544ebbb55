/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The launches of each kernel: how many, how long the launching calls took, and how they went. */
#pragma once

#include "analysis/analysis.h"
#include "base/clean.h"
#include "base/histogram.h"

/* One way in which a kernel was launched, and how often. */
struct gt_configuration {
	uint64_t launches;
	struct gt_call_launch launch;
};

struct gt_kernel_row {
	const char *name; /* mangled; NULL: unknown */
	uint64_t handle;  /* without a name: of the kernel, or of the graph */
	bool graph;       /* launches of a graph, whatever is in it */
	uint32_t process; /* of the first launch */
	struct gt_group group;
	uint64_t launches; /* those that succeeded */
	uint64_t failed;
	uint64_t captured;  /* calls that put a launch into a graph, and launched nothing */
	uint64_t by_graphs; /* launches by graphs in which it is known to be */
	uint64_t unknown;   /* of a graph: launches while it was not known what is in it */
	struct gt_histogram duration; /* of the launching calls that succeeded, ns */
	struct gt_histogram since;    /* from the start of the thread's launch before, ns */
	/* Most frequent first; those beyond are in others. */
	const struct gt_configuration *configurations;
	size_t configuration_count;
	uint64_t others; /* launches in further configurations */
};

struct gt_kernels;

struct gt_kernels *gt_kernels_new(enum gt_by by);
void gt_kernels_free(struct gt_kernels *kernels);
GT_DEFINE_AUTO(kernels, struct gt_kernels, gt_kernels_free)

/* 0 or -ENOMEM. */
int gt_kernels_take(struct gt_kernels *kernels, const struct gt_names *names,
		    const struct gt_event *event);
/* The rows, longest total time of the calls first; valid until the next event. 0 or -ENOMEM. */
int gt_kernels_rows(struct gt_kernels *kernels, const struct gt_names *names,
		    const struct gt_kernel_row *const **ret_rows, size_t *ret_count);
