/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a copy is: its direction, the host memory it uses, and whether the call waits for it. */
#pragma once

#include "analysis/memory.h"

enum gt_direction {
	GT_HOST_TO_HOST,
	GT_HOST_TO_DEVICE,
	GT_DEVICE_TO_HOST,
	GT_DEVICE_TO_DEVICE,
	GT_PEER_TO_PEER,
	GT_DIRECTION_UNKNOWN,
	GT_DIRECTIONS,
};
/* "H2H", "H2D", "D2H", "D2D", "P2P", "?" */
const char *gt_direction_name(enum gt_direction direction);

/* The host memory that was copied from or to. */
enum gt_host_memory {
	GT_MEMORY_PAGEABLE, /* not seen to be pinned */
	GT_MEMORY_PINNED,
	GT_MEMORY_MANAGED,
	GT_HOST_MEMORIES,
};

struct gt_copy_traits {
	enum gt_direction direction;
	enum gt_host_memory host;
	bool waits; /* the call returns when the copy is done */
};

/* The traits of a copy; what the call does not say is decided by what is at its addresses. */
struct gt_copy_traits gt_copy_traits_of(const struct gt_memory *memory,
					const struct gt_operation *operation);
