/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs inserted into kernels: they run exactly where and as often as their section says, see
 * the site's values, and the kernels compute what they computed before.
 */
#include "patch_running.h"

/* ---- where programs run ---------------------------------------------------------------- */

TEST("each thread runs an entry and an exit program once, whichever way it leaves")
{
	/* Threads 0 to 9 leave by a predicated ret, 10 to 19 by exit, the others at the end. */
	static const char text[] = KERNEL("\tsetp.lt.u32 %p1, %r1, 10;\n"
					  "\t@%p1 ret;\n"
					  "\tsetp.ge.u32 %p2, %r1, 20;\n"
					  "\t@%p2 bra $L1;\n"
					  "\texit;\n"
					  "$L1:\n"
					  "\tst.global.u32 [%rd3], %r1;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/entry/k", NULL);
	add_probe(&patched, "gpu/exit/k", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){3, 50},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 150);
	CHECK(patched.counts[1] == 150);
	CHECK(patched.result.found == 4 && patched.result.patched == 4);
}

TEST("a ret that is predicated by a negated predicate counts the threads that leave there")
{
	static const char text[] = KERNEL("\tsetp.lt.u32 %p1, %r1, 10;\n"
					  "\t@!%p1 ret;\n"
					  "\tst.global.u32 [%rd3], 7;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/exit/k", "ldxw r6, [r1+464]");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 32},
			  (struct gt_patch_options){.first_site = 100}));
	/* Site 100 for 22 threads, site 101 for 10. */
	CHECK(patched.counts[0] == 22 * 100 + 10 * 101);
}

TEST("a label that debug information alone refers to is no end of a kernel")
{
	static const char text[] = KERNEL("\tst.global.u32 [%rd3], 7;\n"
					  "\tret;\n"
					  "$L__func_end0:\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/exit/k", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 32},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.result.found, 1);
	CHECK(patched.counts[0] == 32);
}

TEST("programs at loads and stores see addresses, widths, spaces and values")
{
	static const char text[] = KERNEL("\tld.global.u32 %r2, [%rd3];\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tst.global.u32 [%rd3+0], %r2;\n"
					  "\tst.global.u8 [%rd3+3], 5;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/load/k", "ldxdw r6, [r1+480]"); /* value */
	add_probe(&patched, "gpu/store", "ldxdw r6, [r1+480]");
	/* address - argument 0 */
	add_probe(&patched, "gpu/memory", "ldxdw r6, [r1+472]\nldxdw r7, [r1+208]\nsub r6, r7");
	add_probe(&patched, "gpu/memory", "ldxw r6, [r1+500]"); /* width */
	add_probe(&patched, "gpu/memory", "ldxw r6, [r1+504]"); /* space */
	add_probe(&patched, "gpu/memory", "ldxw r6, [r1+508]"); /* access */
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 8},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 28);
	CHECK(patched.counts[1] == 36 + 8 * 5);
	CHECK(patched.counts[2] == 3 * 28 * 4 + 8 * 3);
	CHECK(patched.counts[3] == 8 * 9);
	CHECK(patched.counts[4] == 8 * 3 * GT_SPACE_GLOBAL);
	CHECK(patched.counts[5] == 8 * (GT_MEMORY_LOAD + 2 * GT_MEMORY_STORE));
}

TEST("the space of a generic address is that of the lanes that execute the access")
{
	/* Threads 0 to 3 store to shared memory, 4 to 7 do not store; then half of them to each. */
	static const char text[] = KERNEL("\t.shared .align 4 .b8 tile[64];\n\t.reg .b64 %s;\n"
					  "\tmov.u64 %s, tile;\n\tcvta.shared.u64 %s, %s;\n"
					  "\tadd.s64 %rd4, %s, %rd2;\n"
					  "\tst.u32 [%rd4], 1;\n"
					  "\tsetp.lt.u32 %p1, %r1, 4;\n"
					  "\tselp.b64 %rd5, %rd4, %rd3, %p1;\n"
					  "\t@%p1 st.u32 [%rd5], 2;\n"
					  "\tst.u32 [%rd5], 3;\n"
					  "\tst.u32 [%rd3], 4;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	/* The space, shifted by 8 bits for each site. */
	add_probe(&patched, "gpu/store",
		  "ldxw r6, [r1+504]\nldxw r7, [r1+464]\nlsh r7, 3\nlsh r6, r7");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 8},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.counts[0], 8 * GT_SPACE_SHARED + (4 * GT_SPACE_SHARED << 8));
}

TEST("a load that overwrites its own address register shows the address before it")
{
	static const char text[] = KERNEL("\tst.global.u64 [%rd1+512], %rd1;\n"
					  "\tadd.s64 %rd3, %rd1, 512;\n"
					  "\tld.global.u64 %rd3, [%rd3];\n"
					  "\tst.global.u32 [%rd3+4], 9;\n"
					  "\tst.global.u64 [%rd1+512], 0;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/load/k", "ldxdw r6, [r1+472]\nldxdw r7, [r1+208]\nsub r6, r7");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 1},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 512);
}

TEST("vectors and floats are shown as they lie in memory")
{
	static const char text[] = KERNEL("\tmov.f32 %f1, 0f3F800000;\n"
					  "\tmov.f32 %f2, 0f40000000;\n"
					  "\tst.global.v2.f32 [%rd1], {%f1, %f2};\n"
					  "\tmov.u16 %h1, 3;\n"
					  "\tst.global.v4.u16 [%rd1+8], {%h1, 4, 5, 6};\n"
					  "\tmov.u32 %r6, 0x1ff;\n"
					  "\tst.global.u8 [%rd1+40], %r6;\n"
					  "\tld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/store", "ldxdw r6, [r1+480]");
	add_probe(&patched, "gpu/load", "ldxdw r6, [r1+480]");
	add_probe(&patched, "gpu/load", "ldxdw r6, [r1+488]"); /* value_high */
	add_probe(&patched, "gpu/load", "ldxw r6, [r1+496]");  /* value_size */
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 1},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] ==
	      UINT64_C(0x400000003f800000) + UINT64_C(0x0006000500040003) + 0xff);
	CHECK(patched.counts[1] == UINT64_C(0x400000003f800000));
	CHECK(patched.counts[2] == UINT64_C(0x0006000500040003));
	CHECK(patched.counts[3] == 16);
}

TEST("registers that are declared as vectors or as bytes are shown like others")
{
	static const char text[] = KERNEL("\t.reg .v2 .f32 %v;\n\t.reg .u8 %c;\n"
					  "\tmov.f32 %f1, 0f3F800000;\n"
					  "\tmov.f32 %f2, 0f40000000;\n"
					  "\tst.global.v2.f32 [%rd1], {%f1, %f2};\n"
					  "\tld.global.v2.f32 %v, [%rd1];\n"
					  "\tld.global.u8 %c, [%rd1+7];\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/load", "ldxdw r6, [r1+480]");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 1},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == UINT64_C(0x400000003f800000) + 0x40);
}

TEST("a predicated access counts the threads that execute it")
{
	static const char text[] = KERNEL("\tsetp.lt.u32 %p1, %r1, 5;\n"
					  "\t@%p1 ld.global.u32 %r2, [%rd3];\n"
					  "\t@!%p1 st.global.u32 [%rd3], %r1;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/load", NULL);
	add_probe(&patched, "gpu/store", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 32},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 5);
	CHECK(patched.counts[1] == 27);
}

TEST("accesses to parameters and constants are no sites")
{
	static const char text[] = HEADER ".const .align 4 .u32 c = 3;\n"
					  ".visible .entry k(.param .u64 p)\n{\n"
					  "\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"
					  "\tld.param.u64 %rd1, [p];\n\tld.const.u32 %r1, [c];\n"
					  "\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";
	auto_patched patched = {0};

	add_probe(&patched, "gpu/memory", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 4},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 4 && patched.result.found == 1);
}

TEST("atomics show their operand, also where the result overwrites it")
{
	static const char text[] = KERNEL("\tmov.u32 %r2, 3;\n"
					  "\tatom.global.add.u32 %r2, [%rd1], %r2;\n"
					  "\tred.global.add.u32 [%rd1+4], 2;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/atomic", "ldxdw r6, [r1+480]");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 10},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 50);
}

TEST("branches show who takes them, loops how often they go back")
{
	/* Thread n goes round n + 1 times. */
	static const char text[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "$loop:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tsetp.le.u32 %p1, %r2, %r1;\n"
					  "\t@%p1 bra $loop;\n"
					  "\tst.global.u32 [%rd3], %r2;\n"
					  "\tbra.uni $end;\n"
					  "$end:\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/branch", NULL);
	add_probe(&patched, "gpu/branch", "ldxw r6, [r1+472]"); /* taken */
	add_probe(&patched, "gpu/loop", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 10},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 55);
	CHECK(patched.counts[1] == 45);
	CHECK(patched.counts[2] == 45);
}

#define TRIPS "call 534\nmov r6, r0"
#define SOURCE_LINE "call 535\nmov r6, r0"

TEST("a thread that leaves a loop runs a program once, with the trips since it entered it")
{
	/* Thread n goes round n + 1 times, and that twice. */
	static const char text[] = KERNEL("\tmov.u32 %r3, 0;\n"
					  "$outer:\n"
					  "\tadd.s32 %r3, %r3, 1;\n"
					  "\tmov.u32 %r2, 0;\n"
					  "$inner:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tsetp.gt.u32 %p1, %r2, %r1;\n"
					  "\t@!%p1 bra $inner;\n"
					  "\tsetp.eq.u32 %p2, %r3, 2;\n"
					  "\t@%p2 bra $end;\n"
					  "\tbra $outer;\n"
					  "$end:\n"
					  "\tst.global.u32 [%rd3], %r2;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	add_probe(&patched, "gpu/loop_end", TRIPS);
	/* Site 0 is the branch back. */
	add_probe(&patched, "gpu/loop_end",
		  "ldxw r7, [r1+464]\ncall 534\nmov r6, r0\njeq r7, 1, +1\nmov r6, 0");
	add_probe(&patched, "gpu/loop", TRIPS);
	add_probe(&patched, "gpu/loop_end.warp", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 10},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.counts[0], 30);
	CHECK_INT(patched.counts[1], 2 * 55 + 2 * 10);
	CHECK_INT(patched.counts[2], 2 * 55);
	CHECK_INT(patched.counts[3], 0);
	/* Lanes that leave the inner loop wait for the others. */
	CHECK_INT(patched.counts[4], 3);
	CHECK(!patched.result.rejected);
}

TEST("a branch, a ret and an exit that leave several loops end each of them")
{
	/* Threads 0 to 2 leave from within both loops, by a branch, a ret and an exit. */
	static const char text[] = KERNEL("\tmov.u32 %r3, 0;\n"
					  "$outer:\n"
					  "\tmov.u32 %r2, 0;\n"
					  "$inner:\n"
					  "\tsetp.eq.u32 %p1, %r1, 0;\n"
					  "\t@%p1 bra $end;\n"
					  "\tsetp.eq.u32 %p2, %r1, 1;\n"
					  "\t@%p2 ret;\n"
					  "\tsetp.eq.u32 %p3, %r1, 2;\n"
					  "\t@%p3 exit;\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tsetp.lt.u32 %p4, %r2, 3;\n"
					  "\t@%p4 bra $inner;\n"
					  "\tadd.s32 %r3, %r3, 1;\n"
					  "\tsetp.lt.u32 %p5, %r3, 4;\n"
					  "\t@%p5 bra $outer;\n"
					  "\tst.global.u32 [%rd3], %r2;\n"
					  "$end:\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	add_probe(&patched, "gpu/loop_end", TRIPS);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 5},
			  (struct gt_patch_options){0}));
	/* Three leave both loops once; two leave the inner one four times and the outer one. */
	CHECK_INT(patched.counts[0], 3 * 2 + 2 * 5);
	CHECK_INT(patched.counts[1], 3 * 2 + 2 * (4 * 3 + 4));
}

TEST("a loop with code after its branch back, and with an early exit, is one loop")
{
	/* Every second trip makes a detour that is after the end of the kernel in the text. */
	static const char text[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "$loop:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tand.b32 %r3, %r2, 1;\n"
					  "\tsetp.eq.u32 %p1, %r3, 0;\n"
					  "\t@%p1 bra $rare;\n"
					  "$back:\n"
					  "\tsetp.eq.u32 %p2, %r2, 9;\n"
					  "\t@%p2 bra $end;\n"
					  "\tbra $loop;\n"
					  "$end:\n"
					  "\tret;\n"
					  "$rare:\n"
					  "\tst.global.u32 [%rd3], %r2;\n"
					  "\tbra $back;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	add_probe(&patched, "gpu/loop_end", TRIPS);
	add_probe(&patched, "gpu/finish/k", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 5},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.counts[0], 5);
	CHECK_INT(patched.counts[1], 5 * 9);
	CHECK_INT(patched.counts[2], 5);
	/* The branch back from the detour closes no loop. */
	CHECK_INT(patched.result.rejected, 0);
}

/* As nvcc places some loops: the test comes after the body, which it branches back to. */
static const char test_last[] = KERNEL("\tmov.u32 %r2, 0;\n"
				       "\tbra $test;\n"
				       "$body:\n"
				       "\tadd.s32 %r2, %r2, 1;\n"
				       "$test:\n"
				       "\tsetp.lt.u32 %p1, %r2, %r1;\n"
				       "\t@%p1 bra $body;\n"
				       "\tst.global.u32 [%rd3], %r2;\n"
				       "\tret;\n");

TEST("a loop whose test comes after its body in the text starts at the test")
{
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	add_probe(&patched, "gpu/loop_end", TRIPS);
	add_probe(&patched, "gpu/loop", NULL);
	CHECK(run_patched(&patched, test_last, (struct launch_shape){1, 5},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.result.rejected, 0);
	CHECK_INT(patched.counts[0], 5);
	/* Thread n does n iterations, and n + 1 tests. */
	CHECK_INT(patched.counts[1], 1 + 2 + 3 + 4 + 5);
	CHECK_INT(patched.counts[2], 0 + 1 + 2 + 3 + 4);
}

TEST("the end of such a loop is known by the label that it branches back to")
{
	auto_patched patched = {0};
	unsigned ends = 0;

	add_probe(&patched, "gpu/loop_end", NULL);
	CHECK(patch_text(&patched, test_last, (struct gt_patch_options){0}));
	gt_vec_each (site, &patched.result.sites) {
		CHECK_STR(site->loop->name, "$test");
		CHECK_STR(site->back->name, "$body");
		ends++;
	}
	CHECK_INT(ends, 1);
}

TEST("loops inside each other whose tests come last are counted apart")
{
	static const char text[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "\tbra $outer_test;\n"
					  "$outer:\n"
					  "\tmov.u32 %r3, 0;\n"
					  "\tbra $inner_test;\n"
					  "$inner:\n"
					  "\tadd.s32 %r3, %r3, 1;\n"
					  "$inner_test:\n"
					  "\tsetp.lt.u32 %p1, %r3, 2;\n"
					  "\t@%p1 bra $inner;\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "$outer_test:\n"
					  "\tsetp.lt.u32 %p2, %r2, %r1;\n"
					  "\t@%p2 bra $outer;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	add_probe(&patched, "gpu/loop_end", TRIPS);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 4},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.result.rejected, 0);
	/* Thread n leaves the inner loop n times after 3 tests, and the outer one after n + 1. */
	CHECK_INT(patched.counts[0], 0 + 1 + 2 + 3 + 4);
	CHECK_INT(patched.counts[1], 3 * (0 + 1 + 2 + 3) + 1 + 2 + 3 + 4);
	gt_vec_each (site, &patched.result.sites)
		CHECK_STR(site->back->name,
			  !strcmp(site->loop->name, "$outer_test") ? "$outer" : "$inner");
}

TEST("a loop that is entered in its middle, too, is rejected with the reason")
{
	static const char both[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "\tsetp.eq.u32 %p1, %r1, 0;\n"
					  "\t@%p1 bra $test;\n"
					  "$loop:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "$test:\n"
					  "\tsetp.lt.u32 %p1, %r2, 9;\n"
					  "\t@%p1 bra $loop;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	CHECK(patch_text(&patched, both, (struct gt_patch_options){0}));
	CHECK_INT(patched.result.rejected, 1);
	CHECK_STR(patched.result.rejections.items[0].reason, "a loop has several entries");
}

TEST("a function with an indirect branch has no sites at the ends of its loops")
{
	static const char text[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "$loop:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tsetp.lt.u32 %p1, %r2, 9;\n"
					  "targets: .branchtargets $loop, $end;\n"
					  "\tselp.u32 %r3, 0, 1, %p1;\n"
					  "\t@%p1 bra $loop;\n"
					  "\tbrx.idx 1, targets;\n"
					  "$end:\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/loop_end", NULL);
	CHECK(patch_text(&patched, text, (struct gt_patch_options){0}));
	CHECK(!patched.result.text.length && patched.result.rejections.count == 1);
	CHECK_STR(patched.result.rejections.items[0].reason, "an indirect branch may leave a loop");
}

TEST("programs know the line of the source at their site, of inlined code its own")
{
	static const char text[] =
		KERNEL("\t.loc 1 7 3\n"
		       "\tst.global.u32 [%rd3], %r1;\n"
		       "\t.loc 1 9 3\n"
		       "\t.loc 2 100 1, function_name $name, inlined_at 1 9 3\n"
		       "\tst.global.u32 [%rd3], %r1;\n"
		       "\tret;\n") ".file 1 \"a.cu\"\n.file 2 \"b.h\"\n"
				   ".section .debug_str\n{\n$name:\n.b8 102\n.b8 0\n}\n";
	static const char without[] = KERNEL("\tst.global.u32 [%rd3], %r1;\n\tret;\n");
	auto_patched patched = {0}, other = {0};

	add_probe(&patched, "gpu/store", SOURCE_LINE);
	add_probe(&patched, "gpu/store.warp", SOURCE_LINE);
	add_probe(&patched, "gpu/exit/k", SOURCE_LINE);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 64},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.counts[0], 64 * (7 + 100));
	CHECK_INT(patched.counts[1], 2 * (7 + 100));
	CHECK_INT(patched.counts[2], 64 * 100);
	add_probe(&other, "gpu/store", SOURCE_LINE);
	CHECK(run_patched(&other, without, (struct launch_shape){1, 64},
			  (struct gt_patch_options){0}));
	CHECK_INT(other.counts[0], 0);
}

TEST("barriers show their number")
{
	static const char text[] = KERNEL("\tbar.sync 0;\n"
					  "\tbarrier.sync 3;\n"
					  "\tst.global.u32 [%rd3], %r1;\n"
					  "\tbar.warp.sync 0xffffffff;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/barrier", NULL);
	add_probe(&patched, "gpu/barrier", "ldxw r6, [r1+472]");
	CHECK(run_patched(&patched, text, (struct launch_shape){2, 64},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 256);
	CHECK(patched.counts[1] == 3 * 128);
}

static unsigned count_text(const char *text, const char *wanted)
{
	unsigned count = 0;

	for (text = strstr(text, wanted); text; text = strstr(text + 1, wanted))
		count++;
	return count;
}

TEST("the sites of a kernel share one stack in memory")
{
	static const char text[] = KERNEL("\tst.global.u32 [%rd3], 7;\n"
					  "\tst.global.u32 [%rd3], 8;\n"
					  "\tst.global.u32 [%rd3], 9;\n"
					  "\tret;\n");
	/* 2 or 3: the address of the slot depends on the thread. */
	static const char read[] =
		"stdw [r10-72], 3\nstdw [r10-80], 2\nldxw r7, [r1+0]\nand r7, 1\n"
		"lsh r7, 3\nmov r6, r10\nadd r6, -80\nadd r6, r7\n"
		"ldxdw r6, [r6+0]";
	const struct gt_patch_options options[] = {{.call_sites = 1000}, {.call_sites = 1}};

	for (size_t i = 0; i < gt_countof(options); i++) {
		auto_patched patched = {0};

		add_probe(&patched, "gpu/store", read);
		add_probe(&patched, "gpu/exit/*", read);
		CHECK(run_patched(&patched, text, (struct launch_shape){2, 64}, options[i]));
		CHECK(patched.counts[0] == 3 * (64 * 2 + 64 * 3));
		CHECK(patched.counts[1] == 64 * 2 + 64 * 3);
		CHECK(count_text(gt_strbuf_string(&patched.result.text), "stack[80];") ==
		      1 + 2 * i);
	}
}

TEST("programs run before and after a load, and before and after a barrier")
{
	static const char text[] = KERNEL("\tst.global.u32 [%rd3], 7;\n"
					  "\tld.global.u32 %r1, [%rd3];\n"
					  "\tsetp.eq.u32 %p1, %r1, 7;\n"
					  "\t@%p1 bar.sync 2;\n"
					  "\tbar.red.and.pred %p1, 0, %p1;\n"
					  "\t@%p1 bar.red.and.pred %p1, 3, %p1;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/load_begin", NULL);
	add_probe(&patched, "gpu/load", "ldxdw r6, [r1+480]");
	add_probe(&patched, "gpu/barrier", "ldxw r6, [r1+472]");
	add_probe(&patched, "gpu/barrier_end", "ldxw r6, [r1+472]");
	add_probe(&patched, "gpu/barrier_end.warp", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){2, 64},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 128);
	CHECK(patched.counts[1] == 7 * 128);
	CHECK(patched.counts[2] == 5 * 128);
	/* The last one overwrites its own guard. */
	CHECK(patched.counts[3] == 2 * 128);
	CHECK(patched.counts[4] == 2 * 4);
	CHECK_INT(patched.result.found, 1 + 1 + 3 * 3);
	CHECK_INT(patched.result.rejected, 2);
	CHECK_INT(patched.result.rejections.count, 2);
	gt_vec_each (rejection, &patched.result.rejections)
		CHECK_STR(rejection->reason, "the barrier overwrites its own predicate");
}

TEST("a program after a barrier has the cycles that a warp waited for the others")
{
	/* Warp 1 arrives a while after warp 0, which waits for it. */
	static const char text[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "\tsetp.lt.u32 %p1, %r1, 32;\n"
					  "\t@%p1 bra $wait;\n"
					  "$loop:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tsetp.lt.u32 %p2, %r2, 1000;\n"
					  "\t@%p2 bra $loop;\n"
					  "$wait:\n"
					  "\tbar.sync 0;\n"
					  "\tst.global.u32 [%rd3], %r1;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/barrier.warp", NULL);
	add_probe(&patched, "gpu/barrier_end.warp", NULL);
	add_probe(&patched, "gpu/barrier_end.warp", "ldxw r6, [r1+472]");
	add_probe(&patched, "gpu/barrier_end.warp",
		  "call 533\nmov r6, 1\njgt r0, 3000, +1\nmov r6, 0");
	add_probe(&patched, "gpu/barrier.warp", "call 533\nmov r6, r0");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 64},
			  (struct gt_patch_options){0}));
	CHECK(patched.result.found == 5 && patched.result.patched == 5);
	CHECK(patched.counts[0] == 2 && patched.counts[1] == 2 && patched.counts[2] == 0);
	/* Warp 0 waits for the 3000 instructions of warp 1, which does not wait. */
	CHECK(patched.counts[3] == 1);
	/* Before the barrier nothing is known of it. */
	CHECK(patched.counts[4] == 0);
}

/* 1 for 1 to 20 cycles: the software GPU has one per instruction. */
#define FEW_CYCLES "call 533\nmov r6, 0\njeq r0, 0, +2\njgt r0, 20, +1\nmov r6, 1"

TEST("loads and atomics have the cycles that they took, and other accesses none")
{
	static const char text[] = KERNEL("\tld.global.u32 %r2, [%rd3];\n"
					  "\tsetp.lt.u32 %p1, %r1, 16;\n"
					  "\t@%p1 ld.global.u8 %r2, [%rd3];\n"
					  "\tatom.global.add.u32 %r2, [%rd3], 1;\n"
					  "\tst.global.u32 [%rd3], %r2;\n"
					  "\tred.global.add.u32 [%rd3], 1;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/load", NULL);
	add_probe(&patched, "gpu/load", FEW_CYCLES);
	add_probe(&patched, "gpu/atomic", NULL);
	add_probe(&patched, "gpu/atomic", FEW_CYCLES);
	add_probe(&patched, "gpu/store", "call 533\nmov r6, r0");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 32},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 48 && patched.counts[2] == 64);
	CHECK(patched.counts[1] == 48);
	CHECK(patched.counts[3] == 64);
	CHECK(patched.counts[4] == 0);
}

static const char with_function[] =
	HEADER ".func (.reg .u32 r) twice(.reg .u32 a)\n{\n"
	       "\t.reg .pred %q;\n"
	       "\tsetp.gt.u32 %q, a, 4;\n"
	       "\tadd.u32 r, a, a;\n"
	       "\t@%q ret;\n"
	       "\tst.global.u32 [words], a;\n"
	       "\tret;\n}\n"
	       ".visible .entry k(.param .u64 p)\n{\n"
	       "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
	       "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n"
	       "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
	       "\tcall (%r2), twice, (%r1);\n"
	       "\tst.global.u32 [%rd3], %r2;\n\tret;\n}\n";

/* The module's variable is declared before the function. */
static char *function_module(const char *more)
{
	struct gt_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_puts(&text, HEADER ".global .align 4 .u32 words;\n");
	gt_strbuf_puts(&text, with_function + strlen(HEADER));
	gt_strbuf_puts(&text, more);
	return gt_strbuf_steal(&text);
}

TEST("a device function's programs run where it is called and where it returns")
{
	gt_autofree char *text = function_module("");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/call/twice", NULL);
	add_probe(&patched, "gpu/return/twice", NULL);
	add_probe(&patched, "gpu/store/k", NULL);
	add_probe(&patched, "gpu/exit/k", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 8},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 8);
	CHECK(patched.counts[1] == 8);
	/* One in the kernel, and one in the function for the 5 threads that get there. */
	CHECK(patched.counts[2] == 8 + 5);
	CHECK(patched.counts[3] == 8);
}

TEST("programs are inserted only into the kernels that the options select")
{
	gt_autofree char *text = function_module(".visible .entry _Z5otheri()\n{\n"
						 "\t.reg .b32 %r<2>;\n"
						 "\tcall (%r1), twice, (3);\n\tret;\n}\n");
	const char *const other[] = {"nothing", "other"}, *const mangled[] = {"_Z5other?"};
	auto_patched patched = {0}, again = {0}, called = {0};

	add_probe(&patched, "gpu/entry/*", NULL);
	CHECK(patch_text(&patched, text,
			 (struct gt_patch_options){.kernels = other, .kernel_count = 2}));
	CHECK(patched.result.found == 1 && patched.result.kernels.count == 1);
	if (patched.result.kernels.count == 1)
		CHECK_STR(patched.result.kernels.items[0].name, "_Z5otheri");
	add_probe(&again, "gpu/entry/k", NULL);
	CHECK(patch_text(&again, text,
			 (struct gt_patch_options){.kernels = mangled, .kernel_count = 1}));
	CHECK(!again.result.found && !again.result.text.length);
	/* The function is called by both: a whole module cannot have it for one of them. */
	add_probe(&called, "gpu/call/twice", NULL);
	CHECK(patch_text(
		&called, text,
		(struct gt_patch_options){.kernels = mangled, .kernel_count = 1, .whole = true}));
	CHECK(called.result.found == 1 && called.result.rejected == 1);
	if (called.result.rejections.count == 1)
		CHECK_STR(called.result.rejections.items[0].reason,
			  "kernels that were not selected call the function, too");
}

TEST("a kernel that is not selected may call functions of the driver and of other modules")
{
	static const char text[] = KERNEL(
		"\tst.global.u32 [%rd3], %r1;\n\tret;\n") ".extern .func (.param .b32 r) "
							  "vprintf(.param .b64 f, .param .b64 a);\n"
							  ".extern .func foreign;\n"
							  ".func later;\n"
							  ".visible .entry other()\n{\n"
							  "\t.param .b64 f, a;\n\t.param .b32 r;\n"
							  "\tst.param.b64 [f], 0;\n\tst.param.b64 "
							  "[a], 0;\n"
							  "\tcall (r), vprintf, (f, a);\n\tcall "
							  "foreign;\n\tcall later;\n\tret;\n}\n"
							  ".func later\n{\n\tret;\n}\n";
	const char *const selected[] = {"k"};
	auto_patched patched = {0};

	add_probe(&patched, "gpu/call/*", NULL);
	add_probe(&patched, "gpu/return/*", NULL);
	add_probe(&patched, "gpu/entry/*", NULL);
	add_probe(&patched, "gpu/store", NULL);
	CHECK(patch_text(
		&patched, text,
		(struct gt_patch_options){.kernels = selected, .kernel_count = 1, .whole = true}));
	/* Nothing that is selected calls the only function that has a body: it has no sites. */
	CHECK_INT(patched.result.rejected, 0);
	CHECK_INT(patched.result.patched, 2);
}

TEST("sites of a function that other kernels call, too, are rejected with the reason")
{
	gt_autofree char *text = function_module(".visible .entry other()\n{\n"
						 "\t.reg .b32 %r<2>;\n"
						 "\tcall (%r1), twice, (3);\n\tret;\n}\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/store/k", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 8},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 8);
	CHECK(patched.result.found == 2 && patched.result.rejected == 1);
	CHECK(patched.result.rejections.count == 1);
	if (patched.result.rejections.count != 1)
		return;
	CHECK_STR(patched.result.rejections.items[0].function, "twice");
	CHECK_STR(patched.result.rejections.items[0].reason,
		  "kernels that the program does not match call the function, too");
}

/* ---- levels ---------------------------------------------------------------------------- */

TEST("once a warp is once for each group of lanes, and their sizes add up to the threads")
{
	static const char text[] = KERNEL("\tand.b32 %r2, %r1, 1;\n"
					  "\tsetp.eq.u32 %p1, %r2, 1;\n"
					  "\t@%p1 bra $odd;\n"
					  "\tst.global.u32 [%rd3], 1;\n"
					  "\tret;\n"
					  "$odd:\n"
					  "\tst.global.u32 [%rd3], 2;\n"
					  "\tret;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/store.warp", NULL);
	/* The number of bits of the mask, by halving. */
	add_probe(&patched, "gpu/store.warp",
		  "ldxw r2, [r1+60]\nmov r6, 0\n"
		  "mov r3, r2\nand r3, 0x55555555\nrsh r2, 1\nand r2, 0x55555555\nadd r2, r3\n"
		  "mov r3, r2\nand r3, 0x33333333\nrsh r2, 2\nand r2, 0x33333333\nadd r2, r3\n"
		  "mov r3, r2\nand r3, 0x0f0f0f0f\nrsh r2, 4\nand r2, 0x0f0f0f0f\nadd r2, r3\n"
		  "mul r2, 0x01010101\nrsh r2, 24\nand r2, 63\nmov r6, r2");
	CHECK(run_patched(&patched, text, (struct launch_shape){1, 64},
			  (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == 4);
	CHECK(patched.counts[1] == 64);
}

TEST("once a block is its first thread at the start, and its last one at the end")
{
	/* Thread n waits n rounds; all leave at different times, half of them by @p ret. */
	static const char text[] = KERNEL("\tmov.u32 %r2, 0;\n"
					  "$loop:\n"
					  "\tadd.s32 %r2, %r2, 1;\n"
					  "\tsetp.le.u32 %p1, %r2, %r1;\n"
					  "\t@%p1 bra $loop;\n"
					  "\tst.global.u32 [%rd3], %r2;\n"
					  "\tsetp.lt.u32 %p2, %r1, 20;\n"
					  "\t@%p2 ret;\n"
					  "\tst.global.u32 [%rd3], %r2;\n");
	auto_patched patched = {0};

	add_probe(&patched, "gpu/entry.block/k", NULL);
	add_probe(&patched, "gpu/exit.block/k", NULL);
	add_probe(&patched, "gpu/block_begin", NULL);
	add_probe(&patched, "gpu/block_end", NULL);
	add_probe(&patched, "gpu/exit/k", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){5, 40},
			  (struct gt_patch_options){0}));
	for (unsigned i = 0; i < 4; i++)
		CHECK(patched.counts[i] == 5);
	CHECK(patched.counts[4] == 200);
}

/* The odd lanes of a warp branch to the end; the others wait a while, and store something. */
#define EARLY_EXIT                                                                                 \
	KERNEL("\tand.b32 %r2, %r1, 1;\n"                                                          \
	       "\tsetp.eq.u32 %p1, %r2, 1;\n"                                                      \
	       "\t@%p1 bra $end;\n"                                                                \
	       "$loop:\n"                                                                          \
	       "\tadd.s32 %r2, %r2, 1;\n"                                                          \
	       "\tsetp.le.u32 %p2, %r2, 9;\n"                                                      \
	       "\t@%p2 bra $loop;\n"                                                               \
	       "\tst.global.u32 [%rd3], %r2;\n"                                                    \
	       "$end:\n"                                                                           \
	       "\tret;\n")

TEST("lanes that branch to the end of a kernel wait there for the others before an exit program")
{
	auto_patched patched = {0};

	add_probe(&patched, "gpu/exit.warp/k", NULL);
	CHECK(run_patched(&patched, EARLY_EXIT, (struct launch_shape){5, 64},
			  (struct gt_patch_options){0}));
	CHECK(patched.result.found == 1);
	CHECK(patched.counts[0] == 10);
}

TEST("a finish program runs before lanes wait at the end of a kernel, and each thread ends once")
{
	auto_patched patched = {0};

	add_probe(&patched, "gpu/finish.warp/k", NULL);
	add_probe(&patched, "gpu/finish/k", NULL);
	add_probe(&patched, "gpu/exit/k", NULL);
	add_probe(&patched, "gpu/block_end", NULL);
	add_probe(&patched, "gpu/branch/k", NULL);
	CHECK(run_patched(&patched, EARLY_EXIT, (struct launch_shape){5, 64},
			  (struct gt_patch_options){0}));
	CHECK(patched.result.found == patched.result.patched && patched.result.patched == 10);
	CHECK(patched.counts[0] == 20);
	CHECK(patched.counts[1] == 320);
	CHECK(patched.counts[2] == 320);
	CHECK(patched.counts[3] == 5);
	CHECK(patched.counts[4] == 320 + 160 * 10);
}

/* Threads of k, and of l if there is one, exit in a device function. */
#define EXITS_IN_FUNCTION(others)                                                                  \
	HEADER ".func f()\n{\n\texit;\n}\n" others                                                 \
	       ".visible .entry k(.param .u64 p)\n{\n\tcall f;\n\tret;\n}\n"
#define OTHER_THAT_EXITS ".visible .entry l(.param .u64 p)\n{\n\tcall f;\n\tret;\n}\n"

TEST("a program that reads the kernel's number runs in functions that one kernel alone calls")
{
	const struct gt_patch_options options = {.first_kernel = 7};
	auto_patched one = {0}, several = {0};

	add_probe(&one, "gpu/exit/*", "ldxw r6, [r1+72]");
	CHECK(run_patched(&one, EXITS_IN_FUNCTION(""), (struct launch_shape){2, 32}, options));
	CHECK(one.counts[0] == 2 * 32 * 7);
	add_probe(&several, "gpu/exit/*", "ldxw r6, [r1+72]");
	CHECK(patch_text(&several, EXITS_IN_FUNCTION(OTHER_THAT_EXITS), options));
	CHECK_INT(several.result.rejected, 1);
	if (several.result.rejections.count)
		CHECK_STR(several.result.rejections.items[0].reason,
			  "the program reads the kernel's number, which a function of a module "
			  "with programs in several kernels lacks");
}

/* Odd threads leave first; kernels that have no shared memory to spare, and old PTX. */
#define LEAVING(header, shared)                                                                    \
	header shared ".visible .entry k(.param .u64 p)\n{\n"                                      \
		      "\t.reg .pred %p<2>;\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n"             \
		      "\tmov.u32 %r1, %tid.x;\n\tand.b32 %r2, %r1, 1;\n"                           \
		      "\tsetp.eq.u32 %p1, %r2, 1;\n\t@%p1 ret;\n"                                  \
		      "\tmov.u32 %r2, data;\n\tret;\n}\n"
static const char *const leaving_texts[] = {
	LEAVING(HEADER, ".extern .shared .align 4 .b8 data[];\n"),
	LEAVING(HEADER, ".shared .align 4 .b8 data[49152];\n"),
	LEAVING(".version 6.0\n.target sm_60\n.address_size 64\n",
		".shared .align 4 .b8 data[16];\n"),
};

TEST("each block has a last thread, in blocks of all sizes, whatever shared memory is used")
{
	static const struct launch_shape shapes[] = {{5, 1},  {5, 2},  {5, 31},  {5, 32},
						     {5, 33}, {5, 64}, {3, 250}, {2, 1024}};

	for (size_t i = 0; i < gt_countof(leaving_texts) * gt_countof(shapes); i++) {
		struct launch_shape shape = shapes[i % gt_countof(shapes)];
		auto_patched patched = {0};

		add_probe(&patched, "gpu/block_end", NULL);
		add_probe(&patched, "gpu/exit/k", NULL);
		CHECK(run_patched(&patched, leaving_texts[i / gt_countof(shapes)], shape,
				  (struct gt_patch_options){0}));
		CHECK(!patched.result.rejected);
		CHECK(patched.counts[0] == shape.blocks);
		CHECK(patched.counts[1] == (uint64_t)shape.blocks * shape.threads);
	}
}

TEST("blocks return the counters of their threads: more blocks than counters have last threads")
{
	struct launch_shape shape = {33000, 2};
	auto_patched patched = {0};

	add_probe(&patched, "gpu/block_end", NULL);
	CHECK(run_patched(&patched, leaving_texts[0], shape, (struct gt_patch_options){0}));
	CHECK(patched.counts[0] == shape.blocks);
}

TEST("ptxas accepts the patched modules")
{
	check_with_ptxas();
}

TEST_MAIN
