/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs where basic blocks start, and what they read of the kernel's registers there. */
#include "patch_running.h"

#define READ_REGISTER(number) "mov r1, " #number "\ncall 512\nmov r6, r0"

/*
 * 10 threads run block 0, threads 0 to 3 block 1, the others block 2, all of them block 3, and
 * threads from 2 on block 4. `$unused` and the code after the branch to $join start no block,
 * though there is a branch in it.
 */
static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			   ".visible .entry k(.param .u64 p)\n{\n"
			   "\t.reg .pred %p<4>;\n\t.reg .b16 %h<4>;\n\t.reg .b32 %r<8>;\n"
			   "\t.reg .f32 %f<4>;\n\t.reg .b64 %rd<4>;\n\t.reg .f64 %single;\n"
			   "\t.reg .v2 .u32 %pair;\n"
			   "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r5, 77;\n"
			   "\tmov.b32 %f1, 0f3F800000;\n\tmov.b64 %single, 0d4000000000000000;\n"
			   "\tcvt.u16.u32 %h1, %r1;\n\tadd.u16 %h1, %h1, 1000;\n"
			   "\tmov.u64 %rd2, 0x123456789;\n"
			   "$unused:\n"
			   "\tsetp.ge.u32 %p1, %r1, 4;\n"
			   "{\n\t.reg .b32 %r<3>;\n\t.reg .pred %q;\n"
			   "\tmov.u32 %r1, %tid.x;\n"
			   "\t@%p1 bra $upper;\n"
			   "\tmov.u32 %r2, 5;\n"
			   "\tbra.uni $join;\n"
			   "\t@%p1 bra $upper;\n"
			   "\tmov.u32 %r2, 99;\n"
			   "$upper:\n"
			   "\tmov.u32 %r2, 7;\n"
			   "$join:\n"
			   "\tsetp.lt.u32 %q, %r1, 2;\n"
			   "\t@%q exit;\n"
			   "\tst.global.u32 [%rd1], %r2;\n"
			   "}\n"
			   "\tret;\n}\n";

static bool run_blocks(struct patched_module *patched)
{
	return run_patched(patched, text, (struct launch_shape){1, 10},
			   (struct gt_patch_options){0});
}

TEST("a program of a basic block runs where the block starts, and one without a number at each")
{
	auto_patched patched = {0};

	add_probe(&patched, "kprobe/k__BB0", NULL);
	add_probe(&patched, "kprobe/k__BB1", NULL);
	add_probe(&patched, "kprobe/k__BB2", NULL);
	add_probe(&patched, "kprobe/k__BB3", NULL);
	add_probe(&patched, "kprobe/k__BB4", NULL);
	add_probe(&patched, "gpu/basic_block/k", NULL);
	add_probe(&patched, "gpu/basic_block.warp", NULL);
	CHECK(run_blocks(&patched));
	CHECK_INT(patched.counts[0], 10);
	CHECK_INT(patched.counts[1], 4);
	CHECK_INT(patched.counts[2], 6);
	CHECK_INT(patched.counts[3], 10);
	CHECK_INT(patched.counts[4], 8);
	CHECK_INT(patched.counts[5], 38);
	CHECK_INT(patched.counts[6], 5);
	CHECK_INT(patched.result.found, 5 + 2 * 5);
	CHECK_INT(patched.result.rejected, 0);
}

TEST("a program reads the registers that its section lists, of the scope that the block is in")
{
	auto_patched patched = {0};

	/* Two programs of one block, each with its own register 0; one of them reads the second. */
	add_probe(&patched, "kprobe/k__BB3__p1__rd2", READ_REGISTER(1));
	add_probe(&patched, "kprobe/k__BB3__rd2__f1__single", READ_REGISTER(0));
	add_probe(&patched, "kprobe/k__BB3__rd2__f1__single", READ_REGISTER(1));
	add_probe(&patched, "kprobe/k__BB3__rd2__f1__single", READ_REGISTER(2) "\nrsh r6, 32");
	add_probe(&patched, "kprobe/k__BB3__h1", READ_REGISTER(0));
	add_probe(&patched, "kprobe/k__BB3__p1", READ_REGISTER(0));
	/* The inner %r2, and the outer %r5: the inner range is smaller. */
	add_probe(&patched, "kprobe/k__BB4__r2", READ_REGISTER(0));
	add_probe(&patched, "kprobe/k__BB4__r5", READ_REGISTER(0));
	/* Declared in the inner scope alone. */
	add_probe(&patched, "kprobe/k__BB4__q", READ_REGISTER(0) "\nadd r6, 1");
	CHECK(run_blocks(&patched));
	CHECK_INT(patched.counts[0], 10 * 0x123456789);
	CHECK_INT(patched.counts[1], 10 * 0x123456789);
	CHECK_INT(patched.counts[2], 10 * 0x3f800000ll);
	CHECK_INT(patched.counts[3], 10 * 0x40000000ll);
	CHECK_INT(patched.counts[4], 10 * 1000 + 45);
	CHECK_INT(patched.counts[5], 6);
	CHECK_INT(patched.counts[6], 2 * 5 + 6 * 7);
	CHECK_INT(patched.counts[7], 8 * 77);
	CHECK_INT(patched.counts[8], 8);
	CHECK_INT(patched.result.rejected, 0);
}

TEST("a register whose number depends on the path is the one of the path")
{
	auto_patched patched = {0};

	/* Threads 2 to 4 read %rd2, the others of block 4 read %r2. */
	add_probe(&patched, "kprobe/k__BB4__h1__r2__rd2",
		  "ldxw r7, [r1+0]\nmov r1, 2\njlt r7, 5, +1\nmov r1, 1\ncall 512\nmov r6, r0");
	CHECK(run_blocks(&patched));
	CHECK_INT(patched.counts[0], 3 * 0x123456789 + 5 * 7);
}

TEST("a block and a register that the kernel does not have are rejected sites, with the reason")
{
	static const struct {
		const char *section, *reason;
	} rows[] = {
		{"kprobe/k__BB5", "the kernel has no basic block 5 (it has 5)"},
		{"kprobe/k__BB1__r1__rd9",
		 "no register %rd9 of 64 bits or less is declared at the basic block"},
		{"kprobe/k__BB1__r01",
		 "no register %r01 of 64 bits or less is declared at the basic block"},
		/* Of the inner scope. */
		{"kprobe/k__BB0__q",
		 "no register %q of 64 bits or less is declared at the basic block"},
		{"kprobe/k__BB1__pair",
		 "no register %pair of 64 bits or less is declared at the basic block"},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		auto_patched patched = {0};

		add_probe(&patched, rows[i].section, NULL);
		CHECK(patch_text(&patched, text, (struct gt_patch_options){0}));
		CHECK_INT(patched.result.found, 1);
		CHECK_INT(patched.result.rejected, 1);
		CHECK_STR(patched.result.rejections.items[0].reason, rows[i].reason);
	}
}

TEST("the label of a prototype starts neither a block nor a loop")
{
	static const char listed[] =
		HEADER ".func f()\n{\n\tret;\n}\n.global .u64 table[1] = {f};\n"
		       ".visible .entry k()\n{\n\t.reg .b64 %a;\n\t.reg .pred %q;\n"
		       "\tld.global.u64 %a, [table];\n"
		       "p: .callprototype _ ();\n\tcall %a, (), p;\n\t@%q bra p;\n\tret;\n}\n";
	auto_patched patched = {0};

	add_probe(&patched, "gpu/basic_block/k", NULL);
	add_probe(&patched, "gpu/loop_end/k", NULL);
	CHECK(patch_text(&patched, listed, (struct gt_patch_options){0}));
	/* Of k the start, and after the branch; of f the start. */
	CHECK_INT(patched.result.found, 3);
	CHECK(strstr(gt_strbuf_string(&patched.result.text), "p:\n\t.callprototype") ||
	      strstr(gt_strbuf_string(&patched.result.text), "p: .callprototype"));
}

TEST_MAIN
