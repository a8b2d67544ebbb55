/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The PTX of cubins that programs compile while they run, by the digests of these cubins. Agents
 * report it (GT_AGENT_COMPILED) when NVRTC, nvJitLink, the driver's linker or a ptxas process has
 * produced a cubin. What they report is hostile: it is bounded, and used only for cubins with the
 * same bytes, whose kernels it must have, in processes of the same user.
 *
 * Programs keep cubins in files and load them in later runs without a compiler, so the PTX is kept
 * in files, too.
 */
#pragma once

#include <sys/types.h>

#include "base/clean.h"
#include "patch/image.h"

enum {
	GT_RECOVERED_MAX_CUBIN = 16 << 20,   /* bytes of a cubin that is recorded or looked up */
	GT_RECOVERED_MAX_BYTES = 512 << 20,  /* of PTX; the oldest is dropped for the newest */
	GT_RECOVERED_MAX_STORED = 256 << 20, /* bytes of all files in the directory */
};

struct gt_recovered;

/*
 * An empty collection; NULL: no memory. directory: of the files for later runs
 * (base/file_cache.h); NULL, or one that cannot be used: none.
 */
struct gt_recovered *gt_recovered_new(const char *directory);
void gt_recovered_free(struct gt_recovered *recovered);
GT_DEFINE_AUTO(recovered, struct gt_recovered, gt_recovered_free)

/*
 * Take a report of a user's process: the contents of its file. 0; -EAGAIN: neither the cubin nor
 * its inputs have PTX, which the linker may make if inputs are LTO-IR or contain it; -EINVAL:
 * malformed; -E2BIG: more than the limit of bytes; -ENOMEM.
 */
int gt_recovered_take(struct gt_recovered *recovered, uid_t user, const void *data, size_t size);

/* What gt_recovered_find searches. */
struct gt_recovered_search {
	struct gt_recovered *recovered;
	uid_t user; /* whose process loads the cubin */
};

/* Find the PTX of a cubin: gt_patch_recovery.find, with a gt_recovered_search as its context. */
int gt_recovered_find(void *search, const void *cubin, size_t size, struct gt_cubin_ptx *ptx);

/* Set the limit of bytes in memory, in place of GT_RECOVERED_MAX_BYTES. */
void gt_recovered_set_limit(struct gt_recovered *recovered, size_t bytes);

/* Cubins whose PTX is in memory; those that were dropped. */
size_t gt_recovered_count(const struct gt_recovered *recovered);
size_t gt_recovered_dropped(const struct gt_recovered *recovered);
