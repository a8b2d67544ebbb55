/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs of the DRM scheduler by ring and by process: where their time went, and which job blocked
 * which.
 */
#pragma once

#include <stdint.h>

#include "analysis/keyed_rows.h"
#include "base/clean.h"
#include "base/histogram.h"

/* The jobs of a ring or of a process. */
struct gt_drm_jobs_sums {
	uint64_t jobs; /* queued */
	uint64_t done, errors, timeouts, canceled;
	uint64_t waits;              /* times that a dependency blocked a job */
	uint32_t max_depth;          /* jobs in the queue of one entity */
	uint32_t running;            /* jobs that were run and are not done */
	uint32_t max_running;        /* of them, at a time */
	struct gt_histogram blocked; /* ns by dependencies, of each wait */
	struct gt_histogram queued;  /* ns from queue to run, without that; of each job */
	struct gt_histogram ran;     /* ns from run to done, of each job */
};

struct gt_drm_ring {
	char ring[GT_DRM_NAME_SIZE]; /* may have no NUL; "": unknown */
	char device[GT_DRM_NAME_SIZE];
	struct gt_drm_jobs_sums sums;
};

struct gt_drm_process {
	uint32_t process; /* 0: unknown */
	struct gt_drm_jobs_sums sums;
};

/* Who a context belongs to: a queue of a process on a ring. */
struct gt_drm_queue {
	uint64_t context;
	uint32_t process;
	char ring[GT_DRM_NAME_SIZE];
};

/* A context whose jobs waited for fences of another one. */
struct gt_drm_blocking {
	uint64_t blocked, by; /* contexts */
	struct gt_histogram times;
};

struct gt_drm_jobs {
	struct gt_keyed_rows rings;     /* of struct gt_drm_ring */
	struct gt_keyed_rows processes; /* of struct gt_drm_process */
	struct gt_keyed_rows queues;    /* of struct gt_drm_queue */
	struct gt_keyed_rows blockings; /* of struct gt_drm_blocking */
};

struct gt_drm_jobs *gt_drm_jobs_new(void);
void gt_drm_jobs_free(struct gt_drm_jobs *jobs);
GT_DEFINE_AUTO(drm_jobs, struct gt_drm_jobs, gt_drm_jobs_free)

/* Take an event of the source "drm". 0 or -ENOMEM. */
int gt_drm_jobs_take(struct gt_drm_jobs *jobs, const struct gt_event *event);
/* The queue that a fence's context belongs to; NULL: it is not that of a job. */
const struct gt_drm_queue *gt_drm_jobs_queue(const struct gt_drm_jobs *jobs, uint64_t context);
