/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texture and surface objects. */
#include "device/texture.h"

#include "device/array.h"
#include "device/limits.h"
#include "driver/api.h"

SG_API CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
				  const CUDA_TEXTURE_DESC *sampler,
				  const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct sg_texture_source source = {.has_view = view};
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!object || !resource || !sampler)
		return CUDA_ERROR_INVALID_VALUE;
	source.resource = *resource;
	source.sampler = *sampler;
	if (view)
		source.view = *view;
	return sg_texture_object_new(context, &source, object);
}

SG_API CUresult cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
	struct sg_texture_source source = {.is_surface = true};
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!object || !resource)
		return CUDA_ERROR_INVALID_VALUE;
	source.resource = *resource;
	return sg_texture_object_new(context, &source, object);
}

static CUresult destroy_object(unsigned long long object, bool is_surface)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	return result ? result : sg_texture_object_destroy(object, is_surface);
}

SG_DEFINE(cuTexObjectDestroy, (CUtexObject object), destroy_object(object, false))
SG_DEFINE(cuSurfObjectDestroy, (CUsurfObject object), destroy_object(object, true))

static CUresult find_source(unsigned long long object, bool is_surface, const void *pointer,
			    struct sg_texture_source *ret_source)
{
	CUresult result = sg_check();

	if (result)
		return result;
	return pointer && sg_texture_object_find(object, is_surface, ret_source)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object)
{
	struct sg_texture_source source;
	CUresult result = find_source(object, false, resource, &source);

	if (!result)
		*resource = source.resource;
	return result;
}

SG_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject object)
{
	struct sg_texture_source source;
	CUresult result = find_source(object, true, resource, &source);

	if (!result)
		*resource = source.resource;
	return result;
}

SG_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *sampler, CUtexObject object)
{
	struct sg_texture_source source;
	CUresult result = find_source(object, false, sampler, &source);

	if (!result)
		*sampler = source.sampler;
	return result;
}

SG_API CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject object)
{
	struct sg_texture_source source;
	CUresult result = find_source(object, false, view, &source);

	if (!result && !source.has_view)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*view = source.view;
	return result;
}

SG_API CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format,
						   unsigned int channels, CUdevice device)
{
	CUresult result = sg_check_device(device, width);

	if (!result && !sg_channel_format_find(format, channels))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*width = LIMIT_MAXIMUM_TEXTURE1D_LINEAR_WIDTH;
	return result;
}
