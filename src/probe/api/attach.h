/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Puts an entry and a return program on functions of one file, in one of two ways: uprobe_multi
 * (Linux 6.6: one link for all of them), or perf events. The kernel takes some 40 ms to take one
 * of those off, so that one stands for many functions where tracefs can be used (GT_COOKIE_GROUP
 * in calls.h), and for one elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"

struct bpf_program;

struct gt_site {
	const char *name; /* for messages */
	uint64_t offset;  /* in the file */
	uint64_t cookie;
};

/* What is attached, and how; the same for all files of a session. */
struct gt_attacher {
	bool multi;
	struct bpf_program *entry, *at_return;
	int sites;       /* the map: GT_SITE_KEY -> cookie */
	unsigned groups; /* that were made */
	unsigned events; /* of tracefs that were made */
};

struct gt_attachment;

/* Whether this kernel, with these privileges, lets uprobe_multi links be made. 0 or -Exxx. */
int gt_attach_check_multi(void);

/* What must be done before the programs are loaded if they are for uprobe_multi. */
void gt_attach_prepare_multi(struct bpf_program *program);

/*
 * Attaches to `count` sites of the file `path`. With some sites impossible the others are
 * attached: `refused` is called for each that is not. 0 if at least one was attached.
 */
int gt_attach(struct gt_attacher *attacher, const char *path, const struct gt_site *sites,
	      size_t count, void (*refused)(void *context, const struct gt_site *site, int error),
	      void *context, struct gt_attachment **ret_attachment, struct gt_diag *diag);

/* How many sites are attached. */
size_t gt_attachment_count(const struct gt_attachment *attachment);

/* Takes the entry programs off first, so that what runs still returns into the others. */
void gt_detach(struct gt_attachment *attachment);
GT_DEFINE_AUTO(attachment, struct gt_attachment, gt_detach)
