/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kernels for the tests of the software device, as PTX. */
#pragma once

#define PTX_HEADER ".version 6.3\n.target sm_75\n.address_size 64\n"

/*
 *	count(int *p)             atomicAdd(p, 1) by every thread
 *	fill(int *p, int v, int n) p[i] = v + i for i < n
 *	spin(int *p, int n)       runs n rounds of a loop, then atomicAdd(p, 1)
 *	store(int *p)             *p = 1
 *	stop()                    trap
 *	shared(int *p)            dynamic shared memory, p[thread] = thread
 *	bounded(int *p)           .maxntid 64
 *	table                     four ints, 10 11 12 13; total, one int, 0
 */
static const char kernels_ptx[] =
	PTX_HEADER ".visible .global .align 4 .b32 table[4] = {10, 11, 12, 13};\n"
		   ".visible .global .align 4 .u32 total;\n"
		   ".extern .shared .align 4 .b8 dynamic[];\n"
		   ".visible .entry count(.param .u64 p)\n"
		   "{\n"
		   "	.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
		   "	ld.param.u64 %rd0, [p];\n"
		   "	atom.global.add.u32 %r0, [%rd0], 1;\n"
		   "	ret;\n"
		   "}\n"
		   ".visible .entry fill(.param .u64 p, .param .u32 v, .param .u32 n)\n"
		   "{\n"
		   "	.reg .pred %p<1>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
		   "	ld.param.u64 %rd0, [p];\n"
		   "	ld.param.u32 %r0, [v];\n"
		   "	ld.param.u32 %r1, [n];\n"
		   "	mov.u32 %r2, %tid.x;\n"
		   "	mov.u32 %r3, %ntid.x;\n"
		   "	mov.u32 %r4, %ctaid.x;\n"
		   "	mad.lo.u32 %r5, %r4, %r3, %r2;\n"
		   "	setp.ge.u32 %p0, %r5, %r1;\n"
		   "	@%p0 ret;\n"
		   "	mul.wide.u32 %rd1, %r5, 4;\n"
		   "	add.u64 %rd2, %rd0, %rd1;\n"
		   "	add.u32 %r6, %r0, %r5;\n"
		   "	st.global.u32 [%rd2], %r6;\n"
		   "	ret;\n"
		   "}\n"
		   ".visible .entry spin(.param .u64 p, .param .u32 n)\n"
		   "{\n"
		   "	.reg .pred %p<1>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
		   "	ld.param.u64 %rd0, [p];\n"
		   "	ld.param.u32 %r0, [n];\n"
		   "again:\n"
		   "	sub.u32 %r0, %r0, 1;\n"
		   "	setp.ne.u32 %p0, %r0, 0;\n"
		   "	@%p0 bra again;\n"
		   "	atom.global.add.u32 %r1, [%rd0], 1;\n"
		   "	ret;\n"
		   "}\n"
		   ".visible .entry store(.param .u64 p)\n"
		   "{\n"
		   "	.reg .b64 %rd<1>;\n"
		   "	ld.param.u64 %rd0, [p];\n"
		   "	st.global.u32 [%rd0], 1;\n"
		   "	ret;\n"
		   "}\n"
		   ".visible .entry stop()\n"
		   "{\n"
		   "	trap;\n"
		   "}\n"
		   ".visible .entry shared(.param .u64 p)\n"
		   "{\n"
		   "	.reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
		   "	ld.param.u64 %rd0, [p];\n"
		   "	mov.u32 %r0, %tid.x;\n"
		   "	mov.u32 %r1, dynamic;\n"
		   "	mad.lo.u32 %r1, %r0, 4, %r1;\n"
		   "	st.shared.u32 [%r1], %r0;\n"
		   "	bar.sync 0;\n"
		   "	ld.shared.u32 %r2, [%r1];\n"
		   "	mul.wide.u32 %rd1, %r0, 4;\n"
		   "	add.u64 %rd2, %rd0, %rd1;\n"
		   "	st.global.u32 [%rd2], %r2;\n"
		   "	ret;\n"
		   "}\n"
		   ".visible .entry bounded(.param .u64 p)\n"
		   ".maxntid 64, 1, 1\n"
		   "{\n"
		   "	.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
		   "	ld.param.u64 %rd0, [p];\n"
		   "	atom.global.add.u32 %r0, [%rd0], 1;\n"
		   "	ret;\n"
		   "}\n";

enum { SPIN_SHORT = 20000, SPIN_LONG = 2000000 }; /* rounds: some 0.2 ms and 20 ms */
