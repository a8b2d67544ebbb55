/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arrays, textures, and kernels that use them, for tests of the driver API. */
#pragma once

#include <math.h>

#include "driver.h"

static const char texture_kernels[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".global .texref image;\n.global .surfref plane;\n"
	".visible .entry fetch(.param .u64 t, .param .u64 out, .param .f32 x, .param .f32 y)\n"
	"{\n	.reg .b64 %rd<4>; .reg .f32 %f<8>;\n"
	"	ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [out];\n"
	"	ld.param.f32 %f0, [x]; ld.param.f32 %f1, [y];\n"
	"	tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f0, %f1}];\n"
	"	st.global.f32 [%rd1], %f2;\n	ret;\n}\n"
	".visible .entry level(.param .u64 t, .param .u64 out, .param .f32 level)\n"
	"{\n	.reg .b64 %rd<4>; .reg .f32 %f<8>;\n"
	"	ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [out]; ld.param.f32 %f0, [level];\n"
	"	tex.level.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {0f3F000000, 0f3F000000}], "
	"%f0;\n"
	"	st.global.f32 [%rd1], %f2;\n	ret;\n}\n"
	".visible .entry layer(.param .u64 t, .param .u64 out, .param .u32 layer)\n"
	"{\n	.reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .b32 %r<4>;\n"
	"	ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [out]; ld.param.u32 %r0, [layer];\n"
	"	mov.f32 %f0, 0f3F000000;\n"
	"	tex.a2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%r0, %f0, %f0, %f0}];\n"
	"	st.global.f32 [%rd1], %f2;\n	ret;\n}\n"
	".visible .entry linear(.param .u64 t, .param .u64 out, .param .s32 i)\n"
	"{\n	.reg .b64 %rd<4>; .reg .b32 %r<8>;\n"
	"	ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [out]; ld.param.s32 %r0, [i];\n"
	"	tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [%rd0, {%r0}];\n"
	"	st.global.u32 [%rd1], %r2;\n	ret;\n}\n"
	".visible .entry store(.param .u64 s, .param .u32 x, .param .u32 value)\n"
	"{\n	.reg .b64 %rd<4>; .reg .b32 %r<8>;\n"
	"	ld.param.u64 %rd0, [s]; ld.param.u32 %r0, [x]; ld.param.u32 %r1, [value];\n"
	"	sust.b.2d.b32.trap [%rd0, {%r0, 0}], {%r1};\n	ret;\n}\n"
	".visible .entry named(.param .u64 out, .param .f32 x)\n"
	"{\n	.reg .b64 %rd<4>; .reg .f32 %f<8>;\n"
	"	ld.param.u64 %rd1, [out]; ld.param.f32 %f0, [x];\n"
	"	tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [image, {%f0, %f0}];\n"
	"	st.global.f32 [%rd1], %f2;\n"
	"	sust.b.2d.b32.zero [plane, {0, 0}], {%f2};\n	ret;\n}\n";

static inline struct driver begin_textures(void)
{
	struct driver driver = begin();

	CHECK_OK(cuModuleUnload(driver.module));
	CHECK_OK(cuModuleLoadData(&driver.module, texture_kernels));
	return driver;
}

static inline CUDA_ARRAY3D_DESCRIPTOR shape_of(size_t width, size_t height, size_t depth,
					       unsigned int flags)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){.Width = width,
					 .Height = height,
					 .Depth = depth,
					 .Format = CU_AD_FORMAT_FLOAT,
					 .NumChannels = 1,
					 .Flags = flags};
}

/* An array of floats; the one at (x, y, z) is x + 10 y + 100 z. */
static inline CUarray new_array(size_t width, size_t height, size_t depth, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(width, height, depth, flags);
	static float values[32 * 32 * 32];
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = values,
			      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			      .WidthInBytes = width * 4,
			      .Height = height ? height : 1,
			      .Depth = depth ? depth : 1};
	CUarray array = NULL;

	for (size_t i = 0; i < width * copy.Height * copy.Depth; i++) {
		size_t row = i / width;
		size_t y = row % copy.Height, z = row / copy.Height;

		values[i] = (float)(i % width + 10 * y + 100 * z);
	}
	CHECK_OK(cuArray3DCreate(&array, &shape));
	copy.dstArray = array;
	CHECK_OK(cuMemcpy3D(&copy));
	return array;
}

static inline CUDA_RESOURCE_DESC array_resource(CUarray array)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};

	resource.res.array.hArray = array;
	return resource;
}

static inline CUtexObject new_texture(const CUDA_RESOURCE_DESC *resource, unsigned int flags)
{
	CUDA_TEXTURE_DESC sampler = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP,
						     CU_TR_ADDRESS_MODE_CLAMP,
						     CU_TR_ADDRESS_MODE_CLAMP},
				     .flags = flags,
				     .maxMipmapLevelClamp = 100};
	CUtexObject texture = 0;

	CHECK_OK(cuTexObjectCreate(&texture, resource, &sampler, NULL));
	return texture;
}

/* Launch a kernel with one thread, wait, and return its result. */
static inline CUresult run_one(const struct driver *driver, const char *name, void **arguments,
			       float *ret_result)
{
	CUresult result = launch(find(driver, name), 1, 1, NULL, arguments);

	if (!result)
		result = cuCtxSynchronize();
	if (!result)
		CHECK_OK(cuMemcpyDtoH(ret_result, driver->memory, sizeof(*ret_result)));
	return result;
}

static inline CUresult fetch(const struct driver *driver, CUtexObject texture, float x, float y,
			     float *ret_result)
{
	CUdeviceptr out = driver->memory;
	void *arguments[] = {&texture, &out, &x, &y};

	return run_one(driver, "fetch", arguments, ret_result);
}

static inline void expect_fetch(const struct driver *driver, CUtexObject texture, float x, float y,
				float expected)
{
	float result = -1;

	CHECK_OK(fetch(driver, texture, x, y, &result));
	if (fabsf(result - expected) > 1e-6f)
		TAP_FAIL("at (%g, %g): %g, not %g", (double)x, (double)y, (double)result,
			 (double)expected);
}
