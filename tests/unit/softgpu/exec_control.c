/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec_fixture.h"

/* A kernel with parameters in %rd0 %rd1 %rd2, the thread in %r0, its word of p1 in %rd19. */
#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n"               \
	"{\n"                                                                                      \
	"	.reg .pred %p<10>;\n	.reg .b32 %r<20>;\n	.reg .b64 %rd<20>;\n"                           \
	"	ld.param.u64 %rd0, [p0];\n	ld.param.u64 %rd1, [p1];\n"                                   \
	"	ld.param.u64 %rd2, [p2];\n	mov.u32 %r0, %tid.x;\n"                                       \
	"	mad.wide.u32 %rd19, %r0, 4, %rd1;\n" body "	ret;\n}\n"

static struct sg_module *load(struct device *device, const char *text)
{
	device_open(device);
	return device_load(device, text);
}

static uint64_t run_counting(struct device *device, struct sg_module *module, const char *name,
			     uint32_t threads, uint64_t a, uint64_t b, uint64_t c)
{
	struct sg_grid_result result;
	uint64_t parameters[] = {a, b, c};

	if (device_run_with(device, module, name, (struct sg_launch){.shape.block = {threads}},
			    parameters, 3, &result))
		TAP_FAIL("%s: %s", name, result.fault.text);
	return result.warp_instructions;
}

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

TEST("lanes part at branches and meet again behind them")
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

TEST("a loop whose lanes leave one after the other goes on with all of them")
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

TEST("a path that stands behind the end of a loop does not take the loop apart")
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

TEST("a lock that lanes of a warp fight for is had by each of them")
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

TEST("a barrier holds the threads of a block together, through 1,024 of them")
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

TEST("barriers with counts let two warps hand work over")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, barriers);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "pair", 1, 160, 0, address_of(out), 0);
	for (uint32_t i = 32; i < 64; i++)
		CHECK_INT(out[i], 109);
}

TEST("barriers count votes, and threads that have left are not waited for")
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
		/* Ten rounds; in each the first threads count the blocks, then all go on. */
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

TEST("shuffles of every kind, distance and width bring what PTX says")
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
	/* The two halves of a warp come by different ways. */
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

TEST("lanes that come by different ways exchange values")
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

TEST("tiles of a warp reduce by themselves, votes and matches see all lanes")
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

TEST("threads wait for the phases of an mbarrier, and for the copies that report to it")
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

TEST("functions call themselves, each lane as deep as it needs")
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

TEST("calls pass registers and structures, go where a pointer says, and may not come back")
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

TEST("the stack pointer can be moved and put back")
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

/* ---- special registers ----------------------------------------------------------------- */

TEST("special registers say where a thread is")
{
	static const char text[] = PTX_HEADER
		".visible .entry k(.param .u64 out)\n"
		"{	.reg .b32 %r<40>;	.reg .b64 %rd<9>;\n"
		"	ld.param.u64 %rd1, [out];\n	mov.u32 %r1, %tid.x;\n	mov.u32 %r2, "
		"%tid.y;\n"
		"	mov.u32 %r3, %tid.z;\n	mov.u32 %r4, %ntid.x;\n	mov.u32 %r5, %ntid.y;\n"
		"	mov.u32 %r6, %ntid.z;\n	mov.u32 %r7, %ctaid.x;\n	mov.u32 %r8, "
		"%ctaid.y;\n"
		"	mov.u32 %r9, %ctaid.z;\n	mov.u32 %r10, %nctaid.x;\n"
		"	mov.u32 %r11, %nctaid.y;\n	mov.u32 %r12, %nctaid.z;\n"
		"	mad.lo.u32 %r13, %r3, %r5, %r2;\n	mad.lo.u32 %r13, %r13, %r4, %r1;\n"
		"	mad.lo.u32 %r14, %r9, %r11, %r8;\n	mad.lo.u32 %r14, %r14, %r10, %r7;\n"
		"	mul.lo.u32 %r15, %r4, %r5;\n	mul.lo.u32 %r15, %r15, %r6;\n"
		"	mad.lo.u32 %r16, %r14, %r15, %r13;\n	mad.wide.u32 %rd2, %r16, 64, "
		"%rd1;\n"
		"	mov.u32 %r17, %laneid;\n	mov.u32 %r18, %warpid;\n	mov.u32 "
		"%r19, %smid;\n"
		"	mov.u32 %r20, %nsmid;\n	mov.u32 %r21, %lanemask_eq;\n"
		"	mov.u32 %r22, %lanemask_le;\n	mov.u32 %r23, %lanemask_lt;\n"
		"	mov.u32 %r24, %lanemask_ge;\n	mov.u32 %r25, %lanemask_gt;\n"
		"	mov.u64 %rd3, %gridid;\n	cvt.u32.u64 %r26, %rd3;\n"
		"	mov.u32 %r27, %dynamic_smem_size;\n	mov.u32 %r28, %envreg3;\n"
		"	st.global.v4.u32 [%rd2], {%r13, %r14, %r17, %r18};\n"
		"	st.global.v4.u32 [%rd2+16], {%r19, %r20, %r21, %r22};\n"
		"	st.global.v4.u32 [%rd2+32], {%r23, %r24, %r25, %r26};\n"
		"	st.global.v4.u32 [%rd2+48], {%r27, %r28, WARP_SZ, %r12};\n	ret;\n}\n";
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint32_t *out;
	struct sg_grid_result result;

	device_open_with(&device, (struct sg_machine_options){.multiprocessors = 3});
	module = device_load(&device, text);
	out = device_memory(&device, 64 * 60 * 12);
	device_run_with(&device, module, "k",
			(struct sg_launch){.shape.grid = {3, 2, 2},
					   .shape.block = {5, 4, 3},
					   .shape.dynamic_shared = 48,
					   .id = 1234},
			(uint64_t[]){address_of(out)}, 1, &result);
	for (uint32_t i = 0; i < 60 * 12; i++) {
		const uint32_t *row = out + 16 * i;
		uint32_t lane = i % 60 % 32, bit = 1u << lane;
		uint32_t expected[] = {i % 60,      i / 60,  lane, i % 60 / 32, i / 60 % 3, 3,  bit,
				       bit * 2 - 1, bit - 1, -bit, -bit - bit,  1234,       48, 0,
				       32,          2};

		for (int j = 0; j < 16; j++)
			CHECK_INT(row[j], expected[j]);
	}
}

TEST("a vector of special registers is moved as one")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	.reg .v4 .u32 %v;\n	mov.v4.u32 %v, %tid;\n	mov.v2.u32 {%r1, %r2}, "
		     "{%r0, 9};\n"
		     "	mov.v2.u32 {%r1, %r2}, {%r2, %r1};\n	mad.lo.u32 %r3, %v.x, 100, %r1;\n"
		     "	mad.lo.u32 %r3, %r2, 10000, %r3;\n	add.u32 %r3, %r3, %v.y;\n"
		     "	st.global.u32 [%rd19], %r3;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 4096);

	device_run(&device, module, "k", 1, 40, 0, address_of(out), 0);
	for (uint32_t i = 0; i < 40; i++)
		CHECK_INT(out[i], i * 10000 + i * 100 + 9);
}

static uint64_t seven(void *user)
{
	return 0x700000007;
}

TEST("clocks go forward, and the global one is the owner's")
{
	static const char text[] = PTX_HEADER KERNEL(
		"k", "	mov.u64 %rd3, %clock64;\n	mov.u32 %r1, %clock;\n	mov.u64 %rd4, "
		     "%clock64;\n"
		     "	sub.u64 %rd4, %rd4, %rd3;\n	cvt.u32.u64 %r2, %rd4;\n"
		     "	cvt.u32.u64 %r3, %rd3;\n	sub.u32 %r1, %r1, %r3;\n"
		     "	mov.u64 %rd5, %globaltimer;\n	mov.u32 %r4, %globaltimer_hi;\n"
		     "	mov.u32 %r5, %globaltimer_lo;\n	cvt.u32.u64 %r6, %rd5;\n"
		     "	st.global.v4.u32 [%rd1], {%r1, %r2, %r4, %r5};\n"
		     "	st.global.u32 [%rd1+16], %r6;\n");
	struct sg_machine_options options = {.host = {.clock = seven}};
	gt_auto(sg_machine) struct sg_machine *machine = NULL;
	struct sg_module *module = NULL;
	static uint32_t out[8];
	uint64_t parameters[] = {0, address_of(out), 0};
	struct sg_grid_result result;
	struct sg_launch launch = {.shape.grid = {1, 1, 1},
				   .shape.block = {1, 1, 1},
				   .parameters = parameters,
				   .parameter_size = sizeof(parameters)};

	CHECK_INT(sg_machine_new(&options, &machine, NULL), 0);
	CHECK_INT(sg_memory_allow(machine, address_of(out), sizeof(out)), 0);
	CHECK_INT(sg_module_load_text(machine, text, strlen(text), &module, NULL), 0);
	launch.function = sg_module_function(module, "k");
	CHECK_INT(sg_grid_run(machine, &launch, &result), 0);
	CHECK(out[0] > 0 && out[1] > out[0] && out[1] < 10);
	CHECK_INT(out[2], 7);
	CHECK_INT(out[3], 7);
	CHECK_INT(out[4], 7);
	CHECK_INT(result.warp_instructions, 19);
	CHECK_INT(result.thread_instructions, 19);
	sg_module_free(module);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
