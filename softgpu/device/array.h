/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA arrays: memory that is addressed by coordinates only. Here they are rows of elements;
 * without textures only copies can reach them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "device/work.h"

struct CUarray_st {
	struct CUctx_st *context;
	size_t width, height, depth; /* elements; height and depth may be 0, as asked for */
	CUarray_format format;
	unsigned int channels;
	unsigned int flags;
	size_t element_size; /* bytes */
	uint64_t address;
	uint64_t pitch; /* bytes */
};

CUresult sg_array_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *ret_array);
CUresult sg_array_destroy(CUarray array);
/* Return the address, the pitch and the number of rows of an array. False: not an array. */
bool sg_array_side(CUarray array, struct sg_copy_side *ret_side, uint64_t *ret_rows);
