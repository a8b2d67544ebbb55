/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory by many bytes at once: bulk copies and reductions, vector and 128-bit atomics, hints. */
#include "exec_reference.h"

#define HEADER_100 ".version 8.6\n.target sm_100a\n.address_size 64\n"

/* A kernel with parameters in %rd0 %rd1, the thread in %r0, shared memory of 2 KiB at %r19. */
#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(.param .u64 p0, .param .u64 p1)\n"                               \
	"{\n"                                                                                      \
	"	.reg .pred %p<10>;\n	.reg .b16 %h<10>;\n	.reg .b32 %r<20>;\n"                            \
	"	.reg .b64 %rd<20>;\n	.reg .f32 %f<10>;\n	.reg .b128 %q<4>;\n"                            \
	"	.shared .align 16 .b8 tile[2048];\n	mov.u32 %r19, tile;\n"                               \
	"	ld.param.u64 %rd0, [p0];\n	ld.param.u64 %rd1, [p1];\n"                                   \
	"	mov.u32 %r0, %tid.x;\n" body "	ret;\n}\n"

static struct sg_module *load(struct device *device, const char *text)
{
	device_open(device);
	return device_load(device, text);
}

/* ---- bulk ------------------------------------------------------------------------------ */

static const char bulk[] = HEADER_100
	/* Every thread has a word of shared memory; thread 0 moves them. */
	KERNEL("move",
	       "	mad.lo.u32 %r1, %r0, 4, %r19;\n	st.shared.u32 [%r1], %r0;\n"
	       "	fence.proxy.async;\n	bar.sync 0;\n	setp.ne.u32 %p0, %r0, 0;\n	"
	       "@%p0 bra END;\n"
	       "	add.u32 %r2, %r19, 1024;\n	mov.u32 %r4, 64;\n"
	       "	mbarrier.init.shared.b64 [%r19+2040], 1;\n	add.u32 %r3, %r19, 2040;\n"
	       "	mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 64;\n"
	       "	cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
	       " [%r2], [%r19+64], %r4, [%r3];\n"
	       "WAIT:	mbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0;\n	@!%p1 bra WAIT;\n"
	       "	cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [%r2+16], 32;\n"
	       "	cp.async.bulk.commit_group;\n	cp.async.bulk.wait_group 0;\n"
	       "	cp.async.bulk.prefetch.L2.global [%rd1], 32;\n"
	       "END:\n")
		KERNEL("reduce",
		       "	mad.lo.u32 %r1, %r0, 4, %r19;\n	add.u32 %r2, %r0, 1;\n	"
		       "cvt.rn.f32.u32 "
		       "%f1, %r2;\n"
		       "	st.shared.u32 [%r1], %r2;\n	st.shared.f32 [%r1+512], %f1;\n"
		       "	mov.b32 %r3, 0x40003c00;\n	st.shared.b32 [%r1+1024], %r3;\n"
		       "	bar.sync 0;\n	setp.ne.u32 %p0, %r0, 0;\n	@%p0 bra END;\n"
		       "	cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], "
		       "[%r19], 128;\n"
		       "	cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 "
		       "[%rd1+128], [%r19], "
		       "128;\n"
		       "	cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
		       "[%rd1+256], "
		       "[%r19+512], 128;\n"
		       "	cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 "
		       "[%rd1+384], "
		       "[%r19+1024], 128;\n"
		       "	cp.async.bulk.commit_group;\n	cp.async.bulk.wait_group.read 0;\n"
		       "END:\n")
			KERNEL("clear", "	mad.lo.u32 %r1, %r0, 4, %r19;\n	mov.u32 %r2, "
					"-1;\n	st.shared.u32 [%r1], %r2;\n"
					"	bar.sync 0;\n	setp.ne.u32 %p0, %r0, 0;\n	"
					"@%p0 bra NEXT;\n"
					"	mov.u64 %rd3, 40;\n	st.bulk.weak.shared::cta "
					"[%r19+16], %rd3, 0;\n"
					"	add.u32 %r5, %r19, 64;\n	cvt.u64.u32 %rd4, "
					"%r5;\n	cvta.shared.u64 %rd4, %rd4;\n"
					"	st.bulk [%rd4], 8, 0;\n"
					"NEXT:	bar.sync 0;\n	ld.shared.u32 %r3, [%r1];\n"
					"	mad.wide.u32 %rd5, %r0, 4, %rd1;\n	"
					"st.global.u32 [%rd5], %r3;\n")
				KERNEL("odd", "	add.u32 %r1, %r0, 24;\n	"
					      "cp.async.bulk.global.shared::cta.bulk_group "
					      "[%rd1], [%r19], %r1;\n");

TEST("bulk copies work between any two spaces, at offsets, and complete at their mbarrier")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, bulk);
	uint32_t *out = device_memory(&device, 1024);

	device_run(&device, module, "move", 1, 64, 0, address_of(out));
	for (uint32_t i = 0; i < 16; i++)
		CHECK_INT(out[i], i < 4 || i >= 12 ? 0 : 16 + i);
}

TEST("bulk reductions combine each element with that in shared memory")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, bulk);
	uint32_t *out = device_memory(&device, 1024);
	int wrong = 0;

	for (uint32_t i = 0; i < 32; i++) {
		out[i] = 1000 * i;
		out[32 + i] = i % 2 ? 100 : (uint32_t)-100;
		out[64 + i] = bits_of_float(0.5f);
		out[96 + i] = 0x3c00 | 0x3800 << 16;
	}
	device_run(&device, module, "reduce", 1, 32, 0, address_of(out));
	for (uint32_t i = 0; i < 32; i++) {
		wrong += out[i] != 1000 * i + i + 1;
		wrong += out[32 + i] != (i % 2 ? 100 : i + 1);
		wrong += float_of(out[64 + i]) != (float)(i + 1) + 0.5f;
		wrong += out[96 + i] != (0x4000u | 0x4100u << 16);
	}
	CHECK_INT(wrong, 0);
}

TEST("st.bulk clears exactly its range, and odd sizes are faults")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, bulk);
	uint32_t *out = device_memory(&device, 1024);
	uint64_t parameters[2] = {0, address_of(out)};
	struct sg_grid_result result;

	device_run(&device, module, "clear", 1, 32, 0, address_of(out));
	for (uint32_t i = 0; i < 32; i++)
		CHECK_INT(out[i], (i >= 4 && i < 14) || i == 16 || i == 17 ? 0 : UINT32_MAX);
	CHECK_INT(device_run_with(&device, module, "odd", (struct sg_launch){0}, parameters, 2,
				  &result),
		  -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_MISALIGNED);
}

/* ---- atomics --------------------------------------------------------------------------- */

static const char atomics[] = HEADER_100 KERNEL(
	"vectors",
	"	cvt.rn.f32.u32 %f0, %r0;\n	mov.f32 %f1, 0f3F800000;\n"
	"	atom.global.v2.f32.add {%f2, %f3}, [%rd0], {%f0, %f1};\n"
	"	red.global.add.v4.f32 [%rd0+16], {%f0, %f1, %f0, %f1};\n"
	"	mov.b32 %r2, 0x3c004000;\n	mov.b16 %h1, 0x3f80;\n	cvt.u16.u32 %h2, %r0;\n"
	"	atom.global.v2.f16x2.add.noftz {%r3, %r4}, [%rd0+32], {%r2, %r2};\n"
	"	red.global.v2.bf16.max.noftz [%rd0+40], {%h1, %h2};\n"
	/* The old values of one thread are its own: what it adds comes after them. */
	"	mad.wide.u32 %rd3, %r0, 8, %rd1;\n	st.global.v2.f32 [%rd3], {%f2, %f3};\n"
	/* Registers that are both source and destination. */
	"	mad.wide.u32 %rd4, %r0, 8, %rd1;\n	add.u64 %rd4, %rd4, 1024;\n"
	"	atom.global.v2.f32.add {%f1, %f0}, [%rd4], {%f0, %f1};\n"
	"	atom.global.v2.f32.add {%f0, %f1}, [%rd4], {%f0, %f1};\n")
	/* A counter in the upper half, what was added in the lower. */
	KERNEL("wide",
	       "	cvt.u64.u32 %rd3, %r0;\n	ld.global.v2.u64 {%rd4, %rd5}, [%rd0];\n"
	       "AGAIN:	add.u64 %rd6, %rd4, %rd3;\n	add.u64 %rd7, %rd5, 1;\n"
	       "	mov.b128 %q0, {%rd4, %rd5};\n	mov.b128 %q1, {%rd6, %rd7};\n"
	       "	atom.global.b128.cas %q2, [%rd0], %q0, %q1;\n	mov.b128 {%rd8, %rd9}, "
	       "%q2;\n"
	       "	setp.ne.u64 %p0, %rd8, %rd4;\n	setp.ne.or.u64 %p0, %rd9, %rd5, %p0;\n"
	       "	mov.u64 %rd4, %rd8;\n	mov.u64 %rd5, %rd9;\n	@%p0 bra AGAIN;\n"
	       "	mov.b128 %q3, {%rd3, %rd3};\n"
	       "	atom.shared.b128.exch %q2, [%r19+32], %q3;\n	mov.b128 {%rd8, %rd9}, "
	       "%q2;\n"
	       "	setp.ne.u64 %p1, %rd8, %rd9;\n	@%p1 trap;\n");

TEST("atomics on vectors change every element and return the old ones")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, atomics);
	float *cells = device_memory(&device, 256), *out = device_memory(&device, 2048);
	uint16_t *halves = (uint16_t *)(void *)(cells + 8);

	device_run(&device, module, "vectors", 1, 64, address_of(cells), address_of(out));
	CHECK(cells[0] == 63 * 32 && cells[1] == 64);
	CHECK(cells[4] == 63 * 32 && cells[5] == 64 && cells[6] == 63 * 32 && cells[7] == 64);
	CHECK_INT(halves[0], half_bits(F16, 128));
	CHECK_INT(halves[3], half_bits(F16, 64));
	CHECK_INT(halves[4], 0x3f80);
	CHECK_INT(halves[5], 63);
	for (int i = 0; i < 64; i++) {
		CHECK(out[2 * i + 1] >= 0 && out[2 * i + 1] < 64);
		/* Twice: (i, 1) on zeros, which gives (0, 0) crosswise; then nothing. */
		CHECK(out[256 + 2 * i] == (float)i && out[257 + 2 * i] == 1);
	}
}

TEST("128 bits are compared and exchanged as one, also by many blocks at once")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, atomics);
	uint64_t *cell = device_memory(&device, 16);

	device_run(&device, module, "wide", 40, 64, address_of(cell), 0);
	CHECK_INT(cell[0], 40 * 63 * 32);
	CHECK_INT(cell[1], 40 * 64);
}

/* One thread writes a number into all elements, others look whether they are alike. */
#define WHOLE_STEP(form, low, high, place)                                                         \
	"	@%p0 ld.relaxed.gpu.global." form " " low ", [%rd0+" place "];\n"                  \
	"	@!%p0 st.relaxed.gpu.global." form " [%rd0+" place "], " high ";\n"

TEST("relaxed accesses to vectors of 8 and 16 bytes are not torn")
{
	static const char text[] = HEADER_100 KERNEL(
		"k", "	mov.u32 %r1, %ctaid.x;\n	setp.ne.u32 %p0, %r1, 0;\n	mov.u32 "
		     "%r2, 0;\n"
		     "	mov.u32 %r8, 0;\n	mov.u32 %r9, 0;\n	mov.u32 %r10, 0;\n	"
		     "mov.u32 %r11, 0;\n"
		     "	mov.u32 %r12, 0;\n	mov.u32 %r13, 0;\n	mov.u64 %rd8, 0;\n	"
		     "mov.u64 %rd9, 0;\n"
		     "TOP:	add.u32 %r2, %r2, 1;\n	cvt.u64.u32 %rd2, %r2;\n	shl.b64 "
		     "%rd3, %rd2, 40;\n"
		     "	or.b64 %rd2, %rd2, %rd3;\n" WHOLE_STEP("v4.u32", "{%r8, %r9, %r10, %r11}",
							       "{%r2, %r2, %r2, %r2}", "0")
			     WHOLE_STEP("v2.u32", "{%r12, %r13}", "{%r2, %r2}", "16") WHOLE_STEP(
				     "v2.u64", "{%rd8, %rd9}", "{%rd2, %rd2}",
				     "32") "	setp.ne.u32 %p1, %r8, %r9;\n	setp.ne.or.u32 "
					   "%p1, %r8, %r10, %p1;\n"
					   "	setp.ne.or.u32 %p1, %r8, %r11, %p1;\n	"
					   "setp.ne.or.u32 %p1, %r12, %r13, %p1;\n"
					   "	setp.ne.or.u64 %p1, %rd8, %rd9, %p1;\n	@%p1 "
					   "red.global.add.u32 [%rd1], 1;\n"
					   "	setp.lt.u32 %p2, %r2, 400000;\n	@%p2 bra TOP;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = NULL;
	uint32_t *cells, *torn;

	device_open_with(&device, (struct sg_machine_options){.timeout_ns = HANG_NS, .workers = 4});
	module = device_load(&device, text);
	cells = device_memory(&device, 64);
	torn = device_memory(&device, 4);
	device_run(&device, module, "k", 4, 1, address_of(cells), address_of(torn));
	CHECK_INT(*torn, 0);
	for (int i = 0; i < 6; i++)
		CHECK_INT(cells[i], 400000);
}

/* ---- caches ---------------------------------------------------------------------------- */

TEST("cache policies and hints have no effect, and a predicated copy is omitted")
{
	static const char text[] = HEADER_100 KERNEL(
		"k", "	createpolicy.fractional.L2::evict_last.b64 %rd3, 0f3F800000;\n"
		     "	createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd4, "
		     "[%rd0], "
		     "128, 256;\n"
		     "	createpolicy.cvt.L2.b64 %rd5, 7;\n"
		     "	mad.wide.u32 %rd6, %r0, 4, %rd0;\n	mad.wide.u32 %rd7, %r0, 4, %rd1;\n"
		     "	ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.u32 %r1, [%rd6], "
		     "%rd3;\n"
		     "	st.global.L2::cache_hint.u32 [%rd7], %r1, %rd4;\n"
		     "	red.global.add.L2::cache_hint.u32 [%rd7], 1, %rd4;\n"
		     "	applypriority.global.L2::evict_normal [%rd0], 128;\n"
		     "	prefetch.global.L2::evict_last [%rd0];\n	ldu.global.u32 %r5, "
		     "[%rd6];\n"
		     "	add.u32 %r6, %r1, 1;\n	setp.ne.u32 %p2, %r1, %r5;\n	@%p2 trap;\n"
		     "	and.b32 %r2, %r0, 1;\n	setp.ne.u32 %p0, %r2, 0;\n"
		     "	mad.lo.u32 %r3, %r0, 4, %r19;\n"
		     "	cp.async.ca.shared.global [%r3], [%rd6], 4, %p0;\n"
		     "	cp.async.ca.shared.global.L2::cache_hint [%r3+512], [%rd6], 4, %rd3;\n"
		     "	cp.async.wait_all;\n	ld.shared.u32 %r4, [%r3];\n	st.global.u32 "
		     "[%rd7+256], "
		     "%r4;\n"
		     "	ld.shared.u32 %r4, [%r3+512];\n	st.global.u32 [%rd7+512], %r4;\n"
		     "	discard.global.L2 [%rd0], 128;\n	griddepcontrol.wait;\n"
		     "	griddepcontrol.launch_dependents;\n	pmevent 3;\n	nanosleep.u32 10;\n"
		     "	setmaxnreg.inc.sync.aligned.u32 120;\n	fence.acq_rel.gpu;\n	"
		     "membar.sys;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *in = device_memory(&device, 256), *out = device_memory(&device, 768);

	for (uint32_t i = 0; i < 64; i++)
		in[i] = 3 * i + 1;
	device_run(&device, module, "k", 1, 32, address_of(in), address_of(out));
	for (uint32_t i = 0; i < 32; i++) {
		CHECK_INT(out[i], 3 * i + 2);
		CHECK_INT(out[64 + i], i % 2 ? 0 : 3 * i + 1);
		CHECK_INT(out[128 + i], 3 * i + 1);
	}
}

/* ---- shared memory of the system ------------------------------------------------------- */

TEST("a kernel that reads the offset of the system's shared memory has it after its own")
{
	static const char text[] = HEADER_100 KERNEL(
		"k", "	mov.u32 %r1, %reserved_smem_offset_begin;\n	mov.u32 %r2, "
		     "%reserved_smem_offset_end;\n"
		     "	mov.u32 %r3, %reserved_smem_offset_1;\n	mov.u32 %r4, %total_smem_size;\n"
		     "	mov.u32 %r5, %aggr_smem_size;\n	red.shared.add.u32 [%r3], 1;\n	bar.sync "
		     "0;\n"
		     "	st.shared.u32 [%r2+-4], %r0;\n	ld.shared.u32 %r6, [%r3];\n"
		     "	st.global.v4.u32 [%rd1], {%r1, %r2, %r4, %r5};\n	st.global.u32 "
		     "[%rd1+16], "
		     "%r6;\n") KERNEL("plain", "	st.shared.u32 [%r19+2048], %r0;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	uint32_t *out = device_memory(&device, 32);
	uint64_t parameters[2] = {0};
	struct sg_grid_result result;

	device_run(&device, module, "k", 1, 64, 0, address_of(out));
	CHECK_INT(out[0], 2048);
	CHECK_INT(out[1], 2048 + 1024);
	CHECK_INT(out[2], 2048);
	CHECK_INT(out[3], 2048 + 1024);
	CHECK_INT(out[4], 64);
	CHECK_INT(device_run_with(&device, module, "plain", (struct sg_launch){0}, parameters, 2,
				  &result),
		  -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_ILLEGAL_ADDRESS);
}

/* ---- lanes ----------------------------------------------------------------------------- */

TEST("redux finds the minimum and maximum .f32 of its members, and one lane is elected")
{
	static const char text[] = HEADER_100 KERNEL(
		"k", "	mad.wide.u32 %rd3, %r0, 4, %rd0;\n	ld.global.f32 %f0, [%rd3];\n"
		     "	redux.sync.min.f32 %f1, %f0, -1;\n	redux.sync.max.abs.f32 %f2, %f0, "
		     "-1;\n"
		     "	setp.lt.u32 %p0, %r0, 16;\n	selp.b32 %r1, 0x0000ffff, 0xffff0000, "
		     "%p0;\n"
		     "	redux.sync.max.NaN.f32 %f3, %f0, %r1;\n"
		     "	elect.sync %r3|%p1, -1;\n	selp.u32 %r2, 1, 0, %p1;\n"
		     "	mad.wide.u32 %rd4, %r0, 16, %rd1;\n	mov.b32 %r4, %f3;\n"
		     "	st.global.v4.f32 [%rd4], {%f1, %f2, %f3, %f0};\n	st.global.u32 "
		     "[%rd4+12], "
		     "%r2;\n");
	auto_device device;
	gt_auto(sg_module) struct sg_module *module = load(&device, text);
	float *in = device_memory(&device, 128);
	float(*out)[4] = device_memory(&device, 512);

	for (int i = 0; i < 32; i++)
		in[i] = (float)(i - 20);
	in[5] = NAN;
	device_run(&device, module, "k", 1, 32, address_of(in), address_of(out));
	for (int i = 0; i < 32; i++) {
		uint32_t elected;

		memcpy(&elected, &out[i][3], 4);
		CHECK(out[i][0] == -20 && out[i][1] == 20);
		CHECK(i < 16 ? isnan(out[i][2]) : out[i][2] == 11);
		CHECK_INT(elected, i == 0);
	}
}

TEST("ptxas accepts every module of these tests")
{
	check_with_ptxas();
}

TEST_MAIN
