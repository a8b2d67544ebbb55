/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Textures, surfaces and references in the driver API: descriptors, errors, lifetimes. */
#include "textures.h"

/* ---- textures -------------------------------------------------------------------------- */

/* Descriptions are kept as they were given, with their padding. */
static bool has_same_bytes(const void *left, const void *right, size_t size)
{
	return !memcmp(left, right, size);
}

TEST("a texture object returns what it was made of")
{
	struct driver driver = begin_textures();
	CUarray array = new_array(8, 8, 0, 0);
	CUDA_RESOURCE_DESC resource = array_resource(array), read_resource;
	CUDA_TEXTURE_DESC sampler = {.flags = CU_TRSF_NORMALIZED_COORDINATES,
				     .borderColor = {1, 2, 3, 4}};
	CUDA_TEXTURE_DESC read_sampler;
	CUDA_RESOURCE_VIEW_DESC view = {
		.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 8, .height = 8};
	CUDA_RESOURCE_VIEW_DESC read_view;
	CUtexObject texture = 0, plain = 0;

	CHECK_OK(cuTexObjectCreate(&plain, &resource, &sampler, NULL));
	CHECK_OK(cuTexObjectCreate(&texture, &resource, &sampler, &view));
	CHECK(texture && plain && texture != plain);
	CHECK_OK(cuTexObjectGetResourceDesc(&read_resource, texture));
	CHECK(read_resource.res.array.hArray == array);
	CHECK_OK(cuTexObjectGetTextureDesc(&read_sampler, texture));
	CHECK(has_same_bytes(&read_sampler, &sampler, sizeof(sampler)));
	CHECK_OK(cuTexObjectGetResourceViewDesc(&read_view, texture));
	CHECK(has_same_bytes(&read_view, &view, sizeof(view)));
	CHECK_CUDA(cuTexObjectGetResourceViewDesc(&read_view, plain), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuSurfObjectGetResourceDesc(&read_resource, texture), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuSurfObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexObjectDestroy(texture));
	CHECK_CUDA(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuTexObjectGetTextureDesc(&read_sampler, texture), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuTexObjectDestroy(0), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

/* Change one member of valid descriptors; the result of cuTexObjectCreate. */
#define TRY_TEXTURE(change)                                                                        \
	({                                                                                         \
		CUDA_RESOURCE_DESC resource = array_resource(array);                               \
		CUDA_RESOURCE_VIEW_DESC view = {.width = 8, .height = 8};                          \
		CUDA_TEXTURE_DESC sampler = {0};                                                   \
		bool has_view = false;                                                             \
		CUtexObject made = 0;                                                              \
                                                                                                   \
		change;                                                                            \
		cuTexObjectCreate(&made, &resource, &sampler, has_view ? &view : NULL);            \
	})
#define TRY_LINEAR(address, bytes, components)                                                     \
	TRY_TEXTURE(resource.resType = CU_RESOURCE_TYPE_LINEAR;                                    \
		    resource.res.linear.devPtr = (address);                                        \
		    resource.res.linear.format = CU_AD_FORMAT_FLOAT;                               \
		    resource.res.linear.numChannels = (components);                                \
		    resource.res.linear.sizeInBytes = (bytes))
#define TRY_ROWS(address, columns, rows, bytes)                                                    \
	TRY_TEXTURE(resource.resType = CU_RESOURCE_TYPE_PITCH2D;                                   \
		    resource.res.pitch2D.devPtr = (address);                                       \
		    resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;                              \
		    resource.res.pitch2D.numChannels = 1; resource.res.pitch2D.width = (columns);  \
		    resource.res.pitch2D.height = (rows);                                          \
		    resource.res.pitch2D.pitchInBytes = (bytes))

TEST("descriptors that CUDA rejects are invalid values")
{
	struct driver driver = begin_textures();
	CUdeviceptr memory = driver.memory;
	CUarray array = new_array(8, 8, 0, 0), bytes = NULL, cube;
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(8, 8, 0, 0);
	CUmipmappedArray mipmap = NULL;

	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &shape, 3));
	shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
	CHECK_OK(cuArray3DCreate(&bytes, &shape));
	cube = new_array(8, 8, 6, CUDA_ARRAY3D_CUBEMAP);
	CHECK_OK(TRY_TEXTURE((void)0));
	CHECK_CUDA(TRY_TEXTURE(resource.flags = 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(resource.resType = (CUresourcetype)9), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(resource.res.array.hArray = NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(TRY_TEXTURE(resource.res.array.hArray = (CUarray)&shape),
		   CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(TRY_TEXTURE(sampler.flags = 0x1000), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(sampler.filterMode = (CUfilter_mode)2), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(sampler.addressMode[1] = (CUaddress_mode)4),
		   CUDA_ERROR_INVALID_VALUE);
	/* A linear filter needs floats. */
	CHECK_OK(TRY_TEXTURE(resource.res.array.hArray = bytes;
			     sampler.filterMode = CU_TR_FILTER_MODE_LINEAR));
	CHECK_CUDA(TRY_TEXTURE(resource.res.array.hArray = bytes;
			       sampler.filterMode = CU_TR_FILTER_MODE_LINEAR;
			       sampler.flags = CU_TRSF_READ_AS_INTEGER),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(sampler.flags = CU_TRSF_SEAMLESS_CUBEMAP), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(TRY_TEXTURE(sampler.flags = CU_TRSF_SEAMLESS_CUBEMAP;
			     resource.res.array.hArray = cube));
	/* Mipmaps need normalized coordinates. */
	CHECK_CUDA(TRY_TEXTURE(resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
			       resource.res.mipmap.hMipmappedArray = mipmap),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(TRY_TEXTURE(resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
			     resource.res.mipmap.hMipmappedArray = mipmap;
			     sampler.flags = CU_TRSF_NORMALIZED_COORDINATES));
	CHECK_CUDA(TRY_TEXTURE(resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY),
		   CUDA_ERROR_INVALID_HANDLE);
	/* Views. */
	CHECK_OK(TRY_TEXTURE(has_view = true));
	CHECK_CUDA(TRY_TEXTURE(has_view = true; view.width = 9), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(has_view = true; view.lastMipmapLevel = 1),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(has_view = true; view.lastLayer = 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_TEXTURE(has_view = true; view.format = CU_RES_VIEW_FORMAT_UINT_1X8),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(TRY_TEXTURE(has_view = true; view.format = CU_RES_VIEW_FORMAT_UINT_4X8));
	CHECK_CUDA(TRY_TEXTURE(has_view = true; view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1),
		   CUDA_ERROR_NOT_SUPPORTED);
	/* Linear memory. */
	CHECK_INT(memory % 512, 0);
	CHECK_OK(TRY_LINEAR(memory, 4096, 4));
	CHECK_CUDA(TRY_LINEAR(memory, 4096, 3), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_LINEAR(memory + 256, 64, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_LINEAR(memory, 3, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_LINEAR(memory, 8192, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_LINEAR(memory, SIZE_MAX, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_LINEAR(512, 64, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(TRY_ROWS(memory, 16, 64, 64));
	CHECK_CUDA(TRY_ROWS(memory, 17, 64, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_ROWS(memory, 4, 4, 20), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_ROWS(memory, 16, 65, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_ROWS(memory, 16, 0, 64), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(TRY_ROWS(memory, SIZE_MAX / 4, 64, 64), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a view selects levels and layers, and reads elements in another format")
{
	struct driver driver = begin_textures();
	CUarray layers = new_array(8, 8, 5, CUDA_ARRAY3D_LAYERED), flat = new_array(8, 8, 0, 0);
	CUDA_RESOURCE_DESC resource = array_resource(layers);
	CUDA_RESOURCE_VIEW_DESC view = {.width = 8, .height = 8, .firstLayer = 2, .lastLayer = 3};
	CUDA_TEXTURE_DESC sampler = {.flags = CU_TRSF_READ_AS_INTEGER};
	CUdeviceptr out = driver.memory;
	CUtexObject texture = 0;
	union {
		float value;
		unsigned int bits;
	} result;

	CHECK_OK(cuTexObjectCreate(&texture, &resource, &sampler, &view));
	for (unsigned int layer = 0; layer < 4; layer++) {
		void *arguments[] = {&texture, &out, &layer};

		CHECK_OK(run_one(&driver, "layer", arguments, &result.value));
		CHECK_INT(result.value, layer ? 300 : 200);
	}
	resource = array_resource(flat);
	view = (CUDA_RESOURCE_VIEW_DESC){
		.format = CU_RES_VIEW_FORMAT_UINT_2X16, .width = 8, .height = 8};
	CHECK_OK(cuTexObjectCreate(&texture, &resource, &sampler, &view));
	CHECK_OK(fetch(&driver, texture, 3.5f, 0.5f, &result.value));
	CHECK_INT(result.bits, 0); /* the lower half of 3.0f */
	end(&driver);
}

TEST("levels of a mipmapped array are levels of its texture")
{
	struct driver driver = begin_textures();
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(16, 16, 0, 0);
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
	CUDA_RESOURCE_VIEW_DESC view = {
		.width = 16, .height = 16, .firstMipmapLevel = 1, .lastMipmapLevel = 2};
	CUDA_TEXTURE_DESC sampler = {.flags = CU_TRSF_NORMALIZED_COORDINATES,
				     .filterMode = CU_TR_FILTER_MODE_LINEAR,
				     .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR,
				     .maxMipmapLevelClamp = 10};
	CUdeviceptr out = driver.memory;
	CUtexObject all = 0, some = 0;
	float values[256], result = 0, level;
	void *arguments[] = {&all, &out, &level};
	CUarray array;

	CHECK_OK(cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &shape, 4));
	for (unsigned int i = 0; i < 4; i++) {
		for (int k = 0; k < 256; k++)
			values[k] = 16 * (float)i;
		CHECK_OK(cuMipmappedArrayGetLevel(&array, resource.res.mipmap.hMipmappedArray, i));
		CHECK_OK(cuMemcpyHtoA(array, 0, values, 1024u >> (2 * i)));
	}
	CHECK_OK(cuTexObjectCreate(&all, &resource, &sampler, NULL));
	CHECK_OK(cuTexObjectCreate(&some, &resource, &sampler, &view));
	for (int i = 0; i < 9; i++) {
		level = 0.5f * (float)i;
		arguments[0] = &all;
		CHECK_OK(run_one(&driver, "level", arguments, &result));
		CHECK_INT(result, i < 6 ? 8 * i : 48);
		arguments[0] = &some;
		CHECK_OK(run_one(&driver, "level", arguments, &result));
		CHECK_INT(result, i < 2 ? 16 + 8 * i : 32);
	}
	end(&driver);
}

TEST("a texture sees what copies, memsets, kernels and graphs write")
{
	struct driver driver = begin_textures();
	CUarray array = new_array(8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST), other;
	CUDA_RESOURCE_DESC resource = array_resource(array);
	CUtexObject texture = new_texture(&resource, 0), linear;
	CUsurfObject surface = 0;
	unsigned int x = 8, bits = 0x42280000; /* 42.0f */
	void *arguments[] = {&surface, &x, &bits};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			      .dstArray = array,
			      .WidthInBytes = 32,
			      .Height = 8,
			      .Depth = 1};
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;
	CUgraphNode node;
	CUdeviceptr memory = 0;
	int index = 3;
	void *linear_arguments[] = {&linear, &driver.memory, &index};
	union {
		float value;
		int word;
	} result;

	expect_fetch(&driver, texture, 2.5f, 1.5f, 12);
	CHECK_OK(cuSurfObjectCreate(&surface, &resource));
	CHECK_OK(launch(find(&driver, "store"), 1, 1, NULL, arguments));
	expect_fetch(&driver, texture, 2.5f, 0.5f, 42);
	other = new_array(8, 8, 0, 0);
	copy.srcArray = other;
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, driver.context));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	expect_fetch(&driver, texture, 2.5f, 0.5f, 42);
	CHECK_OK(cuGraphLaunch(exec, NULL));
	expect_fetch(&driver, texture, 2.5f, 0.5f, 2);
	CHECK_OK(cuMemAlloc(&memory, 1024));
	resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR};
	resource.res.linear.devPtr = memory;
	resource.res.linear.format = CU_AD_FORMAT_SIGNED_INT32;
	resource.res.linear.numChannels = 1;
	resource.res.linear.sizeInBytes = 1024;
	linear = new_texture(&resource, 0);
	CHECK_OK(cuMemsetD32(memory, 77, 256));
	CHECK_OK(run_one(&driver, "linear", linear_arguments, &result.value));
	CHECK_INT(result.word, 77);
	CHECK_OK(cuMemsetD32(memory, 78, 256));
	CHECK_OK(run_one(&driver, "linear", linear_arguments, &result.value));
	CHECK_INT(result.word, 78);
	end(&driver);
}

/* ---- lifetimes ------------------------------------------------------------------------- */

/* An access that must end the context with an illegal address. */
static void expect_failure(struct driver *driver, CUtexObject texture)
{
	float result;

	CHECK_CUDA(fetch(driver, texture, 0, 0, &result), CUDA_ERROR_ILLEGAL_ADDRESS);
	end(driver);
}

TEST("a texture that was destroyed, whose array was freed, or that never existed is a fault")
{
	struct driver driver = begin_textures();
	CUarray array = new_array(8, 8, 0, 0);
	CUDA_RESOURCE_DESC resource = array_resource(array);
	CUtexObject texture = new_texture(&resource, 0);

	CHECK_OK(cuTexObjectDestroy(texture));
	expect_failure(&driver, texture);
	driver = begin_textures();
	resource = array_resource(new_array(8, 8, 0, 0));
	texture = new_texture(&resource, 0);
	CHECK_OK(cuArrayDestroy(resource.res.array.hArray));
	expect_failure(&driver, texture);
	driver = begin_textures();
	expect_failure(&driver, 0x123456789);
	driver = begin_textures();
	resource = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D};
	CHECK_OK(cuMemAlloc(&resource.res.pitch2D.devPtr, 4096));
	resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
	resource.res.pitch2D.numChannels = 1;
	resource.res.pitch2D.width = resource.res.pitch2D.height = 8;
	resource.res.pitch2D.pitchInBytes = 32;
	texture = new_texture(&resource, 0);
	CHECK_OK(cuMemFree(resource.res.pitch2D.devPtr));
	expect_failure(&driver, texture);
}

TEST("an object and its array may be destroyed after a launch that uses them")
{
	struct driver driver = begin_textures();
	CUDA_RESOURCE_DESC resource = array_resource(new_array(8, 8, 0, 0));
	CUtexObject texture = new_texture(&resource, 0);
	CUdeviceptr out = driver.memory;
	float x = 3.5f, y = 2.5f, result = 0;
	void *arguments[] = {&texture, &out, &x, &y};

	for (int i = 0; i < 100; i++)
		CHECK_OK(launch(find(&driver, "fetch"), 1, 1, NULL, arguments));
	CHECK_OK(cuTexObjectDestroy(texture));
	CHECK_OK(cuArrayDestroy(resource.res.array.hArray));
	CHECK_OK(cuMemcpyDtoH(&result, out, sizeof(result)));
	CHECK_INT(result, 23);
	end(&driver);
}

TEST("destroying an object does not wait for work that may use it")
{
	struct driver driver = begin_textures();
	CUDA_RESOURCE_DESC resource = array_resource(new_array(8, 8, 0, 0));
	CUtexObject texture = new_texture(&resource, 0);
	CUdeviceptr out = driver.memory;
	CUstream stream = NULL;
	float x = 3.5f, y = 2.5f, result = 0;
	void *arguments[] = {&texture, &out, &x, &y};
	CUdeviceptr gate = driver.memory + 64;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	/* The kernel cannot start before this thread opens the gate. */
	CHECK_OK(cuStreamWaitValue32(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
	CHECK_OK(launch(find(&driver, "fetch"), 1, 1, stream, arguments));
	CHECK_OK(cuTexObjectDestroy(texture));
	CHECK_CUDA(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuMemsetD32(gate, 1, 1));
	CHECK_OK(cuStreamSynchronize(stream));
	CHECK_OK(cuMemcpyDtoH(&result, out, sizeof(result)));
	CHECK_INT(result, 23);
	/* The next call frees it. */
	new_texture(&resource, 0);
	expect_failure(&driver, texture);
}

TEST("the end of a context ends its arrays and objects")
{
	struct driver driver = begin_textures();
	CUDA_ARRAY3D_DESCRIPTOR shape = shape_of(8, 8, 0, 0);
	CUDA_RESOURCE_DESC resource = array_resource(new_array(8, 8, 0, 0));
	CUtexObject texture = new_texture(&resource, 0);
	CUmipmappedArray mipmap = NULL;
	CUarray level;

	CHECK_OK(cuMipmappedArrayCreate(&mipmap, &shape, 3));
	end(&driver);
	driver = begin_textures();
	CHECK_CUDA(cuArrayDestroy(resource.res.array.hArray), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuMipmappedArrayGetLevel(&level, mipmap, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
	expect_failure(&driver, texture);
}

TEST("a surface needs an array for surfaces, and traps outside of it")
{
	struct driver driver = begin_textures();
	CUDA_RESOURCE_DESC resource = array_resource(new_array(8, 8, 0, 0)), read;
	CUsurfObject surface = 0;
	unsigned int x = 32, value = 1;
	void *arguments[] = {&surface, &x, &value};

	CHECK_CUDA(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
	resource = array_resource(new_array(8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST));
	CHECK_OK(cuSurfObjectCreate(&surface, &resource));
	CHECK_OK(cuSurfObjectGetResourceDesc(&read, surface));
	CHECK(read.res.array.hArray == resource.res.array.hArray);
	CHECK_OK(launch(find(&driver, "store"), 1, 1, NULL, arguments));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
	end(&driver);
}

/* ---- references ------------------------------------------------------------------------ */

static void expect_named(struct driver *driver, float x, float expected)
{
	CUdeviceptr out = driver->memory;
	void *arguments[] = {&out, &x};
	float result = -1;

	CHECK_OK(run_one(driver, "named", arguments, &result));
	if (fabsf(result - expected) > 1e-6f)
		TAP_FAIL("at %g: %g, not %g", (double)x, (double)result, (double)expected);
}

TEST("references of modules take arrays and samplers, in the order of launches")
{
	struct driver driver = begin_textures();
	CUarray first = new_array(8, 8, 0, 0), second = new_array(4, 4, 0, 0), read = NULL;
	CUarray target = new_array(8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CUtexref image = NULL, same = NULL, other = NULL;
	CUsurfref plane = NULL;
	CUdeviceptr out = driver.memory;
	CUaddress_mode mode;
	CUarray_format format;
	float x = 2.5f, result = 0;
	void *arguments[] = {&out, &x};
	int channels;

	CHECK_CUDA(cuModuleGetTexRef(&image, driver.module, "plane"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuModuleGetTexRef(&image, driver.module, "image"));
	CHECK_OK(cuModuleGetTexRef(&same, driver.module, "image"));
	CHECK(image == same);
	CHECK_OK(cuModuleGetSurfRef(&plane, driver.module, "plane"));
	CHECK_CUDA(cuTexRefSetArray((CUtexref)plane, first, CU_TRSA_OVERRIDE_FORMAT),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuTexRefGetArray(&read, image), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuTexRefSetArray(image, NULL, CU_TRSA_OVERRIDE_FORMAT),
		   CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(cuTexRefSetArray(image, first, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_CUDA(cuSurfRefSetArray(plane, first, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuSurfRefSetArray(plane, target, 0));
	expect_named(&driver, 2.5f, 22);
	CHECK_OK(cuMemcpyAtoH(&result, target, 0, 4));
	CHECK_INT(result, 22);
	CHECK_OK(cuTexRefSetFilterMode(image, CU_TR_FILTER_MODE_LINEAR));
	CHECK_OK(cuTexRefSetAddressMode(image, 1, CU_TR_ADDRESS_MODE_BORDER));
	expect_named(&driver, 3, 2.5f + 25);
	CHECK_OK(cuTexRefGetAddressMode(&mode, image, 1));
	CHECK_INT(mode, CU_TR_ADDRESS_MODE_BORDER);
	CHECK_OK(cuTexRefGetFormat(&format, &channels, image));
	CHECK(format == CU_AD_FORMAT_FLOAT && channels == 1);
	CHECK_OK(cuTexRefGetArray(&read, image));
	CHECK(read == first);
	CHECK_OK(cuSurfRefGetArray(&read, plane));
	CHECK(read == target);
	/* The launch uses the first array, though the second is assigned before it ends. */
	for (int i = 0; i < 50; i++)
		CHECK_OK(launch(find(&driver, "named"), 1, 1, NULL, arguments));
	CHECK_OK(cuTexRefSetArray(image, second, CU_TRSA_OVERRIDE_FORMAT));
	CHECK_OK(cuMemcpyDtoH(&result, out, 4));
	CHECK_INT(result, 22);
	expect_named(&driver, 7, 0);
	CHECK_OK(cuTexRefCreate(&other));
	CHECK_OK(cuTexRefSetFlags(other, CU_TRSF_NORMALIZED_COORDINATES));
	CHECK_OK(cuTexRefDestroy(other));
	CHECK_CUDA(cuTexRefDestroy(other), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuTexRefDestroy(image), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a reference to linear memory rounds its address down and returns the offset")
{
	struct driver driver = begin_textures();
	CUtexref image = NULL;
	CUsurfref plane = NULL;
	CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUdeviceptr address = 0;
	size_t offset = 1;
	float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};

	CHECK_OK(cuMemcpyHtoD(driver.memory + 1024, values, sizeof(values)));
	CHECK_OK(cuModuleGetTexRef(&image, driver.module, "image"));
	CHECK_OK(cuTexRefSetFormat(image, CU_AD_FORMAT_FLOAT, 1));
	CHECK_CUDA(cuTexRefSetFormat(image, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuTexRefSetAddress(NULL, image, driver.memory + 16, 64),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuTexRefSetAddress(&offset, image, driver.memory + 16, 64));
	CHECK_INT(offset, 16);
	CHECK_OK(cuTexRefGetAddress(&address, image));
	CHECK(address == driver.memory);
	CHECK_OK(cuTexRefSetAddress2D(image, &shape, driver.memory + 1024, 32));
	CHECK_OK(cuModuleGetSurfRef(&plane, driver.module, "plane"));
	CHECK_OK(cuSurfRefSetArray(plane, new_array(8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST), 0));
	values[0] = 17;
	CHECK_OK(cuMemcpyHtoD(driver.memory + 1024, values, sizeof(values)));
	expect_named(&driver, 0.5f, 17);
	end(&driver);
}

/* ---- hostile programs ------------------------------------------------------------------ */

TEST("random descriptors and handles are errors, or textures that can be read")
{
	struct driver driver = begin_textures();
	CUarray array = new_array(8, 8, 6, CUDA_ARRAY3D_CUBEMAP);
	uint64_t state = 88172645463325252u;
	unsigned int made = 0;

	for (int round = 0; round < 20000; round++) {
		union {
			CUDA_RESOURCE_DESC resource;
			unsigned char bytes[sizeof(CUDA_RESOURCE_DESC)];
		} from = {.resource = array_resource(array)};
		union {
			CUDA_TEXTURE_DESC sampler;
			unsigned char bytes[sizeof(CUDA_TEXTURE_DESC)];
		} with = {.sampler = {.maxMipmapLevelClamp = 9}};
		CUDA_RESOURCE_VIEW_DESC view = {.width = 8, .height = 8, .depth = 6};
		CUtexObject texture = 0;
		float result;

		for (int i = 0; i < 4; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			if (state & 1)
				from.bytes[state >> 8 & 31] ^=
					(unsigned char)(1u << (state >> 16 & 7));
			else
				with.bytes[(state >> 8) % 40] ^=
					(unsigned char)(1u << (state >> 16 & 7));
			if (!(state >> 20 & 15))
				((unsigned char *)&view)[(state >> 24) % 48] ^= 1;
		}
		if (cuTexObjectCreate(&texture, &from.resource, &with.sampler,
				      state >> 40 & 1 ? &view : NULL))
			continue;
		if (made++ % 16 == 0)
			CHECK_OK(fetch(&driver, texture, (float)(state >> 48), NAN, &result));
		CHECK_OK(cuTexObjectDestroy(texture));
	}
	CHECK(made > 100);
	end(&driver);
}

TEST_MAIN
