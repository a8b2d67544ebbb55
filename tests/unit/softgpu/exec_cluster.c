/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clusters: their barrier, and shared memory of other blocks. */
#include "exec_fixture.h"

/* A kernel with its result in %rd0, thread %r0, block %r1, rank %r2, blocks of the cluster %r3. */
#define KERNEL(name, directives, body)                                                             \
	".visible .entry " name "(.param .u64 p0) " directives "\n"                                \
	"{\n"                                                                                      \
	"	.reg .pred %p<10>;\n	.reg .b16 %h<10>;\n	.reg .b32 %r<30>;\n"                            \
	"	.reg .b64 %rd<20>;\n	.shared .align 16 .b8 tile[1024];\n"                                \
	"	.shared .align 8 .b64 object;\n"                                                         \
	"	ld.param.u64 %rd0, [p0];\n	mov.u32 %r0, %tid.x;\n	mov.u32 %r1, %ctaid.x;\n"              \
	"	mov.u32 %r2, %cluster_ctarank;\n	mov.u32 %r3, %cluster_nctarank;\n" body    \
	"	ret;\n}\n"

#define SYNC "	barrier.cluster.arrive.aligned;\n	barrier.cluster.wait.aligned;\n"
/* The next block in %r4; its word of tile for this thread at %r5, this block's at %r6. */
#define NEXT                                                                                       \
	"	add.u32 %r4, %r2, 1;\n	rem.u32 %r4, %r4, %r3;\n"                                         \
	"	mov.u32 %r6, tile;\n	mad.lo.u32 %r6, %r0, 4, %r6;\n"                                     \
	"	mapa.shared::cluster.u32 %r5, %r6, %r4;\n"
/* Stores `value` as the word of this thread in the grid. */
#define STORE(value)                                                                               \
	"	mov.u32 %r28, %ntid.x;\n	mad.lo.u32 %r29, %r1, %r28, %r0;\n"                             \
	"	mad.wide.u32 %rd19, %r29, 4, %rd0;\n	st.global.u32 [%rd19], " value ";\n"

static const char clusters[] = ".version 8.6\n.target sm_100\n.address_size 64\n"
	/* Each thread reads what the same thread of the next block wrote. */
	KERNEL("ring", "",
	       NEXT "	mad.lo.u32 %r7, %r1, 1000, %r0;\n	st.shared.u32 [%r6], %r7;\n" SYNC
		    "	ld.shared::cluster.u32 %r8, [%r5];\n" SYNC STORE("%r8"))
	/* The same by generic addresses, in a shape that the kernel says itself. */
	KERNEL("generic", ".reqnctapercluster 4, 1, 1",
	       NEXT "	mad.lo.u32 %r7, %r1, 1000, %r0;\n	st.shared.u32 [%r6], %r7;\n" SYNC
		    "	cvt.u64.u32 %rd1, %r6;\n	cvta.shared.u64 %rd1, %rd1;\n"
		    "	mapa.u64 %rd2, %rd1, %r4;\n	ld.u32 %r8, [%rd2];\n"
		    "	getctarank.u64 %r9, %rd2;\n	getctarank.shared::cluster.u32 %r10, %r5;\n"
		    "	getctarank.u64 %r11, %rd1;\n	setp.ne.u32 %p1, %r9, %r4;\n"
		    "	setp.ne.or.u32 %p1, %r10, %r4, %p1;\n	setp.ne.or.u32 %p1, %r11, %r2, "
		    "%p1;\n"
		    "	isspacep.shared::cta %p2, %rd1;\n	isspacep.shared::cta %p3, %rd2;\n"
		    "	isspacep.shared::cluster %p4, %rd2;\n	not.pred %p2, %p2;\n"
		    "	or.pred %p1, %p1, %p2;\n	or.pred %p1, %p1, %p3;\n	not.pred "
		    "%p4, %p4;\n"
		    "	or.pred %p1, %p1, %p4;\n	selp.u32 %r8, 77, %r8, %p1;\n" SYNC STORE(
			    "%r8"))
	/* All threads of the cluster count in the first block, and in its mbarrier. */
	KERNEL("count", "",
	       "	mov.u32 %r4, 0;\n	mapa.shared::cluster.u32 %r5, tile, %r4;\n"
	       "	mapa.shared::cluster.u32 %r6, object, %r4;\n	mov.u32 %r8, %ntid.x;\n"
	       "	mul.lo.u32 %r8, %r8, %r3;\n	setp.ne.u32 %p0, %r0, 0;\n	@%p0 bra "
	       "READY;\n"
	       "	mbarrier.init.shared.b64 [object], %r8;\n"
	       "READY:	barrier.cluster.arrive;\n	barrier.cluster.wait;\n"
	       "	atom.shared::cluster.add.u32 %r7, [%r5], 1;\n"
	       "	red.relaxed.cluster.shared::cluster.max.u32 [%r5+4], %r29;\n"
	       "	atom.shared::cluster.add.f32 %r9, [%r5+8], 0f3F800000;\n"
	       "	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];\n"
	       "	setp.ne.u32 %p0, %r2, 0;\n	@%p0 bra END;\n"
	       "WAIT:	mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [object], "
	       "0;\n"
	       "	@!%p1 bra WAIT;\n"
	       "	ld.shared.u32 %r10, [tile];\n	ld.shared.f32 %r11, [tile+8];\n"
	       "	cvt.rzi.u32.f32 %r11, %r11;\n	mad.lo.u32 %r10, %r11, 65536, "
	       "%r10;\n" STORE("%r10") "END:\n" SYNC)
	/* Steps of the barrier: in each, a block reads what the one before it wrote in the last. */
	KERNEL("steps", "",
	       NEXT "	st.shared.u32 [%r6], 0;\n" SYNC "	mov.u32 %r10, 0;\n"
		    "TOP:	ld.shared.u32 %r7, [%r6];\n	add.u32 %r7, %r7, %r2;\n	"
		    "add.u32 %r7, %r7, 1;\n" SYNC "	st.shared::cluster.u32 [%r5], %r7;\n" SYNC
		    "	add.u32 %r10, %r10, 1;\n	setp.lt.u32 %p0, %r10, 40;\n	@%p0 bra "
		    "TOP;\n"
		    "	ld.shared.u32 %r8, [%r6];\n" STORE("%r8"))
	/* Odd threads leave, some after they arrived; lanes wait on two different paths. */
	KERNEL("leave", "",
	       "	and.b32 %r4, %r0, 3;\n	setp.eq.u32 %p0, %r4, 1;\n	@%p0 ret;\n"
	       "	setp.eq.u32 %p1, %r4, 3;\n	barrier.cluster.arrive.relaxed;\n	"
	       "@%p1 ret;\n"
	       "	setp.eq.u32 %p2, %r4, 2;\n	@%p2 bra OTHER;\n	"
	       "barrier.cluster.wait.acquire;\n"
	       "	bra MEET;\nOTHER:	barrier.cluster.wait;\nMEET:\n"
	       "	barrier.cluster.arrive;\n	setp.ne.u32 %p3, %r4, 5;\n"
	       "	@%p3 barrier.cluster.wait;\n" STORE("5"))
	/* Without a cluster a block is a cluster of its own. */
	KERNEL("alone", "",
	       "	mov.u32 %r6, tile;\n	mad.lo.u32 %r6, %r0, 4, %r6;\n	st.shared.u32 "
	       "[%r6], %r0;\n" SYNC "	xor.b32 %r7, %r0, 96;\n	mov.u32 %r9, tile;\n	mad.lo.u32 "
	       "%r7, %r7, 4, %r9;\n"
	       "	mapa.shared::cluster.u32 %r8, %r7, 0;\n	ld.shared::cluster.u32 %r8, "
	       "[%r8];\n"
	       "	mad.lo.u32 %r8, %r3, 1000, %r8;\n" STORE("%r8"))
	/* Asynchronous stores and sums of the next block, and a copy that all blocks get. */
	KERNEL("async", "",
	       NEXT "	mov.u32 %r7, object;\n	mapa.shared::cluster.u32 %r8, %r7, %r4;\n"
		    "	setp.ne.u32 %p0, %r0, 0;\n	setp.eq.u32 %p3, %r2, 1;\n"
		    "	selp.u32 %r12, 640, 896, %p3;\n	@%p0 bra READY;\n"
		    "	mbarrier.init.shared.b64 [object], 1;\n"
		    "	mbarrier.arrive.expect_tx.shared.b64 _, [object], %r12;\n"
		    "READY:	st.shared.u32 [%r6+128], 7;\n" SYNC
		    "	mad.lo.u32 %r9, %r1, 1000, %r0;\n	mad.lo.u32 %r13, %r0, 12, %r5;\n"
		    "	st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r13+256],"
		    " {%r9, %r9, %r9, %r9}, [%r8];\n"
		    "	red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add."
		    "u32"
		    " [%r5+128], %r9, [%r8];\n"
		    "	@%p0 bra WAIT;\n	setp.ne.u32 %p2, %r2, 0;\n	@%p2 bra WAIT;\n"
		    "	mov.u32 %r10, 256;\n	mov.u16 %h1, 5;\n	mov.u32 %r11, tile;\n"
		    "	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
		    ".multicast::cluster [%r11+768], [%rd0], %r10, [%r7], %h1;\n"
		    "WAIT:	mbarrier.try_wait.parity.shared.b64 %p1, [object], 0;\n"
		    "	@!%p1 bra WAIT;\n"
		    "	ld.shared.u32 %r14, [%r6+128];\n	mad.lo.u32 %r15, %r0, 12, %r6;\n"
		    "	ld.shared.u32 %r16, [%r15+268];\n	ld.shared.u32 %r17, [%r6+768];\n"
		    "	add.u32 %r14, %r14, %r16;\n	add.u32 %r14, %r14, %r17;\n" SYNC STORE(
			    "%r14"))
	/* What is behind the end of another block's memory, and a block that has ended. */
	KERNEL("behind", "",
	       NEXT "	setp.ne.u32 %p0, %r2, 0;\n" SYNC
		    "	@!%p0 ld.shared::cluster.u32 %r8, [%r5+4096];\n" SYNC)
		KERNEL("nobody", "",
		       "	setp.ne.u32 %p0, %r2, 0;\n	mapa.shared::cluster.u32 %r5, "
		       "tile, 9;\n"
		       "	@!%p0 ld.shared::cluster.u32 %r8, [%r5];\n")
			KERNEL("ended", "",
			       "	mapa.shared::cluster.u32 %r5, tile, 1;\n	"
			       "barrier.cluster.arrive;\n"
			       "	barrier.cluster.wait;\n	setp.eq.u32 %p0, %r2, 1;\n	"
			       "@%p0 ret;\n"
			       "TOP:	ld.shared::cluster.u32 %r8, [%r5];\n	nanosleep.u32 "
			       "10;\n	"
			       "bra TOP;\n");

static struct sg_module *load(struct device *device)
{
	device_open(device);
	return device_load(device, clusters);
}

static struct sg_grid_result run_clusters(struct device *device, struct sg_module *module,
					  const char *name, struct sg_launch launch, uint32_t *out)
{
	uint64_t parameter = address_of(out);
	struct sg_grid_result result;

	device_run_with(device, module, name, launch, &parameter, 1, &result);
	return result;
}

#define WELL(device, module, name, out, ...)                                                       \
	do {                                                                                       \
		struct sg_grid_result well_ =                                                      \
			run_clusters(device, module, name, (struct sg_launch){__VA_ARGS__}, out);  \
		CHECK_STR(well_.fault.text, "");                                                   \
	} while (0)

/* The block after it in its cluster of `size` neighbours. */
static uint32_t next_block(uint32_t block, uint32_t size)
{
	return block / size * size + (block + 1) % size;
}

TEST("blocks of a cluster read each other's shared memory, whatever its size")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 480 * 96 * sizeof(*out)), wrong = 0;

	for (uint32_t size = 1; size <= 16; size++) {
		if (480 % size)
			continue;
		memset(out, 0, 480 * 96 * sizeof(*out));
		WELL(&device, module, "ring", out, .shape.grid = {480}, .shape.block = {96},
		     .shape.cluster = {size, 1, 1});
		for (uint32_t i = 0; i < 480 * 96; i++)
			wrong += out[i] != next_block(i / 96, size) * 1000 + i % 96;
		CHECK_INT(wrong, 0);
	}
}

TEST("getctarank returns the rank of a generic address; the kernel may define the cluster")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 64 * 64 * sizeof(*out)), wrong = 0;

	WELL(&device, module, "generic", out, .shape.grid = {64}, .shape.block = {64});
	for (uint32_t i = 0; i < 64 * 64; i++)
		wrong += out[i] != next_block(i / 64, 4) * 1000 + i % 64;
	CHECK_INT(wrong, 0);
}

TEST("ranks in clusters of two and three dimensions agree with the special registers")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 4096);

	/* Blocks with the same x write the same word: the last of each cluster's column. */
	WELL(&device, module, "ring", out, .shape.grid = {4, 4, 2}, .shape.block = {32},
	     .shape.cluster = {2, 2, 2});
	/* The next of rank 2y+4z+x has x+1, but for the last, whose next is the first. */
	for (uint32_t x = 0; x < 4; x++)
		CHECK_INT(out[32 * x + 5] / 1000, x ^ 1);
}

TEST("atomics and arrivals of all blocks of a cluster are counted")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 64 * 128 * sizeof(*out));

	WELL(&device, module, "count", out, .shape.grid = {64}, .shape.block = {128},
	     .shape.cluster = {8, 1, 1});
	for (uint32_t i = 0; i < 64; i += 8)
		CHECK_INT(out[i * 128], 1024 * 65536 + 1024);
}

TEST("a cluster's barrier synchronizes its blocks repeatedly")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 12 * 64 * sizeof(*out)), wrong = 0;

	WELL(&device, module, "steps", out, .shape.grid = {12}, .shape.block = {64},
	     .shape.cluster = {6, 1, 1});
	for (uint32_t i = 0; i < 12 * 64; i++) {
		uint32_t rank = i / 64 % 6, sum = 0;

		/* It went round: each step adds the rank it was at, and one. */
		for (uint32_t step = 0; step < 40; step++)
			sum += (rank + 6 * 40 - 1 - step) % 6 + 1;
		wrong += out[i] != sum;
	}
	CHECK_INT(wrong, 0);
}

TEST("a cluster's barrier does not wait for exited threads, even if they had arrived")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 8 * 128 * sizeof(*out)), wrong = 0;

	WELL(&device, module, "leave", out, .shape.grid = {8}, .shape.block = {128},
	     .shape.cluster = {4, 1, 1});
	for (uint32_t i = 0; i < 8 * 128; i++)
		wrong += out[i] != (i & 1 ? 0 : 5);
	CHECK_INT(wrong, 0);
}

TEST("a block without a cluster is a cluster of one block")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 3 * 128 * sizeof(*out)), wrong = 0;

	WELL(&device, module, "alone", out, .shape.grid = {3}, .shape.block = {128});
	for (uint32_t i = 0; i < 3 * 128; i++)
		wrong += out[i] != 1000 + ((i % 128) ^ 96);
	CHECK_INT(wrong, 0);
}

TEST("more clusters than fit run one after the other, also with one worker")
{
	static const uint32_t workers[] = {1, 2, 8};

	for (size_t i = 0; i < 3; i++) {
		auto_device device;
		gt_auto(sg_module) struct sg_module *module = NULL;
		uint32_t *out, wrong = 0;

		device_open_with(&device, (struct sg_machine_options){.timeout_ns = HANG_NS,
								      .workers = workers[i],
								      .multiprocessors = 1});
		module = device_load(&device, clusters);
		out = device_memory(&device, 640 * 512 * sizeof(*out));
		WELL(&device, module, "ring", out, .shape.grid = {640}, .shape.block = {512},
		     .shape.cluster = {16, 1, 1}, .shape.dynamic_shared = 100000);
		for (uint32_t j = 0; j < 640 * 512; j++)
			wrong += out[j] != next_block(j / 512, 16) * 1000 + j % 512;
		CHECK_INT(wrong, 0);
	}
}

TEST("asynchronous stores, reductions and copies reach other blocks and their mbarriers")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 4096), wrong = 0;

	for (uint32_t i = 0; i < 32; i++)
		out[i] = 1000000 + i;
	WELL(&device, module, "async", out, .shape.grid = {3}, .shape.block = {32},
	     .shape.cluster = {3, 1, 1});
	for (uint32_t i = 0; i < 96; i++) {
		uint32_t rank = i / 32, lane = i % 32, before = (rank + 2) % 3 * 1000 + lane;

		/* What was added to 7, what was stored, and in blocks 0 and 2 what was copied. */
		wrong += out[i] != 7 + before + before + (rank == 1 ? 0 : 1000000 + lane);
	}
	CHECK_INT(wrong, 0);
}

static void check_fault(struct device *device, struct sg_module *module, const char *name,
			const char *text)
{
	uint32_t *out = device_memory(device, 4096);
	struct sg_launch launch = {
		.shape.grid = {2}, .shape.block = {1}, .shape.cluster = {2, 1, 1}};
	struct sg_grid_result result = run_clusters(device, module, name, launch, out);

	CHECK_INT(sg_fault_code(result.fault.kind), 700);
	CHECK(!strncmp(result.fault.text, text, strlen(text)));
}

TEST("accesses to another block's memory are limited by its size and its lifetime")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);

	check_fault(&device, module, "behind",
		    "illegal memory access at 0x81000 in kernel behind, block (0,0,0), thread "
		    "(0,0,0), line");
	check_fault(&device, module, "nobody",
		    "illegal memory access at 0x280000 in kernel nobody, block (0,0,0), thread "
		    "(0,0,0), line");
	check_fault(&device, module, "ended",
		    "illegal memory access at 0x80000 in kernel ended, block (0,0,0), thread "
		    "(0,0,0), line");
}

TEST("invalid clusters are rejected")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device);
	uint32_t *out = device_memory(&device, 65536);
	uint64_t parameter = address_of(out);
	struct sg_grid_result result;
	static const struct {
		const char *name;
		struct sg_launch launch;
	} launches[] = {
		{"ring", {.shape.grid = {3}, .shape.cluster = {2, 1, 1}}},
		{"ring", {.shape.grid = {32}, .shape.cluster = {32, 1, 1}}},
		{"ring", {.shape.grid = {8, 4}, .shape.cluster = {8, 4, 1}}},
		{"ring", {.shape.grid = {8}, .shape.cluster = {2, 0, 1}}},
		{"generic", {.shape.grid = {8}, .shape.cluster = {2, 1, 1}}},
		{"generic", {.shape.grid = {6}}},
	};

	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		CHECK_INT(device_run_with(&device, module, launches[i].name, launches[i].launch,
					  &parameter, 1, &result),
			  -EINVAL);
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
