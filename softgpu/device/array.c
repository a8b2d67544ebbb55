/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/array.h"

#include <stdlib.h>

#include "device/context.h"
#include "device/handles.h"
#include "device/memory.h"

/* Bytes of a channel; 0: a format that this device does not have. */
static size_t channel_size(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static size_t at_least_one(size_t count)
{
	return count ? count : 1;
}

CUresult sg_array_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *ret_array)
{
	struct CUarray_st made = {
		.width = shape->Width,
		.height = shape->Height,
		.depth = shape->Depth,
		.format = shape->Format,
		.channels = shape->NumChannels,
		.flags = shape->Flags,
		.element_size = channel_size(shape->Format) * shape->NumChannels,
	};
	struct sg_allocation wanted = {.kind = SG_MEMORY_PHYSICAL};
	CUresult result = sg_context_use(&made.context);
	CUarray array;

	if (result)
		return result;
	if (!made.width || !made.element_size || shape->NumChannels > 4 ||
	    shape->NumChannels == 3 || made.width > sg_state.config.memory / made.element_size)
		return CUDA_ERROR_INVALID_VALUE;
	/*
	 * Rows follow each other without gaps, so that copies by byte offset continue in the next
	 * row.
	 */
	made.pitch = made.width * made.element_size;
	wanted.device = made.context->device;
	wanted.context = made.context;
	if (__builtin_mul_overflow(made.pitch, at_least_one(made.height), &wanted.size) ||
	    __builtin_mul_overflow(wanted.size, at_least_one(made.depth), &wanted.size))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_memory_allocate(&wanted, 0, &made.address);
	if (result)
		return result;
	array = malloc(sizeof(*array));
	if (!array || !sg_handle_add(array, SG_HANDLE_ARRAY)) {
		free(array);
		sg_memory_free(made.address, 1u << SG_MEMORY_PHYSICAL, NULL);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*array = made;
	*ret_array = array;
	return CUDA_SUCCESS;
}

CUresult sg_array_destroy(CUarray array)
{
	if (!sg_handle_is(array, SG_HANDLE_ARRAY))
		return CUDA_ERROR_INVALID_HANDLE;
	sg_handle_remove(array);
	sg_memory_free(array->address, 1u << SG_MEMORY_PHYSICAL, NULL);
	free(array);
	return CUDA_SUCCESS;
}

bool sg_array_side(CUarray array, struct sg_copy_side *ret_side, uint64_t *ret_rows)
{
	if (!sg_handle_is(array, SG_HANDLE_ARRAY))
		return false;
	ret_side->address = array->address;
	ret_side->pitch = array->pitch;
	*ret_rows = at_least_one(array->height);
	return true;
}
