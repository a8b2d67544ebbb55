/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/texture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "device/array.h"
#include "device/context.h"
#include "device/handles.h"
#include "device/limits.h"
#include "device/memory.h"

/* ---- images ---------------------------------------------------------------------------- */

static void set_format(struct sg_texture *texture, const struct sg_channel_format *format,
		       unsigned int channels)
{
	texture->image.channel = format->channel;
	texture->image.channels = (uint8_t)channels;
	texture->image.element = (uint8_t)(format->size * channels);
	texture->sampler.reads_floats = format->is_normalized;
}

static void add_level(struct sg_texture_image *image, const struct CUarray_st *array)
{
	size_t rows = array->height ? array->height : 1;

	image->levels[image->level_count++] = (struct sg_texture_level){
		.address = array->address,
		.pitch = array->pitch,
		.slice_pitch = array->pitch * rows,
		.width = (uint32_t)array->width,
		.height = (uint32_t)rows,
		.slices = (uint32_t)sg_array_slices(array),
	};
}

static void set_array(struct sg_texture *texture, const struct CUarray_st *array)
{
	set_format(texture, sg_channel_format_find(array->format, array->channels),
		   array->channels);
	texture->image.is_layered = array->flags & CUDA_ARRAY3D_LAYERED;
	texture->image.is_cube = array->flags & CUDA_ARRAY3D_CUBEMAP;
}

static CUresult describe_arrays(const CUDA_RESOURCE_DESC *resource, struct sg_texture *texture)
{
	CUmipmappedArray mipmap = resource->res.mipmap.hMipmappedArray;
	CUarray array = resource->res.array.hArray;

	if (resource->resType == CU_RESOURCE_TYPE_ARRAY) {
		if (!sg_handle_is(array, SG_HANDLE_ARRAY))
			return CUDA_ERROR_INVALID_HANDLE;
		set_array(texture, array);
		add_level(&texture->image, array);
		return CUDA_SUCCESS;
	}
	if (!sg_handle_is(mipmap, SG_HANDLE_MIPMAP))
		return CUDA_ERROR_INVALID_HANDLE;
	set_array(texture, mipmap->levels[0]);
	for (unsigned int i = 0; i < mipmap->count; i++)
		add_level(&texture->image, mipmap->levels[i]);
	return CUDA_SUCCESS;
}

/* Memory that kernels may access by its address, as an image of `width` × `height` elements. */
static CUresult describe_memory(uint64_t address, const struct sg_channel_format *format,
				unsigned int channels, const struct sg_texture_level *shape,
				struct sg_texture *texture)
{
	uint64_t element = (uint64_t)format->size * channels, size;
	struct sg_allocation allocation;

	if (!address || address % LIMIT_TEXTURE_ALIGNMENT || !shape->width || !shape->height)
		return CUDA_ERROR_INVALID_VALUE;
	size = (shape->height - 1) * shape->pitch + shape->width * element;
	if (!sg_memory_find_range(address, size, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	set_format(texture, format, channels);
	texture->image.is_linear = true;
	texture->image.level_count = 1;
	texture->image.levels[0] = *shape;
	texture->image.levels[0].address = address;
	texture->image.levels[0].slices = 1;
	return CUDA_SUCCESS;
}

static CUresult describe_linear(const CUDA_RESOURCE_DESC *resource, struct sg_texture *texture)
{
	const struct sg_channel_format *format = sg_channel_format_find(
		resource->res.linear.format, resource->res.linear.numChannels);
	struct sg_texture_level shape = {.height = 1};
	size_t width;

	if (!format)
		return CUDA_ERROR_INVALID_VALUE;
	width = resource->res.linear.sizeInBytes / format->size / resource->res.linear.numChannels;
	if (width > LIMIT_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)
		return CUDA_ERROR_INVALID_VALUE;
	shape.width = (uint32_t)width;
	return describe_memory(resource->res.linear.devPtr, format,
			       resource->res.linear.numChannels, &shape, texture);
}

static CUresult describe_rows(const CUDA_RESOURCE_DESC *resource, struct sg_texture *texture)
{
	unsigned int channels = resource->res.pitch2D.numChannels;
	const struct sg_channel_format *format =
		sg_channel_format_find(resource->res.pitch2D.format, channels);
	size_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height;
	size_t pitch = resource->res.pitch2D.pitchInBytes;

	if (!format || width > LIMIT_MAXIMUM_TEXTURE2D_LINEAR_WIDTH ||
	    height > LIMIT_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT ||
	    pitch > LIMIT_MAXIMUM_TEXTURE2D_LINEAR_PITCH || pitch % LIMIT_TEXTURE_PITCH_ALIGNMENT ||
	    pitch < width * format->size * channels)
		return CUDA_ERROR_INVALID_VALUE;
	return describe_memory(resource->res.pitch2D.devPtr, format, channels,
			       &(struct sg_texture_level){.pitch = pitch,
							  .width = (uint32_t)width,
							  .height = (uint32_t)height},
			       texture);
}

static CUresult describe_image(const CUDA_RESOURCE_DESC *resource, struct sg_texture *texture)
{
	if (resource->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (resource->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return describe_arrays(resource, texture);
	case CU_RESOURCE_TYPE_LINEAR:
		return describe_linear(resource, texture);
	case CU_RESOURCE_TYPE_PITCH2D:
		return describe_rows(resource, texture);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- views ----------------------------------------------------------------------------- */

/* The formats of CUresourceViewFormat have 1, 2 and 4 channels each. */
static bool find_view_format(CUresourceViewFormat view, CUarray_format *ret_format,
			     unsigned int *ret_channels)
{
	static const CUarray_format order[] = {
		CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
		CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
		CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
		CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT,
	};
	static const unsigned int channels[] = {1, 2, 4};
	unsigned int index = (unsigned int)view - CU_RES_VIEW_FORMAT_UINT_1X8;

	if (index / 3 >= gt_countof(order))
		return false;
	*ret_format = order[index / 3];
	*ret_channels = channels[index % 3];
	return true;
}

static CUresult apply_view_format(CUresourceViewFormat view, struct sg_texture *texture)
{
	uint8_t element = texture->image.element;
	CUarray_format format;
	unsigned int channels;

	if (view == CU_RES_VIEW_FORMAT_NONE)
		return CUDA_SUCCESS;
	if (view >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1 && view <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!find_view_format(view, &format, &channels))
		return CUDA_ERROR_INVALID_VALUE;
	set_format(texture, sg_channel_format_find(format, channels), channels);
	return texture->image.element == element ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Restrict an image to some of its layers. */
static bool select_layers(struct sg_texture_image *image, unsigned int first, unsigned int last)
{
	uint32_t faces = image->is_cube ? 6 : 1, layers = image->levels[0].slices / faces;

	if (!image->is_layered)
		return !first && !last;
	if (first > last || last >= layers)
		return false;
	for (uint32_t i = 0; i < image->level_count; i++) {
		image->levels[i].address += first * faces * image->levels[i].slice_pitch;
		image->levels[i].slices = (last - first + 1) * faces;
	}
	return true;
}

static CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC *view, struct sg_texture *texture)
{
	struct sg_texture_image *image = &texture->image;
	const struct sg_texture_level *base = &image->levels[0];
	uint32_t depth = base->slices > 1 ? base->slices : 0;

	if (image->is_linear || view->width != base->width ||
	    (view->height ? view->height : 1) != base->height ||
	    (view->depth > 1 && view->depth != depth) ||
	    view->firstMipmapLevel > view->lastMipmapLevel ||
	    view->lastMipmapLevel >= image->level_count ||
	    !select_layers(image, view->firstLayer, view->lastLayer))
		return CUDA_ERROR_INVALID_VALUE;
	image->level_count = (uint8_t)(view->lastMipmapLevel - view->firstMipmapLevel + 1);
	memmove(image->levels, image->levels + view->firstMipmapLevel,
		image->level_count * sizeof(image->levels[0]));
	return apply_view_format(view->format, texture);
}

/* ---- samplers -------------------------------------------------------------------------- */

static bool is_known(const CUDA_TEXTURE_DESC *from)
{
	const unsigned int flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
				   CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
				   CU_TRSF_SEAMLESS_CUBEMAP;

	for (int i = 0; i < 3; i++)
		if ((unsigned int)from->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return false;
	return !(from->flags & ~flags) &&
	       (unsigned int)from->filterMode <= CU_TR_FILTER_MODE_LINEAR &&
	       (unsigned int)from->mipmapFilterMode <= CU_TR_FILTER_MODE_LINEAR;
}

static void convert_sampler(const CUDA_TEXTURE_DESC *from, struct sg_texture *texture)
{
	struct sg_sampler *sampler = &texture->sampler;
	bool is_small = texture->image.channel < SG_CHANNEL_HALF &&
			texture->image.channel != SG_CHANNEL_UINT32 &&
			texture->image.channel != SG_CHANNEL_SINT32;

	for (int i = 0; i < 3; i++)
		sampler->address[i] = (uint8_t)from->addressMode[i];
	sampler->is_linear = from->filterMode == CU_TR_FILTER_MODE_LINEAR;
	sampler->is_mip_linear = from->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
	sampler->is_normalized = from->flags & CU_TRSF_NORMALIZED_COORDINATES;
	sampler->reads_floats |= is_small && !(from->flags & CU_TRSF_READ_AS_INTEGER);
	sampler->is_srgb = from->flags & CU_TRSF_SRGB;
	sampler->is_seamless = from->flags & CU_TRSF_SEAMLESS_CUBEMAP;
	sampler->bias = from->mipmapLevelBias;
	sampler->min = from->minMipmapLevelClamp;
	sampler->max = from->maxMipmapLevelClamp;
	_Static_assert(sizeof(sampler->border) == sizeof(from->borderColor), "four channels");
	memcpy(sampler->border, from->borderColor, sizeof(sampler->border));
	/* cuda.h: "This is ignored if resType is CU_RESOURCE_TYPE_LINEAR". */
	if (texture->image.is_linear && !texture->image.levels[0].pitch) {
		memset(sampler->address, SG_ADDRESS_CLAMP, sizeof(sampler->address));
		sampler->is_linear = false;
	}
	if (sampler->is_seamless)
		memset(sampler->address, SG_ADDRESS_CLAMP, sizeof(sampler->address));
}

static bool returns_floats(const struct sg_texture *texture)
{
	return texture->sampler.reads_floats || texture->image.channel >= SG_CHANNEL_HALF;
}

static CUresult describe_sampler(const CUDA_TEXTURE_DESC *from, const CUDA_RESOURCE_DESC *resource,
				 struct sg_texture *texture)
{
	const struct sg_sampler *sampler = &texture->sampler;

	if (!is_known(from))
		return CUDA_ERROR_INVALID_VALUE;
	convert_sampler(from, texture);
	if ((sampler->is_linear && !returns_floats(texture)) ||
	    (sampler->is_seamless && !texture->image.is_cube) ||
	    (resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !sampler->is_normalized))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sg_texture_describe(const struct sg_texture_source *source, struct sg_texture *ret_texture)
{
	struct sg_texture texture = {.is_surface = source->is_surface};
	CUresult result = describe_image(&source->resource, &texture);

	if (!result && source->is_surface) {
		if (source->resource.resType != CU_RESOURCE_TYPE_ARRAY ||
		    !(source->resource.res.array.hArray->flags & CUDA_ARRAY3D_SURFACE_LDST))
			result = CUDA_ERROR_INVALID_VALUE;
	} else if (!result) {
		if (source->has_view)
			result = apply_view(&source->view, &texture);
		if (!result)
			result = describe_sampler(&source->sampler, &source->resource, &texture);
	}
	if (!result)
		*ret_texture = texture;
	return result;
}

/* ---- objects --------------------------------------------------------------------------- */

struct texture_object {
	uint64_t handle;
	CUcontext context;
	struct sg_texture_source source;
	struct sg_operations pending; /* of a destroyed object: they may use it */
	struct texture_object *next;  /* destroyed before it */
};

static struct {
	pthread_mutex_t lock;
	struct gt_hash *known; /* handle → struct texture_object */
	struct texture_object *destroyed;
} objects = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct texture_object *find_object_locked(uint64_t handle, bool is_surface)
{
	struct texture_object *object =
		objects.known ? gt_hash_get_u64(objects.known, handle) : NULL;

	return object && object->source.is_surface == is_surface ? object : NULL;
}

/* Free destroyed objects that no work uses any more. */
static void sweep_destroyed_locked(void)
{
	struct texture_object **link = &objects.destroyed, *object;

	while ((object = *link)) {
		if (!sg_operations_end(&object->pending)) {
			link = &object->next;
			continue;
		}
		*link = object->next;
		sg_texture_remove(sg_state.machine, object->handle);
		free(object);
	}
}

/* The handle is not valid for the host from now on, for kernels when pending work has ended. */
static void destroy_object_locked(struct texture_object *object)
{
	gt_hash_remove_u64(objects.known, object->handle);
	if (!sg_contexts_pending(&object->pending))
		sg_contexts_join();
	object->next = objects.destroyed;
	objects.destroyed = object;
	sweep_destroyed_locked();
}

static CUresult add_object_locked(struct texture_object *object, const struct sg_texture *texture)
{
	if (!objects.known)
		objects.known = gt_hash_new();
	if (!objects.known || sg_texture_add(sg_state.machine, texture, &object->handle))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!gt_hash_set_u64(objects.known, object->handle, object))
		return CUDA_SUCCESS;
	sg_texture_remove(sg_state.machine, object->handle);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sg_texture_object_new(CUcontext context, const struct sg_texture_source *source,
			       unsigned long long *ret_object)
{
	struct texture_object *object;
	struct sg_texture texture;
	CUresult result = sg_texture_describe(source, &texture);

	if (result)
		return result;
	object = malloc(sizeof(*object));
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*object = (struct texture_object){.context = context, .source = *source};
	pthread_mutex_lock(&objects.lock);
	sweep_destroyed_locked();
	result = add_object_locked(object, &texture);
	if (!result)
		*ret_object = object->handle;
	pthread_mutex_unlock(&objects.lock);
	if (result)
		free(object);
	return result;
}

CUresult sg_texture_object_destroy(unsigned long long handle, bool is_surface)
{
	struct texture_object *object;

	pthread_mutex_lock(&objects.lock);
	object = find_object_locked(handle, is_surface);
	if (object)
		destroy_object_locked(object);
	pthread_mutex_unlock(&objects.lock);
	return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool sg_texture_object_find(unsigned long long handle, bool is_surface,
			    struct sg_texture_source *ret_source)
{
	const struct texture_object *object;

	pthread_mutex_lock(&objects.lock);
	object = find_object_locked(handle, is_surface);
	if (object)
		*ret_source = object->source;
	pthread_mutex_unlock(&objects.lock);
	return object;
}

/* Return an object of a context, or NULL. */
static struct texture_object *find_object_of(CUcontext context)
{
	size_t cursor = 0, length;
	const void *key;
	void *value;

	while (objects.known && gt_hash_next(objects.known, &cursor, &key, &length, &value)) {
		struct texture_object *object = value;

		if (object->context == context)
			return object;
	}
	return NULL;
}

void sg_texture_objects_free_context(CUcontext context)
{
	struct texture_object *object;

	pthread_mutex_lock(&objects.lock);
	while ((object = find_object_of(context)))
		destroy_object_locked(object);
	pthread_mutex_unlock(&objects.lock);
}
