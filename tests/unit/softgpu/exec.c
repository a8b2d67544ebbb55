/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_fixture.h"

static const char vectoradd[] = PTX_HEADER
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .f32 %f<4>;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .b64 %rd<11>;\n"
	"	ld.param.u64 %rd1, [a];\n"
	"	ld.param.u64 %rd2, [b];\n"
	"	ld.param.u64 %rd3, [c];\n"
	"	ld.param.u32 %r2, [n];\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ntid.x;\n"
	"	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.s32 %r1, %r3, %r4, %r5;\n"
	"	setp.ge.s32 %p1, %r1, %r2;\n"
	"	@%p1 bra $done;\n"
	"	cvta.to.global.u64 %rd4, %rd1;\n"
	"	mul.wide.s32 %rd5, %r1, 4;\n"
	"	add.s64 %rd6, %rd4, %rd5;\n"
	"	cvta.to.global.u64 %rd7, %rd2;\n"
	"	add.s64 %rd8, %rd7, %rd5;\n"
	"	ld.global.f32 %f1, [%rd8];\n"
	"	ld.global.f32 %f2, [%rd6];\n"
	"	add.f32 %f3, %f2, %f1;\n"
	"	cvta.to.global.u64 %rd9, %rd3;\n"
	"	add.s64 %rd10, %rd9, %rd5;\n"
	"	st.global.f32 [%rd10], %f3;\n"
	"$done:\n"
	"	ret;\n"
	"}\n";

TEST("a kernel adds two vectors whose length is not a multiple of the block size")
{
	enum { COUNT = 10007 };
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	float *a, *b, *c;
	int wrong = 0;

	device_open(&device);
	module = device_load(&device, vectoradd);
	a = device_memory(&device, COUNT * sizeof(float));
	b = device_memory(&device, COUNT * sizeof(float));
	c = device_memory(&device, COUNT * sizeof(float) + SG_GRANULE);
	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)i;
		b[i] = 0.5f * (float)i;
	}
	device_run(&device, module, "add", (COUNT + 255) / 256, 256, address_of(a), address_of(b),
		   address_of(c), COUNT);
	for (int i = 0; i < COUNT; i++)
		wrong += c[i] != a[i] + b[i];
	CHECK_INT(wrong, 0);
	CHECK(c[COUNT] == 0);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
