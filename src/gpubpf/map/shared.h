/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of the host that GPUs reach, too: what stands outside of all contexts. Maps that all
 * contexts have in common (gt_bpf_map_is_common) are here; what is one's own and shared with the
 * host, such as its rings, is added by its instance (instance.h).
 */
#pragma once

#include "cuda/device.h"
#include "gpubpf/map/map.h"

/* A piece of it, mapped from a file that another process may map, too. */
struct gt_region {
	void *memory;
	size_t size; /* whole pages */
	int fd;
	struct gt_device *locked_by; /* NULL: no device has asked for it yet */
};

struct gt_shared;

/*
 * Makes the common maps of an object (NULL: it has none), with their initial values. Where `arrays`
 * is not NULL and arrays[i] is not negative, map i is the kernel's array of that descriptor, which
 * is an array of the same size with BPF_F_MMAPABLE, and has the values that are there. The
 * descriptors stay the caller's. -ENOMEM, or what mmap(2) says.
 */
int gt_shared_open(const struct gt_bpf_object *object, const int *arrays,
		   struct gt_shared **ret_shared, struct gt_diag *diag);
/* After all instances, and before the devices that they were on. */
void gt_shared_close(struct gt_shared *shared);
GT_DEFINE_AUTO(shared, struct gt_shared, gt_shared_close)

/* Where a common map is, or NULL: it is not common, or no program for the GPU uses it. */
struct gt_region *gt_shared_map(const struct gt_shared *shared, uint32_t map);
/* Where it is for people; all of a map is one copy. */
struct gt_bpf_map_view gt_shared_view(const struct gt_shared *shared, uint32_t map);

/* More of it, all zeros, until gt_shared_remove or the end. */
int gt_shared_add(struct gt_shared *shared, size_t size, struct gt_region **ret_region,
		  struct gt_diag *diag);
/* The device that locked the region must be open still. NULL does nothing. */
void gt_shared_remove(struct gt_shared *shared, struct gt_region *region);

/*
 * Where the device finds a region. The first that asks locks it, for all: it must stay open until
 * the region is removed.
 */
int gt_shared_reach(struct gt_region *region, struct gt_device *device, uint64_t *ret_address,
		    struct gt_diag *diag);

/* Something may still run and write to it: all of it stays where it is until the process ends. */
void gt_shared_abandon(struct gt_shared *shared);
