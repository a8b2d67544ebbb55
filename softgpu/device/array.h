/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA arrays and mipmapped arrays: memory that copies, textures and surfaces address by
 * coordinates. Rows follow each other without gaps, so that copies by byte offset continue in the
 * next row; layers, faces and planes are slices.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "device/work.h"
#include "exec/texture.h"

struct CUarray_st {
	struct CUctx_st *context;
	CUmipmappedArray mipmap;     /* that it is a level of, or NULL */
	size_t width, height, depth; /* elements; height and depth may be 0, as asked for */
	CUarray_format format;
	unsigned int channels;
	unsigned int flags;
	size_t element_size; /* bytes */
	uint64_t address;
	uint64_t pitch; /* bytes */
	uint64_t size;  /* bytes */
};

struct CUmipmappedArray_st {
	struct CUctx_st *context;
	uint64_t address;
	unsigned int count;
	CUarray levels[SG_MAX_TEXTURE_LEVELS];
};

/* A format of channels, as textures read it. */
struct sg_channel_format {
	CUarray_format format;
	uint8_t channel;    /* enum sg_channel */
	uint8_t size;       /* bytes of a channel */
	uint8_t channels;   /* 0: 1, 2 or 4 */
	bool is_normalized; /* always read as floats */
};

/* Return the format of an element of `channels` channels; NULL: not one of this device. */
const struct sg_channel_format *sg_channel_format_find(CUarray_format format,
						       unsigned int channels);

/* CUDA_ERROR_NOT_SUPPORTED: a format or flag that this device does not have. */
CUresult sg_array_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *ret_array);
/* Destroy an array that no work uses. Its textures become invalid. */
CUresult sg_array_destroy(CUarray array);
CUresult sg_mipmap_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int levels,
		       CUmipmappedArray *ret_mipmap);
CUresult sg_mipmap_destroy(CUmipmappedArray mipmap);
/* Destroy all arrays of a context, but for their memory. */
void sg_arrays_free_context(struct CUctx_st *context);

/* Return the address, the pitch and the number of rows of an array. False: not an array. */
bool sg_array_side(CUarray array, struct sg_copy_side *ret_side, uint64_t *ret_rows);
/* Return the slices of an array: layers, faces or planes; at least 1. */
size_t sg_array_slices(const struct CUarray_st *array);
