/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The dynamic loader's cache, /etc/ld.so.cache, format "glibc-ld.so.cache1.1" (glibc 2.2 and
 * later; layout: sysdeps/generic/dl-cache.h). Untrusted like any file.
 */
#pragma once

#include "base/file.h"

struct gt_ld_cache {
	struct gt_file file;
	size_t start; /* offset of the cache in the file: an older format may precede it */
};

/* Reads a cache. -EBADMSG: not a cache; errors of open(2) and read(2). */
int gt_ld_cache_open(const char *path, struct gt_ld_cache *ret_cache, struct gt_diag *diag);
void gt_ld_cache_free(struct gt_ld_cache *cache);

/*
 * Returns the path of a library for this machine (64 bits): that of the best of the hardware
 * levels, which are sorted best first (gt_hardware_levels), else the one without a level. NULL: not
 * found. The cache owns the path.
 */
const char *gt_ld_cache_find(const struct gt_ld_cache *cache, const char *name,
			     const char *const *levels, size_t level_count);

/*
 * Returns the subdirectories of glibc-hwcaps that this processor supports, best first (x86-64
 * psABI, "Micro-Architecture Levels"), with a NULL at the end.
 */
const char *const *gt_hardware_levels(size_t *ret_count);
