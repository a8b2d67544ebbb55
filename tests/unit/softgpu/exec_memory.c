/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_fixture.h"

/*
 * A kernel with 64-bit parameters p0, p1, p2 in %p0 … and the thread's number in %tid: in registers
 * %rd0 %rd1 %rd2, %r0.
 */
#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n"               \
	"{\n"                                                                                      \
	"	.reg .pred %p<10>;\n	.reg .b16 %h<10>;\n	.reg .b32 %r<20>;\n"                            \
	"	.reg .b64 %rd<20>;\n	.reg .f32 %f<10>;\n	.reg .f64 %fd<10>;\n"                           \
	"	ld.param.u64 %rd0, [p0];\n	ld.param.u64 %rd1, [p1];\n"                                   \
	"	ld.param.u64 %rd2, [p2];\n	mov.u32 %r0, %tid.x;\n" body "	ret;\n}\n"

static struct sg_module *load(struct device *device, const char *text)
{
	device_open(device);
	return device_load(device, text);
}

/* ---- loads and stores ------------------------------------------------------------------ */

TEST("loads extend by their type, stores truncate to theirs")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	mad.wide.u32 %rd3, %r0, 16, %rd0;\n"
		     "	mad.wide.u32 %rd4, %r0, 64, %rd1;\n"
		     "	ld.global.u8 %r1, [%rd3];\n	st.global.u32 [%rd4], %r1;\n"
		     "	ld.global.s8 %r1, [%rd3+1];\n	st.global.u32 [%rd4+4], %r1;\n"
		     "	ld.global.s8 %h1, [%rd3+2];\n	st.global.u16 [%rd4+8], %h1;\n"
		     "	ld.global.u8 %h1, [%rd3+2];\n	st.global.u16 [%rd4+10], %h1;\n"
		     "	ld.global.s16 %r1, [%rd3+4];\n	st.global.u32 [%rd4+12], %r1;\n"
		     "	ld.global.u16 %r1, [%rd3+4];\n	st.global.u32 [%rd4+16], %r1;\n"
		     "	ld.global.s32 %rd5, [%rd3+8];\n	st.global.u64 [%rd4+24], %rd5;\n"
		     "	ld.global.u32 %rd5, [%rd3+8];\n	st.global.u64 [%rd4+32], %rd5;\n"
		     "	ld.global.s8 %rd5, [%rd3+15];\n	st.global.u64 [%rd4+40], %rd5;\n"
		     "	ld.global.u64 %rd5, [%rd3+8];\n"
		     "	st.global.u8 [%rd4+48], %rd5;\n	st.global.u16 [%rd4+50], %rd5;\n"
		     "	st.global.u32 [%rd4+52], %rd5;\n	cvt.u32.u64 %r2, %rd5;\n"
		     "	st.global.u8 [%rd4+49], %r2;\n	st.global.u64 [%rd4+56], %rd5;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint8_t *in = device_memory(&device, 64 * 16), *out = device_memory(&device, 64 * 64);

	for (int i = 0; i < 64 * 16; i++)
		in[i] = (uint8_t)(i * 37 + 11);
	device_run(&device, module, "k", 1, 50, address_of(in), address_of(out), 0);
	for (int i = 0; i < 50; i++) {
		const uint8_t *a = in + 16 * i, *d = out + 64 * i;
		uint8_t expected[64] = {0};

		memcpy(expected, &(uint32_t){a[0]}, 4);
		memcpy(expected + 4, &(int32_t){(int8_t)a[1]}, 4);
		memcpy(expected + 8, &(int16_t){(int8_t)a[2]}, 2);
		memcpy(expected + 10, &(uint16_t){a[2]}, 2);
		memcpy(expected + 12, &(int32_t){(int16_t)(a[4] | a[5] << 8)}, 4);
		memcpy(expected + 16, &(uint32_t){a[4] | (uint32_t)a[5] << 8}, 4);
		memcpy(expected + 24, a + 8, 4);
		memset(expected + 28, a[11] & 0x80 ? 0xff : 0, 4);
		memcpy(expected + 32, a + 8, 4);
		memcpy(expected + 40, &(int64_t){(int8_t)a[15]}, 8);
		expected[48] = expected[49] = a[8];
		memcpy(expected + 50, a + 8, 2);
		memcpy(expected + 52, a + 8, 4);
		memcpy(expected + 56, a + 8, 8);
		CHECK(memcmp(expected, d, 64) == 0);
	}
}

TEST("vectors of two and four elements are loaded and stored, in any order and with gaps")
{
	static const char text[] =
		PTX_HEADER KERNEL("k", "	.reg .v4 .f32 %v;\n"
				       "	mad.wide.u32 %rd3, %r0, 32, %rd0;\n"
				       "	mad.wide.u32 %rd4, %r0, 32, %rd1;\n"
				       "	ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd3];\n"
				       "	st.global.v4.f32 [%rd4], {%f3, %f2, %f1, %f0};\n"
				       "	ld.global.v2.u64 {%rd5, %rd6}, [%rd3+16];\n"
				       "	st.global.v2.b32 [%rd4+16], {%r0, %r0};\n"
				       "	ld.global.v4.u8 {%r1, _, %r2, _}, [%rd3+4];\n"
				       "	st.global.v2.u16 [%rd4+24], {%r1, %r2};\n"
				       "	ld.global.v4.s8 {%h1, %h2, %h3, %h4}, [%rd3+28];\n"
				       "	st.global.v4.u8 [%rd4+28], {%h4, %h3, %h2, %h1};\n"
				       "	ld.global.v4.f32 %v, [%rd3];\n"
				       "	mad.wide.u32 %rd4, %r0, 32, %rd2;\n"
				       "	st.global.v4.f32 [%rd4], %v;\n"
				       "	st.global.v2.u64 [%rd4+16], {%rd5, %rd6};\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint8_t *in = device_memory(&device, 64 * 32), *out = device_memory(&device, 64 * 32);
	uint8_t *copy = device_memory(&device, 64 * 32);

	for (int i = 0; i < 64 * 32; i++)
		in[i] = (uint8_t)(i * 29 + 3);
	device_run(&device, module, "k", 1, 45, address_of(in), address_of(out), address_of(copy));
	CHECK(memcmp(in, copy, 45 * 32) == 0);
	CHECK_INT(copy[45 * 32], 0);
	for (int i = 0; i < 45; i++) {
		const uint8_t *a = in + 32 * i, *d = out + 32 * i;
		uint8_t expected[32];

		for (int j = 0; j < 4; j++)
			memcpy(expected + 4 * j, a + 4 * (3 - j), 4);
		memcpy(expected + 16, &(uint32_t[2]){(uint32_t)i, (uint32_t)i}, 8);
		memcpy(expected + 24, &(uint16_t[2]){a[4], a[6]}, 4);
		for (int j = 0; j < 4; j++)
			expected[28 + j] = a[28 + 3 - j];
		CHECK(memcmp(expected, d, 32) == 0);
	}
}

TEST("128 bits move through registers, memory and parts")
{
	static const char text[] = ".version 8.3\n.target sm_80\n.address_size 64\n" KERNEL(
		"k", "	.reg .b128 %q<2>;\n"
		     "	mad.wide.u32 %rd3, %r0, 16, %rd0;\n	mad.wide.u32 %rd4, %r0, 16, %rd1;\n"
		     "	ld.global.b128 %q0, [%rd3];\n	mov.b128 {%rd5, %rd6}, %q0;\n"
		     "	mov.b128 %q1, {%rd6, %rd5};\n	st.global.b128 [%rd4], %q1;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint64_t *in = device_memory(&device, 40 * 16), *out = device_memory(&device, 40 * 16);

	for (uint64_t i = 0; i < 80; i++)
		in[i] = i * 0x9e3779b97f4a7c15;
	device_run(&device, module, "k", 1, 40, address_of(in), address_of(out), 0);
	for (int i = 0; i < 40; i++)
		CHECK(out[2 * i] == in[2 * i + 1] && out[2 * i + 1] == in[2 * i]);
}

TEST("lanes that load one address, neighbours, or any addresses get their values")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	mad.lo.u32 %r1, %r0, 7919, 13;\n	and.b32 %r1, %r1, 1023;\n"
		     "	mad.wide.u32 %rd3, %r1, 4, %rd0;\n	ld.global.u32 %r2, [%rd3];\n"
		     "	ld.global.u32 %r3, [%rd0+40];\n	mad.wide.u32 %rd4, %r0, 4, %rd0;\n"
		     "	ld.global.u32 %r4, [%rd4];\n	xor.b32 %r5, %r0, 31;\n"
		     "	mad.wide.u32 %rd5, %r5, 4, %rd0;\n	ld.global.u32 %r6, [%rd5];\n"
		     "	mad.wide.u32 %rd6, %r0, 16, %rd1;\n"
		     "	st.global.v4.u32 [%rd6], {%r2, %r3, %r4, %r6};\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *in = device_memory(&device, 4096), *out = device_memory(&device, 16 * 1024);

	for (uint32_t i = 0; i < 1024; i++)
		in[i] = i * 2654435761u;
	device_run(&device, module, "k", 1, 1000, address_of(in), address_of(out), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		CHECK_INT(out[4 * i], in[(i * 7919 + 13) & 1023]);
		CHECK_INT(out[4 * i + 1], in[10]);
		CHECK_INT(out[4 * i + 2], in[i]);
		CHECK_INT(out[4 * i + 3], in[i ^ 31]);
	}
}

/* ---- spaces ---------------------------------------------------------------------------- */

static const char spaces[] = PTX_HEADER
	".visible .shared .align 8 .b8 tile[256];\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".visible .const .align 4 .u32 table[4] = {10, 20, 30, 40};\n"
	".visible .global .align 4 .u32 cell = 7;\n" KERNEL(
		"shared",
		"	mov.u32 %r1, tile;\n	mad.lo.u32 %r2, %r0, 4, %r1;\n"
		"	st.shared.u32 [%r2], %r0;\n	bar.sync 0;\n"
		"	xor.b32 %r3, %r0, 63;\n	mov.u64 %rd3, tile;\n"
		"	mad.wide.u32 %rd4, %r3, 4, %rd3;\n	ld.shared.u32 %r4, [%rd4];\n"
		"	cvta.shared.u64 %rd5, %rd4;\n	ld.u32 %r5, [%rd5];\n"
		"	ld.shared.u32 %r6, [tile+8];\n"
		"	mov.u32 %r7, dynamic;\n	mad.lo.u32 %r8, %r0, 4, %r7;\n"
		"	st.shared.u32 [%r8], %r4;\n	cvta.to.shared.u64 %rd6, %rd5;\n"
		"	ld.shared.u32 %r9, [%rd6];\n	ld.shared.u32 %r10, [%r8];\n"
		"	add.u32 %r4, %r4, %r5;\n	add.u32 %r4, %r4, %r6;\n"
		"	add.u32 %r4, %r4, %r9;\n	add.u32 %r4, %r4, %r10;\n"
		"	mad.wide.u32 %rd7, %r0, 4, %rd1;\n	st.global.u32 [%rd7], %r4;\n")
		KERNEL("local",
		       "	.local .align 8 .b8 depot[64];\n	mov.u64 %rd3, depot;\n"
		       "	cvta.local.u64 %rd4, %rd3;\n"
		       "	st.local.u32 [depot+4], %r0;\n	st.u32 [%rd4+8], %r0;\n"
		       "	and.b32 %r1, %r0, 7;\n	mad.wide.u32 %rd5, %r1, 4, %rd3;\n"
		       "	st.local.u32 [%rd5+32], %r0;\n"
		       "	ld.local.u32 %r2, [%rd3+8];\n	ld.u32 %r3, [%rd4+4];\n"
		       "	ld.local.u32 %r4, [%rd5+32];\n	add.u32 %r2, %r2, %r3;\n"
		       "	add.u32 %r2, %r2, %r4;\n"
		       "	mad.wide.u32 %rd7, %r0, 4, %rd1;\n"
		       "	st.global.u32 [%rd7], %r2;\n")
			KERNEL("constants",
			       "	and.b32 %r1, %r0, 3;\n	mov.u64 %rd3, table;\n"
			       "	mad.wide.u32 %rd4, %r1, 4, %rd3;\n"
			       "	ld.const.u32 %r2, [%rd4];\n"
			       "	cvta.const.u64 %rd5, %rd4;\n	ld.u32 %r3, [%rd5];\n"
			       "	ld.const.u32 %r4, [table+12];\n"
			       "	ld.global.u32 %r5, [cell];\n"
			       "	add.u32 %r2, %r2, %r3;\n	add.u32 %r2, %r2, %r4;\n"
			       "	add.u32 %r2, %r2, %r5;\n"
			       "	mad.wide.u32 %rd7, %r0, 4, %rd1;\n"
			       "	st.global.u32 [%rd7], %r2;\n")
				KERNEL("isspace", "	.local .align 4 .b8 depot[4];\n"
						  "	mov.u64 %rd3, depot;\n"
						  "	cvta.local.u64 %rd3, %rd3;\n"
						  "	mov.u64 %rd4, tile;\n"
						  "	cvta.shared.u64 %rd4, %rd4;\n"
						  "	isspacep.local %p0, %rd3;\n"
						  "	isspacep.shared %p1, %rd4;\n"
						  "	isspacep.global %p2, %rd1;\n"
						  "	isspacep.shared %p3, %rd1;\n"
						  "	isspacep.local %p4, %rd4;\n"
						  "	isspacep.global %p5, %rd3;\n"
						  "	selp.u32 %r1, 1, 0, %p0;\n"
						  "	selp.u32 %r2, 2, 0, %p1;\n"
						  "	selp.u32 %r3, 4, 0, %p2;\n"
						  "	selp.u32 %r4, 8, 0, %p3;\n"
						  "	selp.u32 %r5, 16, 0, %p4;\n"
						  "	selp.u32 %r6, 32, 0, %p5;\n"
						  "	or.b32 %r1, %r1, %r2;\n"
						  "	or.b32 %r3, %r3, %r4;\n"
						  "	or.b32 %r5, %r5, %r6;\n"
						  "	or.b32 %r1, %r1, %r3;\n"
						  "	or.b32 %r1, %r1, %r5;\n"
						  "	st.global.u32 [%rd1], %r1;\n");

TEST("the threads of a block share static and dynamic shared memory")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, spaces);
	uint32_t *out = device_memory(&device, 256);
	struct sg_grid_result result;
	struct sg_function_info info;

	device_run_with(&device, module, "shared",
			(struct sg_launch){.shape.block = {64}, .shape.dynamic_shared = 256},
			(uint64_t[]){0, address_of(out), 0}, 3, &result);
	for (uint32_t i = 0; i < 64; i++)
		CHECK_INT(out[i], 4 * (63 - i) + 2);
	sg_function_describe(sg_module_function(module, "shared"), &info);
	CHECK_INT(info.static_shared, 256);
	sg_function_describe(sg_module_function(module, "local"), &info);
	CHECK_INT(info.static_shared, 0);
	CHECK_INT(info.local_size, 64);
}

TEST("local memory is private to each thread, with every kind of address")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, spaces);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "local", 1, 1000, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_INT(out[i], 3 * i);
}

TEST("constants and variables have their initial values, and addresses know their space")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, spaces);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "constants", 1, 100, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_INT(out[i], 2 * (10 + 10 * (i % 4)) + 40 + 7);
	device_run(&device, module, "isspace", 1, 1, 0, address_of(out), 0);
	CHECK_INT(out[0], 7);
}

TEST("variables hold addresses of others, halves of addresses, and functions")
{
	static const char text[] = PTX_HEADER
		".visible .func (.param .u32 r) twice(.param .u32 a)\n"
		"{ .reg .u32 %r<2>; ld.param.u32 %r0, [a]; add.u32 %r1, %r0, %r0;"
		" st.param.u32 [r], %r1; ret; }\n"
		".global .align 4 .f32 numbers[2][2] = {{1.5, 2.5}, {0f40600000}};\n"
		".global .align 8 .u64 place = numbers;\n"
		".global .align 8 .u64 inside = generic(numbers)+8;\n"
		".global .align 8 .u64 code = twice;\n"
		".global .align 8 .f64 wide = 0.1;\n"
		".global .align 2 .u16 small[4] = {1, -2, 65535};\n" KERNEL(
			"k", "	ld.global.u64 %rd3, [place];\n	ld.global.f32 %f0, [%rd3+4];\n"
			     "	ld.global.u64 %rd4, [inside];\n	ld.f32 %f1, [%rd4];\n"
			     "	add.f32 %f0, %f0, %f1;\n	st.global.f32 [%rd1], %f0;\n"
			     "	ld.global.u64 %rd5, [code];\n	{\n"
			     "	.param .u32 a;\n	.param .u32 r;\n	st.param.u32 [a], "
			     "21;\n"
			     "	proto: .callprototype (.param .u32 _) _ (.param .u32 _);\n"
			     "	call (r), %rd5, (a), proto;\n	ld.param.u32 %r1, [r];\n	}\n"
			     "	st.global.u32 [%rd1+4], %r1;\n	ld.global.f64 %fd0, [wide];\n"
			     "	st.global.f64 [%rd1+8], %fd0;\n"
			     "	ld.global.s16 %r2, [small+2];\n	st.global.u32 [%rd1+16], %r2;\n"
			     "	ld.global.u16 %r2, [small+6];\n"
			     "	st.global.u32 [%rd1+20], %r2;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	char *out = device_memory(&device, 64);
	float sum;
	double wide;

	device_run(&device, module, "k", 1, 1, 0, address_of(out), 0);
	memcpy(&sum, out, 4);
	memcpy(&wide, out + 8, 8);
	CHECK(sum == 2.5f + 3.5f);
	CHECK(wide == 0.1);
	CHECK_INT(*(uint32_t *)(void *)(out + 4), 42);
	CHECK_INT(*(int32_t *)(void *)(out + 16), -2);
	CHECK_INT(*(int32_t *)(void *)(out + 20), 0);
}

TEST("a kernel's parameters of every size are where its layout says, also by address")
{
	static const char text[] = PTX_HEADER
		".visible .entry k(.param .u8 a, .param .align 8 .b8 s[24], .param .u16 b,"
		" .param .f64 c, .param .u64 .ptr .global .align 4 out)\n"
		"{\n	.reg .b32 %r<9>;\n	.reg .b64 %rd<9>;\n	.reg .f64 %fd<3>;\n"
		"	ld.param.u64 %rd1, [out];\n	ld.param.u8 %r1, [a];\n"
		"	st.global.u32 [%rd1], %r1;\n	ld.param.s16 %r2, [b];\n"
		"	st.global.u32 [%rd1+4], %r2;\n	ld.param.f64 %fd1, [c];\n"
		"	st.global.f64 [%rd1+8], %fd1;\n	ld.param.u64 %rd2, [s+8];\n"
		"	st.global.u64 [%rd1+16], %rd2;\n	mov.b64 %rd3, s;\n"
		"	ld.param.u32 %r3, [%rd3+4];\n	st.global.u32 [%rd1+24], %r3;\n"
		"	ld.param.v2.u32 {%r4, %r5}, [s+16];\n	st.global.u32 [%rd1+28], %r5;\n"
		"	ret;\n}\n";
	struct {
		uint8_t a;
		uint8_t s[24] __attribute__((aligned(8)));
		uint16_t b;
		double c;
		uint64_t out;
	} parameters = {.a = 200, .b = 0x8001, .c = -0.25};
	static const uint32_t offsets[] = {0, 8, 32, 40, 48};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	const struct sg_function *function = sg_module_function(module, "k");
	char *out = device_memory(&device, 64);
	struct sg_grid_result result;
	struct sg_parameter_info info;
	struct sg_launch launch = {.function = function,
				   .shape.grid = {1, 1, 1},
				   .shape.block = {33, 1, 1},
				   .parameters = &parameters,
				   .parameter_size = sizeof(parameters)};

	for (uint8_t i = 0; i < 24; i++)
		parameters.s[i] = (uint8_t)(i + 1);
	parameters.out = address_of(out);
	CHECK_INT(sg_grid_run(device.machine, &launch, &result), 0);
	CHECK_INT(*(uint32_t *)(void *)out, 200);
	CHECK_INT(*(int32_t *)(void *)(out + 4), (int16_t)0x8001);
	CHECK(*(double *)(void *)(out + 8) == -0.25);
	CHECK(memcmp(out + 16, parameters.s + 8, 8) == 0);
	CHECK(memcmp(out + 24, parameters.s + 4, 4) == 0);
	CHECK(memcmp(out + 28, parameters.s + 20, 4) == 0);
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_INT(sg_function_parameter(function, i, &info), 0);
		CHECK_INT(info.offset, offsets[i]);
	}
	CHECK_INT(info.is_pointer, true);
	CHECK_INT(sg_function_parameter(function, 5, &info), -ENOENT);
	launch.parameter_size--;
	CHECK_INT(sg_grid_run(device.machine, &launch, &result), -EINVAL);
}

/* ---- atomics --------------------------------------------------------------------------- */

struct atomic {
	const char *words; /* "add.u32" */
	int bits;
	uint64_t before, b, c, after;
};

static const struct atomic atomics[] = {
	{"add.u32", 32, 0xffffffff, 3, 0, 2},
	{"add.s32", 32, 5, 0xfffffff0, 0, 0xfffffff5},
	{"add.u64", 64, UINT64_MAX, 3, 0, 2},
	{"add.f32", 32, 0x3f800000, 0x40000000, 0, 0x40400000},
	{"add.f64", 64, 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
	{"add.noftz.f16", 16, 0x3c00, 0x4000, 0, 0x4200},
	{"add.noftz.f16x2", 32, 0x3c004000, 0x40003c00, 0, 0x42004200},
	{"add.noftz.bf16x2", 32, 0x3f804000, 0x40003f80, 0, 0x40404040},
	{"min.u32", 32, 0x80000000, 7, 0, 7},
	{"min.s32", 32, 0x80000000, 7, 0, 0x80000000},
	{"min.u64", 64, 1ull << 63, 7, 0, 7},
	{"min.s64", 64, 1ull << 63, 7, 0, 1ull << 63},
	{"max.u32", 32, 0x80000000, 7, 0, 0x80000000},
	{"max.s32", 32, 0x80000000, 7, 0, 7},
	{"max.u64", 64, 1ull << 63, 7, 0, 1ull << 63},
	{"max.s64", 64, 1ull << 63, 7, 0, 7},
	{"and.b32", 32, 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
	{"or.b32", 32, 0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0},
	{"xor.b32", 32, 0xff00ff00, 0x0ff00ff0, 0, 0xf0f0f0f0},
	{"and.b64", 64, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0, 0x0f000f000f000f00},
	{"or.b64", 64, 1, 1ull << 40, 0, (1ull << 40) + 1},
	{"xor.b64", 64, 3, (1ull << 40) + 1, 0, (1ull << 40) + 2},
	{"exch.b32", 32, 1, 2, 0, 2},
	{"exch.b64", 64, 1, 1ull << 50, 0, 1ull << 50},
	{"cas.b32", 32, 5, 5, 9, 9},
	{"cas.b32", 32, 6, 5, 9, 6},
	{"cas.b64", 64, 1ull << 40, 1ull << 40, 9, 9},
	{"cas.b16", 16, 0x1234, 0x1234, 0x4321, 0x4321},
	{"inc.u32", 32, 4, 4, 0, 0},
	{"inc.u32", 32, 3, 4, 0, 4},
	{"inc.u32", 32, 9, 4, 0, 0},
	{"dec.u32", 32, 0, 4, 0, 4},
	{"dec.u32", 32, 3, 4, 0, 2},
	{"dec.u32", 32, 9, 4, 0, 4},
};

enum {
	ATOMIC_COUNT = sizeof(atomics) / sizeof(atomics[0]),
};

/* k0, k1 …: one atomic operation on [p0], its old value to p1; s0 …: on shared memory. */
static void add_atomic(struct gt_strbuf *text, int number, bool is_shared)
{
	const struct atomic *row = &atomics[number];
	const char *type = row->bits == 16 ? "b16" : row->bits == 32 ? "b32" : "b64";
	const char *space = is_shared ? "shared" : number % 2 ? "global" : NULL;
	char letter = row->bits == 16 ? 'h' : row->bits == 32 ? 'w' : 'l';

	gt_strbuf_printf(
		text,
		".visible .entry %c%d(.param .u64 p0, .param .u64 p1)\n{\n"
		"	.reg .b16 %%h<5>;\n	.reg .b32 %%w<5>;\n	.reg .b64 %%l<9>;\n"
		"	.shared .align 8 .b8 cell[8];\n"
		"	ld.param.u64 %%l7, [p0];\n	ld.param.u64 %%l8, [p1];\n"
		"	mov.b64 %%l5, cell;\n"
		"	ld.global.%s %%%c1, [%%l7];\n	ld.global.%s %%%c2, [%%l7+8];\n"
		"	ld.global.%s %%%c3, [%%l7+16];\n	st.shared.%s [%%l5], %%%c1;\n",
		is_shared ? 's' : 'k', number, type, letter, type, letter, type, letter, type,
		letter);
	gt_strbuf_printf(text, "	atom%s%s.%s %%%c4, [%s], %%%c2%s%c%s;\n", space ? "." : "",
			 space ? space : "", row->words, letter, is_shared ? "%l5" : "%l7", letter,
			 strstr(row->words, "cas") ? ", %" : "",
			 strstr(row->words, "cas") ? letter : ' ',
			 strstr(row->words, "cas") ? "3" : "");
	gt_strbuf_printf(text, "	st.global.%s [%%l8], %%%c4;\n", type, letter);
	if (is_shared)
		gt_strbuf_printf(
			text, "	ld.shared.%s %%%c1, [%%l5];\n	st.global.%s [%%l7], %%%c1;\n",
			type, letter, type, letter);
	gt_strbuf_puts(text, "	ret;\n}\n");
}

TEST("atomics change memory and return the old value, in every space")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint64_t *cells, *old;

	gt_strbuf_puts(&text, PTX_HEADER_90);
	for (int i = 0; i < ATOMIC_COUNT; i++) {
		add_atomic(&text, i, false);
		add_atomic(&text, i, true);
	}
	module = load(&device, gt_strbuf_string(&text));
	cells = device_memory(&device, 64);
	old = device_memory(&device, 8);
	for (int i = 0; i < 2 * ATOMIC_COUNT; i++) {
		const struct atomic *row = &atomics[i / 2];
		char name[16];

		snprintf(name, sizeof(name), "%c%d", i % 2 ? 's' : 'k', i / 2);
		memcpy(cells, (uint64_t[]){row->before, row->b, row->c}, 24);
		*old = 0;
		device_run(&device, module, name, 1, 1, address_of(cells), address_of(old));
		if (*cells != row->after || *old != row->before)
			TAP_FAIL("%s (%s): 0x%" PRIx64 " became 0x%" PRIx64 ", was 0x%" PRIx64,
				 row->words, name, row->before, *cells, *old);
	}
}

TEST("atomics of many blocks on one word lose nothing")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k",
		"	red.global.add.u32 [%rd0], 1;\n	atom.global.add.u64 %rd3, [%rd0+8], 3;\n"
		"	red.global.add.f32 [%rd0+16], 0f3F800000;\n"
		"	atom.inc.u32 %r1, [%rd0+20], 9;\n	red.global.max.u32 [%rd0+24], "
		"%r0;\n"
		"AGAIN:	ld.volatile.global.u32 %r2, [%rd0+28];\n	add.u32 %r3, %r2, 1;\n"
		"	atom.global.cas.b32 %r4, [%rd0+28], %r2, %r3;\n"
		"	setp.ne.u32 %p0, %r4, %r2;\n	@%p0 bra AGAIN;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *cell = device_memory(&device, 64);
	float sum;

	device_run(&device, module, "k", 200, 96, address_of(cell), 0, 0);
	memcpy(&sum, cell + 4, 4);
	CHECK_INT(cell[0], 200 * 96);
	CHECK_INT(cell[2], 3 * 200 * 96);
	CHECK(sum == 200 * 96);
	CHECK_INT(cell[5], 200 * 96 % 10);
	CHECK_INT(cell[6], 95);
	CHECK_INT(cell[7], 200 * 96);
}

TEST("a value released by one block is seen by another that acquires its flag")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k",
		"	mov.u32 %r1, %ctaid.x;\n	mad.wide.u32 %rd3, %r1, 8, %rd0;\n"
		"	setp.eq.u32 %p0, %r1, 0;\n	@%p0 bra FIRST;\n"
		"WAIT:	ld.acquire.gpu.global.u32 %r2, [%rd3+-4];\n	setp.eq.u32 %p1, %r2, 0;\n"
		"	@%p1 bra WAIT;\n	ld.global.u32 %r3, [%rd3+-8];\n"
		"	bra.uni NEXT;\n"
		"FIRST:	mov.u32 %r3, 0;\n"
		"NEXT:	add.u32 %r3, %r3, %r1;\n	st.global.u32 [%rd3], %r3;\n"
		"	st.release.gpu.global.u32 [%rd3+4], 1;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *cells = device_memory(&device, 8 * 300);

	device_run(&device, module, "k", 300, 1, address_of(cells), 0, 0);
	CHECK_INT(cells[2 * 299], 299 * 300 / 2);
}

TEST("cp.async copies and clears bytes beyond the source size, and hints have no effect")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	.shared .align 16 .b8 tile[512];\n	mov.u32 %r1, tile;\n"
		     "	mad.lo.u32 %r2, %r0, 16, %r1;\n	mad.wide.u32 %rd3, %r0, 16, %rd0;\n"
		     "	st.shared.v4.u32 [%r2], {%r0, %r0, %r0, %r0};\n	mov.u32 %r3, 8;\n"
		     "	cp.async.cg.shared.global [%r2], [%rd3], 16, %r3;\n"
		     "	cp.async.commit_group;\n	cp.async.wait_group 0;\n	"
		     "cp.async.wait_all;\n"
		     "	prefetch.global.L2 [%rd3];\n	prefetchu.L1 [%rd3];\n"
		     "	ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];\n"
		     "	mad.wide.u32 %rd4, %r0, 16, %rd1;\n"
		     "	st.global.v4.u32 [%rd4], {%r4, %r5, %r6, %r7};\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *in = device_memory(&device, 512), *out = device_memory(&device, 512);

	for (uint32_t i = 0; i < 128; i++)
		in[i] = i + 100;
	device_run(&device, module, "k", 1, 32, address_of(in), address_of(out), 0);
	for (uint32_t i = 0; i < 128; i++)
		CHECK_INT(out[i], i % 4 < 2 ? in[i] : 0);
}

TEST("memory outside of the arena can be used while it is allowed")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	mad.wide.u32 %rd3, %r0, 4, %rd0;\n	ld.u32 %r1, [%rd3];\n"
		     "	add.u32 %r1, %r1, 1;\n	st.global.u32 [%rd3], %r1;\n"
		     "	red.global.add.u32 [%rd0], 1;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *host = calloc(64, sizeof(*host));
	struct sg_grid_result result;
	uint64_t parameters[] = {address_of(host), 0, 0};

	CHECK_INT(sg_memory_allow(device.machine, address_of(host), 64 * 4), 0);
	CHECK_INT(sg_memory_allow(device.machine, address_of(host) + 4, 8), -EEXIST);
	CHECK_INT(sg_memory_allow(device.machine, address_of(host), 0), -EINVAL);
	CHECK(sg_memory_is_allowed(device.machine, address_of(host) + 8, 64 * 4 - 8));
	CHECK(!sg_memory_is_allowed(device.machine, address_of(host) + 8, 64 * 4 - 7));
	device_run(&device, module, "k", 1, 64, address_of(host), 0, 0);
	CHECK_INT(host[0], 65);
	CHECK_INT(host[63], 1);
	CHECK_INT(device_run_with(&device, module, "k", (struct sg_launch){.shape.block = {65}},
				  parameters, 3, &result),
		  -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_ILLEGAL_ADDRESS);
	CHECK_INT(result.fault.address - address_of(host), 256);
	CHECK_INT(sg_memory_deny(device.machine, address_of(host) + 4, 4), -ENOENT);
	CHECK_INT(sg_memory_deny(device.machine, address_of(host), 4), 0);
	CHECK_INT(device_run_with(&device, module, "k", (struct sg_launch){.shape.block = {1}},
				  parameters, 3, &result),
		  -EFAULT);
	CHECK_INT(result.fault.address - address_of(host), 0);
	free(host);
}

TEST("an address in a 32-bit register wraps at 32 bits")
{
	/* A loop that starts before the array, as compilers write stencils. */
	static const char text[] = PTX_HEADER ".shared .align 16 .b8 tile[256];\n" KERNEL(
		"uniform", "	mad.wide.u32 %rd19, %r0, 4, %rd1;\n"
			   "	mov.u32 %r1, 0xfffffff8;\n	mov.u32 %r2, tile;\n"
			   "	add.u32 %r1, %r1, %r2;\n	st.shared.u32 [%r1+12], 5;\n"
			   "	ld.shared.u32 %r3, [%r1+12];\n"
			   "	st.global.u32 [%rd19], %r3;\n")
		KERNEL("lanes",
		       "	mad.wide.u32 %rd19, %r0, 4, %rd1;\n	mov.u32 %r4, tile;\n"
		       "	shl.b32 %r1, %r0, 3;\n	sub.u32 %r1, %r1, 8;\n	add.u32 %r1, %r1, "
		       "%r4;\n"
		       "	st.shared.u32 [%r1+8], %r0;\n	bar.warp.sync -1;\n"
		       "	and.b32 %r3, %r0, 1;\n	setp.eq.u32 %p0, %r3, 0;\n"
		       "	@%p0 ld.shared.u32 %r2, [%r1+8];\n"
		       "	@!%p0 atom.shared.add.u32 %r2, [%r1+8], 3;\n"
		       "	st.global.u32 [%rd19], %r2;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "uniform", 1, 32, 0, address_of(out), 0);
	CHECK_INT(out[0], 5);
	device_run(&device, module, "lanes", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], i);
}

TEST("generic accesses by the name of a shared variable reach it")
{
	static const char text[] = PTX_HEADER ".shared .align 4 .b32 cell[4];\n" KERNEL(
		"k", "	setp.eq.u32 %p1, %r0, 0;\n	@%p1 st.u32 [cell+4], 7;\n	bar.sync "
		     "0;\n"
		     "	atom.add.u32 %r1, [cell+4], 1;\n	red.add.u32 [cell+8], 2;\n"
		     "	bar.sync 0;\n	ld.u32 %r2, [cell+4];\n	ld.u32 %r3, [cell+8];\n"
		     "	mad.wide.u32 %rd3, %r0, 8, %rd0;\n"
		     "	st.global.v2.u32 [%rd3], {%r2, %r3};\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	/* The second word starts from what the block finds there, which is the same for all. */
	device_run(&device, module, "k", 1, 64, address_of(out), 0, 0);
	for (uint32_t i = 0; i < 64; i++) {
		CHECK_INT(out[2 * i], 7 + 64);
		CHECK_INT(out[2 * i + 1], out[1]);
	}
}

TEST("an operand may be the sum of a register and a constant, or a whole vector register")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	.reg .v2 .u16 v;	.reg .v4 .u16 w;	.reg .v2 .u32 x;\n"
		     "	mad.wide.u32 %rd3, %r0, 32, %rd0;\n"
		     "	add.u32 %r1, %r0+5, 100;\n	st.global.u32 [%rd3], %r1;\n"
		     "	mov.u64 %rd4, %rd3+8;\n	st.global.u32 [%rd4+-4], %r0+1;\n"
		     "	mul.lo.u32 %r2, %r0+3, 2;\n	st.global.u32 [%rd4], %r2;\n"
		     "	mov.b32 v, 0x00020001;\n	add.u16 v.x, v.x, 3;\n"
		     "	mov.b32 %r3, v;\n	st.global.u32 [%rd4+4], %r3;\n"
		     "	mov.b64 w, 0x0004000300020001;\n	mov.b64 %rd5, w;\n"
		     "	mov.b64 x, %rd5;\n	st.global.v2.u32 [%rd4+8], x;\n"
		     "	mov.b64 %rd6, x;\n	st.global.u64 [%rd4+16], %rd6;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "k", 1, 32, address_of(out), 0, 0);
	for (uint32_t i = 0; i < 32; i++) {
		CHECK_INT(out[8 * i], i + 105);
		CHECK_INT(out[8 * i + 1], i + 1);
		CHECK_INT(out[8 * i + 2], 2 * (i + 3));
		CHECK_INT(out[8 * i + 3], 0x00020004);
		CHECK_INT(out[8 * i + 4], 0x00020001);
		CHECK_INT(out[8 * i + 5], 0x00040003);
		CHECK_INT(out[8 * i + 6], 0x00020001);
		CHECK_INT(out[8 * i + 7], 0x00040003);
	}
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
