/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fills the maps of unwinding rules (unwind.h) with those of the files that processes map. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"
#include "event/queue.h"

struct gt_unwind_maps;

/*
 * Creates the maps, for at most `limit` rows (GT_UNWIND_MAX_ROWS or less). What does not fit is
 * noted in `notes`, which must outlive them. 0, or a negative errno with a diagnosis.
 */
int gt_unwind_maps_open(struct gt_event_queue *notes, size_t limit,
			struct gt_unwind_maps **ret_maps, struct gt_diag *diag);
void gt_unwind_maps_close(struct gt_unwind_maps *maps);
GT_DEFINE_AUTO(unwind_maps, struct gt_unwind_maps, gt_unwind_maps_close)

/* The descriptors of the maps `unwind_rows`, `unwind_files` and `code_blocks` (unwind.bpf.h). */
struct gt_unwind_fds {
	int rows, files, blocks;
};
struct gt_unwind_fds gt_unwind_maps_fds(const struct gt_unwind_maps *maps);

/*
 * Adds the rules of a file that is mapped or will be; each file is read once. `inode`: of the file
 * that is meant, 0: unknown. What fails costs the callers of functions without frame pointer.
 */
void gt_unwind_maps_add(struct gt_unwind_maps *maps, const char *path, uint64_t inode);
/* Adds a mapping of a process, and the rules of its file. */
void gt_unwind_maps_add_mapping(struct gt_unwind_maps *maps,
				const struct gt_event_mapping *mapping);
/* Adds all mappings that a process has now. */
void gt_unwind_maps_add_process(struct gt_unwind_maps *maps, pid_t process);
