/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arrays and mipmapped arrays. */
#include "device/array.h"

#include "driver/api.h"

/* Check what calls that allocate or free memory require. */
static CUresult check_allocation_call(void)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : sg_stream_capture_allows_unsafe();
}

/* ---- arrays ---------------------------------------------------------------------------- */

SG_API CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	CUresult result = check_allocation_call();

	if (result)
		return result;
	return array && shape ? sg_array_new(shape, array) : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *shape)
{
	CUDA_ARRAY3D_DESCRIPTOR full = {0};
	CUresult result = check_allocation_call();

	if (result)
		return result;
	if (!array || !shape)
		return CUDA_ERROR_INVALID_VALUE;
	full.Width = shape->Width;
	full.Height = shape->Height;
	full.Format = shape->Format;
	full.NumChannels = shape->NumChannels;
	return sg_array_new(&full, array);
}

SG_API CUresult cuArrayDestroy(CUarray array)
{
	CUresult result = check_allocation_call();

	if (result)
		return result;
	sg_contexts_join();
	return sg_array_destroy(array);
}

static CUresult check_array(CUarray array, const void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_handle_is(array, SG_HANDLE_ARRAY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray array)
{
	CUresult result = check_array(array, shape);

	if (result)
		return result;
	*shape = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = array->width,
		.Height = array->height,
		.Depth = array->depth,
		.Format = array->format,
		.NumChannels = array->channels,
		.Flags = array->flags,
	};
	return CUDA_SUCCESS;
}

SG_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *shape, CUarray array)
{
	CUresult result = check_array(array, shape);

	if (result)
		return result;
	shape->Width = array->width;
	shape->Height = array->height;
	shape->Format = array->format;
	shape->NumChannels = array->channels;
	return CUDA_SUCCESS;
}

/* ---- mipmapped arrays ------------------------------------------------------------------ */

SG_API CUresult cuMipmappedArrayCreate(CUmipmappedArray *mipmap,
				       const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int levels)
{
	CUresult result = check_allocation_call();

	if (result)
		return result;
	return mipmap && shape ? sg_mipmap_new(shape, levels, mipmap) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_mipmap(CUmipmappedArray mipmap, const void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_handle_is(mipmap, SG_HANDLE_MIPMAP) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_API CUresult cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray mipmap,
					 unsigned int level)
{
	CUresult result = check_mipmap(mipmap, array);

	if (result)
		return result;
	if (level >= mipmap->count)
		return CUDA_ERROR_INVALID_VALUE;
	*array = mipmap->levels[level];
	return CUDA_SUCCESS;
}

SG_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
	CUresult result = check_allocation_call();

	if (result)
		return result;
	sg_contexts_join();
	return sg_mipmap_destroy(mipmap);
}

/* ---- properties that only other kinds of arrays have ----------------------------------- */

/* Return the error of a valid call on an array that is not of the kind that the call is for. */
static CUresult lacks_property(CUresult checked)
{
	return checked ? checked : CUDA_ERROR_INVALID_VALUE;
}

/* Of arrays with CUDA_ARRAY3D_SPARSE. */
SG_DEFINE(cuArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES * properties, CUarray array),
	  lacks_property(check_array(array, properties)))
SG_DEFINE(cuMipmappedArrayGetSparseProperties,
	  (CUDA_ARRAY_SPARSE_PROPERTIES * properties, CUmipmappedArray mipmap),
	  lacks_property(check_mipmap(mipmap, properties)))
/* Of arrays with CUDA_ARRAY3D_DEFERRED_MAPPING. */
SG_DEFINE(cuArrayGetMemoryRequirements,
	  (CUDA_ARRAY_MEMORY_REQUIREMENTS * requirements, CUarray array, CUdevice device),
	  lacks_property(check_array(array, requirements)))
SG_DEFINE(cuMipmappedArrayGetMemoryRequirements,
	  (CUDA_ARRAY_MEMORY_REQUIREMENTS * requirements, CUmipmappedArray mipmap, CUdevice device),
	  lacks_property(check_mipmap(mipmap, requirements)))
/* Of planar formats. */
SG_DEFINE(cuArrayGetPlane, (CUarray * plane, CUarray array, unsigned int index),
	  lacks_property(check_array(array, plane)))
