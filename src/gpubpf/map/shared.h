/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Host memory that devices access. The maps that all contexts have in common (gt_bpf_map_is_common)
 * are allocated here. The instance of a context (instance.h) adds regions for its own maps that are
 * shared with the host, such as rings.
 */
#pragma once

#include "cuda/device.h"
#include "gpubpf/map/map.h"

/* A region, mapped from a file that another process can map, too. */
struct gt_region {
	void *memory;
	size_t size; /* whole pages */
	int fd;
	struct gt_device *registered_by; /* NULL: no device uses it yet */
	struct gt_sparse sparse;
};

struct gt_shared;

/*
 * Allocates the common maps of an object (NULL: none), with their initial values. If `arrays` is
 * not NULL and arrays[i] is not negative, map i is the kernel's array of that descriptor, with its
 * current values; it has the same size and BPF_F_MMAPABLE. The caller keeps the descriptors. 0,
 * -ENOMEM, or an error of mmap(2).
 */
int gt_shared_open(const struct gt_bpf_object *object, const int *arrays,
		   struct gt_shared **ret_shared, struct gt_diag *diag);
/* Close after all instances, and before their devices. */
void gt_shared_close(struct gt_shared *shared);
GT_DEFINE_AUTO(shared, struct gt_shared, gt_shared_close)

/* The descriptors that it was opened with, or NULL. */
const int *gt_shared_arrays(const struct gt_shared *shared);
/* The region of a common map. NULL: it is not common, or no GPU program uses it. */
struct gt_region *gt_shared_map(const struct gt_shared *shared, uint32_t map);
/* The contents of a common map, as one copy. */
struct gt_bpf_map_view gt_shared_view(const struct gt_shared *shared, uint32_t map);
/* What the region has now, for views. */
struct gt_sparse *gt_shared_sparse(struct gt_region *region);

/* Add a region of zeros, which lives until gt_shared_remove or the end. */
int gt_shared_add(struct gt_shared *shared, size_t size, struct gt_region **ret_region,
		  struct gt_diag *diag);
/* The device that registered the region must still be open. NULL does nothing. */
void gt_shared_remove(struct gt_shared *shared, struct gt_region *region);

/*
 * The address of a region on a device. The first device registers the region for all devices, and
 * must stay open until the region is removed.
 */
int gt_shared_address(struct gt_region *region, struct gt_device *device, uint64_t *ret_address,
		      struct gt_diag *diag);

/* A program may still run and write to the memory: keep all regions until the process ends. */
void gt_shared_abandon(struct gt_shared *shared);
