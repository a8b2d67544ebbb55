/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/engine/device_library.h"

#include <string.h>

#include "base/clean.h"

/*
 * Cooperative groups of compilers that do not inline them (Numba). The handle of a grid is the
 * address of its workspace (grid.c), 0 where the launch was not cooperative. Its second word counts
 * the arrivals at the grid's barrier: block 0 adds what is missing to 2^31, so that the highest bit
 * changes when the last block arrives, and the count is the same afterwards.
 */
static const char library[] =
	".version 6.0\n"
	".target sm_30\n"
	".address_size 64\n"
	/* cudaCGGetIntrinsicHandle(scope): of cudaCGScopeGrid only */
	".weak .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)\n"
	"{\n"
	"	.reg .pred %p<1>; .reg .b32 %r<3>; .reg .b64 %rd<1>;\n"
	"	ld.param.u32 %r0, [scope];\n"
	"	setp.eq.u32 %p0, %r0, 1;\n"
	"	mov.u32 %r1, %envreg1;\n"
	"	mov.u32 %r2, %envreg2;\n"
	"	mov.b64 %rd0, {%r2, %r1};\n"
	"	selp.b64 %rd0, %rd0, 0, %p0;\n"
	"	st.param.b64 [result], %rd0;\n"
	"	ret;\n"
	"}\n"
	".weak .func (.param .b32 result) cudaCGSynchronizeGrid(.param .b64 handle,\n"
	"	.param .b32 flags)\n"
	"{\n"
	"	.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<1>;\n"
	"	ld.param.u64 %rd0, [handle];\n"
	"	st.param.b32 [result], 1;\n" /* cudaErrorInvalidValue */
	"	setp.eq.u64 %p0, %rd0, 0;\n"
	"	@%p0 ret;\n"
	"	barrier.sync 0;\n"
	"	mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;\n"
	"	or.b32 %r0, %r0, %r1; or.b32 %r0, %r0, %r2;\n"
	"	setp.ne.u32 %p1, %r0, 0;\n"
	"	@%p1 bra wait;\n"
	"	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;\n"
	"	or.b32 %r0, %r0, %r1; or.b32 %r0, %r0, %r2;\n"
	"	setp.eq.u32 %p2, %r0, 0;\n"
	"	mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y; mov.u32 %r5, %nctaid.z;\n"
	"	mul.lo.u32 %r3, %r3, %r4; mul.lo.u32 %r3, %r3, %r5;\n"
	"	sub.u32 %r3, 0x80000001, %r3;\n"
	"	selp.u32 %r3, %r3, 1, %p2;\n"
	"	membar.gl;\n"
	"	atom.global.add.u32 %r6, [%rd0+4], %r3;\n"
	"again:\n"
	"	ld.volatile.global.u32 %r7, [%rd0+4];\n"
	"	xor.b32 %r7, %r7, %r6;\n"
	"	setp.ge.s32 %p3, %r7, 0;\n"
	"	@%p3 bra again;\n"
	"	membar.gl;\n"
	"wait:\n"
	"	barrier.sync 0;\n"
	"	st.param.b32 [result], 0;\n"
	"	ret;\n"
	"}\n"
	".weak .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle,\n"
	"	.param .b32 flags)\n"
	"{\n"
	"	.reg .b32 %r<2>; .reg .b64 %rd<1>;\n"
	"	ld.param.u64 %rd0, [handle];\n"
	"	ld.param.u32 %r0, [flags];\n"
	"	{ .param .b64 h; .param .b32 f; .param .b32 r;\n"
	"	st.param.b64 [h], %rd0; st.param.b32 [f], %r0;\n"
	"	call (r), cudaCGSynchronizeGrid, (h, f);\n"
	"	ld.param.b32 %r1, [r]; }\n"
	"	st.param.b32 [result], %r1;\n"
	"	ret;\n"
	"}\n"
	/* cudaCGGetSize(threads, grids, handle): either pointer may be NULL */
	".weak .func (.param .b32 result) cudaCGGetSize(.param .b64 threads,\n"
	"	.param .b64 grids, .param .b64 handle)\n"
	"{\n"
	"	.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd0, [threads];\n"
	"	ld.param.u64 %rd1, [grids];\n"
	"	mov.u32 %r0, %nctaid.x; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %nctaid.z;\n"
	"	mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mov.u32 %r5, %ntid.z;\n"
	"	mul.lo.u32 %r0, %r0, %r1; mul.lo.u32 %r0, %r0, %r2;\n"
	"	mul.lo.u32 %r0, %r0, %r3; mul.lo.u32 %r0, %r0, %r4;\n"
	"	mul.lo.u32 %r0, %r0, %r5;\n"
	"	setp.ne.u64 %p0, %rd0, 0;\n"
	"	setp.ne.u64 %p1, %rd1, 0;\n"
	"	@%p0 st.u32 [%rd0], %r0;\n"
	"	@%p1 st.u32 [%rd1], 1;\n"
	"	st.param.b32 [result], 0;\n"
	"	ret;\n"
	"}\n"
	/* cudaCGGetRank(thread, grid, handle): either pointer may be NULL */
	".weak .func (.param .b32 result) cudaCGGetRank(.param .b64 thread,\n"
	"	.param .b64 grid, .param .b64 handle)\n"
	"{\n"
	"	.reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd0, [thread];\n"
	"	ld.param.u64 %rd1, [grid];\n"
	"	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;\n"
	"	mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y;\n"
	"	mov.u32 %r5, %tid.x; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.z;\n"
	"	mov.u32 %r8, %ntid.x; mov.u32 %r9, %ntid.y; mov.u32 %r10, %ntid.z;\n"
	"	mad.lo.u32 %r0, %r3, %r1, %r0;\n"
	"	mul.lo.u32 %r3, %r3, %r4; mad.lo.u32 %r0, %r3, %r2, %r0;\n" /* the block */
	"	mad.lo.u32 %r5, %r8, %r6, %r5;\n"
	"	mul.lo.u32 %r8, %r8, %r9; mad.lo.u32 %r5, %r8, %r7, %r5;\n" /* in the block */
	"	mul.lo.u32 %r8, %r8, %r10; mad.lo.u32 %r0, %r0, %r8, %r5;\n"
	"	setp.ne.u64 %p0, %rd0, 0;\n"
	"	setp.ne.u64 %p1, %rd1, 0;\n"
	"	@%p0 st.u32 [%rd0], %r0;\n"
	"	@%p1 st.u32 [%rd1], 0;\n"
	"	st.param.b32 [result], 0;\n"
	"	ret;\n"
	"}\n";

bool sg_device_library_is_used(const struct gt_ptx_module *parsed)
{
	static const char *const names[] = {"cudaCGGetIntrinsicHandle", "cudaCGSynchronize",
					    "cudaCGSynchronizeGrid", "cudaCGGetSize",
					    "cudaCGGetRank"};
	const struct gt_ptx_function *function = parsed->functions;

	for (; function; function = function->next)
		for (size_t i = 0; i < gt_countof(names) && !function->body; i++)
			if (!strcmp(function->name, names[i]))
				return true;
	return false;
}

int sg_device_library_parse(struct gt_ptx_module **ret_module, struct gt_diag *diag)
{
	return gt_ptx_parse(library, sizeof(library) - 1, ret_module, diag);
}
