/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The grids that programs/exacttimes.bpf.c records in the kernels of the traced command, by process
 * (--gpu-times exact).
 */
#pragma once

#include "analysis/exact_times.h"
#include "base/diag.h"
#include "run/inject.h"
#include "session/companion.h"

struct gt_exact_grids;

/* The path of the object, which the caller frees. 0, -ENOENT or -ENOMEM. */
int gt_exact_grids_object(char **ret_path, struct gt_diag *diag);
/* Its map with the grids. */
#define GT_EXACT_GRIDS_MAP "exact_grids"

/*
 * Open the program's ring in the collector of a companion, which has it at `exact_map`; or, without
 * one, a collector with the program alone, whose processes get rings of `event_bytes`. 0 or -Exxx.
 */
int gt_exact_grids_open(const struct gt_companion *inner, uint32_t event_bytes, bool verbose,
			struct gt_exact_grids **ret_grids, struct gt_diag *diag);
void gt_exact_grids_close(struct gt_exact_grids *grids);
GT_DEFINE_AUTO(exact_grids, struct gt_exact_grids, gt_exact_grids_close)

struct gt_inject *gt_exact_grids_inject(const struct gt_exact_grids *grids);

/* Read the grids that have ended. Those of launches whose events are complete are among them. */
void gt_exact_grids_read(struct gt_exact_grids *grids);
/* The grids of a process; NULL: none. */
struct gt_exact_times *gt_exact_grids_of(const struct gt_exact_grids *grids, uint32_t process);
/* A process has ended. */
void gt_exact_grids_forget(struct gt_exact_grids *grids, uint32_t process);
/* Grids that were dropped: the ring was full, or a record is invalid. */
uint64_t gt_exact_grids_lost(const struct gt_exact_grids *grids);
