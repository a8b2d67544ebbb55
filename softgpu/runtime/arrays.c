/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CUDA arrays. */
#include "runtime/runtime.h"

/* Convert a channel format to the driver's; 0: one that this device does not support. */
static CUarray_format format_of(const struct cudaChannelFormatDesc *channels)
{
	static const CUarray_format formats[3][3] = {
		[cudaChannelFormatKindSigned] = {CU_AD_FORMAT_SIGNED_INT8,
						 CU_AD_FORMAT_SIGNED_INT16,
						 CU_AD_FORMAT_SIGNED_INT32},
		[cudaChannelFormatKindUnsigned] = {CU_AD_FORMAT_UNSIGNED_INT8,
						   CU_AD_FORMAT_UNSIGNED_INT16,
						   CU_AD_FORMAT_UNSIGNED_INT32},
		[cudaChannelFormatKindFloat] = {0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT},
	};
	int width = channels->x == 8 ? 0 : channels->x == 16 ? 1 : channels->x == 32 ? 2 : -1;

	if (width < 0 || (unsigned int)channels->f > cudaChannelFormatKindFloat)
		return 0;
	return formats[channels->f][width];
}

static unsigned int channel_count(const struct cudaChannelFormatDesc *channels)
{
	return 1u + (channels->y != 0) + (channels->z != 0) + (channels->w != 0);
}

static cudaError_t create_array(cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
				struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Flags = flags,
	};
	cudaError_t error = sg_enter();

	if (!error && (!array || !channels))
		error = cudaErrorInvalidValue;
	if (error)
		return sg_finish(error);
	shape.Format = format_of(channels);
	shape.NumChannels = channel_count(channels);
	if (!shape.Format)
		return sg_finish(cudaErrorInvalidChannelDescriptor);
	return sg_finish(sg_error(sg_driver.cuArray3DCreate((CUarray *)array, &shape)));
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

static struct cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	struct cudaChannelFormatDesc channels = {0};

	switch (shape->Format) {
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_UNSIGNED_INT8:
		channels.x = 8;
		break;
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		channels.x = 16;
		break;
	default:
		channels.x = 32;
		break;
	}
	channels.y = shape->NumChannels > 1 ? channels.x : 0;
	channels.z = shape->NumChannels > 2 ? channels.x : 0;
	channels.w = shape->NumChannels > 3 ? channels.x : 0;
	channels.f = cudaChannelFormatKindUnsigned;
	if (shape->Format == CU_AD_FORMAT_HALF || shape->Format == CU_AD_FORMAT_FLOAT)
		channels.f = cudaChannelFormatKindFloat;
	else if (shape->Format >= CU_AD_FORMAT_SIGNED_INT8)
		channels.f = cudaChannelFormatKindSigned;
	return channels;
}

size_t sg_element_size(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (describe_array(array, &shape))
		return 0;
	return (size_t)channels_of(&shape).x / 8 * shape.NumChannels;
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
