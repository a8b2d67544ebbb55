/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attaches programs to the entries and returns of functions of one file, by one of three methods:
 * uprobe sessions (Linux 6.13: one link for all of them), uprobe_multi (Linux 6.6: one for the
 * entries and one for the returns), or perf events. The kernel needs some 40 ms to detach one of
 * those, so one event has probes on many functions if tracefs can be used (GT_COOKIE_GROUP in
 * calls.h); otherwise there is one per function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "probe/options.h"

struct bpf_program;

struct gt_site {
	const char *name; /* for messages */
	uint64_t offset;  /* in the file */
	uint64_t cookie;
};

/* Programs and method, the same for all files of a session. */
struct gt_attacher {
	enum gt_attach_method method;          /* not GT_ATTACH_AUTO */
	struct bpf_program *entry, *at_return; /* the same one with GT_ATTACH_SESSION */
	int sites;                             /* the map: GT_SITE_KEY -> cookie */
	unsigned groups;                       /* created so far */
	unsigned events;                       /* of tracefs, created so far */
};

struct gt_attachment;

/* The sites of one file. */
struct gt_attach_request {
	const char *path;
	const struct gt_site *sites;
	size_t count;
	/* Called for each site that cannot be probed; the others are attached nevertheless. */
	void (*failed)(void *context, const struct gt_site *site, int error);
	void *context;
};

/* Attach to the sites of a file. 0 if at least one was attached. */
int gt_attach(struct gt_attacher *attacher, const struct gt_attach_request *request,
	      struct gt_attachment **ret_attachment, struct gt_diag *diag);

/* Return the number of attached sites. */
size_t gt_attachment_count(const struct gt_attachment *attachment);

/* Detach, the entry programs first, so that running calls are still seen to return. */
void gt_detach(struct gt_attachment *attachment);
GT_DEFINE_AUTO(attachment, struct gt_attachment, gt_detach)
