/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Large memory of which little was ever written: a file is mapped there, and what is in its holes
 * is zeros. It is not read, since a read would allocate pages of a memfd.
 */
#pragma once

#include <stdint.h>

#include "base/file.h"

struct gt_sparse {
	const uint8_t *memory; /* where the file is mapped from `offset` on */
	size_t size;
	int fd;
	size_t offset;
	/* What was found last, in offsets of the memory: a hole from `known` on, then data. */
	size_t known;
	struct gt_file_part data;
};

/*
 * Find the first byte from `from` up to `end` that is not 0; NULL: there is none. All bytes
 * outside of the sparse memory (NULL: none) are read. Holes that were found are remembered: what is
 * written there later may not be seen.
 */
const void *gt_sparse_find(struct gt_sparse *sparse, const void *from, const void *end);
/* Forget what was found. */
void gt_sparse_forget(struct gt_sparse *sparse);
