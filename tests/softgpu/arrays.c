/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arrays and mipmapped arrays in the driver API: shapes, limits, copies. */
#include "textures.h"

static const struct {
	size_t width, height, depth;
	unsigned int flags;
	CUresult result;
} shapes[] = {
	{16, 0, 0, 0, CUDA_SUCCESS},
	{131072, 0, 0, 0, CUDA_SUCCESS},
	{131073, 0, 0, 0, CUDA_ERROR_INVALID_VALUE},
	{0, 4, 0, 0, CUDA_ERROR_INVALID_VALUE},
	{4, 65537, 0, 0, CUDA_ERROR_INVALID_VALUE},
	{4, 4, 4, 0, CUDA_SUCCESS},
	{4, 0, 4, 0, CUDA_ERROR_INVALID_VALUE},
	{4, 4, 16385, 0, CUDA_ERROR_INVALID_VALUE},
	{4, 0, 4, CUDA_ARRAY3D_LAYERED, CUDA_SUCCESS},
	{4, 4, 0, CUDA_ARRAY3D_LAYERED, CUDA_ERROR_INVALID_VALUE},
	{4, 4, 2049, CUDA_ARRAY3D_LAYERED, CUDA_ERROR_INVALID_VALUE},
	{4, 4, 6, CUDA_ARRAY3D_CUBEMAP, CUDA_SUCCESS},
	{4, 4, 12, CUDA_ARRAY3D_CUBEMAP, CUDA_ERROR_INVALID_VALUE},
	{4, 5, 6, CUDA_ARRAY3D_CUBEMAP, CUDA_ERROR_INVALID_VALUE},
	{4, 4, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, CUDA_SUCCESS},
	{4, 4, 13, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, CUDA_ERROR_INVALID_VALUE},
	{4, 0, 0, CUDA_ARRAY3D_TEXTURE_GATHER, CUDA_ERROR_INVALID_VALUE},
	{4, 4, 0, CUDA_ARRAY3D_TEXTURE_GATHER, CUDA_SUCCESS},
	{4, 4, 0, CUDA_ARRAY3D_SPARSE, CUDA_ERROR_NOT_SUPPORTED},
	{4, 4, 0, CUDA_ARRAY3D_DEFERRED_MAPPING, CUDA_ERROR_NOT_SUPPORTED},
	{4, 4, 0, 0x8000, CUDA_ERROR_INVALID_VALUE},
};

TEST("arrays have the shapes and limits of CUDA")
{
	struct driver driver = begin_textures();

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(shapes[i].width, shapes[i].height,
							 shapes[i].depth, shapes[i].flags);
		CUDA_ARRAY3D_DESCRIPTOR read;
		CUarray array = NULL;
		CUresult result = cuArray3DCreate(&array, &shape);

		if (result != shapes[i].result)
			TAP_FAIL("shape %zu: %s, not %s", i, error_name(result),
				 error_name(shapes[i].result));
		if (result)
			continue;
		CHECK_OK(cuArray3DGetDescriptor(&read, array));
		CHECK(read.Width == shape.Width && read.Height == shape.Height &&
		      read.Depth == shape.Depth && read.Flags == shape.Flags &&
		      read.Format == shape.Format && read.NumChannels == shape.NumChannels);
		CHECK_OK(cuArrayDestroy(array));
		CHECK_CUDA(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	}
	end(&driver);
}

TEST("formats have 1, 2 or 4 channels, normalized ones as many as their name says")
{
	struct driver driver = begin_textures();
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(4, 4, 0, 0);
	CUarray array = NULL;

	shape.NumChannels = 3;
	CHECK_CUDA(cuArray3DCreate(&array, &shape), CUDA_ERROR_INVALID_VALUE);
	shape.NumChannels = 4;
	shape.Format = CU_AD_FORMAT_UNORM_INT8X4;
	CHECK_OK(cuArray3DCreate(&array, &shape));
	shape.Format = CU_AD_FORMAT_UNORM_INT8X2;
	CHECK_CUDA(cuArray3DCreate(&array, &shape), CUDA_ERROR_INVALID_VALUE);
	shape.Format = CU_AD_FORMAT_BC1_UNORM;
	CHECK_CUDA(cuArray3DCreate(&array, &shape), CUDA_ERROR_NOT_SUPPORTED);
	shape.Format = (CUarray_format)7;
	CHECK_CUDA(cuArray3DCreate(&array, &shape), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("copies stay inside of an array, whatever is next to it")
{
	struct driver driver = begin_textures();
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(8, 8, 0, 0);
	static float values[64];
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = values,
			      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			      .WidthInBytes = 32,
			      .Height = 8,
			      .Depth = 1};
	CUmipmappedArray mipmap = NULL;

	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &shape, 2));
	CHECK_OK(cuMipmappedArrayGetLevel(&copy.dstArray, mipmap, 0));
	CHECK_OK(cuMemcpy3D(&copy));
	copy.dstXInBytes = 4;
	CHECK_CUDA(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.WidthInBytes = 28;
	CHECK_OK(cuMemcpy3D(&copy));
	copy.dstY = 1;
	CHECK_CUDA(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.dstY = 0;
	copy.dstZ = 1;
	CHECK_CUDA(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.dstXInBytes = SIZE_MAX;
	CHECK_CUDA(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemcpyHtoA(copy.dstArray, 0, values, 256));
	CHECK_CUDA(cuMemcpyHtoA(copy.dstArray, 4, values, 256), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMemcpyHtoA(copy.dstArray, SIZE_MAX, values, 2), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMipmappedArrayDestroy(mipmap));
	CHECK_CUDA(cuMemcpyHtoA(copy.dstArray, 0, values, 256), CUDA_ERROR_INVALID_HANDLE);
	end(&driver);
}

TEST("arrays are copied to and from arrays, device and host memory")
{
	struct driver driver = begin_textures();
	CUarray first = new_array(4, 4, 2, 0), second = new_array(4, 4, 2, 0);
	CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .srcArray = first,
			      .srcXInBytes = 4,
			      .srcY = 1,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = driver.memory,
			      .dstPitch = 32,
			      .WidthInBytes = 8,
			      .Height = 2};
	CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
				   .srcArray = first,
				   .srcZ = 1,
				   .srcContext = driver.context,
				   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				   .dstArray = second,
				   .dstContext = driver.context,
				   .WidthInBytes = 16,
				   .Height = 4,
				   .Depth = 1};
	CUDA_MEMCPY3D_BATCH_OP batch = {
		.src = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
			.op.array = {.array = first, .offset = {1, 2, 1}}},
		.dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = {.array = second}},
		.extent = {2, 1, 1}};
	CUstream stream = NULL;
	float out[32];

	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(cuMemcpy2D(&flat));
	CHECK_OK(cuMemcpyDtoH(out, driver.memory, 64));
	CHECK(out[0] == 11 && out[1] == 12 && out[8] == 21 && out[9] == 22);
	flat.dstDevice += 128;
	CHECK_OK(cuMemcpy2DAsync(&flat, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyDtoH(out, driver.memory + 128, 64));
	CHECK(out[0] == 11 && out[9] == 22);
	CHECK_OK(cuMemcpy3DPeer(&peer));
	CHECK_OK(cuMemcpyAtoH(out, second, 0, 64));
	CHECK(out[0] == 100 && out[15] == 133);
	CHECK_OK(cuMemcpy3DBatchAsync(1, &batch, 0, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyAtoH(out, second, 0, 16));
	CHECK(out[0] == 121 && out[1] == 122 && out[2] == 102);
	CHECK_OK(cuMemcpyAtoA(second, 16, first, 0, 32));
	CHECK_OK(cuMemcpyAtoD(driver.memory, second, 12, 16));
	CHECK_OK(cuMemcpyDtoH(out, driver.memory, 16));
	CHECK(out[0] == 103 && out[1] == 0 && out[3] == 2);
	CHECK_OK(cuMemsetD32(driver.memory, 0x40a00000, 4));
	CHECK_OK(cuMemcpyDtoA(second, 0, driver.memory, 16));
	CHECK_OK(cuMemcpyAtoHAsync(out, second, 0, 16, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK(out[0] == 5 && out[3] == 5);
	out[0] = 6;
	CHECK_OK(cuMemcpyHtoAAsync(second, 4, out, 4, stream));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyAtoH(out, second, 0, 16));
	CHECK(out[0] == 5 && out[1] == 6);
	end(&driver);
}

TEST("a mipmapped array has levels of half the size, down to one element")
{
	struct driver driver = begin_textures();
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(20, 3, 5, CUDA_ARRAY3D_LAYERED), level;
	CUDA_ARRAY_SPARSE_PROPERTIES sparse;
	CUDA_ARRAY_MEMORY_REQUIREMENTS memory;
	CUmipmappedArray mipmap = NULL;
	CUarray array = NULL;
	size_t widths[] = {20, 10, 5, 2, 1}, heights[] = {3, 1, 1, 1, 1};

	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &shape, 99));
	for (unsigned int i = 0; i < 5; i++) {
		CHECK_OK(cuMipmappedArrayGetLevel(&array, mipmap, i));
		CHECK_OK(cuArray3DGetDescriptor(&level, array));
		CHECK_INT(level.Width, widths[i]);
		CHECK_INT(level.Height, heights[i]);
		CHECK_INT(level.Depth, 5);
	}
	CHECK_CUDA(cuMipmappedArrayGetLevel(&array, mipmap, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuMipmappedArrayGetSparseProperties(&sparse, mipmap), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuMipmappedArrayGetMemoryRequirements(&memory, mipmap, 0),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuArrayGetSparseProperties(&sparse, array), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuArrayGetMemoryRequirements(&memory, array, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuArrayGetPlane(&array, array, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMipmappedArrayDestroy(mipmap));
	CHECK_CUDA(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuMipmappedArrayGetLevel(&array, mipmap, 0), CUDA_ERROR_INVALID_HANDLE);
	end(&driver);
}

TEST_MAIN
