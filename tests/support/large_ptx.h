/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PTX of any size, for the tests and the benchmark of loading. */
#pragma once

#include "base/strbuf.h"

/* Kernels of 1,000 lines each, with loops, branches, memory and calls. */
static inline void write_kernels(struct gt_strbuf *text, int count)
{
	gt_strbuf_printf(
		text, ".version 8.0\n.target sm_80\n.address_size 64\n"
		      ".func (.param .u32 r) more(.param .u32 a)\n{\n"
		      "	.reg .u32 %%r<2>;\n	ld.param.u32 %%r0, [a];\n"
		      "	add.u32 %%r1, %%r0, 1;\n	st.param.u32 [r], %%r1;\n	ret;\n}\n");
	for (int k = 0; k < count; k++) {
		gt_strbuf_printf(text,
				 ".visible .entry k%d(.param .u64 p)\n{\n"
				 "	.reg .pred %%p<100>;\n	.reg .f32 %%f<300>;\n"
				 "	.reg .b32 %%r<800>;\n	.reg .b64 %%rd<200>;\n"
				 "	ld.param.u64 %%rd0, [p];\n	mov.u32 %%r0, %%tid.x;\n",
				 k);
		for (int i = 0; i < 90; i++)
			gt_strbuf_printf(
				text,
				"L%d:	mad.lo.u32 %%r%d, %%r%d, 3, %d;\n"
				"	setp.gt.u32 %%p%d, %%r%d, 1000000;\n	@%%p%d bra L%d;\n"
				"	mul.wide.u32 %%rd%d, %%r0, 4;\n	add.s64 %%rd%d, %%rd0, "
				"%%rd%d;\n"
				"	ld.global.f32 %%f%d, [%%rd%d];\n"
				"	fma.rn.f32 %%f%d, %%f%d, 0f40000000, %%f%d;\n"
				"	cvt.rzi.u32.f32 %%r%d, %%f%d;\n"
				"	{ .param .b32 a; .param .b32 r; st.param.b32 [a], %%r%d;\n"
				"	call.uni (r), more, (a); ld.param.b32 %%r%d, [r]; }\n"
				"	st.global.u32 [%%rd%d+%d], %%r%d;\n",
				i, i + 1, i, i, i, i + 1, i, i + 1, 2 * i + 1, 2 * i + 2, 2 * i + 1,
				3 * i, 2 * i + 2, 3 * i + 1, 3 * i, 3 * i, 100 + i, 3 * i + 1,
				100 + i, 200 + i, 2 * i + 2, 4 * i, 200 + i);
		gt_strbuf_printf(text, "L90:	ret;\n}\n");
	}
}
