/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Surfaces: suld, sust, sured, suq. */
#include "exec_image.h"

static const struct sample_kernel kernels[] = {
	{"load_trap", "suld.b.2d.b32.trap {%o0}, [%rd1, {%r0, %r1}];"},
	{"store_trap", "sust.b.2d.b32.trap [%rd1, {%r0, %r1}], {%r2};"},
	{"add_trap", "sured.b.add.2d.u32.trap [%rd1, {%r0, %r1}], %r2;"},
	{"load_clamp", "suld.b.2d.b32.clamp {%o0}, [%rd1, {%r0, %r1}];"},
	{"store_clamp", "sust.b.2d.b32.clamp [%rd1, {%r0, %r1}], {%r2};"},
	{"add_clamp", "sured.b.add.2d.u32.clamp [%rd1, {%r0, %r1}], %r2;"},
	{"load_zero", "suld.b.2d.b32.zero {%o0}, [%rd1, {%r0, %r1}];"},
	{"store_zero", "sust.b.2d.b32.zero [%rd1, {%r0, %r1}], {%r2};"},
	{"add_zero", "sured.b.add.2d.u32.zero [%rd1, {%r0, %r1}], %r2;"},
	{"load8", "suld.b.2d.b8.trap {%h0}, [%rd1, {%r0, %r1}]; cvt.u32.u16 %o0, %h0; "
		  "suld.b.2d.b8.trap %o1, [%rd1, {%r0, %r1}];"},
	{"load16", "suld.b.2d.v4.b16.trap {%h0, %h1, %h2, %h3}, [%rd1, {%r0, %r1}]; mov.b32 %o0, "
		   "{%h0, %h1}; mov.b32 %o1, {%h2, %h3};"},
	{"load32", "suld.b.2d.v4.b32.trap {%o0, %o1, %o2, %o3}, [%rd1, {%r0, %r1}];"},
	{"load64", "suld.b.2d.v2.b64.trap {%rd3, %rd4}, [%rd1, {%r0, %r1}]; mov.b64 {%o0, %o1}, "
		   "%rd3; mov.b64 {%o2, %o3}, %rd4;"},
	{"store8", "cvt.u16.u32 %h0, %r2; cvt.u16.u32 %h1, %r3; sust.b.2d.v2.b8.trap [%rd1, {%r0, "
		   "%r1}], {%h0, %h1};"},
	{"store64", "mov.b64 %rd3, {%r2, %r3}; mov.b64 %rd4, {%r4, %r5}; sust.b.2d.v2.b64.trap "
		    "[%rd1, {%r0, %r1}], {%rd3, %rd4};"},
	{"load1d", "suld.b.1d.b32.zero %o0, [%rd1, %r0];"},
	{"load3d", "suld.b.3d.b32.clamp %o0, [%rd1, {%r0, %r1, %r2, %r3}];"},
	{"loada1d", "suld.b.a1d.b32.zero %o0, [%rd1, {%r0, %r1}];"},
	{"loada2d", "suld.b.a2d.b32.zero %o0, [%rd1, {%r0, %r1, %r2, %r3}];"},
	{"format", "sust.p.2d.v4.b32.zero [%rd1, {%r0, %r1}], {%f2, %f3, %f4, %f5};"},
	{"format1", "sust.p.2d.b32.zero [%rd1, {%r0, %r1}], {%r2};"},
	{"reduce", "sured.b.min.2d.s32.trap [%rd1, {%r0, %r1}], %r2; sured.b.max.2d.u32.trap "
		   "[%rd1, {%r0, %r1}], %r3; sured.b.or.2d.b32.trap [%rd1, {%r0, %r1}], %r4; "
		   "sured.b.and.2d.b32.trap [%rd1, {%r0, %r1}], %r5;"},
	{"reduce64", "mov.b64 %rd3, {%r2, %r3}; sured.b.add.2d.u64.trap [%rd1, {%r0, %r1}], %rd3;"},
	{"reduce_p", "sured.p.min.2d.b32.trap [%rd1, {%r0, %r1}], %r2;"},
	{"query", "suq.width.b32 %o0, [%rd1]; suq.height.b32 %o1, [%rd1]; suq.depth.b32 %o2, "
		  "[%rd1]; suq.array_size.b32 %o3, [%rd1];"},
	{"both", "sust.b.2d.b32.trap [%rd1, {%r0, %r1}], {%r2}; suld.b.2d.b32.trap %o0, [%rd1, "
		 "{%r0, %r1}];"},
};

/* 4-byte elements; the element at (x, y, z) is 1 + x + 16 y + 256 z. */
static struct sg_texture counting_surface(struct device *device, uint32_t width, uint32_t height,
					  uint32_t slices)
{
	struct sg_texture surface = {
		.is_surface = true,
		.image = {.channel = SG_CHANNEL_UINT32, .channels = 1, .element = 4}};

	add_level(device, &surface.image, width, height, slices);
	for (uint32_t z = 0; z < slices; z++)
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				*(uint32_t *)(void *)texel_at(&surface.image, 0, x, y, z) =
					1 + x + 16 * y + 256 * z;
	return surface;
}

static uint32_t element(const struct sg_texture *surface, uint32_t x, uint32_t y, uint32_t z)
{
	return *(uint32_t *)(void *)texel_at(&surface->image, 0, x, y, z);
}

/* Runs one thread with coordinates and values. */
#define RUN_ONE(name, handle, ...)                                                                 \
	({                                                                                         \
		const int32_t run_in[INPUT_WORDS] = {__VA_ARGS__};                                 \
		samples.count = 1;                                                                 \
		memcpy(samples.in[0], run_in, sizeof(run_in));                                     \
		run_samples_for(&device, module, name, handle, &samples, &result);                 \
	})

TEST("loads and stores of every size address elements by bytes")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture surface;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	surface = counting_surface(&device, 8, 4, 1);
	handle = add_texture(&device, &surface);
	CHECK_INT(RUN_ONE("load32", handle, 16, 2), 0);
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(samples.out[0][i].u, element(&surface, 4 + i, 2, 0));
	CHECK_INT(RUN_ONE("load64", handle, 16, 2), 0);
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(samples.out[0][i].u, element(&surface, 4 + i, 2, 0));
	CHECK_INT(RUN_ONE("load16", handle, 8, 3), 0);
	CHECK_INT(samples.out[0][0].u, element(&surface, 2, 3, 0));
	CHECK_INT(samples.out[0][1].u, element(&surface, 3, 3, 0));
	CHECK_INT(RUN_ONE("store8", handle, 6, 1, 0xab, 0xcd), 0);
	CHECK_INT(element(&surface, 1, 1, 0), 0xcdab0012);
	CHECK_INT(RUN_ONE("load8", handle, 7, 1), 0);
	CHECK_INT(samples.out[0][0].u, 0xcd);
	CHECK_INT(samples.out[0][1].u, 0xcd);
	CHECK_INT(RUN_ONE("store64", handle, 16, 0, 1, 2, 3, 4), 0);
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(element(&surface, 4 + i, 0, 0), i + 1);
	CHECK_INT(RUN_ONE("both", handle, 4, 0, 77), 0);
	CHECK_INT(samples.out[0][0].u, 77);
}

TEST("accesses outside of a surface trap, are clamped, or have no effect")
{
	static const int outside[][2] = {{-4, 0},       {32, 0},        {0, -1},
					 {0, 4},        {INT32_MIN, 0}, {INT32_MAX - 3, 0},
					 {0, INT32_MAX}};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture surface;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	surface = counting_surface(&device, 8, 4, 1);
	handle = add_texture(&device, &surface);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		int x = outside[i][0], y = outside[i][1];
		uint32_t near_x = x < 0 ? 0 : x >= 32 ? 7 : (uint32_t)x / 4;
		uint32_t near_y = y < 0 ? 0 : y >= 4 ? 3 : (uint32_t)y;
		uint32_t before = element(&surface, near_x, near_y, 0);

		CHECK_INT(RUN_ONE("load_trap", handle, x, y), -EFAULT);
		CHECK_INT(result.fault.kind, SG_FAULT_SURFACE_BOUNDS);
		CHECK_INT(sg_fault_code(result.fault.kind), 719);
		CHECK_INT(RUN_ONE("store_trap", handle, x, y, 5), -EFAULT);
		CHECK_INT(RUN_ONE("add_trap", handle, x, y, 5), -EFAULT);
		CHECK_INT(RUN_ONE("load_zero", handle, x, y), 0);
		CHECK_INT(samples.out[0][0].u, 0);
		CHECK_INT(RUN_ONE("store_zero", handle, x, y, 5), 0);
		CHECK_INT(RUN_ONE("add_zero", handle, x, y, 5), 0);
		CHECK_INT(element(&surface, near_x, near_y, 0), before);
		CHECK_INT(RUN_ONE("load_clamp", handle, x, y), 0);
		CHECK_INT(samples.out[0][0].u, before);
		CHECK_INT(RUN_ONE("store_clamp", handle, x, y, 1000 + (int)i), 0);
		CHECK_INT(element(&surface, near_x, near_y, 0), 1000 + i);
		CHECK_INT(RUN_ONE("add_clamp", handle, x, y, 5), 0);
		CHECK_INT(element(&surface, near_x, near_y, 0), 1005 + i);
	}
}

TEST("an unaligned access is a fault, and so is one wider than the surface")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture surface, narrow;

	device_open(&device);
	module = load_kernels(&device, kernels);
	surface = counting_surface(&device, 8, 4, 1);
	narrow = counting_surface(&device, 2, 2, 1);
	CHECK_INT(RUN_ONE("load_trap", add_texture(&device, &surface), 2, 0), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_MISALIGNED);
	CHECK_INT(RUN_ONE("load32", add_texture(&device, &narrow), 0, 0), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_SURFACE_BOUNDS);
	/* The rows of this one are not aligned as its reductions need. */
	narrow = counting_surface(&device, 3, 3, 1);
	narrow.image.levels[0].pitch = 12;
	CHECK_INT(RUN_ONE("reduce64", add_texture(&device, &narrow), 0, 1, 1), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_MISALIGNED);
}

TEST("lines, planes and layers")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture cube, lines;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	cube = counting_surface(&device, 8, 4, 3);
	lines = counting_surface(&device, 8, 1, 3);
	handle = add_texture(&device, &cube);
	CHECK_INT(RUN_ONE("load1d", handle, 12), 0);
	CHECK_INT(samples.out[0][0].u, element(&cube, 3, 0, 0));
	CHECK_INT(RUN_ONE("load3d", handle, 12, 2, 1), 0);
	CHECK_INT(samples.out[0][0].u, element(&cube, 3, 2, 1));
	CHECK_INT(RUN_ONE("load3d", handle, 12, 2, 9), 0);
	CHECK_INT(samples.out[0][0].u, element(&cube, 3, 2, 2));
	CHECK_INT(RUN_ONE("loada2d", handle, 2, 12, 1), 0);
	CHECK_INT(samples.out[0][0].u, element(&cube, 3, 1, 2));
	CHECK_INT(RUN_ONE("loada2d", handle, 3, 12, 1), 0);
	CHECK_INT(samples.out[0][0].u, 0);
	CHECK_INT(RUN_ONE("loada1d", add_texture(&device, &lines), 2, 12), 0);
	CHECK_INT(samples.out[0][0].u, element(&lines, 3, 0, 2));
	cube.image.is_layered = true;
	CHECK_INT(RUN_ONE("query", add_texture(&device, &cube)), 0);
	CHECK(samples.out[0][0].u == 8 && samples.out[0][1].u == 4 && samples.out[0][2].u == 1 &&
	      samples.out[0][3].u == 3);
}

TEST("formatted stores convert to the surface's channels, at elements instead of bytes")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture halves = {
		.is_surface = true,
		.image = {.channel = SG_CHANNEL_HALF, .channels = 4, .element = 8}};
	struct sg_texture bytes = {
		.is_surface = true,
		.image = {.channel = SG_CHANNEL_SINT8, .channels = 1, .element = 1}};
	static const uint16_t expected[4] = {0x3c00, 0xc000, 0x3800, 0};
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	add_level(&device, &halves.image, 4, 4, 1);
	add_level(&device, &bytes.image, 4, 4, 1);
	handle = add_texture(&device, &halves);
	CHECK_INT(RUN_ONE("format", handle, 3, 2, 0x3f800000, (int)0xc0000000, 0x3f000000), 0);
	CHECK(!memcmp(texel_at(&halves.image, 0, 3, 2, 0), expected, sizeof(expected)));
	CHECK_INT(RUN_ONE("format", handle, 4, 2, 0x3f800000), 0);
	handle = add_texture(&device, &bytes);
	CHECK_INT(RUN_ONE("format1", handle, 3, 1, -2), 0);
	CHECK_INT(*(signed char *)texel_at(&bytes.image, 0, 3, 1, 0), -2);
}

TEST("reductions of all threads are atomic")
{
	enum { THREADS = 1024 };
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture surface;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	surface = counting_surface(&device, 8, 4, 1);
	handle = add_texture(&device, &surface);
	samples.count = THREADS;
	for (int i = 0; i < THREADS; i++) {
		samples.in[i][0].i = 4;
		samples.in[i][1].i = 2;
		samples.in[i][2].i = i;
	}
	run_samples(&device, module, "add_trap", handle, &samples);
	CHECK_INT(element(&surface, 1, 2, 0), 34 + THREADS * (THREADS - 1) / 2);
	CHECK_INT(RUN_ONE("reduce", handle, 0, 0, -5, 3, 8, 0xff), 0);
	/* min(1, -5) = -5; max(-5, 3), unsigned = -5; or 8; and 0xff. */
	CHECK_INT(element(&surface, 0, 0, 0), (uint32_t)(-5 | 8) & 0xff);
	CHECK_INT(RUN_ONE("reduce64", handle, 16, 0, -1, 0), 0);
	/* 6:5 + 0xffffffff */
	CHECK_INT(element(&surface, 4, 0, 0), 4);
	CHECK_INT(element(&surface, 5, 0, 0), 7);
	CHECK_INT(RUN_ONE("reduce_p", handle, 2, 1, -1), 0);
	CHECK_INT(element(&surface, 2, 1, 0), 19);
	surface.image.channel = SG_CHANNEL_SINT32;
	CHECK_INT(RUN_ONE("reduce_p", add_texture(&device, &surface), 2, 1, -1), 0);
	CHECK_INT(element(&surface, 2, 1, 0), UINT32_MAX);
}

TEST("a handle that is not a surface's is a fault")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_grid_result result;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	CHECK_INT(RUN_ONE("load_zero", 0, 0, 0), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_INVALID_TEXTURE);
	texture = float_texture(&device, 3, 3, 1);
	CHECK_INT(RUN_ONE("load_zero", add_texture(&device, &texture), 0, 0), -EFAULT);
	CHECK(!strncmp(result.fault.text, "invalid surface at 0x", 21));
}

TEST_MAIN
