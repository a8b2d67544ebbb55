/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several objects as one. Their maps are kept apart, except for those that are declared with
 * `__uint(pinning, LIBBPF_PIN_BY_NAME)`: such maps of the same name are one map for all objects.
 * Maps and programs whose name occurs in several objects are called FILE:NAME in the whole, FILE
 * being the object's file name up to the first '.', and FILE.2:NAME for the second of such a name.
 */
#pragma once

#include "gpubpf/program.h"

/* One of the objects. */
struct gt_bpf_part {
	struct gt_bpf_object *object;
	uint32_t *maps; /* by map of the object: the number in the whole */
	char *name;     /* FILE */
};

struct gt_bpf_parts {
	struct gt_bpf_part *parts;
	uint32_t count;
	uint32_t map_count; /* of the whole */
};

/*
 * Open objects, and find the maps that they share: these are for the GPU (host_only) where a GPU
 * program of one object uses them. 0; errors of gt_bpf_object_open; -EINVAL: shared maps of one
 * name are declared differently. The caller closes the parts, also after an error.
 */
int gt_bpf_parts_open(const char *const *paths, uint32_t count, struct gt_bpf_parts *ret_parts,
		      struct gt_diag *diag);
void gt_bpf_parts_close(struct gt_bpf_parts *parts);

/*
 * Make the whole: all programs and all maps, as they are in the parts now, which must outlive it.
 * `with_host` is set where it is set in one of the parts. 0 or -ENOMEM.
 */
int gt_bpf_parts_merge(const struct gt_bpf_parts *parts, struct gt_bpf_object **ret_object,
		       struct gt_diag *diag);

/* The map of a part that is a map of the whole, or UINT32_MAX. */
uint32_t gt_bpf_part_map(const struct gt_bpf_part *part, uint32_t map);
