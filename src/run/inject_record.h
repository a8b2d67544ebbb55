/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An image that was patched, or whose sites were all rejected, without its syntax tree: what the
 * collector keeps, and stores in files. */
#pragma once

#include "agent/protocol.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "run/inject.h"

/* What is the same each time that the image is loaded. */
struct gt_inject_record {
	enum gt_patch_scope scope;
	uint32_t first_site, site_count;
	uint32_t first_kernel, kernel_count; /* matched */
	uint32_t module_kernels, compiled;
	uint32_t found, patched, rejected;
	uint32_t rejection_count;
	uint32_t sites[GT_PATCH_MAX_PROGRAMS], kernels[GT_PATCH_MAX_PROGRAMS]; /* by program */
	char device_symbol[GT_AGENT_SYMBOL]; /* as in gt_agent_reply */
	char whole_reason[160];              /* as in gt_inject_module; "": none */
};

typedef GT_VEC(struct gt_patch_rejection) gt_inject_rejections;

/* A record with the image itself, its kernels, its sites and what was rejected. */
struct gt_inject_stored {
	struct gt_inject_record record;
	const void *fatbin; /* empty: everything was rejected (GT_PATCH_NONE) */
	size_t fatbin_size;
	GT_VEC(const char *) kernels;                /* names, by number from first_kernel */
	GT_VEC(struct gt_inject_site) sites;         /* by number from first_site */
	GT_VEC(struct gt_inject_location) locations; /* of all sites, if they are owned */
	gt_inject_rejections rejections;
};

/* Append it in the form of a file. 0 or -ENOMEM. */
int gt_inject_stored_print(const struct gt_inject_stored *stored, struct gt_strbuf *bytes);
/*
 * Read a file, which is hostile. The result refers to data[0..size). program_count: those of the
 * session. 0; -EINVAL: it is malformed; -ENOMEM. The caller clears it, also after an error.
 */
int gt_inject_stored_parse(const void *data, size_t size, uint32_t program_count,
			   struct gt_inject_stored *ret_stored);
void gt_inject_stored_clear(struct gt_inject_stored *stored);
