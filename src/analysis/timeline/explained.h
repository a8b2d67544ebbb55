/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is kept with its causes: the longest idle gaps of the GPUs, calls, system calls, page faults
 * and jobs of the DRM scheduler, and Xids.
 */
#pragma once

#include "analysis/timeline/breakdown.h"

/* What is asked for. */
struct gt_explained {
	size_t top; /* so many of each are kept */
	struct gt_explain_request events;
};

/* Find the chain of a job of any process; NULL: it is not known. */
typedef const struct gt_job_chain *gt_explain_find_job(void *context, uint64_t fence_context,
						       uint64_t seqno);

/* A gap from `begin` to the start of an operation. 0 or -ENOMEM. */
int gt_explain_gap(const struct gt_explained *explained, struct gt_process_breakdown *row,
		   const struct gt_path *path, const struct gt_path_operation *next,
		   uint64_t begin);
/* The calls that returned after `begun`, up to `until`. 0 or -ENOMEM. */
int gt_explain_calls(const struct gt_explained *explained, struct gt_process_breakdown *row,
		     const struct gt_path *path, uint64_t begun, uint64_t until);
/* The system calls that ended up to `until`. */
int gt_explain_syscalls(const struct gt_explained *explained, struct gt_process_breakdown *row,
			const struct gt_path *path, uint64_t until);
/* The page faults and Xids up to `until`, and the calls up to it that failed after an Xid. */
int gt_explain_faults(const struct gt_explained *explained, struct gt_process_breakdown *row,
		      const struct gt_path *path, uint64_t until);
int gt_explain_xids(const struct gt_explained *explained, struct gt_process_breakdown *row,
		    const struct gt_path *path, uint64_t begun, uint64_t until);
/* The jobs that ended up to `until`; before the jobs of any process are dropped. */
int gt_explain_jobs(const struct gt_explained *explained, struct gt_process_breakdown *row,
		    const struct gt_path *path, uint64_t until, gt_explain_find_job *find_job,
		    void *context);
void gt_explained_free(struct gt_process_breakdown *row);
