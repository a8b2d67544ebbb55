/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Texture and surface references: variables of modules to which the host assigns images. CUDA
 * deprecates them for texture objects. A change waits for the kernels that were launched before.
 */
#include <math.h>
#include <string.h>

#include "device/array.h"
#include "device/limits.h"
#include "device/reference.h"
#include "device/texture.h"
#include "driver/api.h"

static CUtexref as_reference(CUsurfref surface)
{
	return surface ? &surface->reference : NULL;
}

static CUresult check_reference(CUtexref reference, bool is_surface)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	return sg_handle_is(reference, SG_HANDLE_TEXTURE_REFERENCE) &&
			       reference->source.is_surface == is_surface
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

/* ---- making them ----------------------------------------------------------------------- */

/* Return the reference of a module's variable; the same one at each call. */
static CUresult find_reference(CUmodule module, const char *name, bool is_surface,
			       CUtexref *ret_reference)
{
	CUresult result = sg_check_handle(module, SG_HANDLE_MODULE, CUDA_ERROR_INVALID_HANDLE);

	if (result)
		return result;
	if (!name || !ret_reference)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_reference_find(module, name, is_surface, ret_reference);
}

SG_DEFINE(cuModuleGetTexRef, (CUtexref * reference, CUmodule module, const char *name),
	  find_reference(module, name, false, reference))
SG_DEFINE(cuModuleGetSurfRef, (CUsurfref * surface, CUmodule module, const char *name),
	  find_reference(module, name, true, (CUtexref *)surface))

SG_API CUresult cuTexRefCreate(CUtexref *reference)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!reference)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_reference_new(false, reference);
}

SG_API CUresult cuTexRefDestroy(CUtexref reference)
{
	CUresult result = check_reference(reference, false);

	if (!result && reference->handle)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	sg_reference_free(reference);
	return CUDA_SUCCESS;
}

/* ---- changing them --------------------------------------------------------------------- */

/* Assign an image. */
static CUresult set_resource(CUtexref reference, bool is_surface,
			     const CUDA_RESOURCE_DESC *resource)
{
	CUresult result = check_reference(reference, is_surface);
	struct sg_texture_source source;

	if (result)
		return result;
	source = reference->source;
	source.resource = *resource;
	return sg_reference_apply(reference, &source);
}

/* Change the sampler; an image that is assigned later is checked with it. */
static CUresult set_sampler(CUtexref reference, const CUDA_TEXTURE_DESC *sampler)
{
	struct sg_texture_source source = reference->source;

	source.sampler = *sampler;
	if (reference->has_image)
		return sg_reference_apply(reference, &source);
	reference->source = source;
	return CUDA_SUCCESS;
}

SG_API CUresult cuTexRefSetArray(CUtexref reference, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
	CUresult result;

	if (flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	resource.res.array.hArray = array;
	result = set_resource(reference, false, &resource);
	if (!result) {
		reference->format = array->format;
		reference->channels = array->channels;
	}
	return result;
}

SG_API CUresult cuTexRefSetMipmappedArray(CUtexref reference, CUmipmappedArray mipmap,
					  unsigned int flags)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};

	if (flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	resource.res.mipmap.hMipmappedArray = mipmap;
	return set_resource(reference, false, &resource);
}

SG_API CUresult cuSurfRefSetArray(CUsurfref surface, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	resource.res.array.hArray = array;
	return set_resource(as_reference(surface), true, &resource);
}

/* An address that is not aligned is rounded down; the caller adds the offset to its indices. */
SG_API CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref reference, CUdeviceptr address,
				      size_t bytes)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
	size_t misaligned = address % LIMIT_TEXTURE_ALIGNMENT;
	CUresult result = check_reference(reference, false);

	if (!result && !offset && misaligned)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	resource.res.linear.devPtr = address - misaligned;
	resource.res.linear.sizeInBytes = bytes + misaligned;
	resource.res.linear.format = reference->format;
	resource.res.linear.numChannels = reference->channels;
	result = set_resource(reference, false, &resource);
	if (!result && offset)
		*offset = misaligned;
	return result;
}

static CUresult set_rows(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR *shape,
			 CUdeviceptr address, size_t pitch)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_PITCH2D};

	if (!shape)
		return CUDA_ERROR_INVALID_VALUE;
	resource.res.pitch2D.devPtr = address;
	resource.res.pitch2D.format = shape->Format;
	resource.res.pitch2D.numChannels = shape->NumChannels;
	resource.res.pitch2D.width = shape->Width;
	resource.res.pitch2D.height = shape->Height;
	resource.res.pitch2D.pitchInBytes = pitch;
	return set_resource(reference, false, &resource);
}

SG_VERSIONS(cuTexRefSetAddress2D_v3, cuTexRefSetAddress2D_v2,
	    (CUtexref reference, const CUDA_ARRAY_DESCRIPTOR *shape, CUdeviceptr address,
	     size_t pitch),
	    set_rows(reference, shape, address, pitch))

SG_API CUresult cuTexRefSetFormat(CUtexref reference, CUarray_format format, int channels)
{
	CUresult result = check_reference(reference, false);

	if (!result && !sg_channel_format_find(format, (unsigned int)channels))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	reference->format = format;
	reference->channels = (unsigned int)channels;
	return CUDA_SUCCESS;
}

/* Define a function that changes a member of the sampler. */
#define SET_SAMPLER(name, parameters, valid, change)                                               \
	SG_API CUresult name parameters                                                            \
	{                                                                                          \
		CUresult result = check_reference(reference, false);                               \
		CUDA_TEXTURE_DESC sampler;                                                         \
                                                                                                   \
		if (!result && !(valid))                                                           \
			result = CUDA_ERROR_INVALID_VALUE;                                         \
		if (result)                                                                        \
			return result;                                                             \
		sampler = reference->source.sampler;                                               \
		change;                                                                            \
		return set_sampler(reference, &sampler);                                           \
	}

SET_SAMPLER(cuTexRefSetAddressMode, (CUtexref reference, int axis, CUaddress_mode mode),
	    axis >= 0 && axis < 3 && (unsigned int)mode <= CU_TR_ADDRESS_MODE_BORDER,
	    sampler.addressMode[axis] = mode)
SET_SAMPLER(cuTexRefSetFilterMode, (CUtexref reference, CUfilter_mode mode),
	    (unsigned int)mode <= CU_TR_FILTER_MODE_LINEAR, sampler.filterMode = mode)
SET_SAMPLER(cuTexRefSetMipmapFilterMode, (CUtexref reference, CUfilter_mode mode),
	    (unsigned int)mode <= CU_TR_FILTER_MODE_LINEAR, sampler.mipmapFilterMode = mode)
SET_SAMPLER(cuTexRefSetMipmapLevelBias, (CUtexref reference, float bias), !isnan(bias),
	    sampler.mipmapLevelBias = bias)
SET_SAMPLER(cuTexRefSetMipmapLevelClamp, (CUtexref reference, float min, float max),
	    !isnan(min) && !isnan(max),
	    (sampler.minMipmapLevelClamp = min, sampler.maxMipmapLevelClamp = max))
SET_SAMPLER(cuTexRefSetMaxAnisotropy, (CUtexref reference, unsigned int ratio), true,
	    sampler.maxAnisotropy = ratio < 1    ? 1
				    : ratio > 16 ? 16
						 : ratio)
SET_SAMPLER(cuTexRefSetBorderColor, (CUtexref reference, float *color), color,
	    memcpy(sampler.borderColor, color, sizeof(sampler.borderColor)))
SET_SAMPLER(cuTexRefSetFlags, (CUtexref reference, unsigned int flags), true, sampler.flags = flags)

/* ---- queries --------------------------------------------------------------------------- */

/* Define a function that returns a member of a reference. */
#define GET_MEMBER(name, parameters, valid, get)                                                   \
	SG_API CUresult name parameters                                                            \
	{                                                                                          \
		CUresult result = check_reference(reference, false);                               \
                                                                                                   \
		if (!result && !(valid))                                                           \
			result = CUDA_ERROR_INVALID_VALUE;                                         \
		if (!result) {                                                                     \
			get;                                                                       \
		}                                                                                  \
		return result;                                                                     \
	}

static bool has_resource(const struct CUtexref_st *reference, CUresourcetype type)
{
	return reference->has_image && reference->source.resource.resType == type;
}

GET_MEMBER(cuTexRefGetArray, (CUarray * array, CUtexref reference),
	   array &&has_resource(reference, CU_RESOURCE_TYPE_ARRAY),
	   *array = reference->source.resource.res.array.hArray)
GET_MEMBER(cuTexRefGetMipmappedArray, (CUmipmappedArray * mipmap, CUtexref reference),
	   mipmap &&has_resource(reference, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY),
	   *mipmap = reference->source.resource.res.mipmap.hMipmappedArray)
/* The address is the first member of both kinds of linear memory. */
GET_MEMBER(cuTexRefGetAddress_v2, (CUdeviceptr * address, CUtexref reference),
	   address && (has_resource(reference, CU_RESOURCE_TYPE_LINEAR) ||
		       has_resource(reference, CU_RESOURCE_TYPE_PITCH2D)),
	   *address = reference->source.resource.res.linear.devPtr)
GET_MEMBER(cuTexRefGetFormat, (CUarray_format * format, int *channels, CUtexref reference), true,
	   if (format) *format = reference->format;
	   if (channels) *channels = (int)reference->channels)
GET_MEMBER(cuTexRefGetAddressMode, (CUaddress_mode * mode, CUtexref reference, int axis),
	   mode &&axis >= 0 && axis < 3, *mode = reference->source.sampler.addressMode[axis])
GET_MEMBER(cuTexRefGetFilterMode, (CUfilter_mode * mode, CUtexref reference), mode,
	   *mode = reference->source.sampler.filterMode)
GET_MEMBER(cuTexRefGetMipmapFilterMode, (CUfilter_mode * mode, CUtexref reference), mode,
	   *mode = reference->source.sampler.mipmapFilterMode)
GET_MEMBER(cuTexRefGetMipmapLevelBias, (float *bias, CUtexref reference), bias,
	   *bias = reference->source.sampler.mipmapLevelBias)
GET_MEMBER(cuTexRefGetMipmapLevelClamp, (float *min, float *max, CUtexref reference), true,
	   if (min) *min = reference->source.sampler.minMipmapLevelClamp;
	   if (max) *max = reference->source.sampler.maxMipmapLevelClamp)
GET_MEMBER(cuTexRefGetMaxAnisotropy, (int *ratio, CUtexref reference), ratio,
	   *ratio = (int)reference->source.sampler.maxAnisotropy)
GET_MEMBER(cuTexRefGetBorderColor, (float *color, CUtexref reference), color,
	   memcpy(color, reference->source.sampler.borderColor,
		  sizeof(reference->source.sampler.borderColor)))
GET_MEMBER(cuTexRefGetFlags, (unsigned int *flags, CUtexref reference), flags,
	   *flags = reference->source.sampler.flags)

SG_API CUresult cuSurfRefGetArray(CUarray *array, CUsurfref surface)
{
	CUresult result = check_reference(as_reference(surface), true);

	if (!result && (!array || !has_resource(as_reference(surface), CU_RESOURCE_TYPE_ARRAY)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*array = surface->reference.source.resource.res.array.hArray;
	return result;
}
