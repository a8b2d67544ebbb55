/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texture and surface functions of CUDA C++, with objects that the runtime makes. */
#include <cmath>
#include <vector>

#include "kernels_check.h"

static void check(cudaError_t error, const char *what, int line)
{
	EXPECT(error == cudaSuccess, "line %d: %s: %s", line, what, cudaGetErrorString(error));
}
#define CHECK(call) check(call, #call, __LINE__)

/* An array of any shape whose element at (x, y, z) is x + 100 y + 10000 z. */
template <class T> struct image {
	cudaArray_t array = nullptr;
	int width, height, depth;

	image(int w, int h, int d, unsigned int flags) : width(w), height(h), depth(d)
	{
		cudaChannelFormatDesc channels = cudaCreateChannelDesc<T>();
		cudaMemcpy3DParms copy = {};
		std::vector<T> values;

		CHECK(cudaMalloc3DArray(&array, &channels, make_cudaExtent(w, h, d), flags));
		for (int z = 0; z < (d ? d : 1); z++)
			for (int y = 0; y < (h ? h : 1); y++)
				for (int x = 0; x < w; x++)
					values.push_back((T)at(x, y, z));
		copy.srcPtr = make_cudaPitchedPtr(values.data(), w * sizeof(T), w, h ? h : 1);
		copy.dstArray = array;
		copy.extent = make_cudaExtent(w, h ? h : 1, d ? d : 1);
		copy.kind = cudaMemcpyHostToDevice;
		CHECK(cudaMemcpy3D(&copy));
	}

	~image()
	{
		CHECK(cudaFreeArray(array));
	}

	static float at(int x, int y, int z)
	{
		return x + 100.0f * y + 10000.0f * z;
	}
};

struct texture_options {
	cudaTextureFilterMode filter = cudaFilterModePoint;
	cudaTextureAddressMode mode = cudaAddressModeClamp;
	cudaTextureReadMode read = cudaReadModeElementType;
	bool normalized = false;
};

static cudaTextureDesc sampler_of(texture_options options)
{
	cudaTextureDesc sampler = {};

	for (auto &mode : sampler.addressMode)
		mode = options.mode;
	sampler.filterMode = sampler.mipmapFilterMode = options.filter;
	sampler.readMode = options.read;
	sampler.normalizedCoords = options.normalized;
	sampler.maxMipmapLevelClamp = 100;
	return sampler;
}

static cudaResourceDesc resource_of(cudaArray_t array)
{
	cudaResourceDesc resource = {};

	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	return resource;
}

static cudaTextureObject_t texture_of(const cudaResourceDesc &resource, texture_options options)
{
	cudaTextureDesc sampler = sampler_of(options);
	cudaTextureObject_t texture = 0;

	CHECK(cudaCreateTextureObject(&texture, &resource, &sampler, nullptr));
	return texture;
}

static float *results;

static void expect_results(const char *what, const std::vector<float> &expected)
{
	finish(what);
	for (size_t i = 0; i < expected.size(); i++)
		EXPECT(fabsf(results[i] - expected[i]) <= 1e-5f * (1 + fabsf(expected[i])),
		       "%s: result %zu is %g, not %g", what, i, results[i], expected[i]);
}

/* ---- fetches --------------------------------------------------------------------------- */

__global__ void fetch_plain(cudaTextureObject_t line, cudaTextureObject_t plane,
			    cudaTextureObject_t space, float *out)
{
	out[0] = tex1D<float>(line, 2.5f);
	out[1] = tex1D<float>(line, -7.0f);
	out[2] = tex2D<float>(plane, 2.5f, 3.5f);
	out[3] = tex2D<float>(plane, 100.0f, 1.0f);
	out[4] = tex3D<float>(space, 1.5f, 2.5f, 3.5f);
	out[5] = tex2DLod<float>(plane, 2.5f, 3.5f, 0.0f);
	out[6] = tex2DGrad<float>(plane, 2.5f, 3.5f, make_float2(0, 0), make_float2(0, 0));
}

static void check_plain()
{
	image<float> line(8, 0, 0, 0), plane(8, 8, 0, 0), space(4, 4, 5, 0);

	for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
		texture_options options;

		options.filter = filter;
		cudaTextureObject_t objects[3] = {texture_of(resource_of(line.array), options),
						  texture_of(resource_of(plane.array), options),
						  texture_of(resource_of(space.array), options)};
		fetch_plain<<<1, 1>>>(objects[0], objects[1], objects[2], results);
		/* At the centers of texels both filters agree. */
		expect_results("tex1D, tex2D, tex3D",
			       {2, 0, 302, filter == cudaFilterModeLinear ? 57.0f : 107.0f, 30201,
				302, 302});
		for (auto object : objects)
			CHECK(cudaDestroyTextureObject(object));
	}
}

__global__ void fetch_layers(cudaTextureObject_t lines, cudaTextureObject_t planes, float *out)
{
	out[0] = tex1DLayered<float>(lines, 3.5f, 2);
	out[1] = tex1DLayered<float>(lines, 3.5f, 9);
	out[2] = tex2DLayered<float>(planes, 3.5f, 1.5f, 1);
	out[3] = tex2DLayered<float>(planes, 3.0f, 2.0f, 2);
	out[4] = tex1DLayeredLod<float>(lines, 3.5f, 1, 0.0f);
	out[5] = tex2DLayeredGrad<float>(planes, 3.5f, 1.5f, 1, make_float2(1, 0),
					 make_float2(0, 1));
}

__global__ void fetch_cube(cudaTextureObject_t cube, cudaTextureObject_t cubes, float *out)
{
	out[0] = texCubemap<float>(cube, 1.0f, 0.1f, 0.1f);
	out[1] = texCubemap<float>(cube, -1.0f, 0.1f, 0.1f);
	out[2] = texCubemap<float>(cube, 0.1f, 1.0f, 0.1f);
	out[3] = texCubemap<float>(cube, 0.1f, -1.0f, 0.1f);
	out[4] = texCubemap<float>(cube, 0.1f, 0.1f, 1.0f);
	out[5] = texCubemap<float>(cube, 0.1f, 0.1f, -1.0f);
	out[6] = texCubemapLayered<float>(cubes, -0.9f, 0.1f, -1.0f, 1);
	out[7] = texCubemapLod<float>(cube, 0.1f, 0.1f, 1.0f, 0.0f);
	out[8] = texCubemapLayeredLod<float>(cubes, 0.1f, 0.1f, 1.0f, 1, 0.0f);
}

static void check_layers()
{
	image<float> lines(8, 0, 3, cudaArrayLayered), planes(8, 4, 3, cudaArrayLayered);
	image<float> cube(4, 4, 6, cudaArrayCubemap);
	image<float> cubes(4, 4, 12, cudaArrayCubemap | cudaArrayLayered);
	texture_options linear, point;

	linear.filter = cudaFilterModeLinear;
	point.normalized = true;
	fetch_layers<<<1, 1>>>(texture_of(resource_of(lines.array), linear),
			       texture_of(resource_of(planes.array), linear), results);
	expect_results("layers", {20003, 20003, 10103, 20000 + 150 + 2.5f, 10003, 10103});
	fetch_cube<<<1, 1>>>(texture_of(resource_of(cube.array), point),
			     texture_of(resource_of(cubes.array), point), results);
	/*
	 * s and t are ±0.1: texels 1 or 2 of the 4. The faces in the order of the results, with
	 * (s, t): (-z, -y), (z, -y), (x, z), (x, -z), (x, -y), (-x, -y).
	 */
	expect_results("cubes",
		       {101, 10102, 20202, 30102, 40102, 50101, 10000 * 11 + 103, 40102, 100102});
}

__global__ void fetch_linear(cudaTextureObject_t line, cudaTextureObject_t rows, int *out)
{
	int4 all = tex1Dfetch<int4>(line, 1);

	out[0] = all.x;
	out[1] = all.w;
	out[2] = tex1Dfetch<int4>(line, 4).x;
	out[3] = tex2D<int>(rows, 5.0f, 1.0f);
}

static void check_linear()
{
	int *memory = managed<int>(4096), *out = managed<int>(4);
	cudaResourceDesc resource = {};
	size_t pitch = 0;
	int *rows = nullptr, value = 4711;

	for (int i = 0; i < 4096; i++)
		memory[i] = i;
	resource.resType = cudaResourceTypeLinear;
	resource.res.linear.devPtr = memory;
	resource.res.linear.desc = cudaCreateChannelDesc<int4>();
	resource.res.linear.sizeInBytes = 64;
	cudaTextureObject_t line = texture_of(resource, {});
	CHECK(cudaMallocPitch(&rows, &pitch, 7 * sizeof(int), 3));
	CHECK(cudaMemset(rows, 0, pitch * 3));
	CHECK(cudaMemcpy((char *)rows + pitch + 20, &value, 4, cudaMemcpyHostToDevice));
	resource = {};
	resource.resType = cudaResourceTypePitch2D;
	resource.res.pitch2D.devPtr = rows;
	resource.res.pitch2D.desc = cudaCreateChannelDesc<int>();
	resource.res.pitch2D.width = 7;
	resource.res.pitch2D.height = 3;
	resource.res.pitch2D.pitchInBytes = pitch;
	cudaTextureObject_t plane = texture_of(resource, {});
	fetch_linear<<<1, 1>>>(line, plane, out);
	finish("linear memory");
	EXPECT(out[0] == 4 && out[1] == 7 && out[2] == 0 && out[3] == 4711, "%d %d %d %d", out[0],
	       out[1], out[2], out[3]);
	CHECK(cudaFree(rows));
}

/* ---- formats, gather, levels ----------------------------------------------------------- */

__global__ void fetch_formats(cudaTextureObject_t bytes, cudaTextureObject_t shorts,
			      cudaTextureObject_t raw, cudaTextureObject_t plane, float *out)
{
	float4 gathered = tex2Dgather<float4>(plane, 2.0f, 3.0f, 0);
	bool resident = false;

	out[0] = tex2D<float>(bytes, 3.5f, 1.5f);
	out[1] = tex2D<float>(shorts, 3.5f, 1.5f);
	out[2] = tex2D<unsigned char>(raw, 3.5f, 1.5f);
	out[3] = gathered.x;
	out[4] = gathered.y;
	out[5] = gathered.z;
	out[6] = gathered.w;
	out[7] = tex2D<float>(plane, 1.5f, 1.5f, &resident);
	out[8] = resident;
}

static void check_formats()
{
	image<unsigned char> bytes(8, 2, 0, 0);
	image<short> shorts(8, 2, 0, 0);
	image<float> plane(8, 8, 0, cudaArrayTextureGather);
	texture_options linear, point, raw;

	linear.filter = cudaFilterModeLinear;
	linear.read = point.read = cudaReadModeNormalizedFloat;
	fetch_formats<<<1, 1>>>(texture_of(resource_of(bytes.array), linear),
				texture_of(resource_of(shorts.array), point),
				texture_of(resource_of(bytes.array), raw),
				texture_of(resource_of(plane.array), raw), results);
	expect_results("formats", {103 / 255.0f, 103 / 32767.0f, 103, 301, 302, 202, 201, 101, 1});
}

__global__ void fetch_level(cudaTextureObject_t texture, float *out)
{
	for (int i = 0; i < 6; i++)
		out[i] = tex2DLod<float>(texture, 0.5f, 0.5f, i * 0.5f);
	out[6] =
		tex2DGrad<float>(texture, 0.5f, 0.5f, make_float2(2 / 16.0f, 0), make_float2(0, 0));
	out[7] = tex2D<float>(texture, 0.5f, 0.5f);
}

static void check_levels()
{
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
	cudaMipmappedArray_t mipmap = nullptr;
	cudaResourceDesc resource = {};
	texture_options options;

	CHECK(cudaMallocMipmappedArray(&mipmap, &channels, make_cudaExtent(16, 16, 0), 3));
	for (unsigned int level = 0; level < 3; level++) {
		std::vector<float> values(256 >> (2 * level), 8.0f * level);
		cudaArray_t array = nullptr;
		size_t row = (16 >> level) * sizeof(float);

		CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
		CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), row, row, 16 >> level,
					  cudaMemcpyHostToDevice));
	}
	resource.resType = cudaResourceTypeMipmappedArray;
	resource.res.mipmap.mipmap = mipmap;
	options.normalized = true;
	options.filter = cudaFilterModeLinear;
	fetch_level<<<1, 1>>>(texture_of(resource, options), results);
	expect_results("levels", {0, 4, 8, 12, 16, 16, 8, 0});
	CHECK(cudaFreeMipmappedArray(mipmap));
}

/* ---- surfaces -------------------------------------------------------------------------- */

__global__ void access_surfaces(cudaSurfaceObject_t line, cudaSurfaceObject_t plane,
				cudaSurfaceObject_t space, cudaSurfaceObject_t layers,
				cudaSurfaceObject_t cube, float *out)
{
	out[0] = surf1Dread<float>(line, 3 * 4);
	out[1] = surf2Dread<float>(plane, 3 * 4, 2);
	out[2] = surf3Dread<float>(space, 3 * 4, 2, 1);
	out[3] = surf2DLayeredread<float>(layers, 3 * 4, 2, 1);
	out[4] = surfCubemapread<float>(cube, 3 * 4, 2, 5);
	out[5] = surf2Dread<float>(plane, 99 * 4, 2, cudaBoundaryModeClamp);
	out[6] = surf2Dread<float>(plane, 99 * 4, 2, cudaBoundaryModeZero);
	surf1Dwrite(1.5f, line, 0);
	surf2Dwrite(2.5f, plane, 4, 1);
	surf2Dwrite(9.0f, plane, -4, 1, cudaBoundaryModeZero);
	surf3Dwrite(3.5f, space, 4, 1, 1);
	surf2DLayeredwrite(4.5f, layers, 4, 1, 2);
	surfCubemapwrite(5.5f, cube, 4, 1, 3);
	out[7] = surf2Dread<float>(plane, 4, 1);
}

__global__ void fetch_written(cudaTextureObject_t plane, cudaTextureObject_t space,
			      cudaTextureObject_t layers, float *out)
{
	out[0] = tex2D<float>(plane, 1.5f, 1.5f);
	out[1] = tex3D<float>(space, 1.5f, 1.5f, 1.5f);
	out[2] = tex2DLayered<float>(layers, 1.5f, 1.5f, 2);
}

static cudaSurfaceObject_t surface_of(cudaArray_t array)
{
	cudaResourceDesc resource = resource_of(array);
	cudaSurfaceObject_t surface = 0;

	CHECK(cudaCreateSurfaceObject(&surface, &resource));
	return surface;
}

static void check_surfaces()
{
	const unsigned int flags = cudaArraySurfaceLoadStore;
	image<float> line(8, 0, 0, flags), plane(8, 4, 0, flags), space(8, 4, 3, flags);
	image<float> layers(8, 4, 3, flags | cudaArrayLayered);
	image<float> cube(8, 8, 6, flags | cudaArrayCubemap);
	float first = 0;

	access_surfaces<<<1, 1>>>(surface_of(line.array), surface_of(plane.array),
				  surface_of(space.array), surface_of(layers.array),
				  surface_of(cube.array), results);
	expect_results("surfaces", {3, 203, 10203, 10203, 50203, 207, 0, 2.5f});
	fetch_written<<<1, 1>>>(texture_of(resource_of(plane.array), {}),
				texture_of(resource_of(space.array), {}),
				texture_of(resource_of(layers.array), {}), results);
	expect_results("textures of written surfaces", {2.5f, 3.5f, 4.5f});
	CHECK(cudaMemcpy2DFromArray(&first, 4, line.array, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
	EXPECT(first == 1.5f, "a copy of a written surface is %g", first);
}

/* ---- what real programs do ------------------------------------------------------------- */

/* A separable filter: rows from one array into another, columns back. */
__global__ void blur(cudaTextureObject_t from, cudaSurfaceObject_t to, int size, float dx, float dy)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int i = -2; i <= 2; i++)
		sum += tex2D<float>(from, (x + 0.5f) / size + i * dx, (y + 0.5f) / size + i * dy);
	surf2Dwrite(sum / 5, to, x * 4, y);
}

static void check_blur()
{
	enum { SIZE = 64 };
	image<float> first(SIZE, SIZE, 0, cudaArraySurfaceLoadStore);
	image<float> second(SIZE, SIZE, 0, cudaArraySurfaceLoadStore);
	std::vector<float> out(SIZE * SIZE);
	texture_options options;

	options.normalized = true;
	options.mode = cudaAddressModeWrap;
	options.filter = cudaFilterModeLinear;
	blur<<<dim3(4, 4), dim3(16, 16)>>>(texture_of(resource_of(first.array), options),
					   surface_of(second.array), SIZE, 1.0f / SIZE, 0);
	blur<<<dim3(4, 4), dim3(16, 16)>>>(texture_of(resource_of(second.array), options),
					   surface_of(first.array), SIZE, 0, 1.0f / SIZE);
	finish("blur");
	CHECK(cudaMemcpy2DFromArray(out.data(), SIZE * 4, first.array, 0, 0, SIZE * 4, SIZE,
				    cudaMemcpyDeviceToHost));
	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++) {
			float expected = 0;

			for (int i = -2; i <= 2; i++)
				expected +=
					(x + i + SIZE) % SIZE + 100.0f * ((y + i + SIZE) % SIZE);
			EXPECT(fabsf(out[y * SIZE + x] - expected / 5) < 0.01f,
			       "(%d, %d): %g not %g", x, y, out[y * SIZE + x], expected / 5);
		}
}

int main()
{
	results = managed<float>(16);
	check_plain();
	check_layers();
	check_linear();
	check_formats();
	check_levels();
	check_surfaces();
	check_blur();
	finish("the end");
	return failures != 0;
}
