/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mapping the file of a ring (ring.h), for both sides. */
#pragma once

#include <sys/mman.h>

#include "agent/ring.h"

static inline size_t gt_agent_ring_mapping(__u64 capacity)
{
	return GT_AGENT_RING_PAGE + 2 * (size_t)capacity;
}

static inline void gt_agent_ring_unmap(struct gt_agent_ring *ring)
{
	if (ring->head)
		munmap(ring->head, gt_agent_ring_mapping(ring->capacity));
	*ring = (struct gt_agent_ring){0};
}

/* Map a ring of this capacity; the file has that size. False: errno says why. */
static inline bool gt_agent_ring_map(int fd, __u64 capacity, struct gt_agent_ring *ret_ring)
{
	const int protection = PROT_READ | PROT_WRITE;
	size_t first = GT_AGENT_RING_PAGE + (size_t)capacity;
	__u8 *memory = mmap(NULL, gt_agent_ring_mapping(capacity), PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	if (mmap(memory, first, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(memory + first, capacity, protection, MAP_SHARED | MAP_FIXED, fd,
		 GT_AGENT_RING_PAGE) == MAP_FAILED) {
		munmap(memory, gt_agent_ring_mapping(capacity));
		return false;
	}
	*ret_ring = (struct gt_agent_ring){
		.head = (struct gt_agent_ring_head *)(void *)memory,
		.data = memory + GT_AGENT_RING_PAGE,
		.capacity = capacity,
	};
	return true;
}
