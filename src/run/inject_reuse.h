/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Images that were patched before, by their content. The same PTX has the same patched text, the
 * same kernels and the same sites, whichever process loads it, and however often: reports show it
 * once, and the driver's cache of compiled modules works. Files keep it for later runs.
 */
#pragma once

#include "base/sha256.h"
#include "patch/image.h"
#include "run/inject_record.h"
#include "run/inject_unmatched.h"

struct gt_inject_reuse;

/* The reply for a patched image. */
struct gt_inject_known {
	struct gt_inject_record record;
	gt_inject_rejections rejections; /* their functions are owned */
	struct gt_agent_reply reply;     /* verdict ORIGINAL: everything was rejected */
	int file;        /* of the reply; -1: none, or removed to limit the memory */
	int error;       /* with which the driver rejects it each time; 0: none */
	uint64_t thread; /* the text is for this pid_tgid; 0: for all */
	uint64_t bytes;  /* of the file */
	uint64_t used;   /* grows with each use */
};

/* An image that is being patched. */
struct gt_inject_query {
	struct gt_inject *inject;
	uint32_t capability;
	uid_t user; /* of the process */
	uint64_t pid_tgid;
	uint32_t first_site, first_kernel; /* the next ones, or those of the known image */
	struct gt_sha256 key;
	bool has_key;
	struct gt_inject_known *known;  /* NULL: the image is new */
	struct gt_file file;            /* of an earlier run … */
	struct gt_inject_stored stored; /* … and what it has; no fatbin: none */
};

/* 0 or -ENOMEM. After the maps are allocated. */
int gt_inject_reuse_new(const struct gt_inject *inject, struct gt_inject_reuse **ret_reuse);
void gt_inject_reuse_free(struct gt_inject_reuse *reuse);

/* The images into which nothing is inserted, owned by `reuse`. */
struct gt_inject_unmatched *gt_inject_reuse_unmatched(const struct gt_inject_reuse *reuse);

/*
 * Search a source. True: it was patched before, and `known` or `stored` has the result. Else it is
 * to be patched, with the numbers of the query.
 */
bool gt_inject_reuse_find(struct gt_inject_query *query, const struct gt_patch_source *source);
/* Keep what was patched for this run, with a copy of the descriptor of the reply's file.
 * The record has the number of rejections. NULL: it is not kept. */
struct gt_inject_known *gt_inject_reuse_keep(const struct gt_inject_query *query,
					     const struct gt_inject_record *record,
					     const struct gt_patch_rejection *rejections,
					     const struct gt_agent_reply *reply, int file);
/* Write it to a file for later runs, unless that has no use. */
void gt_inject_reuse_store(const struct gt_inject_query *query,
			   const struct gt_inject_stored *stored);
void gt_inject_query_clear(struct gt_inject_query *query);
