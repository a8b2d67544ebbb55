/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output of our assembler, compared with that of clang for the same instructions. */
#include <unistd.h>

#include "assemble.h"
#include "base/strbuf.h"
#include "gpubpf/object/object.h"
#include "tap.h"
#include "temporary.h"

enum {
	WIDTHS = 2,
};

/* Mnemonics and clang's operators; each with a constant and a register, of 64 and of 32 bits. */
static const struct {
	const char *ours, *clang;
} calculations[] = {{"add", "+="}, {"sub", "-="},    {"mul", "*="},  {"div", "/="},
		    {"or", "|="},  {"and", "&="},    {"lsh", "<<="}, {"rsh", ">>="},
		    {"xor", "^="}, {"arsh", "s>>="}, {"mov", "="}},
  jumps[] = {{"jeq", "=="}, {"jne", "!="},  {"jgt", ">"},    {"jge", ">="},  {"jlt", "<"},
	     {"jle", "<="}, {"jsgt", "s>"}, {"jsge", "s>="}, {"jslt", "s<"}, {"jsle", "s<="}},
  others[] = {
	  {"neg r3", "r3 = -r3"},
	  {"neg32 r3", "w3 = -w3"},
	  {"be16 r1", "r1 = be16 r1"},
	  {"be32 r1", "r1 = be32 r1"},
	  {"be64 r1", "r1 = be64 r1"},
	  {"le16 r1", "r1 = le16 r1"},
	  {"le32 r1", "r1 = le32 r1"},
	  {"le64 r1", "r1 = le64 r1"},
	  {"lddw r7, 0x123456789abcdef", "r7 = 81985529216486895 ll"},
	  {"ldxb r1, [r2+4]", "r1 = *(u8 *)(r2 + 4)"},
	  {"ldxh r1, [r2+4]", "r1 = *(u16 *)(r2 + 4)"},
	  {"ldxw r1, [r2-4]", "r1 = *(u32 *)(r2 - 4)"},
	  {"ldxdw r1, [r2+8]", "r1 = *(u64 *)(r2 + 8)"},
	  {"stxb [r10-8], r1", "*(u8 *)(r10 - 8) = r1"},
	  {"stxh [r10-8], r1", "*(u16 *)(r10 - 8) = r1"},
	  {"stxw [r10-8], r1", "*(u32 *)(r10 - 8) = r1"},
	  {"stxdw [r10-8], r1", "*(u64 *)(r10 - 8) = r1"},
	  {"lock add [r1+8], r2", "lock *(u64 *)(r1 + 8) += r2"},
	  {"lock or [r1+8], r2", "lock *(u64 *)(r1 + 8) |= r2"},
	  {"lock and [r1+8], r2", "lock *(u64 *)(r1 + 8) &= r2"},
	  {"lock xor [r1+8], r2", "lock *(u64 *)(r1 + 8) ^= r2"},
	  {"lock add32 [r1+8], r2", "lock *(u32 *)(r1 + 8) += w2"},
	  {"lock or32 [r1+8], r2", "lock *(u32 *)(r1 + 8) |= w2"},
	  {"call 7", "call 7"},
	  {"ja +1", "goto +1"},
	  {"exit", "exit"},
};

static void put_widths(struct gt_strbuf *ours, struct gt_strbuf *clang)
{
	for (size_t i = 0; i < gt_countof(calculations); i++)
		for (unsigned narrow = 0; narrow < WIDTHS; narrow++) {
			const char *suffix = narrow ? "32" : "", *sign = calculations[i].clang;
			char letter = narrow ? 'w' : 'r';

			gt_strbuf_printf(ours, "%s%s r3, r4\n%s%s r3, 5\n", calculations[i].ours,
					 suffix, calculations[i].ours, suffix);
			gt_strbuf_printf(clang, "%c3 %s %c4\n%c3 %s 5\n", letter, sign, letter,
					 letter, sign);
		}
	for (size_t i = 0; i < gt_countof(jumps); i++)
		for (unsigned narrow = 0; narrow < WIDTHS; narrow++) {
			const char *suffix = narrow ? "32" : "", *sign = jumps[i].clang;
			char letter = narrow ? 'w' : 'r';

			gt_strbuf_printf(ours, "%s%s r3, r4, +1\n%s%s r3, -5, +1\n", jumps[i].ours,
					 suffix, jumps[i].ours, suffix);
			gt_strbuf_printf(clang, "if %c3 %s %c4 goto +1\nif %c3 %s -5 goto +1\n",
					 letter, sign, letter, letter, sign);
		}
}

/* The output of clang; NULL if it rejects the input. */
static struct gt_bpf_object *assemble_with_clang(const char *text)
{
	struct temporary source, object;
	gt_auto_strbuf command = GT_STRBUF_INIT;
	struct gt_bpf_object *result = NULL;
	struct gt_diag diag = {0};
	FILE *file = fdopen(make_temporary_file(&source), "w");

	CHECK(file && make_empty_file(&object));
	fprintf(file, "	.globl f\n	.type f,@function\nf:\n%s	.size f, .-f\n", text);
	fclose(file);
	gt_strbuf_printf(&command, "clang -target bpf -mcpu=v3 -x assembler -c %s -o %s",
			 source.path, object.path);
	if (system(gt_strbuf_string(&command)))
		TAP_FAIL("clang rejects the input");
	else if (gt_bpf_object_open(object.path, true, &result, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	unlink(source.path);
	unlink(object.path);
	return result;
}

static void compare(const struct gt_bpf_program *program, const struct bpf_insn *insns,
		    uint32_t count)
{
	CHECK_INT(program->count, count);
	for (uint32_t i = 0; i < count && i < program->count; i++) {
		gt_auto_strbuf here = GT_STRBUF_INIT, there = GT_STRBUF_INIT;

		if (!memcmp(&program->insns[i], &insns[i], sizeof(*insns)))
			continue;
		gt_bpf_put_insn(&here, insns, count, i);
		gt_bpf_put_insn(&there, program->insns, program->count, i);
		TAP_FAIL("%u: '%s', clang: '%s'", i, gt_strbuf_string(&here),
			 gt_strbuf_string(&there));
	}
}

TEST("our assembler has the output of clang's for the same instructions")
{
	gt_auto_strbuf ours = GT_STRBUF_INIT, clang = GT_STRBUF_INIT;
	struct bpf_insn *insns = NULL;
	struct gt_bpf_object *object;
	struct gt_diag diag = {0};
	uint32_t count = 0;

	if (system("clang --print-targets 2>/dev/null | grep -q '^ *bpf '"))
		SKIP("there is no clang for BPF");
	put_widths(&ours, &clang);
	for (size_t i = 0; i < gt_countof(others); i++) {
		gt_strbuf_printf(&ours, "%s\n", others[i].ours);
		gt_strbuf_printf(&clang, "%s\n", others[i].clang);
	}
	if (gt_bpf_assemble(gt_strbuf_string(&ours), &insns, &count, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	object = assemble_with_clang(gt_strbuf_string(&clang));
	CHECK(object && object->program_count == 1);
	if (object && object->program_count == 1)
		compare(&object->programs[0], insns, count);
	gt_bpf_object_free(object);
	free(insns);
}

TEST_MAIN
