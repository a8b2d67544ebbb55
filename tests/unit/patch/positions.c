/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every kind of site in one kernel, at every level that it has: how often programs run there is
 * known exactly, and the kernel leaves the same memory.
 */
#include "patch_running.h"

/*
 * 2 blocks of 70 threads: warps of 32, 32 and 6 lanes. Lanes 0 to 4 of each warp take the
 * predicated paths, the others do not.
 */
#define POSITIONS_HEADER ".version 7.8\n.target sm_80\n.address_size 64\n"
static const char text[] =
	POSITIONS_HEADER ".file 1 \"k.cu\"\n"
			 /* Leaves by a predicated ret, or at its end without an instruction. */
			 ".func leave(.reg .u64 at, .reg .u32 lane)\n{\n"
			 "\t.reg .pred %q;\n"
			 "\tsetp.lt.u32 %q, lane, 5;\n"
			 "\t@%q ret;\n"
			 "\tst.global.u32 [at+600], lane;\n"
			 "}\n"
			 ".visible .entry k(.param .u64 p)\n{\n"
			 "\t.reg .pred %p<8>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<16>;\n"
			 "\t.shared .align 16 .b8 tile[512];\n"
			 "\t.loc 1 5 1\n\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n"
			 "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
			 "\tand.b32 %r2, %r1, 31;\n\tsetp.lt.u32 %p1, %r2, 5;\n"
			 "\tmov.u32 %r3, tile;\n\tshl.b32 %r4, %r1, 2;\n\tadd.u32 %r3, %r3, %r4;\n"
			 /* Two copies, one of them predicated. */
			 "\tcp.async.ca.shared.global [%r3], [%rd3], 4;\n"
			 "\t@%p1 cp.async.ca.shared.global [%r3], [%rd3+4], 4;\n"
			 "\tcp.async.wait_all;\n"
			 "\tbar.sync 0;\n"
			 "\tbarrier.sync.aligned 1;\n"
			 "\tcall leave, (%rd3, %r2);\n"
			 /* A load, two stores, two atomics. */
			 "\tld.shared.u32 %r5, [%r3];\n"
			 "\tst.global.u32 [%rd3+300], %r5;\n"
			 "\tatom.global.add.u32 %r6, [%rd1+900], 1;\n"
			 "\t.loc 1 6 1\n\t@%p1 red.global.add.u32 [%rd1+904], 1;\n"
			 /* Three iterations: two back edges, three branches. */
			 "\tmov.u32 %r7, 0;\n"
			 "$loop:\n"
			 "\t.loc 1 7 1\n\tadd.u32 %r7, %r7, 1;\n"
			 "\t.loc 1 6 9\n\tsetp.lt.u32 %p2, %r7, 3;\n"
			 "\t.loc 1 7 5\n\t@%p2 bra $loop;\n"
			 /* Lanes 0 and 1 exit, 2 to 4 return, the others reach the end. */
			 "\tsetp.lt.u32 %p3, %r2, 2;\n"
			 "\t@%p3 exit;\n"
			 "\t@%p1 ret;\n"
			 "\tmov.u32 %r7, 0;\n"
			 "}\n";

enum {
	THREADS = 2 * 70,
	PREDICATED = 2 * 3 * 5,
	WARPS = 2 * 3,
};

/* A section without its level; how often its programs run. */
static const struct position_row {
	const char *kind, *glob;
	unsigned threads, warps;
} position_rows[] = {
	{"entry", "/k", THREADS, WARPS},
	{"exit", "/k", THREADS, 3 * WARPS},
	{"finish", "/k", THREADS, 3 * WARPS},
	{"load_begin", "", THREADS, WARPS},
	{"load", "", THREADS, WARPS},
	{"store", "", 2 * THREADS - PREDICATED, 2 * WARPS},
	{"memory", "", 3 * THREADS - PREDICATED, 3 * WARPS},
	{"atomic", "", THREADS + PREDICATED, 2 * WARPS},
	{"copy", "", THREADS + PREDICATED, 2 * WARPS},
	{"barrier", "", 2 * THREADS, 2 * WARPS},
	{"barrier_end", "", 2 * THREADS, 2 * WARPS},
	{"branch", "", 3 * THREADS, 3 * WARPS},
	{"loop", "", 2 * THREADS, 2 * WARPS},
	{"loop_end", "", THREADS, WARPS},
	/* Lines 5 and 6 once, 7 in three iterations. */
	{"line", "", 5 * THREADS, 5 * WARPS},
	/* Five of the kernel, one of them in three iterations, and two of the function. */
	{"basic_block", "", 9 * THREADS - 2 * PREDICATED - 2 * 3 * 2, 9 * WARPS},
	{"call", "/leave", THREADS, WARPS},
	{"return", "/leave", THREADS, 2 * WARPS},
};

/* Some of them at a level, in one module. */
static void check_rows(const struct position_row *rows, size_t count, const char *level)
{
	char sections[gt_countof(position_rows)][32]; /* the programs refer to them */
	auto_patched patched = {0};

	for (size_t i = 0; i < count; i++) {
		snprintf(sections[i], sizeof(sections[i]), "gpu/%s%s%s", rows[i].kind, level,
			 rows[i].glob);
		add_probe(&patched, sections[i], NULL);
	}
	CHECK(run_patched(&patched, text, (struct launch_shape){2, 70},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.result.rejected, 0);
	for (size_t i = 0; i < count; i++) {
		unsigned wanted = *level ? rows[i].warps : rows[i].threads;

		if (patched.counts[i] != wanted)
			TAP_FAIL("%s: %llu, not %u", sections[i],
				 (unsigned long long)patched.counts[i], wanted);
	}
}

/* All in one module, and each in a module of its own. */
static void check_level(const char *level)
{
	check_rows(position_rows, gt_countof(position_rows), level);
	for (size_t i = 0; i < gt_countof(position_rows); i++)
		check_rows(&position_rows[i], 1, level);
}

TEST("programs of every kind run exactly once per thread that passes their sites")
{
	check_level("");
}

TEST("programs of every kind run exactly once per group of lanes that passes their sites")
{
	check_level(".warp");
}

TEST("an inlined copy of a line is a line of its own, and line 0 is none")
{
	static const char inlined[] =
		".version 7.8\n.target sm_75\n.address_size 64\n.file 1 \"k.cu\"\n"
		".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\t.loc 1 7 1\n\tmov.u32 %r1, 0;\n"
		"\t.loc 1 3 9, function_name $name, inlined_at 1 7 1\n\tadd.u32 %r1, %r1, 1;\n"
		"\t.loc 1 8 1\n\tadd.u32 %r1, %r1, 1;\n"
		"\t.loc 1 3 9, function_name $name, inlined_at 1 8 1\n\tadd.u32 %r1, %r1, 1;\n"
		"\t.loc 1 3 5, function_name $name, inlined_at 1 7 1\n\tadd.u32 %r1, %r1, 1;\n"
		"\t.loc 1 0 0\n\tadd.u32 %r1, %r1, 1;\n"
		"\t.loc 1 3 1\n\tret;\n}\n"
		".section .debug_str\n{\n$name:\n.b8 102,0\n}\n";
	auto_patched patched = {0};

	add_probe(&patched, "gpu/line", NULL);
	add_probe(&patched, "gpu/line", "call 535\nmov r6, r0"); /* bpf_source_line */
	CHECK(run_patched(&patched, inlined, (struct launch_shape){1, 5},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.counts[0], 5 * 5);
	CHECK_INT(patched.counts[1], (7 + 3 + 8 + 3 + 3) * 5);
}

TEST("programs of the start and the end of a block run once per block among all others")
{
	static const char *const sections[] = {"gpu/entry.block/k", "gpu/exit.block/k",
					       "gpu/block_begin", "gpu/block_end"};
	auto_patched patched = {0};

	for (size_t i = 0; i < gt_countof(sections); i++)
		add_probe(&patched, sections[i], NULL);
	add_probe(&patched, "gpu/exit/k", NULL);
	add_probe(&patched, "gpu/barrier.warp", NULL);
	CHECK(run_patched(&patched, text, (struct launch_shape){2, 70},
			  (struct gt_patch_options){0}));
	for (size_t i = 0; i < gt_countof(sections); i++)
		CHECK_INT(patched.counts[i], 2);
	CHECK_INT(patched.counts[4], THREADS);
	CHECK_INT(patched.counts[5], 2 * WARPS);
}

/* ---- what is no site ------------------------------------------------------------------- */

/* The instructions that a program of a section would have to see, and the reason why not. */
static const struct unseen_row {
	const char *section;
	unsigned sites;
	const char *reason;
} unseen_rows[] = {
	{"gpu/branch", 2, "branches to one of several targets (brx.idx) are no sites"},
	{"gpu/loop", 2, "branches to one of several targets (brx.idx) are no sites"},
	{"gpu/load", 2,
	 "matrices that a warp loads or stores together (ldmatrix, wmma.load …) are no sites"},
	{"gpu/load_begin.warp", 2,
	 "matrices that a warp loads or stores together (ldmatrix, wmma.load …) are no sites"},
	{"gpu/store", 1,
	 "matrices that a warp loads or stores together (ldmatrix, wmma.load …) are no sites"},
	{"gpu/copy", 2, "bulk copies (cp.async.bulk) are no sites"},
};

/* Beside these instructions, one site of each kind but the copies. */
static const char unseen_text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .u64 p)\n{\n"
	"\t.reg .pred %p<4>;\n\t.reg .b32 %r<16>;\n\t.reg .b64 %rd<4>;\n"
	"\t.shared .align 128 .b8 tile[2048];\n\t.shared .align 8 .b64 barrier;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, tile;\n\tmov.u32 %r2, barrier;\n"
	"$loop:\n"
	"\tld.global.u32 %r3, [%rd1];\n\tst.global.u32 [%rd1], %r3;\n"
	"\tldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1];\n"
	"\twmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%r5, %r6, %r7, %r8}, [%r1], 16;\n"
	"\twmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r1], {%r5, %r6, %r7, %r8}, 16;\n"
	"\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, "
	"[%r2];\n"
	"\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\n"
	"\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\n"
	"\tsetp.eq.u32 %p1, %r3, 0;\n\t@%p1 bra $loop;\n"
	"targets: .branchtargets $loop, $end;\n"
	"\tbrx.idx %r3, targets;\n"
	"\t@%p1 brx.idx %r4, targets;\n"
	"$end:\n\tret;\n}\n";

TEST("instructions that a program would have to see, and that cannot be sites, are rejected sites")
{
	auto_patched patched = {0};

	for (size_t i = 0; i < gt_countof(unseen_rows); i++)
		add_probe(&patched, unseen_rows[i].section, NULL);
	CHECK(patch_text(&patched, unseen_text, (struct gt_patch_options){0}));
	CHECK_INT(patched.result.patched, 5);
	CHECK_INT(patched.result.rejections.count, gt_countof(unseen_rows));
	gt_vec_each (rejection, &patched.result.rejections) {
		const struct unseen_row *row = &unseen_rows[rejection->program];

		CHECK_STR(rejection->reason, row->reason);
		CHECK_STR(rejection->function, "k");
		if (rejection->sites != row->sites)
			TAP_FAIL("%s: %u sites", row->section, rejection->sites);
	}
	remember_text(gt_strbuf_string(&patched.result.text));
}

static const char exit_text[] = POSITIONS_HEADER
	/* Threads 0 to 4 exit in it. */
	".func stop(.reg .u32 lane)\n{\n"
	"\t.reg .pred %q;\n"
	"\tsetp.lt.u32 %q, lane, 5;\n"
	"\t@%q exit;\n"
	"\tret;\n}\n"
	".visible .entry k(.param .u64 p)\n{\n"
	"\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n"
	"\tcall stop, (%r1);\n"
	"\tst.global.u32 [%rd1], 7;\n\tret;\n}\n";

TEST("threads that exit in a device function run exit programs, and no last one is looked for")
{
	auto_patched patched = {0};

	add_probe(&patched, "gpu/exit/k", NULL);
	add_probe(&patched, "gpu/exit.warp/k", NULL);
	add_probe(&patched, "gpu/return/stop", NULL);
	add_probe(&patched, "gpu/exit.block/k", NULL);
	CHECK(run_patched(&patched, exit_text, (struct launch_shape){2, 40},
			  (struct gt_patch_options){0}));
	CHECK_INT(patched.counts[0], 80);
	CHECK_INT(patched.counts[1], 2 * 3);
	CHECK_INT(patched.counts[2], 2 * 35);
	CHECK_INT(patched.counts[3], 0);
	CHECK(patched.result.rejections.count > 0);
	gt_vec_each (rejection, &patched.result.rejections)
		CHECK_INT(rejection->program, 3);
}

TEST("ptxas accepts programs of every kind at every level")
{
	check_with_ptxas();
}

TEST_MAIN
