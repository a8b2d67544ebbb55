/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* malloc and free of kernels: a region of device memory; its bookkeeping is outside of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec.h"

struct sg_heap;

/* NULL: out of memory. */
struct sg_heap *sg_heap_new(void);
/* Frees the heap and releases its region to the host. */
void sg_heap_free(struct sg_heap *heap, const struct sg_host *host);
/*
 * Allocates `size` bytes, aligned to 16; 0: no memory left. The first call allocates the region
 * from the host.
 */
uint64_t sg_heap_allocate(struct sg_heap *heap, const struct sg_host *host, uint64_t size);
/* Frees an allocation; false: the address is not one. */
bool sg_heap_release(struct sg_heap *heap, uint64_t address);
/* Sets the size of the region in bytes. -EBUSY: it exists already. */
int sg_heap_set_size(struct sg_heap *heap, uint64_t size);
