/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files named by digests, in a directory that belongs to the user: results that are expensive to
 * compute. The total size is bounded; those that were used least recently are removed. Several
 * processes may use one directory at the same time.
 *
 * What is read has the digest that it was written with: corrupt files are removed. That is no proof
 * of who wrote it, so contents are to be validated like any input.
 */
#pragma once

#include "base/file.h"
#include "base/sha256.h"

struct gt_file_cache;

/*
 * Open a directory, and create it and its parents if necessary. max_bytes: of all files together.
 * 0; -EPERM: another user owns the directory, or may write to it; errors of mkdir(2) and open(2).
 */
int gt_file_cache_open(const char *directory, uint64_t max_bytes, struct gt_file_cache **ret_cache);
void gt_file_cache_close(struct gt_file_cache *cache);
GT_DEFINE_AUTO(file_cache, struct gt_file_cache, gt_file_cache_close)

/*
 * Read the file of a key. 0; -ENOENT: there is none that can be used; -ENOMEM. The caller frees
 * *ret_file.
 */
int gt_file_cache_read(struct gt_file_cache *cache, const struct gt_sha256 *key,
		       struct gt_file *ret_file);
/* Write the file of a key, as a whole or not at all. 0; -EFBIG; errors of write(2). */
int gt_file_cache_write(struct gt_file_cache *cache, const struct gt_sha256 *key, const void *data,
			size_t size);
/* Remove the file of a key, if there is one. */
void gt_file_cache_remove(struct gt_file_cache *cache, const struct gt_sha256 *key);
