/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The code around a body in the form "kernel" (translate.h). */
#include <ctype.h>

#include "gpubpf/ptxgen/private.h"

/* Add lines in which each # is replaced by the prefix. */
static void print_lines(const struct gt_ptxgen *gen, struct gt_strbuf *text, const char *lines)
{
	for (const char *at = lines; *at; at++)
		if (*at == '#')
			gt_strbuf_puts(text, gen->prefix);
		else
			gt_strbuf_putc(text, *at);
}

static bool has_context(const struct gt_ptxgen *gen)
{
	return gen->job->section && gen->job->section->kind != GT_KIND_RUN;
}

void gt_ptxgen_print_kernel_begin(const struct gt_ptxgen *gen, struct gt_strbuf *text)
{
	const char *name = gen->job->name ? gen->job->name : gen->job->program->name;

	if (!name || !*name)
		name = "program";
	gt_strbuf_printf(text, ".visible .entry %s", gen->prefix);
	for (; *name; name++)
		gt_strbuf_putc(text, (char)(isalnum((unsigned char)*name) ? *name : '_'));
	gt_strbuf_printf(text,
			 "(\n\t.param .u64 %smemory,\n\t.param .u64 %smemory_size,\n"
			 "\t.param .u64 %sresults",
			 gen->prefix, gen->prefix, gen->prefix);
	if (has_context(gen))
		gt_strbuf_printf(text, ",\n\t.param .align 8 .b8 %scontext[%d]", gen->prefix,
				 GT_CONTEXT_SIZE);
	gt_strbuf_puts(text, ")\n{\n");
}

void gt_ptxgen_print_arguments(const struct gt_ptxgen *gen, struct gt_strbuf *text)
{
	const char *prefix = gen->prefix;

	if (has_context(gen))
		return;
	if (gen->job->memory_size) {
		gt_strbuf_printf(text, "\tld.param.u64 %sr1, [%smemory];\n", prefix, prefix);
		if (!gen->generic)
			gt_strbuf_printf(text, "\tcvta.to.global.u64 %sr1, %sr1;\n", prefix,
					 prefix);
	} else {
		gt_strbuf_printf(text, "\tmov.b64 %sr1, 0;\n", prefix);
	}
	gt_strbuf_printf(text, "\tld.param.u64 %sr2, [%smemory_size];\n", prefix, prefix);
}

/* Numbers of the block (q5) and of the thread in it (w15), and the threads of a block (q6). */
static const char index_lines[] = "\t.reg .b32 #w<16>;\n"
				  "\t.reg .b64 #q<11>;\n"
				  "\tld.param.u64 #q1, [#results];\n"
				  "\tcvta.to.global.u64 #q2, #q1;\n"
				  "\tmov.u32 #w1, %ctaid.x;\n"
				  "\tcvt.u64.u32 #q3, #w1;\n"
				  "\tmov.u32 #w2, %nctaid.x;\n"
				  "\tmov.u32 #w3, %ctaid.y;\n"
				  "\tmov.u32 #w4, %nctaid.y;\n"
				  "\tmov.u32 #w5, %ctaid.z;\n"
				  "\tmad.lo.u32 #w6, #w4, #w5, #w3;\n"
				  "\tmul.wide.u32 #q4, #w6, #w2;\n"
				  "\tadd.u64 #q5, #q4, #q3;\n"
				  "\tmov.u32 #w7, %ntid.x;\n"
				  "\tmov.u32 #w8, %ntid.y;\n"
				  "\tmul.lo.u32 #w9, #w7, #w8;\n"
				  "\tmov.u32 #w10, %ntid.z;\n"
				  "\tmul.wide.u32 #q6, #w9, #w10;\n"
				  "\tmov.u32 #w11, %tid.x;\n"
				  "\tmov.u32 #w12, %tid.y;\n"
				  "\tmad.lo.u32 #w13, #w7, #w12, #w11;\n"
				  "\tmov.u32 #w14, %tid.z;\n"
				  "\tmad.lo.u32 #w15, #w9, #w14, #w13;\n";

/* From the number of the thread to that of the warp or block. */
static const char warp_lines[] = "\tadd.u64 #q6, #q6, 31;\n"
				 "\tshr.u64 #q6, #q6, 5;\n"
				 "\tshr.u32 #w15, #w15, 5;\n";
static const char block_lines[] = "\tmov.u64 #q6, 1;\n"
				  "\tmov.u32 #w15, 0;\n";

static const char address_lines[] = "\tmul.lo.u64 #q7, #q6, #q5;\n"
				    "\tcvt.u64.u32 #q8, #w15;\n"
				    "\tadd.u64 #q9, #q7, #q8;\n"
				    "\tshl.b64 #q10, #q9, 3;\n"
				    "\tadd.u64 #q1, #q2, #q10;\n";

void gt_ptxgen_print_kernel_end(const struct gt_ptxgen *gen, struct gt_strbuf *text)
{
	enum gt_level level = gen->job->section ? gen->job->section->level : GT_LEVEL_THREAD;

	gt_strbuf_puts(text, "\t{\n");
	print_lines(gen, text, index_lines);
	if (level != GT_LEVEL_THREAD)
		print_lines(gen, text, level == GT_LEVEL_WARP ? warp_lines : block_lines);
	print_lines(gen, text, address_lines);
	print_lines(gen, text, level == GT_LEVEL_THREAD ? "\t" : "\t@#leader ");
	print_lines(gen, text, "st.global.u64 [#q1], #r0;\n\t}\n\tret;\n}\n\n");
}
