/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of what the events of the sources "i915", "xe" and "amdgpu" refer to. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

/* AMDGPU_GEM_DOMAIN_* (include/uapi/drm/amdgpu_drm.h) */
#define GT_DRIVER_DOMAIN_GTT 2
#define GT_DRIVER_DOMAIN_VRAM 4

/* TTM_PL_* (include/drm/ttm/ttm_placement.h); from 3 on they are the driver's own. */
enum gt_driver_memory {
	GT_DRIVER_MEMORY_SYSTEM,
	GT_DRIVER_MEMORY_GTT,
	GT_DRIVER_MEMORY_VRAM,
};

/* Add the name of a type of memory; `kind` is that of the buffer's event. Nothing for none. */
void gt_put_driver_memory(struct gt_strbuf *text, unsigned kind, uint64_t type);
/* The name of an operation of a buffer (enum gt_driver_buffer_operation): "bind". */
const char *gt_driver_buffer_operation_name(unsigned operation);
