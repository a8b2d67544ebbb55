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
static const char text[] = POSITIONS_HEADER
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
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n"
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
	"\t@%p1 red.global.add.u32 [%rd1+904], 1;\n"
	/* Three iterations: two back edges, three branches. */
	"\tmov.u32 %r7, 0;\n"
	"$loop:\n"
	"\tadd.u32 %r7, %r7, 1;\n"
	"\tsetp.lt.u32 %p2, %r7, 3;\n"
	"\t@%p2 bra $loop;\n"
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

TEST("ptxas accepts programs of every kind at every level")
{
	check_with_ptxas();
}

TEST_MAIN
