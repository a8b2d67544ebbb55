/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* malloc and free of kernels: a region of device memory whose book is kept outside of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec.h"

struct sg_heap;

/* NULL: no memory. */
struct sg_heap *sg_heap_new(void);
/* Gives its region back to the host. */
void sg_heap_free(struct sg_heap *heap, const struct sg_host *host);
/* The address of that many bytes, a multiple of 16; 0: none are left. The first asks the host. */
uint64_t sg_heap_allocate(struct sg_heap *heap, const struct sg_host *host, uint64_t size);
/* false: not an allocation. */
bool sg_heap_release(struct sg_heap *heap, uint64_t address);
/* How many bytes it has. -EBUSY: something was allocated already. */
int sg_heap_set_size(struct sg_heap *heap, uint64_t size);
