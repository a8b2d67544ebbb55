/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Barriers, exchanges between lanes, mbarrier objects, cooperative grids. */
#include "exec_kernel.h"

/* ---- barriers -------------------------------------------------------------------------- */

static const char barriers[] = PTX_HEADER ".shared .align 4 .b8 tile[4096];\n" KERNEL(
	"sum",
	"	mov.u32 %r1, tile;\n	mad.lo.u32 %r2, %r0, 4, %r1;\n"
	"	st.shared.u32 [%r2], %r0;\n	bar.sync 0;\n	mov.u32 %r3, 512;\n"
	"TOP:	setp.ge.u32 %p0, %r0, %r3;\n	@%p0 bra SKIP;\n"
	"	mad.lo.u32 %r4, %r3, 4, %r2;\n	ld.shared.u32 %r5, [%r4];\n"
	"	ld.shared.u32 %r6, [%r2];\n	add.u32 %r6, %r6, %r5;\n"
	"	st.shared.u32 [%r2], %r6;\n"
	"SKIP:	barrier.sync 0;\n	shr.u32 %r3, %r3, 1;\n	setp.ne.u32 %p1, %r3, 0;\n"
	"	@%p1 bra TOP;\n	ld.shared.u32 %r7, [tile];\n	st.global.u32 [%rd19], %r7;\n")
	/* The first warp makes, the second one uses; the others are not asked. */
	KERNEL("pair",
	       "	shr.u32 %r1, %r0, 5;\n	setp.eq.u32 %p0, %r1, 0;\n"
	       "	setp.gt.u32 %p1, %r1, 1;\n	@%p1 bra END;\n	mov.u32 %r2, 0;\n"
	       "TOP:	@%p0 bra MAKE;\n"
	       "	bar.sync 1, 64;\n	ld.shared.u32 %r3, [tile];\n	bar.arrive 2, 64;\n"
	       "	st.global.u32 [%rd19], %r3;\n	bra NEXT;\n"
	       "MAKE:	add.u32 %r3, %r2, 100;\n	st.shared.u32 [tile], %r3;\n"
	       "	bar.arrive 1, 64;\n	bar.sync 2, 64;\n"
	       "NEXT:	add.u32 %r2, %r2, 1;\n	setp.lt.u32 %p2, %r2, 10;\n	@%p2 bra TOP;\n"
	       "END:\n")
		KERNEL("votes",
		       "	setp.lt.u32 %p0, %r0, 70;\n	bar.red.popc.u32 %r1, 3, %p0;\n"
		       "	bar.red.and.pred %p1, 0, %p0;\n	bar.red.or.pred %p2, 0, !%p0;\n"
		       "	selp.u32 %r2, 1000, 0, %p1;\n	selp.u32 %r3, 2000, 0, %p2;\n"
		       "	add.u32 %r1, %r1, %r2;\n	add.u32 %r1, %r1, %r3;\n"
		       "	st.global.u32 [%rd19], %r1;\n")
			KERNEL("left", "	setp.ge.u32 %p0, %r0, 40;\n	@%p0 exit;\n	"
				       "bar.sync 0;\n"
				       "	st.global.u32 [%rd19], 1;\n")
	/* The first warp exits right after its arrival, half of the third one before it. */
	KERNEL("gone", "	setp.ge.u32 %p0, %r0, 32;\n	@%p0 bra USE;\n"
		       "	st.shared.u32 [tile], 7;\n	bar.arrive 1, 96;\n	exit;\n"
		       "USE:	setp.ge.u32 %p1, %r0, 80;\n	@%p1 exit;\n	bar.sync 1, 96;\n"
		       "	ld.shared.u32 %r3, [tile];\n	st.global.u32 [%rd19], %r3;\n")
	/* Both sides of a branch meet at one barrier. */
	KERNEL("sides", "	and.b32 %r1, %r0, 1;\n	setp.eq.u32 %p0, %r1, 0;\n"
			"	mov.u32 %r2, tile;\n	mad.lo.u32 %r2, %r0, 4, %r2;\n"
			"	st.shared.u32 [%r2], %r0;\n	@%p0 bra EVEN;\n"
			"	barrier.sync 5;\n	ld.shared.u32 %r3, [%r2+-4];\n	bra END;\n"
			"EVEN:	barrier.sync 5;\n	ld.shared.u32 %r3, [%r2+4];\n"
			"END:	st.global.u32 [%rd19], %r3;\n");

TEST("in code for targets before sm_70 lanes run in step, until they wait for each other")
{
	static const char text[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
		/* Behind a loop that is left together, a vote has all lanes. */
		KERNEL("step", "	mov.u32 %r3, 0;\n"
			       "AGAIN:	atom.global.exch.b32 %r1, [%rd0], 1;\n"
			       "	setp.ne.u32 %p0, %r1, 0;\n	@%p0 bra BUSY;\n"
			       "	membar.gl;\n	atom.global.exch.b32 %r1, [%rd0], 0;\n"
			       "	mov.u32 %r3, 1;\n"
			       "BUSY:	setp.eq.u32 %p1, %r3, 0;\n	@%p1 bra AGAIN;\n"
			       "	setp.eq.u32 %p1, %r3, 1;\n	vote.ballot.b32 %r4, %p1;\n"
			       "	not.b32 %r4, %r4;\n	red.global.or.b32 [%rd0+4], %r4;\n")
			KERNEL("wait",
			       "AGAIN:	atom.global.cas.b32 %r1, [%rd0], 0, 1;\n"
			       "	setp.ne.u32 %p0, %r1, 0;\n	@%p0 bra AGAIN;\n"
			       "	ld.volatile.global.u32 %r2, [%rd0+4];\n	add.u32 %r2, %r2, "
			       "1;\n"
			       "	st.volatile.global.u32 [%rd0+4], %r2;\n	membar.gl;\n"
			       "	atom.global.exch.b32 %r1, [%rd0], 0;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *lock = device_memory(&device, 8);

	device_run(&device, module, "step", 16, 256, address_of(lock), 0, 0);
	CHECK_INT(lock[1], 0);
	device_run(&device, module, "wait", 1, 32, address_of(lock), 0, 0);
	CHECK_INT(lock[1], 32);
}

TEST("a barrier synchronizes up to 1,024 threads of a block")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, barriers);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "sum", 1, 1024, 0, address_of(out), 0);
	CHECK_INT(out[0], 1023 * 1024 / 2);
	CHECK_INT(out[1023], 1023 * 1024 / 2);
	device_run(&device, module, "sides", 1, 96, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 96; i++)
		CHECK_INT(out[i], i ^ 1);
}

TEST("barriers with thread counts synchronize two warps")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, barriers);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "pair", 1, 160, 0, address_of(out), 0);
	for (uint32_t i = 32; i < 64; i++)
		CHECK_INT(out[i], 109);
}

TEST("a warp that has arrived at a barrier with a thread count and exited still counts")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, barriers);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "gone", 1, 96, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 96; i++)
		CHECK_INT(out[i], i >= 32 && i < 80 ? 7 : 0);
}

TEST("barriers count votes, and do not wait for exited threads")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, barriers);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "votes", 1, 100, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_INT(out[i], 70 + 2000);
	device_run(&device, module, "votes", 1, 64, 0, address_of(out), 0);
	CHECK_INT(out[63], 64 + 1000);
	memset(out, 0, 4096);
	device_run(&device, module, "left", 1, 100, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_INT(out[i], i < 40);
}

TEST("blocks of a cooperative grid wait for each other")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k",
		/* Ten rounds; in each the first threads count the blocks, then all continue. */
		"	mov.u32 %r1, %nctaid.x;\n	mov.u32 %r2, 0;\n	mov.u32 %r9, "
		"%ctaid.x;\n"
		"	mad.wide.u32 %rd3, %r9, 4, %rd1;\n"
		"TOP:	bar.sync 0;\n	setp.ne.u32 %p0, %r0, 0;\n	@%p0 bra WAITED;\n"
		"	membar.gl;\n	atom.global.add.u32 %r3, [%rd0], 1;\n"
		"	mad.lo.u32 %r4, %r2, %r1, %r1;\n"
		"SPIN:	ld.volatile.global.u32 %r5, [%rd0];\n	setp.lt.u32 %p1, %r5, %r4;\n"
		"	@%p1 bra SPIN;\n	membar.gl;\n"
		"WAITED:	bar.sync 0;\n	add.u32 %r2, %r2, 1;\n	setp.lt.u32 %p2, %r2, 10;\n"
		"	@%p2 bra TOP;\n	st.global.u32 [%rd3], %r2;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *cell = device_memory(&device, 4), *out = device_memory(&device, 4096);
	uint64_t parameters[] = {address_of(cell), address_of(out), 0};
	struct sg_grid_result result;

	CHECK_INT(device_run_with(&device, module, "k",
				  (struct sg_launch){.shape.grid = {40},
						     .shape.block = {64},
						     .shape.cooperative = true},
				  parameters, 3, &result),
		  0);
	CHECK_INT(*cell, 400);
	for (int i = 0; i < 40; i++)
		CHECK_INT(out[i], 10);
}

/* ---- exchanges ------------------------------------------------------------------------- */

/* PTX's own description of shfl, for a warp of `count` threads. */
static bool shuffled(const char *mode, int lane, int b, int c, int *ret_from)
{
	int segment = c >> 8 & 31, clamp = c & 31;
	int most = (lane & segment) | (clamp & ~segment), least = lane & segment, from;
	bool valid;

	if (!strcmp(mode, "up")) {
		from = lane - b;
		valid = from >= most;
	} else {
		from = !strcmp(mode, "down")   ? lane + b
		       : !strcmp(mode, "bfly") ? lane ^ b
					       : least | (b & ~segment);
		valid = from <= most;
	}
	*ret_from = valid ? from : lane;
	return valid;
}

#define SHUFFLE(mode)                                                                              \
	KERNEL(mode, "	cvt.u32.u64 %r1, %rd0;\n	cvt.u32.u64 %r2, %rd2;\n"                          \
		     "	mad.lo.u32 %r3, %r0, 3, 5;\n"                                               \
		     "	shfl.sync." mode ".b32 %r4|%p0, %r3, %r1, %r2, -1;\n"                      \
		     "	selp.u32 %r5, 1000, 0, %p0;\n	add.u32 %r4, %r4, %r5;\n"                     \
		     "	st.global.u32 [%rd19], %r4;\n")

TEST("shuffles of every kind, distance and width return what PTX specifies")
{
	static const char text[] =
		PTX_HEADER SHUFFLE("up") SHUFFLE("down") SHUFFLE("bfly") SHUFFLE("idx");
	static const char *const modes[] = {"up", "down", "bfly", "idx"};
	static const int clamps[] = {0x1f, 0, 0x181f, 0x1800, 0x100f, 0x1c1f};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 128);

	for (int mode = 0; mode < 4; mode++)
		for (size_t c = 0; c < 6; c++)
			for (int b = 0; b < 32; b++) {
				device_run(&device, module, modes[mode], 1, 32, (uint64_t)b,
					   address_of(out), (uint64_t)clamps[c]);
				for (int lane = 0; lane < 32; lane++) {
					int from;
					bool valid =
						shuffled(modes[mode], lane, b, clamps[c], &from);

					if ((int)out[lane] != from * 3 + 5 + 1000 * valid)
						TAP_FAIL("%s by %d, 0x%x, lane %d: %u", modes[mode],
							 b, clamps[c], lane, out[lane]);
				}
			}
}

static const char exchanges[] = PTX_HEADER
	/* The two halves of a warp are on different paths. */
	KERNEL("halves", "	setp.lt.u32 %p0, %r0, 16;\n	mul.lo.u32 %r1, %r0, 2;\n	"
			 "@%p0 bra LOW;\n"
			 "	shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\n	bra END;\n"
			 "LOW:	add.u32 %r1, %r1, 1;\n	shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\n"
			 "END:	st.global.u32 [%rd19], %r2;\n")
		KERNEL("tiles", "	and.b32 %r1, %r0, 24;\n	shl.b32 %r2, 255, %r1;\n"
				"	redux.sync.add.u32 %r3, %r0, %r2;\n	redux.sync.max.s32 "
				"%r4, %r0, %r2;\n"
				"	redux.sync.min.u32 %r5, %r0, %r2;\n	redux.sync.or.b32 "
				"%r6, %r0, %r2;\n"
				"	redux.sync.and.b32 %r7, %r0, %r2;\n	redux.sync.xor.b32 "
				"%r8, %r0, %r2;\n"
				"	mad.lo.u32 %r3, %r4, 1000, %r3;\n	mad.lo.u32 %r3, "
				"%r5, 100000, %r3;\n"
				"	add.u32 %r6, %r6, %r7;\n	add.u32 %r6, %r6, %r8;\n"
				"	mad.lo.u32 %r3, %r6, 10000000, %r3;\n	st.global.u32 "
				"[%rd19], %r3;\n")
			KERNEL("votes",
			       "	and.b32 %r1, %r0, 3;\n	setp.eq.u32 %p0, %r1, 0;\n"
			       "	setp.lt.u32 %p1, %r0, 100;\n"
			       "	vote.sync.ballot.b32 %r2, %p0, -1;\n	vote.sync.all.pred "
			       "%p2, %p1, -1;\n"
			       "	vote.sync.any.pred %p3, %p0, -1;\n	vote.sync.uni.pred "
			       "%p4, %p0, -1;\n"
			       "	vote.sync.uni.pred %p5, !%p1, -1;\n	vote.sync.all.pred "
			       "%p6, !%p0, -1;\n"
			       "	selp.u32 %r3, 1, 0, %p2;\n	selp.u32 %r4, 2, 0, %p3;\n"
			       "	selp.u32 %r5, 4, 0, %p4;\n	selp.u32 %r6, 8, 0, %p5;\n"
			       "	selp.u32 %r7, 16, 0, %p6;\n	add.u32 %r3, %r3, %r4;\n"
			       "	add.u32 %r5, %r5, %r6;\n	add.u32 %r3, %r3, %r7;\n"
			       "	add.u32 %r3, %r3, %r5;\n	xor.b32 %r2, %r2, %r3;\n"
			       "	st.global.u32 [%rd19], %r2;\n")
				KERNEL("match",
				       "	and.b32 %r1, %r0, 5;\n	cvt.u64.u32 %rd3, "
				       "%r1;\n	shl.b64 %rd3, %rd3, 40;\n"
				       "	match.any.sync.b32 %r2, %r1, -1;\n	"
				       "match.any.sync.b64 %r3, %rd3, -1;\n"
				       "	match.all.sync.b32 %r4|%p0, %r1, -1;\n	"
				       "match.all.sync.b32 %r5|%p1, %r4, -1;\n"
				       "	selp.u32 %r6, 1, 0, %p0;\n	selp.u32 %r7, 0, "
				       "2, %p1;\n"
				       "	xor.b32 %r3, %r3, %r2;\n	or.b32 %r3, %r3, "
				       "%r6;\n	or.b32 %r3, %r3, %r7;\n"
				       "	not.b32 %r5, %r5;\n	or.b32 %r3, %r3, %r5;\n"
				       "	or.b32 %r3, %r3, %r4;\n	setp.ne.u32 %p2, %r3, 0;\n"
				       "	selp.u32 %r2, 0, %r2, %p2;\n	st.global.u32 "
				       "[%rd19], %r2;\n")
	/* Half of the lanes leave; the others name all. */
	KERNEL("gone",
	       "	and.b32 %r1, %r0, 1;\n	setp.eq.u32 %p0, %r1, 0;\n	@%p0 exit;\n"
	       "	vote.sync.ballot.b32 %r2, 1, -1;\n	st.global.u32 [%rd19], %r2;\n")
	/* Lanes of one warp hand a value over, ordered by bar.warp.sync. */
	KERNEL("order",
	       "	.shared .align 4 .b8 cell[4];\n	setp.ne.u32 %p0, %r0, 7;\n"
	       "	@%p0 bra WAIT;\n	st.volatile.shared.u32 [cell], 77;\n"
	       "	bar.warp.sync -1;\n	bra END;\n"
	       "WAIT:	bar.warp.sync -1;\n"
	       "END:	ld.volatile.shared.u32 %r1, [cell];\n	st.global.u32 [%rd19], %r1;\n");

TEST("lanes on different paths exchange values")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, exchanges);
	uint32_t *out = device_memory(&device, 128);

	device_run(&device, module, "halves", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], i < 16 ? (i + 16) * 2 : (i - 16) * 2 + 1);
	memset(out, 0, 128);
	device_run(&device, module, "gone", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], i % 2 ? 0xaaaaaaaa : 0);
	device_run(&device, module, "order", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], 77);
}

TEST("tiles of a warp are reduced separately, votes and matches include all lanes")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, exchanges);
	uint32_t *out = device_memory(&device, 128);

	device_run(&device, module, "tiles", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t first = i & 24, sum = first * 8 + 28, bits = (first | 7) + first;

		CHECK_INT(out[i], sum + (first + 7) * 1000 + first * 100000 + bits * 10000000);
	}
	device_run(&device, module, "votes", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], 0x11111111 ^ (1 + 2 + 8));
	device_run(&device, module, "match", 1, 32, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t same = 0;

		for (uint32_t j = 0; j < 32; j++)
			same |= (uint32_t)((j & 5) == (i & 5)) << j;
		CHECK_INT(out[i], same);
	}
}

/* ---- mbarrier -------------------------------------------------------------------------- */

static const char phases[] =
	PTX_HEADER_90 ".shared .align 16 .b8 tile[2048];\n.shared .align 8 .b64 object;\n"
	/* Two phases: by the state that arriving gave, then by parity. */
	KERNEL("phases",
	       "	setp.eq.u32 %p0, %r0, 0;\n	@%p0 mbarrier.init.shared.b64 [object], "
	       "96;\n"
	       "	bar.sync 0;\n	mov.u32 %r1, tile;\n	mad.lo.u32 %r2, %r0, 4, %r1;\n"
	       "	st.shared.u32 [%r2], %r0;\n"
	       "	mbarrier.arrive.shared.b64 %rd3, [object];\n"
	       "	mbarrier.pending_count.b64 %r9, %rd3;\n"
	       "WAIT:	mbarrier.test_wait.shared.b64 %p1, [object], %rd3;\n	@!%p1 bra WAIT;\n"
	       "	sub.u32 %r3, 95, %r0;\n	mad.lo.u32 %r3, %r3, 4, %r1;\n"
	       "	ld.shared.u32 %r4, [%r3];\n"
	       "	mbarrier.arrive.shared.b64 _, [object], 1;\n"
	       "AGAIN:	mbarrier.try_wait.parity.shared.b64 %p1, [object], 1;\n	@!%p1 bra AGAIN;\n"
	       "	mad.lo.u32 %r5, %r0, 4, %r1;\n	st.shared.u32 [%r5], %r4;\n	bar.sync "
	       "0;\n"
	       "	ld.shared.u32 %r6, [tile];\n	setp.gt.u32 %p2, %r9, 96;\n	@%p2 "
	       "trap;\n"
	       "	add.u32 %r4, %r4, %r6;\n	st.global.u32 [%rd19], %r4;\n")
	/* Half of the threads drop out: the second phase is theirs who stay. */
	KERNEL("drop",
	       "	setp.eq.u32 %p0, %r0, 0;\n	@%p0 mbarrier.init.shared.b64 [object], "
	       "64;\n"
	       "	bar.sync 0;\n	setp.lt.u32 %p1, %r0, 32;\n"
	       "	@%p1 bra STAY;\n	mbarrier.arrive_drop.shared.b64 _, [object];\n"
	       "	bra END;\n"
	       "STAY:	mbarrier.arrive.shared.b64 %rd3, [object];\n"
	       "WAIT:	mbarrier.try_wait.shared.b64 %p2, [object], %rd3;\n	@!%p2 bra WAIT;\n"
	       "	mbarrier.arrive.shared.b64 %rd3, [object];\n"
	       "WAIT2:	mbarrier.try_wait.shared.b64 %p2, [object], %rd3;\n	@!%p2 bra WAIT2;\n"
	       "END:	st.global.u32 [%rd19], 3;\n")
	/* A copy in bulk is announced, made, and waited for; then it goes back. */
	KERNEL("bulk",
	       "	setp.ne.u32 %p0, %r0, 0;\n	mov.u32 %r1, tile;\n	mov.u32 %r2, "
	       "object;\n"
	       "	@%p0 bra WAIT0;\n	mbarrier.init.shared.b64 [object], 1;\n"
	       "	mbarrier.arrive.expect_tx.shared.b64 _, [object], 512;\n"
	       "	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
	       " [%r1], [%rd0], 512, [%r2];\n"
	       "WAIT0:	bar.sync 0;\n"
	       "WAIT:	mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;\n	@!%p1 bra WAIT;\n"
	       "	mad.lo.u32 %r3, %r0, 4, %r1;\n	ld.shared.u32 %r4, [%r3];\n"
	       "	add.u32 %r4, %r4, 1;\n	st.shared.u32 [%r3], %r4;\n	bar.sync 0;\n"
	       "	@%p0 bra END;\n"
	       "	cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 512;\n"
	       "	cp.async.bulk.commit_group;\n	cp.async.bulk.wait_group 0;\n"
	       "END:\n")
		KERNEL("copies",
		       "	setp.eq.u32 %p0, %r0, 0;\n	@%p0 mbarrier.init.shared.b64 "
		       "[object], 32;\n"
		       "	bar.sync 0;\n	mov.u32 %r1, tile;\n	mad.lo.u32 %r2, %r0, 4, "
		       "%r1;\n"
		       "	mad.wide.u32 %rd3, %r0, 4, %rd0;\n"
		       "	cp.async.ca.shared.global [%r2], [%rd3], 4;\n"
		       "	cp.async.mbarrier.arrive.noinc.shared.b64 [object];\n"
		       "WAIT:	mbarrier.try_wait.parity.shared.b64 %p1, [object], 0;\n	@!%p1 bra "
		       "WAIT;\n"
		       "	xor.b32 %r3, %r0, 31;\n	mad.lo.u32 %r3, %r3, 4, %r1;\n"
		       "	ld.shared.u32 %r4, [%r3];\n	st.global.u32 [%rd19], %r4;\n");

TEST("threads wait for the phases of an mbarrier, and for copies that complete at it")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, phases);
	uint32_t *in = device_memory(&device, 512), *out = device_memory(&device, 512);

	for (uint32_t i = 0; i < 128; i++)
		in[i] = i * 7;
	device_run(&device, module, "phases", 1, 96, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 96; i++)
		CHECK_INT(out[i], 95 - i + 95);
	device_run(&device, module, "drop", 1, 64, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 64; i++)
		CHECK_INT(out[i], 3);
	device_run(&device, module, "bulk", 1, 128, address_of(in), address_of(out), 0);
	for (uint32_t i = 0; i < 128; i++)
		CHECK_INT(out[i], i * 7 + 1);
	device_run(&device, module, "copies", 1, 32, address_of(in), address_of(out), 0);
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], (i ^ 31) * 7);
}

TEST("a warp that waits at an mbarrier lets the others run, and is not left waiting")
{
	/* The second warp arrives once the first one has seen its wait fail. */
	static const char text[] =
		PTX_HEADER_90 ".shared .align 8 .b64 object;\n.shared .align 4 .b32 flag;\n" KERNEL(
			"polls",
			"	setp.eq.u32 %p0, %r0, 0;\n"
			"	@%p0 mbarrier.init.shared.b64 [object], 32;\n"
			"	@%p0 st.shared.u32 [flag], 0;\n	bar.sync 0;\n"
			"	setp.ge.u32 %p2, %r0, 32;\n	@%p2 bra SECOND;\n	mov.u32 "
			"%r4, 0;\n"
			"WAIT:	mbarrier.try_wait.parity.shared.b64 %p1, [object], 0;\n"
			"	@%p1 bra END;\n	st.volatile.shared.u32 [flag], 1;\n"
			"	add.u32 %r4, %r4, 1;\n	bra WAIT;\n"
			"SECOND:	ld.volatile.shared.u32 %r3, [flag];\n"
			"	setp.eq.u32 %p3, %r3, 0;\n	@%p3 bra SECOND;\n"
			"	mbarrier.arrive.shared.b64 %rd3, [object];\n	mov.u32 %r4, 1;\n"
			"END:	st.global.u32 [%rd19], %r4;\n")
		/* Arrivals of one warp that belong to two phases. */
		KERNEL("rounds", "	setp.eq.u32 %p0, %r0, 0;\n"
				 "	@%p0 mbarrier.init.shared.b64 [object], 48;\n"
				 "	mov.u32 %r4, 0;\n	bar.sync 0;\n"
				 "AGAIN:	mbarrier.arrive.shared.b64 %rd3, [object];\n"
				 "	add.u32 %r4, %r4, 1;\n	setp.lt.u32 %p1, %r4, 29;\n"
				 "	@%p1 bra AGAIN;\n"
				 "	mbarrier.pending_count.b64 %r5, %rd3;\n"
				 "	st.global.u32 [%rd19], %r5;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 1024);

	device_run(&device, module, "polls", 1, 64, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 64; i++)
		CHECK(out[i] >= 1);
	/* The last of 29 arrivals of a warp begin with 16 of a phase, and end with 16 of the next.
	 */
	device_run(&device, module, "rounds", 1, 64, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 64; i++)
		if (i % 32 < 31)
			CHECK_INT(out[i + 1], out[i] == 1 ? 48 : out[i] - 1);
	CHECK(out[0] == 16 || out[32] == 16);
}

TEST("a cooperative grid has a workspace of its own, other grids have none")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	mov.u32 %r1, %envreg1;\n	mov.u32 %r2, %envreg2;\n"
		     "	mov.b64 %rd3, {%r2, %r1};\n	setp.eq.u64 %p0, %rd3, 0;\n	@%p0 bra "
		     "END;\n"
		     "	atom.add.u32 %r3, [%rd3+4], 1;\n	red.global.max.u32 [%rd1], %r3;\n"
		     "END:\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4);
	uint64_t parameters[] = {0, address_of(out), 0};
	struct sg_grid_result result;

	for (int i = 0; i < 2; i++) {
		*out = 0;
		device_run_with(&device, module, "k",
				(struct sg_launch){.shape.grid = {4},
						   .shape.block = {64},
						   .shape.cooperative = true},
				parameters, 3, &result);
		CHECK_INT(*out, 255);
	}
	*out = 0;
	device_run(&device, module, "k", 4, 64, 0, address_of(out), 0);
	CHECK_INT(*out, 0);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
