/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Large images into which nothing is inserted, by their fingerprints: agents do not send them
 * again. Those whose PTX no program matches are kept in a file for later runs with the same
 * programs. Those without PTX are known as long as no other PTX of a cubin is found.
 */
#pragma once

#include <stdbool.h>

#include "base/file_cache.h"
#include "base/fingerprint.h"

enum {
	GT_INJECT_MAX_UNMATCHED = 1 << 14, /* in memory */
};

struct gt_inject_unmatched;

/* An image for a device. */
struct gt_inject_unmatched_key {
	struct gt_fingerprint fingerprint;
	uint64_t size;
	uint32_t capability;
	uint32_t user; /* SASS only: of the process; else 0 */
};

/*
 * files: NULL: none. session: the digest of what else the answer depends on. Both must outlive the
 * result. 0 or -ENOMEM.
 */
int gt_inject_unmatched_new(struct gt_file_cache *files, const struct gt_sha256 *session,
			    struct gt_inject_unmatched **ret_unmatched);
/* Writes what is new to the file. */
void gt_inject_unmatched_free(struct gt_inject_unmatched *unmatched);

/* Add an image that no program matches. Nothing happens where there is no room. */
void gt_inject_unmatched_add(struct gt_inject_unmatched *unmatched,
			     const struct gt_inject_unmatched_key *key);
/* Add one without PTX. generation: it grows whenever the PTX of a cubin is found. */
void gt_inject_unmatched_add_sass(struct gt_inject_unmatched *unmatched,
				  const struct gt_inject_unmatched_key *key, uint64_t generation,
				  const char *reason);

bool gt_inject_unmatched_has(const struct gt_inject_unmatched *unmatched,
			     const struct gt_inject_unmatched_key *key);
/* The reason why the image is SASS only, or NULL: it is not, or not known to be. */
const char *gt_inject_unmatched_sass(const struct gt_inject_unmatched *unmatched,
				     const struct gt_inject_unmatched_key *key,
				     uint64_t generation);
