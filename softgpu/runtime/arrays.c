/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CUDA arrays and mipmapped arrays. */
#include "base/clean.h"
#include "runtime/runtime.h"

/* The kinds of channels by width: 8, 16 and 32 bits; 0: one that this device does not support. */
static const CUarray_format plain_formats[3][3] = {
	[cudaChannelFormatKindSigned] = {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16,
					 CU_AD_FORMAT_SIGNED_INT32},
	[cudaChannelFormatKindUnsigned] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
					   CU_AD_FORMAT_UNSIGNED_INT32},
	[cudaChannelFormatKindFloat] = {0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT},
};

/* Normalized integers have a format for each number of channels. */
static const struct {
	enum cudaChannelFormatKind kind;
	CUarray_format format;
	int width;
} normalized_formats[] = {
	{cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 8},
	{cudaChannelFormatKindUnsignedNormalized8X2, CU_AD_FORMAT_UNORM_INT8X2, 8},
	{cudaChannelFormatKindUnsignedNormalized8X4, CU_AD_FORMAT_UNORM_INT8X4, 8},
	{cudaChannelFormatKindUnsignedNormalized16X1, CU_AD_FORMAT_UNORM_INT16X1, 16},
	{cudaChannelFormatKindUnsignedNormalized16X2, CU_AD_FORMAT_UNORM_INT16X2, 16},
	{cudaChannelFormatKindUnsignedNormalized16X4, CU_AD_FORMAT_UNORM_INT16X4, 16},
	{cudaChannelFormatKindSignedNormalized8X1, CU_AD_FORMAT_SNORM_INT8X1, 8},
	{cudaChannelFormatKindSignedNormalized8X2, CU_AD_FORMAT_SNORM_INT8X2, 8},
	{cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X4, 8},
	{cudaChannelFormatKindSignedNormalized16X1, CU_AD_FORMAT_SNORM_INT16X1, 16},
	{cudaChannelFormatKindSignedNormalized16X2, CU_AD_FORMAT_SNORM_INT16X2, 16},
	{cudaChannelFormatKindSignedNormalized16X4, CU_AD_FORMAT_SNORM_INT16X4, 16},
};

static CUarray_format find_format(const struct cudaChannelFormatDesc *channels)
{
	int width = channels->x == 8 ? 0 : channels->x == 16 ? 1 : channels->x == 32 ? 2 : -1;

	if (width >= 0 && (unsigned int)channels->f <= cudaChannelFormatKindFloat)
		return plain_formats[channels->f][width];
	for (size_t i = 0; i < gt_countof(normalized_formats); i++)
		if (normalized_formats[i].kind == channels->f &&
		    normalized_formats[i].width == channels->x)
			return normalized_formats[i].format;
	return 0;
}

static unsigned int channel_count(const struct cudaChannelFormatDesc *channels)
{
	return 1u + (channels->y != 0) + (channels->z != 0) + (channels->w != 0);
}

CUarray_format sg_convert_format(const struct cudaChannelFormatDesc *channels,
				 unsigned int *ret_channels)
{
	*ret_channels = channel_count(channels);
	return find_format(channels);
}

/* Start a call that describes an array, and convert its shape. */
static cudaError_t convert_shape(const void *result, const struct cudaChannelFormatDesc *channels,
				 struct cudaExtent extent, unsigned int flags,
				 CUDA_ARRAY3D_DESCRIPTOR *ret_shape)
{
	cudaError_t error = sg_enter();

	if (!error && (!result || !channels))
		error = cudaErrorInvalidValue;
	if (error)
		return error;
	*ret_shape = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Flags = flags,
	};
	ret_shape->Format = sg_convert_format(channels, &ret_shape->NumChannels);
	return ret_shape->Format ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

static cudaError_t create_array(cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
				struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	cudaError_t error = convert_shape(array, channels, extent, flags, &shape);

	if (!error)
		error = sg_error(sg_driver.cuArray3DCreate((CUarray *)array, &shape));
	return sg_finish(error);
}

SG_API cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
				   size_t width, size_t height, unsigned int flags)
{
	return create_array(array, channels, (struct cudaExtent){width, height, 0}, flags);
}

SG_API cudaError_t cudaMalloc3DArray(cudaArray_t *array,
				     const struct cudaChannelFormatDesc *channels,
				     struct cudaExtent extent, unsigned int flags)
{
	return create_array(array, channels, extent, flags);
}

SG_API cudaError_t cudaFreeArray(cudaArray_t array)
{
	cudaError_t error = sg_enter();

	if (!error && array)
		error = sg_error(sg_driver.cuArrayDestroy((CUarray)array));
	return sg_finish(error);
}

static cudaError_t describe_array(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *ret_shape)
{
	return sg_error(sg_driver.cuArray3DGetDescriptor(ret_shape, (CUarray)(uintptr_t)array));
}

struct cudaChannelFormatDesc sg_restore_format(CUarray_format format, unsigned int count)
{
	struct cudaChannelFormatDesc channels = {.f = cudaChannelFormatKindNone};

	for (size_t i = 0; i < gt_countof(normalized_formats); i++)
		if (normalized_formats[i].format == format) {
			channels.x = normalized_formats[i].width;
			channels.f = normalized_formats[i].kind;
		}
	for (unsigned int kind = 0; kind < 3; kind++)
		for (int width = 0; width < 3; width++)
			if (format && plain_formats[kind][width] == format) {
				channels.x = 8 << width;
				channels.f = (enum cudaChannelFormatKind)kind;
			}
	channels.y = count > 1 ? channels.x : 0;
	channels.z = count > 2 ? channels.x : 0;
	channels.w = count > 3 ? channels.x : 0;
	return channels;
}

static struct cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	return sg_restore_format(shape->Format, shape->NumChannels);
}

size_t sg_element_size(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (describe_array(array, &shape))
		return 0;
	return (size_t)channels_of(&shape).x / 8 * shape.NumChannels;
}

size_t sg_row_size(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	return describe_array(array, &shape) ? 0 : shape.Width * sg_element_size(array);
}

SG_API cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *channels,
				    struct cudaExtent *extent, unsigned int *flags,
				    cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	cudaError_t error = sg_enter();

	if (!error)
		error = describe_array(array, &shape);
	if (error)
		return sg_finish(error);
	if (channels)
		*channels = channels_of(&shape);
	if (extent)
		*extent = (struct cudaExtent){shape.Width, shape.Height, shape.Depth};
	if (flags)
		*flags = shape.Flags;
	return cudaSuccess;
}

SG_API cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *channels,
				      cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	cudaError_t error = sg_enter();

	if (!error && !channels)
		error = cudaErrorInvalidValue;
	if (!error)
		error = describe_array(array, &shape);
	if (!error)
		*channels = channels_of(&shape);
	return sg_finish(error);
}

SG_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
							  enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

/* ---- mipmapped arrays ------------------------------------------------------------------ */

SG_API cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmap,
					    const struct cudaChannelFormatDesc *channels,
					    struct cudaExtent extent, unsigned int levels,
					    unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	cudaError_t error = convert_shape(mipmap, channels, extent, flags, &shape);

	if (!error)
		error = sg_error(sg_driver.cuMipmappedArrayCreate((CUmipmappedArray *)mipmap,
								  &shape, levels));
	return sg_finish(error);
}

SG_PASS(cudaGetMipmappedArrayLevel,
	(cudaArray_t * array, cudaMipmappedArray_const_t mipmap, unsigned int level),
	cuMipmappedArrayGetLevel, ((CUarray *)array, (CUmipmappedArray)(uintptr_t)mipmap, level))

SG_API cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap)
{
	cudaError_t error = sg_enter();

	if (!error && mipmap)
		error = sg_error(sg_driver.cuMipmappedArrayDestroy((CUmipmappedArray)mipmap));
	return sg_finish(error);
}

/* ---- properties ------------------------------------------------------------------------ */

/* The structures of the two APIs have the same layout. */
SG_PASS(cudaArrayGetSparseProperties,
	(struct cudaArraySparseProperties * properties, cudaArray_t array),
	cuArrayGetSparseProperties, ((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUarray)array))
SG_PASS(cudaMipmappedArrayGetSparseProperties,
	(struct cudaArraySparseProperties * properties, cudaMipmappedArray_t mipmap),
	cuMipmappedArrayGetSparseProperties,
	((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUmipmappedArray)mipmap))
SG_PASS(cudaArrayGetMemoryRequirements,
	(struct cudaArrayMemoryRequirements * requirements, cudaArray_t array, int device),
	cuArrayGetMemoryRequirements,
	((CUDA_ARRAY_MEMORY_REQUIREMENTS *)requirements, (CUarray)array, device))
SG_PASS(cudaMipmappedArrayGetMemoryRequirements,
	(struct cudaArrayMemoryRequirements * requirements, cudaMipmappedArray_t mipmap,
	 int device),
	cuMipmappedArrayGetMemoryRequirements,
	((CUDA_ARRAY_MEMORY_REQUIREMENTS *)requirements, (CUmipmappedArray)mipmap, device))
SG_PASS(cudaArrayGetPlane, (cudaArray_t * plane, cudaArray_t array, unsigned int index),
	cuArrayGetPlane, ((CUarray *)plane, (CUarray)array, index))
