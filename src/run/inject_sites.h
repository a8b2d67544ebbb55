/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sites of all modules that were patched, by the context's `site`; of bounded size. */
#pragma once

#include "run/inject.h"

struct gt_inject_sites;

enum {
	GT_INJECT_MAX_SITES = 1 << 20,
	GT_INJECT_MAX_SITE_BYTES = 128 << 20, /* of their texts and positions */
	GT_INJECT_MAX_SITE_TEXT = 160,        /* characters of an instruction */
};

/* 0 or -ENOMEM. */
int gt_inject_sites_new(struct gt_inject_sites **ret_sites);
void gt_inject_sites_free(struct gt_inject_sites *sites);
/*
 * Copy the sites of a module that was patched. Those that find no memory, or no room, are not kept,
 * nor are later ones: a site's number is its index.
 */
void gt_inject_sites_add(struct gt_inject_sites *sites, const struct gt_ptx_module *module,
			 const struct gt_patch_result *result);
/* Copy a site that was taken from such a table; its number is the next one. */
void gt_inject_sites_put(struct gt_inject_sites *sites, const struct gt_inject_site *site);
/* As gt_inject_site. */
bool gt_inject_sites_get(const struct gt_inject_sites *sites, uint32_t number,
			 struct gt_inject_site *ret_site);
uint32_t gt_inject_sites_kept(const struct gt_inject_sites *sites);
