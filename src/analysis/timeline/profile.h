/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a session spent its time on, in rows with names that other sessions have, too; and the
 * comparison of two sessions.
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/timeline/breakdown.h"

enum gt_profile_part {
	GT_PROFILE_PATH,   /* the wall time, by what it was spent on (all processes together) */
	GT_PROFILE_KERNEL, /* kernels on the GPU */
	GT_PROFILE_COPY,   /* copies by direction and host memory */
	GT_PROFILE_CALL,   /* calls by function */
	GT_PROFILE_PARTS,
};
/* "path", "kernel", "copy", "call" */
const char *gt_profile_part_name(enum gt_profile_part part);

struct gt_profile_row {
	enum gt_profile_part part;
	char *name;
	char *kernel;              /* its mangled name; NULL: unknown, or not of a kernel */
	uint64_t count;            /* of the path: 1 */
	uint64_t total;            /* ns */
	uint64_t median;           /* ns; of the path the total */
	bool estimated;            /* some of the times are bounds */
	struct gt_histogram times; /* of the path: empty */
};

struct gt_profile;

/* NULL: out of memory. */
struct gt_profile *gt_profile_new(void);
void gt_profile_free(struct gt_profile *profile);
GT_DEFINE_AUTO(profile, struct gt_profile, gt_profile_free)

/* 0 or -ENOMEM. */
int gt_profile_take(struct gt_profile *profile, const struct gt_names *names,
		    const struct gt_event *event);
/* The session ended: make the rows, which do not need the names any longer. 0 or -ENOMEM. */
int gt_profile_finish(struct gt_profile *profile, const struct gt_names *names);
/* The wall time of all processes, ns. */
uint64_t gt_profile_wall(const struct gt_profile *profile);

struct gt_profile_change {
	const struct gt_profile_row *before, *after; /* one of them may be NULL: it is not there */
};

/*
 * Compare two finished profiles: rows by part, those whose total grew most first. The caller frees
 * *ret_rows. 0 or -ENOMEM.
 */
int gt_profiles_compare(const struct gt_profile *before, const struct gt_profile *after,
			struct gt_profile_change **ret_rows, size_t *ret_count);

/* Both rows have so many times that a difference can be distinguished from noise. */
#define GT_PROFILE_ENOUGH 6
/* Differences are noise from this p value of a rank test on. */
#define GT_PROFILE_NOISE 0.01
/*
 * The p value of a row that both sessions have, GT_PROFILE_ENOUGH times each; -1: it has not.
 */
double gt_profile_p(const struct gt_profile_change *change);
/*
 * How the median of a row that both sessions have changed, in percent of what it was: 1 if it grew
 * by more than `threshold`, -1 if it shrank by more, else 0. Where the p value is known and the
 * difference noise, 0.
 */
int gt_profile_verdict(const struct gt_profile_change *change, uint64_t threshold);
