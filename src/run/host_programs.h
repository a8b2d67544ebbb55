/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The programs for Linux of an object that has programs for the GPU: loaded into the kernel, and
 * attached where their sections say. An array that both use is the kernel's, and both reach it.
 */
#pragma once

#include "gpubpf/map/map.h"

struct gt_host_programs;

/*
 * Finds the programs and what maps they use, and asks the kernel for nothing yet. Maps of `object`,
 * which was read from the same file and must outlive the programs, are marked `with_linux`, before
 * anything is verified or translated. -ENOENT: there are no such programs; -EOPNOTSUPP: they use a
 * map in a way that is not possible; errors of gt_bpf_object_open.
 */
int gt_host_programs_open(const char *path, struct gt_bpf_object *object,
			  struct gt_host_programs **ret_programs, struct gt_diag *diag);
/* Detaches and unloads them. */
void gt_host_programs_close(struct gt_host_programs *programs);
GT_DEFINE_AUTO(host_programs, struct gt_host_programs, gt_host_programs_close)

/* Has the kernel verify and load them. -EPERM, or why it refuses. */
int gt_host_programs_load(struct gt_host_programs *programs, struct gt_diag *diag);
/* For gt_shared_open, after loading: a descriptor for each map of the object, -1 of those that are
 * not in common with the GPU. */
const int *gt_host_programs_arrays(const struct gt_host_programs *programs);

/* Attaches all of them, or none. */
int gt_host_programs_attach(struct gt_host_programs *programs, struct gt_diag *diag);
void gt_host_programs_detach(struct gt_host_programs *programs);

/* Whether programs for Linux use a map, and none for the GPU does. */
bool gt_host_programs_own(const struct gt_host_programs *programs, uint32_t map);
/*
 * What the kernel has in such a map; the caller frees view.memory. -EOPNOTSUPP: maps of its type
 * are not read here.
 */
int gt_host_programs_read(const struct gt_host_programs *programs, uint32_t map,
			  struct gt_bpf_map_view *ret_view, struct gt_diag *diag);
