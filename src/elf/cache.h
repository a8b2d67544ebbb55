/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The dynamic loader's cache, /etc/ld.so.cache, format "glibc-ld.so.cache1.1" (glibc 2.2 and
 * later; sysdeps/generic/dl-cache.h there tells the layout). Untrusted like any file.
 */
#pragma once

#include "base/file.h"

struct gt_ld_cache {
	struct gt_file file;
	size_t start; /* of the cache in the file: an older format may stand before it */
};

/* Reads a cache. -ENOENT and the like if there is none; -EBADMSG if it is none. */
int gt_ld_cache_open(const char *path, struct gt_ld_cache *ret_cache, struct gt_diag *diag);
void gt_ld_cache_free(struct gt_ld_cache *cache);

/*
 * The path that the cache has for a name, for 64-bit libraries of this machine: the one for the
 * highest of the hardware levels, which are given best first (as gt_hardware_levels does), else
 * the plain one. It belongs to the cache. NULL if the cache has none.
 */
const char *gt_ld_cache_find(const struct gt_ld_cache *cache, const char *name,
			     const char *const *levels, size_t level_count);

/*
 * The names of the subdirectories of glibc-hwcaps that this processor can use, best first
 * (x86-64 psABI, "Micro-Architecture Levels"). NULL at the end.
 */
const char *const *gt_hardware_levels(size_t *ret_count);
