/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Filters, layers, cubes and levels of textures. Expected values come from the guide's formulas. */
#include "exec_image.h"

static const struct sample_kernel kernels[] = {
	{"i2d", "tex.2d.v4.s32.s32 " FLOATS ", [%rd1, {%r0, %r1}];"},
	{"i3d", "tex.3d.v4.s32.s32 " FLOATS ", [%rd1, {%r0, %r1, %r2, %r3}];"},
	{"t1d", "tex.1d.v4.f32.f32 " FLOATS ", [%rd1, {%f0}];"},
	{"t2d", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"t3d", "tex.3d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1, %f2, %f2}];"},
	{"a1d", "tex.a1d.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1}];"},
	{"a2d", "tex.a2d.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1, %f2, %f2}];"},
	{"cube", "tex.cube.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1, %f2, %f2}];"},
	{"acube", "tex.acube.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1, %f2, %f3}];"},
	{"level", "tex.level.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], %f2;"},
	{"ilevel", "tex.level.2d.v4.f32.s32 " FLOATS ", [%rd1, {%r0, %r1}], %r2;"},
	{"base", "tex.base.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"grad", "tex.grad.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], {%f2, %f3}, {%f4, %f5};"},
	{"grad1d", "tex.grad.1d.v4.f32.f32 " FLOATS ", [%rd1, {%f0}], {%f1}, {%f2};"},
	{"gradcube", "tex.grad.cube.v4.f32.f32 " FLOATS
		     ", [%rd1, {%f0, %f1, %f2, %f2}], {%f3, %f4, %f5, %f5}, {%f6, %f7, %f8, %f8};"},
};

/* ---- the formulas of the guide --------------------------------------------------------- */

/* OpenGL 4.6, 8.14.2: "mirror(a) = a >= 0 ? a : -(1 + a)". */
static int mirror(int a)
{
	return a >= 0 ? a : -(1 + a);
}

/* The texel that an address mode selects; -1: the border. */
static int wrapped(enum sg_address_mode mode, bool normalized, int i, int n)
{
	if (mode == SG_ADDRESS_BORDER)
		return i < 0 || i >= n ? -1 : i;
	if (normalized && mode == SG_ADDRESS_WRAP)
		return ((i % n) + n) % n;
	if (normalized && mode == SG_ADDRESS_MIRROR)
		return n - 1 - mirror(((i % (2 * n)) + 2 * n) % (2 * n) - n);
	return i < 0 ? 0 : i > n - 1 ? n - 1 : i;
}

static double texel_value(const struct sg_texture *texture, const int at[3], const int n[3])
{
	int i[3];

	for (int k = 0; k < 3; k++) {
		i[k] = wrapped(texture->sampler.address[k], texture->sampler.is_normalized, at[k],
			       n[k]);
		if (i[k] < 0)
			return (double)(union input_word){.u = texture->sampler.border[0]}.f;
	}
	return *(float *)(void *)texel_at(&texture->image, 0, (uint32_t)i[0], (uint32_t)i[1],
					  (uint32_t)i[2]);
}

/* "tex(x, y, z)" of the guide, for one channel of floats. */
static double expected_value(const struct sg_texture *texture, int dimensions, const float *x)
{
	const struct sg_texture_level *level = &texture->image.levels[0];
	const int n[3] = {(int)level->width, (int)level->height, (int)level->slices};
	int i[3] = {0}, at[3];
	double weight[3] = {0}, sum = 0;

	for (int k = 0; k < dimensions; k++) {
		double value = texture->sampler.is_normalized ? (double)x[k] * n[k] : x[k];

		if (!texture->sampler.is_linear) {
			i[k] = (int)floor(value);
			continue;
		}
		i[k] = (int)floor(value - 0.5);
		/* 9 bits: from 0 to 1 in steps of 1/256. */
		weight[k] = floor((value - 0.5 - i[k]) * 256 + 0.5) / 256;
	}
	for (int corner = 0; corner < 8; corner++) {
		double product = 1;

		for (int k = 0; k < 3; k++) {
			at[k] = i[k] + (corner >> k & 1);
			product *= corner >> k & 1 ? weight[k] : 1 - weight[k];
		}
		if (product > 0)
			sum += product * texel_value(texture, at, n);
	}
	return sum;
}

static uint64_t random_state;

/* In steps of 1/1024 or with all bits, from -low to high. */
static float random_coordinate(double low, double high)
{
	double unit;

	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	unit = (double)(random_state >> 33) / 2147483648.0;
	if (random_state >> 32 & 1)
		return (float)(floor((low + unit * (high - low)) * 1024) / 1024);
	return (float)(low + unit * (high - low));
}

/* Samples a texture at random coordinates and compares with the guide's formula. */
static void check_texture(struct device *device, struct sg_module *module,
			  const struct sg_texture *texture, int dimensions)
{
	static const char *const names[] = {"", "t1d", "t2d", "t3d"};
	static struct samples samples;
	const struct sg_texture_level *level = &texture->image.levels[0];
	const uint32_t n[3] = {level->width, level->height, level->slices};
	uint64_t handle = add_texture(device, texture);

	samples.count = 512;
	for (uint32_t s = 0; s < samples.count; s++)
		for (int k = 0; k < 3; k++) {
			double size = texture->sampler.is_normalized ? 1 : n[k];

			samples.in[s][k].f = random_coordinate(-2.3 * size, 3.3 * size);
		}
	run_samples(device, module, names[dimensions], handle, &samples);
	for (uint32_t s = 0; s < samples.count; s++)
		check_near((double)samples.out[s][0].f,
			   expected_value(texture, dimensions, &samples.in[s][0].f),
			   names[dimensions], &samples.in[s][0].f);
	CHECK_INT(sg_texture_remove(device->machine, handle), 0);
}

TEST("point and linear filters of 1, 2 and 3 dimensions with every address mode")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	const struct sg_texture flat = {0};
	struct sg_texture textures[4] = {flat};

	device_open(&device);
	module = load_kernels(&device, kernels);
	textures[1] = float_texture(&device, 13, 1, 1);
	textures[2] = float_texture(&device, 7, 5, 1);
	textures[3] = float_texture(&device, 4, 3, 5);
	random_state = 1;
	for (int dimensions = 1; dimensions <= 3; dimensions++)
		for (int mode = 0; mode < 4; mode++)
			for (int bits = 0; bits < 4; bits++) {
				struct sg_texture texture = textures[dimensions];

				memset(texture.sampler.address, mode, 3);
				texture.sampler.is_linear = bits & 1;
				texture.sampler.is_normalized = bits & 2;
				texture.sampler.border[0] = (union input_word){.f = -7.5f}.u;
				check_texture(&device, module, &texture, dimensions);
			}
}

TEST("integer coordinates are texels, clamped or in the border")
{
	static const int coordinates[][3] = {
		{0, 0, 0}, {3, 2, 4}, {-1, 1, 2}, {4, 3, 5}, {2, -9, 1}};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 4, 3, 5);
	texture.sampler.is_normalized = true;
	texture.sampler.border[0] = 77;
	samples.count = 5;
	for (int mode = 0; mode < 8; mode++) {
		int dimensions = mode & 4 ? 3 : 2;

		memset(texture.sampler.address, mode & 3, 3);
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 3; k++)
				samples.in[i][k].i = coordinates[i][k];
		run_samples(&device, module, dimensions == 3 ? "i3d" : "i2d",
			    add_texture(&device, &texture), &samples);
		for (int i = 0; i < 5; i++) {
			int x = coordinates[i][0], y = coordinates[i][1];
			int z = dimensions == 3 ? coordinates[i][2] : 0;
			bool inside = x >= 0 && x < 4 && y >= 0 && y < 3 && z < 5;
			uint32_t expected = 77;

			x = x < 0 ? 0 : x > 3 ? 3 : x;
			y = y < 0 ? 0 : y > 2 ? 2 : y;
			z = z > 4 ? 4 : z;
			if (inside || (mode & 3) != SG_ADDRESS_BORDER)
				memcpy(&expected,
				       texel_at(&texture.image, 0, (uint32_t)x, (uint32_t)y,
						(uint32_t)z),
				       4);
			CHECK_INT(samples.out[i][0].u, expected);
		}
	}
}

TEST("each axis has its own address mode")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 6, 4, 3);
	texture.sampler.address[0] = SG_ADDRESS_MIRROR;
	texture.sampler.address[1] = SG_ADDRESS_WRAP;
	texture.sampler.address[2] = SG_ADDRESS_BORDER;
	texture.sampler.is_linear = texture.sampler.is_normalized = true;
	check_texture(&device, module, &texture, 3);
}

TEST("a linear filter has weights of 8 fractional bits")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 2, 1, 1);
	*(float *)(void *)texel_at(&texture.image, 0, 0, 0, 0) = 0;
	*(float *)(void *)texel_at(&texture.image, 0, 1, 0, 0) = 256;
	texture.sampler.is_linear = true;
	samples.count = 5;
	samples.in[0][0].f = 0.5f + 10.0f / 256;
	samples.in[1][0].f = 0.5f + 10.4f / 256;
	samples.in[2][0].f = 0.5f + 10.6f / 256;
	samples.in[3][0].f = 1.5f - 0.4f / 256; /* the weight is 1 */
	samples.in[4][0].f = 0.5f + 0.4f / 256; /* the weight is 0 */
	run_samples(&device, module, "t1d", add_texture(&device, &texture), &samples);
	CHECK_INT(samples.out[0][0].f, 10);
	CHECK_INT(samples.out[1][0].f, 10);
	CHECK_INT(samples.out[2][0].f, 11);
	CHECK_INT(samples.out[3][0].f, 256);
	CHECK_INT(samples.out[4][0].f, 0);
}

TEST("infinite, huge and undefined coordinates read a texel of the image")
{
	static const float odd[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e-40f, 2147483648.0f};
	static const char *const names[] = {"t1d", "t2d", "t3d", "a2d", "cube", "acube"};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;

	device_open(&device);
	module = load_kernels(&device, kernels);
	samples.count = 7 * 7;
	for (uint32_t i = 0; i < samples.count; i++)
		for (int k = 0; k < INPUT_WORDS; k++)
			samples.in[i][k].f = odd[(i + i / 7 * (uint32_t)k) % 7];
	for (int mode = 0; mode < 16; mode++) {
		struct sg_texture texture = float_texture(&device, 3, 4, 12);
		uint64_t handle;

		memset(texture.sampler.address, mode & 3, 3);
		texture.sampler.is_linear = mode & 4;
		texture.sampler.is_normalized = mode & 8;
		texture.sampler.is_seamless = mode & 8;
		handle = add_texture(&device, &texture);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			run_samples(&device, module, names[i], handle, &samples);
			for (uint32_t s = 0; s < samples.count; s++)
				CHECK(samples.out[s][0].f >= 0 && samples.out[s][0].f < 102);
		}
	}
}

/* ---- layers and cubes ------------------------------------------------------------------ */

TEST("layers are selected by number and clamped")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture line, plane;
	static const int layers[] = {0, 1, 2, 3, 1000, -1};

	device_open(&device);
	module = load_kernels(&device, kernels);
	line = float_texture(&device, 5, 1, 3);
	plane = float_texture(&device, 5, 4, 3);
	line.image.is_layered = plane.image.is_layered = true;
	samples.count = 6;
	for (int i = 0; i < 6; i++) {
		samples.in[i][0].i = layers[i];
		samples.in[i][1].f = 2.5f;
		samples.in[i][2].f = 1.5f;
	}
	run_samples(&device, module, "a1d", add_texture(&device, &line), &samples);
	for (int i = 0; i < 6; i++)
		CHECK(samples.out[i][0].f ==
		      *(float *)(void *)texel_at(&line.image, 0, 2, 0, i < 2 ? (uint32_t)i : 2));
	run_samples(&device, module, "a2d", add_texture(&device, &plane), &samples);
	for (int i = 0; i < 6; i++)
		CHECK(samples.out[i][0].f ==
		      *(float *)(void *)texel_at(&plane.image, 0, 2, 1, i < 2 ? (uint32_t)i : 2));
}

/* The table of the guide, "Cubemap Textures": axis and sign of the major, s and t of each face. */
static const struct {
	int major, s, t; /* axis + 1, negative: times -1 */
} faces[6] = {{1, -3, -2}, {-1, 3, -2}, {2, 1, 3}, {-2, 1, -3}, {3, 1, -2}, {-3, -1, -2}};

static float component(const float *direction, int axis)
{
	return axis < 0 ? -direction[-axis - 1] : direction[axis - 1];
}

TEST("a direction selects the face of a cube and the texel on it")
{
	enum { SIZE = 8, LAYERS = 3 };
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, SIZE, SIZE, 6 * LAYERS);
	texture.image.is_cube = texture.image.is_layered = texture.sampler.is_normalized = true;
	handle = add_texture(&device, &texture);
	samples.count = 600;
	random_state = 7;
	for (int layer = 0; layer < LAYERS; layer++) {
		for (uint32_t i = 0; i < samples.count; i++) {
			samples.in[i][0].i = layer;
			for (int k = 1; k < 4; k++)
				samples.in[i][k].f = random_coordinate(-5, 5);
		}
		run_samples(&device, module, "acube", handle, &samples);
		for (uint32_t i = 0; i < samples.count; i++) {
			const float *direction = &samples.in[i][1].f;

			for (uint32_t face = 0; face < 6; face++) {
				float major = component(direction, faces[face].major);
				double s = (double)component(direction, faces[face].s) / major;
				double t = (double)component(direction, faces[face].t) / major;

				if (major <= 0 || fabs(s) >= 1 || fabs(t) >= 1)
					continue;
				check_near((double)samples.out[i][0].f,
					   (double)*(float *)(void *)texel_at(
						   &texture.image, 0,
						   (uint32_t)((s + 1) / 2 * SIZE),
						   (uint32_t)((t + 1) / 2 * SIZE),
						   (uint32_t)layer * 6 + face),
					   "a cube", direction);
			}
		}
	}
}

TEST("a seamless cube is continuous across its edges, and one that is not is clamped")
{
	enum { SIZE = 4 };
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	double largest[2] = {0};

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, SIZE, SIZE, 6);
	texture.image.is_cube = texture.sampler.is_normalized = texture.sampler.is_linear = true;
	samples.count = 1000;
	random_state = 5;
	/* Pairs of directions on both sides of an edge, away from the corners. */
	for (uint32_t i = 0; i < samples.count; i += 2) {
		uint32_t axis = i / 2 % 3;
		float along = random_coordinate(-0.7, 0.7), sign = i & 8 ? 1 : -1;

		for (uint32_t side = 0; side < 2; side++) {
			samples.in[i + side][axis].f = along;
			samples.in[i + side][(axis + 1) % 3].f = sign * (side ? 1.001f : 1);
			samples.in[i + side][(axis + 2) % 3].f = side ? 1 : 1.001f;
		}
	}
	for (int seamless = 0; seamless < 2; seamless++) {
		texture.sampler.is_seamless = seamless;
		run_samples(&device, module, "cube", add_texture(&device, &texture), &samples);
		for (uint32_t i = 0; i < samples.count; i += 2) {
			double step =
				fabs((double)samples.out[i][0].f - (double)samples.out[i + 1][0].f);

			largest[seamless] = step > largest[seamless] ? step : largest[seamless];
		}
	}
	CHECK(largest[0] > 20);
	CHECK(largest[1] < 2);
}

/* ---- levels ---------------------------------------------------------------------------- */

static float sample_once(struct device *device, struct sg_module *module, const char *name,
			 const struct sg_texture *texture, const float in[INPUT_WORDS])
{
	static struct samples samples;

	samples.count = 1;
	for (int i = 0; i < INPUT_WORDS; i++)
		samples.in[0][i].f = in[i];
	run_samples(device, module, name, add_texture(device, texture), &samples);
	return samples.out[0][0].f;
}

#define AT(...) ((const float[INPUT_WORDS]){__VA_ARGS__})
#define CHECK_SAMPLE(name, texture, at, expected)                                                  \
	check_near((double)sample_once(&device, module, name, &(texture), at), expected, name, at)

TEST("a level is rounded or interpolated, after bias and clamp")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = mipmap(&device);
	CHECK_SAMPLE("t2d", texture, AT(0.5f, 0.5f), 0);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 1.4f), 10);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 1.6f), 20);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 77), 30);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, -3), 0);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, NAN), 0);
	texture.sampler.is_mip_linear = true;
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 1.5f), 15);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 1.0f + 3.4f / 256), 10 + 10 * 3.0 / 256);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 2.9999f), 30);
	texture.sampler.bias = 0.5f;
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 1), 15);
	CHECK_SAMPLE("t2d", texture, AT(0.5f, 0.5f), 5);
	texture.sampler.bias = 0;
	texture.sampler.min = 0.25f;
	texture.sampler.max = 1.75f;
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 0), 2.5);
	CHECK_SAMPLE("level", texture, AT(0.5f, 0.5f, 3), 17.5);
	CHECK_SAMPLE("base", texture, AT(0.5f, 0.5f), 2.5);
}

TEST("derivatives select the level: the longer one, in texels")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = mipmap(&device);
	texture.sampler.is_mip_linear = true;
	/* 2 of 16 texels: level 1. */
	CHECK_SAMPLE("grad", texture, AT(0.5f, 0.5f, 0.125f, 0, 0, 0), 10);
	/* 4 of 8 texels: level 2. */
	CHECK_SAMPLE("grad", texture, AT(0.5f, 0.5f, 0.125f, 0, 0, 0.5f), 20);
	/* A length of 5 texels. */
	CHECK_SAMPLE("grad", texture, AT(0.5f, 0.5f, 0.1875f, 0.5f, 0, 0),
		     10 * floor(log2(5) * 256 + 0.5) / 256);
	CHECK_SAMPLE("grad", texture, AT(0.5f, 0.5f, 0, 0, 0, 0), 0);
	CHECK_SAMPLE("grad", texture, AT(0.5f, 0.5f, INFINITY, NAN, 0, 0), 0);
	CHECK_SAMPLE("grad1d", texture, AT(0.5f, 0, 0.25f), 20);
	texture.image.is_cube = true;
	/* On the face of +z, x from -1 to 1 is 16 texels. */
	CHECK_SAMPLE("gradcube", texture, AT(0, 0, 1, 0.25f, 0, 0, 0, 0, 0), 10);
	CHECK_SAMPLE("gradcube", texture, AT(0, 0, 2, 0.5f, 0, 0, 0, 0, 0), 10);
}

TEST("integer coordinates with a level read that level")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = mipmap(&device);
	samples.count = 4;
	for (int i = 0; i < 4; i++)
		samples.in[i][2].i = i;
	run_samples(&device, module, "ilevel", add_texture(&device, &texture), &samples);
	for (int i = 0; i < 4; i++)
		CHECK_INT(samples.out[i][0].f, 10 * i);
}

TEST_MAIN
