/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/array.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/vec.h"
#include "device/context.h"
#include "device/handles.h"
#include "device/limits.h"
#include "device/memory.h"

/* Bytes: levels of a mipmap begin at multiples of it (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT). */
enum { LEVEL_ALIGNMENT = 512 };

static struct {
	pthread_mutex_t lock;
	GT_VEC(CUarray) known; /* levels of mipmaps as well */
	GT_VEC(CUmipmappedArray) mipmaps;
} arrays = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- formats --------------------------------------------------------------------------- */

static const struct sg_channel_format formats[] = {
	{CU_AD_FORMAT_UNSIGNED_INT8, SG_CHANNEL_UINT8, 1, 0, false},
	{CU_AD_FORMAT_UNSIGNED_INT16, SG_CHANNEL_UINT16, 2, 0, false},
	{CU_AD_FORMAT_UNSIGNED_INT32, SG_CHANNEL_UINT32, 4, 0, false},
	{CU_AD_FORMAT_SIGNED_INT8, SG_CHANNEL_SINT8, 1, 0, false},
	{CU_AD_FORMAT_SIGNED_INT16, SG_CHANNEL_SINT16, 2, 0, false},
	{CU_AD_FORMAT_SIGNED_INT32, SG_CHANNEL_SINT32, 4, 0, false},
	{CU_AD_FORMAT_HALF, SG_CHANNEL_HALF, 2, 0, false},
	{CU_AD_FORMAT_FLOAT, SG_CHANNEL_FLOAT, 4, 0, false},
	{CU_AD_FORMAT_UNORM_INT8X1, SG_CHANNEL_UINT8, 1, 1, true},
	{CU_AD_FORMAT_UNORM_INT8X2, SG_CHANNEL_UINT8, 1, 2, true},
	{CU_AD_FORMAT_UNORM_INT8X4, SG_CHANNEL_UINT8, 1, 4, true},
	{CU_AD_FORMAT_UNORM_INT16X1, SG_CHANNEL_UINT16, 2, 1, true},
	{CU_AD_FORMAT_UNORM_INT16X2, SG_CHANNEL_UINT16, 2, 2, true},
	{CU_AD_FORMAT_UNORM_INT16X4, SG_CHANNEL_UINT16, 2, 4, true},
	{CU_AD_FORMAT_SNORM_INT8X1, SG_CHANNEL_SINT8, 1, 1, true},
	{CU_AD_FORMAT_SNORM_INT8X2, SG_CHANNEL_SINT8, 1, 2, true},
	{CU_AD_FORMAT_SNORM_INT8X4, SG_CHANNEL_SINT8, 1, 4, true},
	{CU_AD_FORMAT_SNORM_INT16X1, SG_CHANNEL_SINT16, 2, 1, true},
	{CU_AD_FORMAT_SNORM_INT16X2, SG_CHANNEL_SINT16, 2, 2, true},
	{CU_AD_FORMAT_SNORM_INT16X4, SG_CHANNEL_SINT16, 2, 4, true},
};

const struct sg_channel_format *sg_channel_format_find(CUarray_format format, unsigned int channels)
{
	for (size_t i = 0; i < gt_countof(formats); i++)
		if (formats[i].format == format &&
		    (formats[i].channels ? channels == formats[i].channels
					 : channels == 1 || channels == 2 || channels == 4))
			return &formats[i];
	return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------- */

static size_t at_least_one(size_t count)
{
	return count ? count : 1;
}

size_t sg_array_slices(const struct CUarray_st *array)
{
	return at_least_one(array->depth);
}

/* The limits of an array's width, height and depth (or layers); 0: must be 0. */
struct array_limits {
	size_t width, height, depth;
};

static struct array_limits limits_of(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	bool layered = shape->Flags & CUDA_ARRAY3D_LAYERED;

	if (shape->Flags & CUDA_ARRAY3D_CUBEMAP) {
		struct array_limits limits = {LIMIT_MAXIMUM_TEXTURECUBEMAP_WIDTH,
					      LIMIT_MAXIMUM_TEXTURECUBEMAP_WIDTH, 6};

		if (layered)
			limits.depth = LIMIT_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS;
		return limits;
	}
	if (layered && !shape->Height)
		return (struct array_limits){LIMIT_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 0,
					     LIMIT_MAXIMUM_TEXTURE1D_LAYERED_LAYERS};
	if (layered)
		return (struct array_limits){LIMIT_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
					     LIMIT_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
					     LIMIT_MAXIMUM_TEXTURE2D_LAYERED_LAYERS};
	if (shape->Flags & CUDA_ARRAY3D_TEXTURE_GATHER)
		return (struct array_limits){LIMIT_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
					     LIMIT_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 0};
	if (shape->Depth)
		return (struct array_limits){LIMIT_MAXIMUM_TEXTURE3D_WIDTH,
					     LIMIT_MAXIMUM_TEXTURE3D_HEIGHT,
					     LIMIT_MAXIMUM_TEXTURE3D_DEPTH};
	if (shape->Height)
		return (struct array_limits){LIMIT_MAXIMUM_TEXTURE2D_WIDTH,
					     LIMIT_MAXIMUM_TEXTURE2D_HEIGHT, 0};
	return (struct array_limits){LIMIT_MAXIMUM_TEXTURE1D_WIDTH, 0, 0};
}

static CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	const unsigned int known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
				   CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
				   CUDA_ARRAY3D_COLOR_ATTACHMENT;
	const unsigned int unsupported = CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_SPARSE |
					 CUDA_ARRAY3D_DEFERRED_MAPPING |
					 CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
	struct array_limits limits = limits_of(shape);
	bool is_cube = shape->Flags & CUDA_ARRAY3D_CUBEMAP;

	if (shape->Flags & ~(known | unsupported))
		return CUDA_ERROR_INVALID_VALUE;
	if (shape->Flags & unsupported)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!shape->Width || shape->Width > limits.width || shape->Height > limits.height ||
	    shape->Depth > limits.depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_cube && (shape->Width != shape->Height || !shape->Depth || shape->Depth % 6))
		return CUDA_ERROR_INVALID_VALUE;
	if ((shape->Flags & CUDA_ARRAY3D_LAYERED && !shape->Depth) ||
	    (shape->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && !shape->Height) ||
	    (!(shape->Flags & CUDA_ARRAY3D_LAYERED) && shape->Depth && !shape->Height))
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_channel_format_find(shape->Format, shape->NumChannels))
		return CUDA_SUCCESS;
	/* Block-compressed and planar formats. */
	if (shape->Format >= CU_AD_FORMAT_UNORM_INT_101010_2 && shape->Format <= CU_AD_FORMAT_NV12)
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- arrays ---------------------------------------------------------------------------- */

static struct CUarray_st describe_array(const CUDA_ARRAY3D_DESCRIPTOR *shape, CUcontext context)
{
	const struct sg_channel_format *format =
		sg_channel_format_find(shape->Format, shape->NumChannels);
	struct CUarray_st array = {
		.context = context,
		.width = shape->Width,
		.height = shape->Height,
		.depth = shape->Depth,
		.format = shape->Format,
		.channels = shape->NumChannels,
		.flags = shape->Flags,
		.element_size = (size_t)format->size * shape->NumChannels,
	};

	/* The limits of the sizes exclude an overflow. */
	array.pitch = array.width * array.element_size;
	array.size = array.pitch * at_least_one(array.height) * at_least_one(array.depth);
	return array;
}

static CUresult allocate_array(CUcontext context, uint64_t size, uint64_t *ret_address)
{
	struct sg_allocation wanted = {.kind = SG_MEMORY_PHYSICAL,
				       .device = context->device,
				       .context = context,
				       .size = size};

	return sg_memory_allocate(&wanted, LEVEL_ALIGNMENT, ret_address);
}

static void free_array_memory(uint64_t address)
{
	struct sg_allocation freed;

	if (sg_memory_find(address, &freed))
		sg_texture_detach(sg_state.machine, address, freed.size);
	sg_memory_free(address, 1u << SG_MEMORY_PHYSICAL, NULL);
}

/* Make a handle of a description whose memory is allocated. */
static CUarray keep_array(const struct CUarray_st *made)
{
	CUarray array = malloc(sizeof(*array));
	bool kept;

	if (!array)
		return NULL;
	*array = *made;
	pthread_mutex_lock(&arrays.lock);
	kept = !gt_vec_push(&arrays.known, array);
	if (kept && !sg_handle_add(array, SG_HANDLE_ARRAY)) {
		arrays.known.count--;
		kept = false;
	}
	pthread_mutex_unlock(&arrays.lock);
	if (kept)
		return array;
	free(array);
	return NULL;
}

static void forget_array(CUarray array)
{
	sg_handle_remove(array);
	pthread_mutex_lock(&arrays.lock);
	for (size_t i = 0; i < arrays.known.count; i++)
		if (arrays.known.items[i] == array) {
			arrays.known.items[i] = arrays.known.items[--arrays.known.count];
			break;
		}
	pthread_mutex_unlock(&arrays.lock);
	free(array);
}

CUresult sg_array_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray *ret_array)
{
	struct CUarray_st made;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (!result)
		result = check_shape(shape);
	if (result)
		return result;
	made = describe_array(shape, context);
	result = allocate_array(context, made.size, &made.address);
	if (result)
		return result;
	*ret_array = keep_array(&made);
	if (*ret_array)
		return CUDA_SUCCESS;
	free_array_memory(made.address);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sg_array_destroy(CUarray array)
{
	if (!sg_handle_is(array, SG_HANDLE_ARRAY) || array->mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	free_array_memory(array->address);
	forget_array(array);
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

/* ---- mipmapped arrays ------------------------------------------------------------------ */

static size_t halve(size_t size, unsigned int times)
{
	return size ? at_least_one(size >> times) : 0;
}

/* Return the shape of a level: layers and faces stay. */
static CUDA_ARRAY3D_DESCRIPTOR level_shape(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int level)
{
	CUDA_ARRAY3D_DESCRIPTOR result = *shape;

	result.Width = halve(shape->Width, level);
	result.Height = halve(shape->Height, level);
	if (!(shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		result.Depth = halve(shape->Depth, level);
	return result;
}

/* Return the number of levels down to a single element. */
static unsigned int count_levels(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	CUDA_ARRAY3D_DESCRIPTOR level = *shape;
	unsigned int count = 1;

	while (level.Width > 1 || level.Height > 1 ||
	       (level.Depth > 1 && !(shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))))
		level = level_shape(shape, count++);
	return count;
}

static void free_mipmap(CUmipmappedArray mipmap)
{
	sg_handle_remove(mipmap);
	for (unsigned int i = 0; i < mipmap->count; i++)
		forget_array(mipmap->levels[i]);
	pthread_mutex_lock(&arrays.lock);
	for (size_t i = 0; i < arrays.mipmaps.count; i++)
		if (arrays.mipmaps.items[i] == mipmap) {
			arrays.mipmaps.items[i] = arrays.mipmaps.items[--arrays.mipmaps.count];
			break;
		}
	pthread_mutex_unlock(&arrays.lock);
	free(mipmap);
}

static bool keep_mipmap(CUmipmappedArray mipmap)
{
	bool kept;

	pthread_mutex_lock(&arrays.lock);
	kept = !gt_vec_push(&arrays.mipmaps, mipmap);
	pthread_mutex_unlock(&arrays.lock);
	return kept && sg_handle_add(mipmap, SG_HANDLE_MIPMAP);
}

static bool add_levels(CUmipmappedArray mipmap, struct CUarray_st *levels, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		levels[i].address += mipmap->address;
		levels[i].mipmap = mipmap;
		mipmap->levels[i] = keep_array(&levels[i]);
		if (!mipmap->levels[i])
			return false;
		mipmap->count++;
	}
	return keep_mipmap(mipmap);
}

CUresult sg_mipmap_new(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int levels,
		       CUmipmappedArray *ret_mipmap)
{
	struct CUarray_st made[SG_MAX_TEXTURE_LEVELS];
	CUmipmappedArray mipmap;
	uint64_t size = 0;
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (!result)
		result = check_shape(shape);
	if (result)
		return result;
	levels = levels ? levels : 1;
	levels = levels < count_levels(shape) ? levels : count_levels(shape);
	for (unsigned int i = 0; i < levels; i++) {
		CUDA_ARRAY3D_DESCRIPTOR level = level_shape(shape, i);

		made[i] = describe_array(&level, context);
		made[i].address = size;
		size += (made[i].size + LEVEL_ALIGNMENT - 1) & ~(uint64_t)(LEVEL_ALIGNMENT - 1);
	}
	mipmap = calloc(1, sizeof(*mipmap));
	if (!mipmap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mipmap->context = context;
	result = allocate_array(context, size, &mipmap->address);
	if (!result && !add_levels(mipmap, made, levels)) {
		free_array_memory(mipmap->address);
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result)
		free_mipmap(mipmap);
	else
		*ret_mipmap = mipmap;
	return result;
}

CUresult sg_mipmap_destroy(CUmipmappedArray mipmap)
{
	if (!sg_handle_is(mipmap, SG_HANDLE_MIPMAP))
		return CUDA_ERROR_INVALID_HANDLE;
	free_array_memory(mipmap->address);
	free_mipmap(mipmap);
	return CUDA_SUCCESS;
}

/* ---- the end of a context -------------------------------------------------------------- */

/* Return an array or mipmapped array of a context that is not a level. False: none is left. */
static bool find_array_of(CUcontext context, CUarray *ret_array, CUmipmappedArray *ret_mipmap)
{
	*ret_array = NULL;
	*ret_mipmap = NULL;
	pthread_mutex_lock(&arrays.lock);
	gt_vec_each (mipmap, &arrays.mipmaps) {
		if ((*mipmap)->context == context)
			*ret_mipmap = *mipmap;
	}
	gt_vec_each (array, &arrays.known) {
		if ((*array)->context == context && !(*array)->mipmap)
			*ret_array = *array;
	}
	pthread_mutex_unlock(&arrays.lock);
	return *ret_array || *ret_mipmap;
}

void sg_arrays_free_context(CUcontext context)
{
	CUmipmappedArray mipmap;
	CUarray array;

	while (find_array_of(context, &array, &mipmap))
		if (mipmap)
			sg_mipmap_destroy(mipmap);
		else
			sg_array_destroy(array);
}
