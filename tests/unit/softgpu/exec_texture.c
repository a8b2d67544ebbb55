/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Textures: tex, tld4, txq, istypep. Expected values come from the formulas of the guide. */
#include "exec_image.h"

#define FLOATS "{%o0, %o1, %o2, %o3}"

static const struct sample_kernel kernels[] = {
	{"t1d", "tex.1d.v4.f32.f32 " FLOATS ", [%rd1, {%f0}];"},
	{"t2d", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"t3d", "tex.3d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1, %f2, %f2}];"},
	{"a1d", "tex.a1d.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1}];"},
	{"a2d", "tex.a2d.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1, %f2, %f2}];"},
	{"cube", "tex.cube.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1, %f2, %f2}];"},
	{"acube", "tex.acube.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1, %f2, %f3}];"},
	{"i1d", "tex.1d.v4.u32.s32 " FLOATS ", [%rd1, {%r0}];"},
	{"i2d", "tex.2d.v4.s32.s32 " FLOATS ", [%rd1, {%r0, %r1}];"},
	{"i3d", "tex.3d.v4.s32.s32 " FLOATS ", [%rd1, {%r0, %r1, %r2, %r3}];"},
	{"u2d", "tex.2d.v4.u32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"level", "tex.level.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], %f2;"},
	{"ilevel", "tex.level.2d.v4.f32.s32 " FLOATS ", [%rd1, {%r0, %r1}], %r2;"},
	{"base", "tex.base.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"grad", "tex.grad.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], {%f2, %f3}, {%f4, %f5};"},
	{"grad1d", "tex.grad.1d.v4.f32.f32 " FLOATS ", [%rd1, {%f0}], {%f1}, {%f2};"},
	{"gradcube", "tex.grad.cube.v4.f32.f32 " FLOATS
		     ", [%rd1, {%f0, %f1, %f2, %f2}], {%f3, %f4, %f5, %f5}, {%f6, %f7, %f8, %f8};"},
	{"offset", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], {%r2, %r3};"},
	{"offset1d", "tex.1d.v4.f32.f32 " FLOATS ", [%rd1, {%f0}], %r2;"},
	{"gather_r", "tld4.r.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"gather_a", "tld4.a.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"gather_layer", "tld4.g.a2d.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1, %f2, %f2}];"},
	{"pairs", "tex.2d.v2.f16x2.f32 {%o0, %o1}, [%rd1, {%f0, %f1}];"},
	{"halves", "tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%rd1, {%f0, %f1}]; mov.b32 %o0, {%h0, "
		   "%h1}; mov.b32 %o1, {%h2, %h3};"},
	{"resident", "setp.ne.u32 %p1, %t, %t; tex.2d.v4.f32.f32 {%o0, _, _, _}|%p1, [%rd1, {%f0, "
		     "%f1}]; selp.u32 %o1, 1, 2, %p1;"},
	{"vectors", "mov.b32 %w.x, %f0; mov.b32 %w.y, %f1; tex.2d.v4.f32.f32 %v, [%rd1, %w]; "
		    "mov.b32 %o0, %v.x; mov.b32 %o3, %v.w;"},
	{"query", "txq.width.b32 %o0, [%rd1]; txq.height.b32 %o1, [%rd1]; txq.depth.b32 %o2, "
		  "[%rd1]; txq.array_size.b32 %o3, [%rd1];"},
	{"query2", "txq.level.width.b32 %o0, [%rd1], 1; txq.num_mipmap_levels.b32 %o1, [%rd1]; "
		   "txq.channel_data_type.b32 %o2, [%rd1]; txq.channel_order.b32 %o3, [%rd1];"},
	{"query3", "txq.normalized_coords.b32 %o0, [%rd1]; txq.filter_mode.b32 %o1, [%rd1]; "
		   "txq.addr_mode_1.b32 %o2, [%rd1]; txq.num_samples.b32 %o3, [%rd1];"},
	{"type", "istypep.texref %p1, %rd1; selp.u32 %o0, 1, 0, %p1; istypep.surfref %p1, %rd1; "
		 "selp.u32 %o1, 1, 0, %p1; istypep.samplerref %p1, %rd1; selp.u32 %o2, 1, 0, %p1;"},
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

static void check_near(double actual, double expected, const char *what, const float *at)
{
	if (!(fabs(actual - expected) <= 1e-6 * (1 + fabs(expected))))
		TAP_FAIL("%s at (%.9g, %.9g, %.9g) is %.9g, not %.9g", what, (double)at[0],
			 (double)at[1], (double)at[2], actual, expected);
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

/* 16 × 8 texels and three smaller levels; the texels of level n are 10 n. */
static struct sg_texture mipmap(struct device *device)
{
	struct sg_texture texture = float_texture(device, 16, 8, 1);

	for (uint32_t level = 0; level < 4; level++) {
		if (level)
			add_level(device, &texture.image, 16u >> level, 8u >> level, 1);
		for (uint32_t y = 0; y < 8u >> level; y++)
			for (uint32_t x = 0; x < 16u >> level; x++)
				*(float *)(void *)texel_at(&texture.image, level, x, y, 0) =
					10 * (float)level;
	}
	texture.sampler.is_normalized = true;
	return texture;
}

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

/* ---- formats --------------------------------------------------------------------------- */

/* Four channels of each integer format, and what they are as integers and as floats. */
TEST("integers are read as they are, or as floats from 0 or -1 to 1")
{
	static const struct {
		uint8_t channel, size;
		int values[4];
		double divisor; /* 0: always integers */
	} formats[] = {
		{SG_CHANNEL_UINT8, 1, {0, 1, 127, 255}, 255},
		{SG_CHANNEL_SINT8, 1, {0, -128, 127, -1}, 127},
		{SG_CHANNEL_UINT16, 2, {0, 1, 32768, 65535}, 65535},
		{SG_CHANNEL_SINT16, 2, {0, -32768, 32767, -1}, 32767},
		{SG_CHANNEL_UINT32, 4, {0, 1, -1, 123456789}, 0},
		{SG_CHANNEL_SINT32, 4, {0, -1, INT32_MIN, INT32_MAX}, 0},
	};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;

	device_open(&device);
	module = load_kernels(&device, kernels);
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		struct sg_texture texture = {.image = {.channel = formats[f].channel,
						       .channels = 4,
						       .element = 4 * formats[f].size}};
		char *memory = add_level(&device, &texture.image, 1, 1, 1);

		for (int i = 0; i < 4; i++)
			memcpy(memory + i * formats[f].size, &formats[f].values[i],
			       formats[f].size);
		samples.count = 1;
		run_samples(&device, module, "u2d", add_texture(&device, &texture), &samples);
		for (int i = 0; i < 4; i++)
			CHECK_INT(samples.out[0][i].i, formats[f].values[i]);
		if (formats[f].divisor == 0)
			continue;
		texture.sampler.reads_floats = true;
		run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
		for (int i = 0; i < 4; i++)
			CHECK(samples.out[0][i].f ==
			      (float)fmax(formats[f].values[i] / formats[f].divisor, -1));
	}
}

TEST("channels that an image lacks are 0, 0 and 1")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 1, 1, 1);
	samples.count = 1;
	run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
	CHECK(samples.out[0][1].f == 0 && samples.out[0][2].f == 0 && samples.out[0][3].f == 1);
	texture.image.channel = SG_CHANNEL_UINT32;
	run_samples(&device, module, "u2d", add_texture(&device, &texture), &samples);
	CHECK(samples.out[0][1].u == 0 && samples.out[0][2].u == 0 && samples.out[0][3].u == 1);
}

TEST("sRGB texels are linear before they are filtered; the fourth channel is linear already")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_UINT8, .channels = 4, .element = 4},
		.sampler = {.reads_floats = true, .is_srgb = true, .is_linear = true}};
	static const uint8_t left[4] = {0, 5, 128, 128}, right[4] = {255, 5, 255, 0};
	char *memory;

	device_open(&device);
	module = load_kernels(&device, kernels);
	memory = add_level(&device, &texture.image, 2, 1, 1);
	memcpy(memory, left, 4);
	memcpy(memory + 4, right, 4);
	memset(texture.sampler.address, SG_ADDRESS_CLAMP, 3);
	samples.count = 1;
	samples.in[0][0].f = 1;
	samples.in[0][1].f = 0.5f;
	run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
	check_near((double)samples.out[0][0].f, 0.5, "sRGB", &samples.in[0][0].f);
	check_near((double)samples.out[0][1].f, 5 / 255.0 / 12.92, "sRGB", &samples.in[0][0].f);
	check_near((double)samples.out[0][2].f, 0.5 + pow((128 / 255.0 + 0.055) / 1.055, 2.4) / 2,
		   "sRGB", &samples.in[0][0].f);
	check_near((double)samples.out[0][3].f, 128 / 255.0 / 2, "sRGB", &samples.in[0][0].f);
}

TEST("results of 16 bits, in pairs and single, from floats of 16 bits")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	static const uint16_t halves[4] = {0x3c00, 0xc000, 0x3555, 0x7bff};
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_HALF, .channels = 4, .element = 8}};

	device_open(&device);
	module = load_kernels(&device, kernels);
	memcpy(add_level(&device, &texture.image, 1, 1, 1), halves, sizeof(halves));
	samples.count = 1;
	run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
	CHECK(samples.out[0][0].f == 1 && samples.out[0][1].f == -2 &&
	      samples.out[0][3].f == 65504);
	for (int i = 0; i < 2; i++) {
		run_samples(&device, module, i ? "halves" : "pairs", add_texture(&device, &texture),
			    &samples);
		CHECK_INT(samples.out[0][0].u, 0xc0003c00);
		CHECK_INT(samples.out[0][1].u, 0x7bff3555);
	}
}

/* ---- forms ----------------------------------------------------------------------------- */

TEST("an offset moves the texels before the address mode applies")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 8, 8, 1);
	handle = add_texture(&device, &texture);
	samples.count = 1;
	samples.in[0][0].f = 3.5f;
	samples.in[0][1].f = 6.5f;
	samples.in[0][2].i = -2;
	samples.in[0][3].i = 5;
	run_samples(&device, module, "offset", handle, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 7, 0));
	run_samples(&device, module, "offset1d", handle, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 0, 0));
}

TEST("a gather returns one channel of four texels, counter-clockwise from the lower left")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_FLOAT, .channels = 4, .element = 16},
		.sampler = {.address = {SG_ADDRESS_CLAMP, SG_ADDRESS_CLAMP}}};
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	add_level(&device, &texture.image, 4, 4, 2);
	for (uint32_t i = 0; i < 4 * 4 * 2 * 4; i++)
		((float *)(void *)texel_at(&texture.image, 0, i / 4 % 4, i / 16 % 4,
					   i / 64))[i % 4] = (float)i;
	texture.image.is_layered = true;
	handle = add_texture(&device, &texture);
	samples.count = 2;
	for (int i = 0; i < 2; i++) {
		samples.in[i][0].f = i ? 0 : 2.1f;
		samples.in[i][1].f = i ? 4 : 1.9f;
	}
	run_samples(&device, module, "gather_r", handle, &samples);
	/* Columns 1 and 2, rows 1 and 2. */
	CHECK_INT(samples.out[0][0].f, 4 * (2 * 4 + 1));
	CHECK_INT(samples.out[0][1].f, 4 * (2 * 4 + 2));
	CHECK_INT(samples.out[0][2].f, 4 * (1 * 4 + 2));
	CHECK_INT(samples.out[0][3].f, 4 * (1 * 4 + 1));
	for (int i = 0; i < 4; i++)
		CHECK_INT(samples.out[1][i].f, 4 * (3 * 4));
	run_samples(&device, module, "gather_a", handle, &samples);
	CHECK_INT(samples.out[0][0].f, 4 * (2 * 4 + 1) + 3);
	samples.in[0][0].i = 1;
	samples.in[0][1].f = samples.in[0][2].f = 2;
	run_samples(&device, module, "gather_layer", handle, &samples);
	CHECK_INT(samples.out[0][3].f, 64 + 4 * (1 * 4 + 1) + 1);
}

TEST("a fetch reports resident memory, and takes vector registers")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 3, 3, 1);
	handle = add_texture(&device, &texture);
	samples.count = 40;
	for (uint32_t i = 0; i < samples.count; i++) {
		samples.in[i][0].f = (float)(i % 3);
		samples.in[i][1].f = (float)(i / 3 % 3);
	}
	run_samples(&device, module, "resident", handle, &samples);
	for (uint32_t i = 0; i < samples.count; i++) {
		CHECK(samples.out[i][0].f ==
		      *(float *)(void *)texel_at(&texture.image, 0, i % 3, i / 3 % 3, 0));
		CHECK_INT(samples.out[i][1].u, 1);
	}
	run_samples(&device, module, "vectors", handle, &samples);
	CHECK(samples.out[4][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 1, 0));
	CHECK(samples.out[4][3].f == 1);
}

TEST("queries describe a texture, and handles have a type")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture, surface;
	uint64_t handle, other;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = mipmap(&device);
	surface = float_texture(&device, 9, 7, 5);
	surface.image.is_layered = true;
	handle = add_texture(&device, &surface);
	samples.count = 1;
	run_samples(&device, module, "query", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 9);
	CHECK_INT(samples.out[0][1].u, 7);
	CHECK_INT(samples.out[0][2].u, 1);
	CHECK_INT(samples.out[0][3].u, 5);
	handle = add_texture(&device, &texture);
	run_samples(&device, module, "query2", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 8);
	CHECK_INT(samples.out[0][1].u, 4);
	CHECK_INT(samples.out[0][2].u, 0x20);
	CHECK_INT(samples.out[0][3].u, 1);
	run_samples(&device, module, "query3", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 1);
	CHECK_INT(samples.out[0][1].u, 0);
	CHECK_INT(samples.out[0][2].u, SG_ADDRESS_CLAMP);
	CHECK_INT(samples.out[0][3].u, 1);
	run_samples(&device, module, "type", handle, &samples);
	CHECK(samples.out[0][0].u == 1 && samples.out[0][1].u == 0 && samples.out[0][2].u == 0);
	surface.is_surface = true;
	other = add_texture(&device, &surface);
	run_samples(&device, module, "type", other, &samples);
	CHECK(samples.out[0][0].u == 0 && samples.out[0][1].u == 1 && samples.out[0][2].u == 0);
}

/* ---- linear memory, references, handles ------------------------------------------------ */

TEST("linear memory is read as it is now; outside of it a fetch is 0")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture = {.image = {.channel = SG_CHANNEL_UINT32,
					       .channels = 1,
					       .element = 4,
					       .is_linear = true}};
	struct sg_grid_result result;
	uint32_t *memory;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	memory = (uint32_t *)(void *)add_level(&device, &texture.image, 100, 1, 1);
	handle = add_texture(&device, &texture);
	memory[99] = 17;
	samples.count = 4;
	samples.in[0][0].i = 99;
	samples.in[1][0].i = 100;
	samples.in[2][0].i = -1;
	samples.in[3][0].i = INT32_MIN;
	run_samples(&device, module, "i1d", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 17);
	for (int i = 1; i < 4; i++)
		CHECK_INT(samples.out[i][0].u, 0);
	memory[99] = 18;
	run_samples(&device, module, "i1d", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 18);
	sg_memory_deny(device.machine, address_of(memory), 512);
	CHECK_INT(run_samples_for(&device, module, "i1d", handle, &samples, &result), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_ILLEGAL_ADDRESS);
}

static void check_fault(struct device *device, struct sg_module *module, uint64_t handle,
			const char *text)
{
	static struct samples samples;
	struct sg_grid_result result;

	samples.count = 1;
	CHECK_INT(run_samples_for(device, module, "t2d", handle, &samples, &result), -EFAULT);
	CHECK_INT(sg_fault_code(result.fault.kind), 700);
	if (strncmp(result.fault.text, text, strlen(text)) != 0)
		TAP_FAIL("the fault is '%s'", result.fault.text);
}

TEST("a handle that is not a texture's is a fault")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	struct sg_texture texture;
	uint64_t handle, other, freed;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 3, 3, 1);
	check_fault(&device, module, 0, "invalid texture at 0x0 in kernel t2d");
	check_fault(&device, module, UINT64_MAX, "invalid texture");
	check_fault(&device, module, address_of(device.arena), "invalid texture");
	handle = add_texture(&device, &texture);
	CHECK_INT(sg_texture_remove(device.machine, handle), 0);
	CHECK_INT(sg_texture_remove(device.machine, handle), -ENOENT);
	check_fault(&device, module, handle, "invalid texture");
	other = add_texture(&device, &texture);
	CHECK(other != handle);
	freed = add_texture(&device, &texture);
	check_fault(&device, module, handle, "invalid texture");
	sg_texture_detach(device.machine, texture.image.levels[0].address, 4);
	check_fault(&device, module, freed, "invalid texture");
	texture.is_surface = true;
	check_fault(&device, module, add_texture(&device, &texture), "invalid texture");
}

TEST("lanes of a warp may use different textures")
{
	static const struct sample_kernel each[] = {
		{"each", "ld.u64 %rd3, [%rd0+8]; tex.1d.v4.f32.s32 " FLOATS ", [%rd3, {%r0}];"}};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	uint64_t handles[8];

	device_open(&device);
	module = load_kernels(&device, each);
	for (uint32_t i = 0; i < 8; i++) {
		struct sg_texture texture = float_texture(&device, 4 + i, 1, 1);

		*(float *)(void *)texel_at(&texture.image, 0, 1, 0, 0) = (float)i;
		handles[i] = add_texture(&device, &texture);
	}
	samples.count = 64;
	for (uint32_t i = 0; i < samples.count; i++) {
		samples.in[i][0].i = 1;
		memcpy(&samples.in[i][2], &handles[i * 5 % 8], 8);
	}
	run_samples(&device, module, "each", 0, &samples);
	for (uint32_t i = 0; i < samples.count; i++)
		CHECK_INT(samples.out[i][0].f, i * 5 % 8);
}

/* One kernel names a reference, the other passes its address. */
static const char references[] =
	PTX_HEADER ".global .texref image;\n.global .surfref other;\n"
		   ".visible .entry named" SAMPLE_KERNEL_INPUTS
		   "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [image, {%f0, %f1}];" SAMPLE_KERNEL_END
		   ".visible .entry address" SAMPLE_KERNEL_INPUTS "mov.u64 %rd3, image;"
		   "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%rd3, {%f0, %f1}];" SAMPLE_KERNEL_END;

TEST("references of a module have images once the host assigns them")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	struct sg_grid_result result;
	uint64_t handle = 0, none = 0;

	device_open(&device);
	module = device_load(&device, references);
	CHECK_INT(sg_module_reference(module, "image", true, &none), -ENOENT);
	CHECK_INT(sg_module_reference(module, "other", true, &none), 0);
	CHECK_INT(sg_module_reference(module, "image", false, &handle), 0);
	samples.count = 1;
	CHECK_INT(run_samples_for(&device, module, "named", 0, &samples, &result), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_INVALID_TEXTURE);
	texture = float_texture(&device, 3, 3, 1);
	CHECK_INT(sg_texture_set(device.machine, handle, &texture), 0);
	CHECK_INT(sg_texture_set(device.machine, 12345, &texture), -ENOENT);
	samples.in[0][0].f = samples.in[0][1].f = 1;
	run_samples(&device, module, "named", 0, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 1, 0));
	run_samples(&device, module, "address", 0, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 1, 0));
}

/* ---- rejected forms -------------------------------------------------------------------- */

static const struct {
	const char *declarations, *body, *reason;
} rejected[] = {
	{"", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], %f2;",
	 "line 20: unsupported comparison of depths by 'tex.2d.v4.f32.f32' in function 'k'"},
	{"", "tex.2dms.v4.f32.s32 " FLOATS ", [%rd1, {%r0, %r1, %r2, %r3}];",
	 "line 20: 'tex.2dms.v4.f32.s32' in function 'k' is not supported by the software device"},
	{".global .samplerref s = { filter_mode = linear };", "",
	 "line 4: samplers ('s') are not supported by the software device (.texmode_independent)"},
	{".global .texref a; .global .texref b;",
	 "tex.2d.v4.f32.f32 " FLOATS ", [a, b, {%f0, %f1}];",
	 "line 20: unsupported separate sampler (.texmode_independent) of 'tex.2d.v4.f32.f32' in "
	 "function 'k'"},
	{".visible .entry other(.param .texref a) { .reg .f32 %f<4>;"
	 " tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [a, {%f0}]; ret; }",
	 "",
	 "line 4: unsupported texture reference parameter 'a' (pass a texture object, .u64) in "
	 "function 'other'"},
};

TEST("forms that the device does not support are rejected with the reason")
{
	auto_device device;

	device_open(&device);
	for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		struct sg_module *module = NULL;
		struct gt_diag diag = {0};

		gt_strbuf_printf(&text, PTX_HEADER "%s\n.visible .entry k%s%s%s",
				 rejected[i].declarations, SAMPLE_KERNEL_INPUTS, rejected[i].body,
				 SAMPLE_KERNEL_END);
		CHECK(sg_module_load_text(device.machine, gt_strbuf_string(&text), text.length,
					  &module, &diag) < 0);
		CHECK_STR(diag.text, rejected[i].reason);
		sg_module_free(module);
	}
}

/* ---- threads --------------------------------------------------------------------------- */

struct replacer {
	struct device *device;
	struct sg_texture texture;
	uint64_t kept;
	int errors;
};

static void *replace_textures(void *argument)
{
	struct replacer *replacer = argument;
	struct sg_machine *machine = replacer->device->machine;

	for (int i = 0; i < 2000; i++) {
		uint64_t handle = 0;

		replacer->errors += sg_texture_add(machine, &replacer->texture, &handle) != 0;
		replacer->errors +=
			sg_texture_set(machine, replacer->kept, &replacer->texture) != 0;
		replacer->errors += sg_texture_remove(machine, handle) != 0;
	}
	return NULL;
}

TEST("objects are added, replaced and removed while kernels sample")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct replacer replacer = {.device = &device};
	pthread_t thread;

	device_open(&device);
	module = load_kernels(&device, kernels);
	replacer.texture = float_texture(&device, 3, 3, 1);
	replacer.kept = add_texture(&device, &replacer.texture);
	samples.count = 256;
	CHECK_INT(pthread_create(&thread, NULL, replace_textures, &replacer), 0);
	for (int i = 0; i < 50; i++) {
		run_samples(&device, module, "t2d", replacer.kept, &samples);
		CHECK(samples.out[255][0].f == 0.25f);
	}
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(replacer.errors, 0);
	CHECK_INT(sg_texture_remove(device.machine, replacer.kept), 0);
}

TEST_MAIN
