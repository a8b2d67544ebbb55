/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Divergence, loops, locks between lanes, calls. */
#include "exec_kernel.h"

/* ---- divergence ------------------------------------------------------------------------ */

static const char branches[] = PTX_HEADER KERNEL(
	"nested", "	and.b32 %r1, %r0, 1;\n	setp.eq.u32 %p0, %r1, 0;\n	mov.u32 %r2, 0;\n"
		  "	@%p0 bra EVEN;\n"
		  "	and.b32 %r1, %r0, 2;\n	setp.eq.u32 %p1, %r1, 0;\n	@%p1 bra ONE;\n"
		  "	add.u32 %r2, %r2, 30;\n	bra ODD_END;\n"
		  "ONE:	add.u32 %r2, %r2, 10;\n"
		  "ODD_END:	add.u32 %r2, %r2, 5;\n	bra END;\n"
		  "EVEN:	add.u32 %r2, %r2, 7;\n"
		  "END:	activemask.b32 %r3;\n	st.global.u32 [%rd19], %r2;\n"
		  "	mad.wide.u32 %rd3, %r0, 4, %rd2;\n	st.global.u32 [%rd3], %r3;\n")
	KERNEL("loop",
	       "	mov.u32 %r1, 0;\n	mov.u32 %r2, 0;\n"
	       "TOP:	setp.ge.u32 %p0, %r1, %r0;\n	@%p0 bra OUT;\n"
	       "	add.u32 %r2, %r2, %r1;\n	add.u32 %r1, %r1, 1;\n	bra TOP;\n"
	       "OUT:	activemask.b32 %r3;\n	st.global.u32 [%rd19], %r2;\n"
	       "	mad.wide.u32 %rd3, %r0, 4, %rd2;\n	st.global.u32 [%rd3], %r3;\n")
	/* The rare path stands behind the end, as compilers put it. */
	KERNEL("cold", "	mov.u32 %r1, 0;\n	mov.u32 %r2, 0;\n"
		       "TOP:	add.u32 %r3, %r1, %r0;\n	and.b32 %r3, %r3, 7;\n"
		       "	setp.eq.u32 %p0, %r3, 3;\n	@%p0 bra COLD;\n"
		       "BACK:	add.u32 %r2, %r2, %r1;\n	add.u32 %r1, %r1, 1;\n"
		       "	setp.lt.u32 %p1, %r1, 64;\n	@%p1 bra TOP;\n"
		       "	st.global.u32 [%rd19], %r2;\n	ret;\n"
		       "COLD:	add.u32 %r2, %r2, 1000;\n	bra BACK;\n")
		KERNEL("table", "	and.b32 %r1, %r0, 3;\n	mov.u32 %r2, 1;\n"
				"	ts: .branchtargets A, B, C, A;\n	brx.idx %r1, ts;\n"
				"A:	add.u32 %r2, %r2, 100;\n	bra END;\n"
				"B:	add.u32 %r2, %r2, 200;\n"
				"C:	add.u32 %r2, %r2, 300;\n"
				"END:	st.global.u32 [%rd19], %r2;\n")
			KERNEL("returns", "	setp.lt.u32 %p0, %r0, 5;\n	@%p0 exit;\n"
					  "	setp.lt.u32 %p1, %r0, 9;\n	@%p1 ret;\n"
					  "	st.global.u32 [%rd19], 1;\n");

TEST("lanes diverge at branches and reconverge after them")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, branches);
	uint32_t *out = device_memory(&device, 512), *masks = device_memory(&device, 512);

	device_run(&device, module, "nested", 1, 64, 0, address_of(out), address_of(masks));
	for (uint32_t i = 0; i < 64; i++) {
		CHECK_INT(out[i], i % 2 ? (i & 2 ? 35 : 15) : 7);
		CHECK_INT(masks[i], 0xffffffff);
	}
	device_run(&device, module, "nested", 1, 20, 0, address_of(out), address_of(masks));
	CHECK_INT(masks[3], 0xfffff);
}

TEST("a loop whose lanes leave one by one continues with all lanes")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, branches);
	uint32_t *out = device_memory(&device, 512), *masks = device_memory(&device, 512);
	uint64_t count =
		run_counting(&device, module, "loop", 32, 0, address_of(out), address_of(masks));

	for (uint32_t i = 0; i < 32; i++) {
		CHECK_INT(out[i], i * (i - 1) / 2);
		CHECK_INT(masks[i], 0xffffffff);
	}
	/* 32 turns of 5 instructions and little else. */
	CHECK(count < 200);
}

TEST("lanes that compute for several turns are not left behind")
{
	static const char text[] = PTX_HEADER KERNEL(
		"late",
		"	mov.u32 %r4, 0;\n	mov.u32 %r5, 0;\n"
		"OUTER:	and.b32 %r1, %r0, 3;\n	setp.ne.u32 %p0, %r1, 1;\n	@%p0 bra JOIN;\n"
		"	mul.lo.u32 %r2, %r0, %r4;\n	rem.u32 %r2, %r2, 61;\n	mov.u32 %r3, 0;\n"
		"INNER:	setp.ge.u32 %p1, %r3, %r2;\n	@%p1 bra JOIN;\n"
		"	add.u32 %r3, %r3, 1;\n	bra INNER;\n"
		"JOIN:	add.u32 %r1, %r4, 1;\n	activemask.b32 %r1;\n	setp.ne.u32 %p2, %r1, "
		"0xffffffff;\n"
		"	@%p2 add.u32 %r5, %r5, 1;\n"
		"	add.u32 %r4, %r4, 1;\n	setp.lt.u32 %p1, %r4, 2000;\n	@%p1 bra OUTER;\n"
		"	st.global.u32 [%rd19], %r5;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *partial = device_memory(&device, 256);

	device_run(&device, module, "late", 1, 64, 0, address_of(partial), 0);
	for (uint32_t i = 0; i < 64; i++)
		CHECK_INT(partial[i], 0);
}

TEST("code after the end of a loop in the text does not split the loop")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, branches);
	uint32_t *out = device_memory(&device, 512);
	uint64_t count = run_counting(&device, module, "cold", 32, 0, address_of(out), 0);

	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], 63 * 64 / 2 + 8000);
	/* Each of 64 turns takes both paths once for all lanes: 10 instructions. */
	CHECK(count < 64 * 11 + 30);
}

TEST("an indexed branch takes each lane to its own target")
{
	static const uint32_t expected[] = {101, 501, 301, 101};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, branches);
	uint32_t *out = device_memory(&device, 512);

	device_run(&device, module, "table", 1, 50, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 50; i++)
		CHECK_INT(out[i], expected[i % 4]);
	device_run(&device, module, "returns", 1, 50, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 50; i++)
		CHECK_INT(out[i], i < 9 ? expected[i % 4] : 1);
}

TEST("each lane of a warp acquires a contended lock")
{
	static const char text[] = PTX_HEADER
		/* The critical section stands behind the loop that waits. */
		KERNEL("behind",
		       "AGAIN:	atom.global.cas.b32 %r1, [%rd0], 0, 1;\n"
		       "	setp.ne.u32 %p0, %r1, 0;\n	@%p0 bra AGAIN;\n"
		       "	ld.volatile.global.u32 %r2, [%rd0+4];\n	add.u32 %r2, %r2, 1;\n"
		       "	st.volatile.global.u32 [%rd0+4], %r2;\n	membar.gl;\n"
		       "	atom.global.exch.b32 %r1, [%rd0], 0;\n")
			KERNEL("inside",
			       "	mov.u32 %r3, 0;\n"
			       "AGAIN:	atom.global.exch.b32 %r1, [%rd0], 1;\n"
			       "	setp.ne.u32 %p0, %r1, 0;\n	@%p0 bra BUSY;\n"
			       "	ld.volatile.global.u32 %r2, [%rd0+4];\n	add.u32 %r2, %r2, "
			       "1;\n"
			       "	st.volatile.global.u32 [%rd0+4], %r2;\n	membar.gl;\n"
			       "	atom.global.exch.b32 %r1, [%rd0], 0;\n	mov.u32 %r3, 1;\n"
			       "BUSY:	setp.eq.u32 %p1, %r3, 0;\n	@%p1 bra AGAIN;\n")
		/* The owner is a lane that waits for the others at the end of the loop. */
		KERNEL("turns",
		       "WAIT:	ld.volatile.global.u32 %r1, [%rd0];\n"
		       "	setp.ne.u32 %p0, %r1, %r0;\n	@%p0 bra WAIT;\n"
		       "	add.u32 %r1, %r1, 1;\n	st.volatile.global.u32 [%rd0], %r1;\n")
			KERNEL("plain",
			       "WAIT:	ld.global.u32 %r1, [%rd0];\n"
			       "	setp.lt.u32 %p0, %r1, %r0;\n	@%p0 bra WAIT;\n"
			       "	add.u32 %r1, %r0, 1;\n	st.global.u32 [%rd0], %r1;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *lock = device_memory(&device, 8);

	device_run(&device, module, "behind", 1, 32, address_of(lock), 0, 0);
	CHECK_INT(lock[1], 32);
	device_run(&device, module, "behind", 8, 128, address_of(lock), 0, 0);
	CHECK_INT(lock[1], 32 + 8 * 128);
	device_run(&device, module, "inside", 8, 128, address_of(lock), 0, 0);
	CHECK_INT(lock[1], 32 + 16 * 128);
	CHECK_INT(lock[0], 0);
	device_run(&device, module, "turns", 1, 96, address_of(lock), 0, 0);
	CHECK_INT(lock[0], 96);
	lock[0] = 0;
	device_run(&device, module, "plain", 1, 8, address_of(lock), 0, 0);
	CHECK_INT(lock[0], 8);
}

/* ---- calls ----------------------------------------------------------------------------- */

static const char calls[] = PTX_HEADER
	".func (.param .u32 r) fib(.param .u32 n)\n"
	"{	.reg .pred %p<2>;	.reg .b32 %r<9>;\n"
	"	ld.param.u32 %r1, [n];\n	setp.lt.u32 %p1, %r1, 2;\n	mov.u32 %r2, %r1;\n"
	"	@%p1 bra END;\n	sub.u32 %r3, %r1, 1;\n	{\n"
	"	.param .u32 a;\n	.param .u32 b;\n	st.param.u32 [a], %r3;\n"
	"	call (b), fib, (a);\n	ld.param.u32 %r4, [b];\n	}\n"
	"	sub.u32 %r5, %r1, 2;\n	{\n"
	"	.param .u32 a;\n	.param .u32 b;\n	st.param.u32 [a], %r5;\n"
	"	call (b), fib, (a);\n	ld.param.u32 %r6, [b];\n	}\n"
	"	add.u32 %r2, %r4, %r6;\n"
	"END:	st.param.u32 [r], %r2;\n	ret;\n}\n"
	".func (.reg .u32 d) registers(.reg .u32 a, .reg .u64 b)\n"
	"{	.reg .b32 %r<3>;\n	cvt.u32.u64 %r1, b;\n	mad.lo.u32 d, a, a, %r1;\n	"
	"ret;\n}\n"
	".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 s[16])\n"
	"{	.reg .b64 %rd<3>;\n	ld.param.v2.u64 {%rd1, %rd2}, [s];\n"
	"	st.param.v2.u64 [r], {%rd2, %rd1};\n	ret;\n}\n"
	".func (.param .u32 r) plus(.param .u32 a)\n"
	"{	.reg .b32 %r<3>;\n	ld.param.u32 %r1, [a];\n	add.u32 %r1, %r1, 1;\n"
	"	st.param.u32 [r], %r1;\n	ret;\n}\n"
	".func (.param .u32 r) times(.param .u32 a)\n"
	"{	.reg .b32 %r<3>;\n	ld.param.u32 %r1, [a];\n	mul.lo.u32 %r1, %r1, 10;\n"
	"	st.param.u32 [r], %r1;\n	ret;\n}\n"
	".func leave()\n{	exit;\n}\n" KERNEL(
		"recursion",
		"	and.b32 %r1, %r0, 15;\n	{\n	.param .u32 a;\n	.param .u32 b;\n"
		"	st.param.u32 [a], %r1;\n	call (b), fib, (a);\n"
		"	ld.param.u32 %r2, [b];\n	}\n	activemask.b32 %r3;\n"
		"	st.global.u32 [%rd19], %r2;\n	mad.wide.u32 %rd3, %r0, 4, %rd2;\n"
		"	st.global.u32 [%rd3], %r3;\n")
		KERNEL("mixed",
		       "	cvt.u64.u32 %rd3, %r0;\n	call (%r1), registers, (%r0, "
		       "%rd3);\n"
		       "	{\n	.param .align 8 .b8 a[16];\n	.param .align 8 .b8 "
		       "b[16];\n"
		       "	st.param.u64 [a], %rd3;\n	st.param.u64 [a+8], 5;\n"
		       "	call (b), swap, (a);\n	ld.param.u64 %rd4, [b];\n"
		       "	ld.param.u64 %rd5, [b+8];\n	}\n	cvt.u32.u64 %r2, %rd4;\n"
		       "	cvt.u32.u64 %r3, %rd5;\n	mad.lo.u32 %r1, %r2, 100000, %r1;\n"
		       "	mad.lo.u32 %r1, %r3, 1000000, %r1;\n	st.global.u32 [%rd19], "
		       "%r1;\n")
			KERNEL("indirect",
			       "	mov.u64 %rd3, plus;\n	mov.u64 %rd4, times;\n	and.b32 "
			       "%r1, %r0, 1;\n"
			       "	setp.eq.u32 %p0, %r1, 0;\n	selp.u64 %rd5, %rd3, %rd4, "
			       "%p0;\n	{\n"
			       "	.param .u32 a;\n	.param .u32 b;\n	"
			       "st.param.u32 [a], %r0;\n"
			       "	proto: .callprototype (.param .u32 _) _ (.param .u32 _);\n"
			       "	call (b), %rd5, (a), proto;\n	ld.param.u32 %r2, "
			       "[b];\n	}\n"
			       "	activemask.b32 %r3;\n	setp.ne.u32 %p1, %r3, -1;\n	"
			       "@%p1 trap;\n"
			       "	st.global.u32 [%rd19], %r2;\n")
				KERNEL("leaving",
				       "	setp.lt.u32 %p0, %r0, 10;\n	@%p0 call leave;\n"
				       "	st.global.u32 [%rd19], 9;\n");

TEST("functions are recursive, with a depth per lane")
{
	static const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, calls);
	uint32_t *out = device_memory(&device, 4096), *masks = device_memory(&device, 4096);

	device_run(&device, module, "recursion", 1, 100, 0, address_of(out), address_of(masks));
	for (uint32_t i = 0; i < 100; i++) {
		CHECK_INT(out[i], fib[i % 16]);
		CHECK_INT(masks[i], i < 96 ? 0xffffffff : 0xf);
	}
}

TEST("calls pass registers and structures, follow pointers, and may not return")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, calls);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "mixed", 1, 40, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 40; i++)
		CHECK_INT(out[i], i * i + i + 500000 + i * 1000000);
	device_run(&device, module, "indirect", 1, 64, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 64; i++)
		CHECK_INT(out[i], i % 2 ? i * 10 : i + 1);
	memset(out, 0, 4096);
	device_run(&device, module, "leaving", 1, 40, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 40; i++)
		CHECK_INT(out[i], i < 10 ? 0 : 9);
}

/* ptxas takes predicates and 16 bits without its ABI only, which a .local of a module disables. */
static const char vector_calls[] =
	".version 2.3\n.target sm_20\n.address_size 64\n.local .u32 unused;\n"
	".func (.reg .v4 .u16 r) spread(.reg .v2 .u32 x, .reg .pred q)\n"
	"{	.reg .u32 t;\n"
	"	cvt.u16.u32 r.x, x.x;\n	cvt.u16.u32 r.y, x.y;\n"
	"	add.u32 t, x.x, x.y;\n	cvt.u16.u32 r.z, t;\n"
	"	mov.u16 r.w, 9;\n	@q mov.u16 r.w, 7;\n	ret;\n}\n"
	".func (.reg .pred p) above(.reg .u32 x, .reg .u32 y)\n"
	"{	setp.gt.u32 p, x, y;\n	ret;\n}\n"
	".entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n"
	"{	.reg .v4 .u16 v;	.reg .v2 .u32 x;	.reg .u32 %r<3>;\n"
	"	.reg .u64 %rd<3>;	.reg .pred p;\n"
	"	mov.u32 %r0, %tid.x;\n	ld.param.u64 %rd1, [b];\n"
	"	mad.wide.u32 %rd2, %r0, 8, %rd1;\n"
	"	mov.u32 x.x, %r0;\n	mov.u32 x.y, 100;\n"
	"	call (p), above, (%r0, 5);\n"
	"	call (v), spread, (x, p);\n"
	"	st.global.v4.u16 [%rd2], v;\n	ret;\n}\n";

TEST("calls pass every element of vector registers, and predicates")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, vector_calls);
	uint16_t *out = device_memory(&device, 4096);

	device_run(&device, module, "k", 1, 40, 0, address_of(out), 0);
	for (uint16_t i = 0; i < 40; i++) {
		CHECK_INT(out[4 * i], i);
		CHECK_INT(out[4 * i + 1], 100);
		CHECK_INT(out[4 * i + 2], i + 100);
		CHECK_INT(out[4 * i + 3], i > 5 ? 7 : 9);
	}
}

static void check_not_loaded(const char *text, const char *expected)
{
	auto_device device;
	struct sg_module *module = NULL;
	struct gt_diag diag = {0};

	device_open(&device);
	CHECK_INT(sg_module_load_text(device.machine, text, strlen(text), &module, &diag), -EINVAL);
	CHECK(strstr(diag.text, expected));
	sg_module_free(module);
}

TEST("a call that passes values of other sizes than the function has is rejected")
{
	check_not_loaded(PTX_HEADER ".func f(.param .u32 n)\n{	ret;\n}\n" KERNEL(
				 "k", "	{\n	.param .align 8 .b8 a[4096];\n"
				      "	call f, (a);\n	}\n"),
			 "a call passes a value of 4096 bytes as 4");
	check_not_loaded(PTX_HEADER ".func f(.reg .u32 n)\n{	ret;\n}\n" KERNEL(
				 "k", "	call f, (%rd0);\n"),
			 "a call passes a value of 8 bytes as 4");
	check_not_loaded(PTX_HEADER ".func f(.reg .v2 .u32 n)\n{	ret;\n}\n" KERNEL(
				 "k", "	call f, (%r0);\n"),
			 "a call passes a vector of the wrong length");
}

TEST("prototypes need no semicolon, and parameters may have the names of their functions")
{
	static const char text[] =
		PTX_HEADER ".func (.param .u32 r) later(.param .u32 a)\n"
			   ".func (.reg .u32 r) twice(.reg .u32 twice)\n{	add.u32 r, twice, "
			   "twice;\n	ret;\n}\n"
			   ".visible .entry k(.param .u64 p)\n"
			   "{	.reg .u32 %r<3>;	.reg .u64 %rd<3>;\n"
			   "	.param .u32 a;	.param .u32 b;\n"
			   "	mov.u32 %r0, %tid.x;\n	call (%r1), twice, (%r0);\n"
			   "	st.param.u32 [a], %r1;\n	call (b), later, (a);\n"
			   "	ld.param.u32 %r2, [b];\n	ld.param.u64 %rd1, [p];\n"
			   "	mad.wide.u32 %rd2, %r0, 4, %rd1;\n	st.global.u32 [%rd2], "
			   "%r2;\n	ret;\n}\n"
			   ".func (.param .u32 r) later(.param .u32 a)\n"
			   "{	.reg .u32 %r<2>;\n	ld.param.u32 %r1, [a];\n	add.u32 "
			   "%r1, %r1, 5;\n"
			   "	st.param.u32 [r], %r1;\n	ret;\n}\n";
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "k", 1, 40, address_of(out));
	for (uint32_t i = 0; i < 40; i++)
		CHECK_INT(out[i], 2 * i + 5);
}

TEST("the stack pointer can be moved and restored")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	stacksave.u64 %rd3;\n	alloca.u64 %rd4, 64, 16;\n"
		     "	add.u32 %r1, %r0, 1;\n	cvt.u64.u32 %rd5, %r1;\n	alloca.u64 %rd6, "
		     "%rd5;\n"
		     "	st.local.u32 [%rd4+12], %r0;\n	st.local.u8 [%rd6], 3;\n"
		     "	ld.local.u32 %r2, [%rd4+12];\n	ld.local.u8 %r3, [%rd6];\n"
		     "	stackrestore.u64 %rd3;\n	stacksave.u64 %rd7;\n"
		     "	setp.ne.u64 %p0, %rd3, %rd7;\n	@%p0 trap;\n"
		     "	mad.lo.u32 %r2, %r3, 1000, %r2;\n	st.global.u32 [%rd19], %r2;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "k", 1, 50, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 50; i++)
		CHECK_INT(out[i], 3000 + i);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
