/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texture and surface objects. */
#include <string.h>

#include "runtime/runtime.h"

/* ---- resources ------------------------------------------------------------------------- */

static cudaError_t convert_resource(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
	*to = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)from->resType, .flags = from->flags};
	switch (from->resType) {
	case cudaResourceTypeArray:
		to->res.array.hArray = (CUarray)from->res.array.array;
		return cudaSuccess;
	case cudaResourceTypeMipmappedArray:
		to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
		return cudaSuccess;
	case cudaResourceTypeLinear:
		to->res.linear.devPtr = (uintptr_t)from->res.linear.devPtr;
		to->res.linear.format =
			sg_convert_format(&from->res.linear.desc, &to->res.linear.numChannels);
		to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
		return to->res.linear.format ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
	case cudaResourceTypePitch2D:
		to->res.pitch2D.devPtr = (uintptr_t)from->res.pitch2D.devPtr;
		to->res.pitch2D.format =
			sg_convert_format(&from->res.pitch2D.desc, &to->res.pitch2D.numChannels);
		to->res.pitch2D.width = from->res.pitch2D.width;
		to->res.pitch2D.height = from->res.pitch2D.height;
		to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
		return to->res.pitch2D.format ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
	default:
		return cudaErrorInvalidValue;
	}
}

static void restore_resource(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *to)
{
	*to = (struct cudaResourceDesc){.resType = (enum cudaResourceType)from->resType,
					.flags = from->flags};
	switch (from->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		to->res.array.array = (cudaArray_t)from->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		to->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		to->res.linear.devPtr = (void *)(uintptr_t)from->res.linear.devPtr;
		to->res.linear.desc =
			sg_restore_format(from->res.linear.format, from->res.linear.numChannels);
		to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
		break;
	default:
		to->res.pitch2D.devPtr = (void *)(uintptr_t)from->res.pitch2D.devPtr;
		to->res.pitch2D.desc =
			sg_restore_format(from->res.pitch2D.format, from->res.pitch2D.numChannels);
		to->res.pitch2D.width = from->res.pitch2D.width;
		to->res.pitch2D.height = from->res.pitch2D.height;
		to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
		break;
	}
}

/* ---- samplers -------------------------------------------------------------------------- */

static CUDA_TEXTURE_DESC convert_sampler(const struct cudaTextureDesc *from)
{
	CUDA_TEXTURE_DESC to = {
		.filterMode = (CUfilter_mode)from->filterMode,
		.maxAnisotropy = from->maxAnisotropy,
		.mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
		.mipmapLevelBias = from->mipmapLevelBias,
		.minMipmapLevelClamp = from->minMipmapLevelClamp,
		.maxMipmapLevelClamp = from->maxMipmapLevelClamp,
	};

	for (int i = 0; i < 3; i++)
		to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
	memcpy(to.borderColor, from->borderColor, sizeof(to.borderColor));
	to.flags =
		(from->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
		(from->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
		(from->sRGB ? CU_TRSF_SRGB : 0) |
		(from->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
		(from->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0);
	return to;
}

static void restore_sampler(const CUDA_TEXTURE_DESC *from, struct cudaTextureDesc *to)
{
	*to = (struct cudaTextureDesc){
		.filterMode = (enum cudaTextureFilterMode)from->filterMode,
		.readMode = from->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
								  : cudaReadModeNormalizedFloat,
		.sRGB = (from->flags & CU_TRSF_SRGB) != 0,
		.normalizedCoords = (from->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
		.maxAnisotropy = from->maxAnisotropy,
		.mipmapFilterMode = (enum cudaTextureFilterMode)from->mipmapFilterMode,
		.mipmapLevelBias = from->mipmapLevelBias,
		.minMipmapLevelClamp = from->minMipmapLevelClamp,
		.maxMipmapLevelClamp = from->maxMipmapLevelClamp,
		.disableTrilinearOptimization =
			(from->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
		.seamlessCubemap = (from->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0,
	};
	for (int i = 0; i < 3; i++)
		to->addressMode[i] = (enum cudaTextureAddressMode)from->addressMode[i];
	memcpy(to->borderColor, from->borderColor, sizeof(to->borderColor));
}

/* ---- objects --------------------------------------------------------------------------- */

SG_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
					   const struct cudaResourceDesc *resource,
					   const struct cudaTextureDesc *sampler,
					   const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC driver_resource;
	CUDA_TEXTURE_DESC driver_sampler;
	cudaError_t error = sg_enter();

	_Static_assert(sizeof(*view) == sizeof(CUDA_RESOURCE_VIEW_DESC), "the layouts agree");
	if (!error && (!object || !resource || !sampler))
		error = cudaErrorInvalidValue;
	if (!error)
		error = convert_resource(resource, &driver_resource);
	if (error)
		return sg_finish(error);
	driver_sampler = convert_sampler(sampler);
	return sg_finish(sg_error(sg_driver.cuTexObjectCreate(
		object, &driver_resource, &driver_sampler, (const CUDA_RESOURCE_VIEW_DESC *)view)));
}

SG_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object,
					   const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC driver_resource;
	cudaError_t error = sg_enter();

	if (!error && (!object || !resource))
		error = cudaErrorInvalidValue;
	if (!error)
		error = convert_resource(resource, &driver_resource);
	if (!error)
		error = sg_error(sg_driver.cuSurfObjectCreate(object, &driver_resource));
	return sg_finish(error);
}

SG_PASS(cudaDestroyTextureObject, (cudaTextureObject_t object), cuTexObjectDestroy, (object))
SG_PASS(cudaDestroySurfaceObject, (cudaSurfaceObject_t object), cuSurfObjectDestroy, (object))

/* ---- queries --------------------------------------------------------------------------- */

SG_API cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource,
						    cudaTextureObject_t object)
{
	CUDA_RESOURCE_DESC found;
	cudaError_t error = sg_enter();

	if (!error && !resource)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuTexObjectGetResourceDesc(&found, object));
	if (!error)
		restore_resource(&found, resource);
	return sg_finish(error);
}

SG_API cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource,
						    cudaSurfaceObject_t object)
{
	CUDA_RESOURCE_DESC found;
	cudaError_t error = sg_enter();

	if (!error && !resource)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuSurfObjectGetResourceDesc(&found, object));
	if (!error)
		restore_resource(&found, resource);
	return sg_finish(error);
}

SG_API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *sampler,
						   cudaTextureObject_t object)
{
	CUDA_TEXTURE_DESC found;
	cudaError_t error = sg_enter();

	if (!error && !sampler)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuTexObjectGetTextureDesc(&found, object));
	if (!error)
		restore_sampler(&found, sampler);
	return sg_finish(error);
}

SG_PASS(cudaGetTextureObjectResourceViewDesc,
	(struct cudaResourceViewDesc * view, cudaTextureObject_t object),
	cuTexObjectGetResourceViewDesc, ((CUDA_RESOURCE_VIEW_DESC *)view, object))

SG_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(
	size_t *width, const struct cudaChannelFormatDesc *channels, int device)
{
	cudaError_t error = sg_start();
	CUarray_format format;
	unsigned int count;

	if (!error && (!width || !channels))
		error = cudaErrorInvalidValue;
	if (error)
		return sg_finish(error);
	format = sg_convert_format(channels, &count);
	if (!format)
		return sg_finish(cudaErrorInvalidChannelDescriptor);
	return sg_finish(sg_error(
		sg_driver.cuDeviceGetTexture1DLinearMaxWidth(width, format, count, device)));
}
