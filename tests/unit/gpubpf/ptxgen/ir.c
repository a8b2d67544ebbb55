/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The list of PTX instructions: how it is printed, and the narrowing pass over it. */
#include <errno.h>

#include "gpubpf/ptxgen/ir.h"
#include "tap.h"

static struct gt_ptxgen_list list;
static uint32_t insn; /* the eBPF instruction of the rows that are added */

static struct gt_ptxgen_value temporary(enum gt_ptxgen_class class)
{
	uint32_t number = list.temporaries[class]++;

	return (struct gt_ptxgen_value){class, gt_ptxgen_id(GT_PTXGEN_TEMPORARY, 0, number)};
}

static struct gt_ptxgen_value reg(unsigned number)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_B64, gt_ptxgen_id(GT_PTXGEN_ARGUMENT, 0, number)};
}

static struct gt_ptxgen_value local_label(void)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_LABEL,
					gt_ptxgen_id(GT_PTXGEN_LOCAL_LABEL, 0, list.labels++)};
}

static struct gt_ptxgen_value insn_label(uint32_t at)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_LABEL, gt_ptxgen_id(GT_PTXGEN_INSN_LABEL, 0, at)};
}

static void add_row(enum gt_ptxgen_row_kind kind, const char *name, unsigned count,
		    struct gt_ptxgen_operand first, struct gt_ptxgen_operand second)
{
	struct gt_ptxgen_row row = {.kind = kind,
				    .opcode = gt_ptxgen_named_opcode(name),
				    .operand_count = count,
				    .insn = insn,
				    .operands = {first, second}};

	CHECK(!gt_vec_push(&list.rows, row));
}

static void add_unary(const char *name, struct gt_ptxgen_value target,
		      struct gt_ptxgen_value source)
{
	add_row(GT_PTXGEN_INSTRUCTION, name, 2, gt_ptxgen_plain(target), gt_ptxgen_plain(source));
}

static void add_label(struct gt_ptxgen_value label)
{
	add_row(GT_PTXGEN_LABEL_ROW, "", 1, gt_ptxgen_plain(label), (struct gt_ptxgen_operand){0});
}

static void add_branch(struct gt_ptxgen_value label)
{
	add_row(GT_PTXGEN_INSTRUCTION, "bra", 1, gt_ptxgen_plain(label),
		(struct gt_ptxgen_operand){0});
}

/* w = the lower half of an eBPF register, and a use of it. */
static void add_half_use(struct gt_ptxgen_value wide)
{
	struct gt_ptxgen_value half = temporary(GT_PTXGEN_B32);

	add_row(GT_PTXGEN_LOW_HALF_USE, "", 2, gt_ptxgen_plain(half), gt_ptxgen_plain(wide));
	add_unary("use", temporary(GT_PTXGEN_PREDICATE), half);
}

/* r1 = w0, widened. */
static void add_widened(void)
{
	add_unary("cvt.u64.u32", reg(1), temporary(GT_PTXGEN_B32));
}

/* Narrow and print the list, compare the text, start a new list. */
static void check_text(const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	uint32_t at;

	CHECK(!gt_ptxgen_narrow(&list));
	CHECK(!gt_ptxgen_print(&list, "x_", SIZE_MAX, &text, &at));
	CHECK_STR(gt_strbuf_string(&text), expected);
	gt_ptxgen_list_free(&list);
	list = (struct gt_ptxgen_list){0};
	insn = 0;
}

TEST("registers, constants, addresses, pairs and labels have their PTX syntax")
{
	struct gt_ptxgen_row load = {
		.opcode = {"ld", "u64", GT_PTXGEN_ACQUIRE, GT_PTXGEN_SYS, GT_PTXGEN_GLOBAL},
		.guard = {temporary(GT_PTXGEN_PREDICATE), false},
		.operand_count = 2,
		.operands = {gt_ptxgen_plain(reg(0)), gt_ptxgen_at(gt_ptxgen_map_symbol(3), 8)},
	};
	struct gt_ptxgen_operand low = {temporary(GT_PTXGEN_B32), GT_PTXGEN_PAIR_FIRST, 0};
	struct gt_ptxgen_operand high = {temporary(GT_PTXGEN_B32), GT_PTXGEN_PAIR_SECOND, 0};

	CHECK(!gt_vec_push(&list.rows, load));
	add_row(GT_PTXGEN_INSTRUCTION, "mov.b64", 2, low, high);
	add_unary("mov.b64", reg(2), gt_ptxgen_signed(INT64_MIN));
	add_unary("mov.b64", reg(2), gt_ptxgen_unsigned(UINT64_MAX));
	add_unary("mov.b64", reg(2), gt_ptxgen_hex(0xab));
	add_unary("mov.u32", temporary(GT_PTXGEN_B32), gt_ptxgen_text("%laneid"));
	add_row(GT_PTXGEN_INSTRUCTION, "st.u64", 2, gt_ptxgen_at(gt_ptxgen_symbol("stack"), 0),
		gt_ptxgen_plain((struct gt_ptxgen_value){GT_PTXGEN_B64,
							 gt_ptxgen_id(GT_PTXGEN_SAVED, 2, 7)}));
	add_label(insn_label(12));
	check_text("\t@!x_p0 ld.acquire.sys.global.u64 x_r0, [x_map_3+8];\n"
		   "\tmov.b64 {x_w0, x_w1};\n"
		   "\tmov.b64 x_r2, -9223372036854775808;\n"
		   "\tmov.b64 x_r2, 18446744073709551615;\n"
		   "\tmov.b64 x_r2, 0xab;\n"
		   "\tmov.u32 x_w2, %laneid;\n"
		   "\tst.u64 [x_stack], x_f2_r7;\n"
		   "x_L0_12:\n");
}

TEST("the lower half of a widened value is that value")
{
	add_widened();
	add_half_use(reg(1));
	add_unary("mov.b64", reg(2), reg(1));
	add_half_use(reg(2));
	check_text("\tcvt.u64.u32 x_r1, x_w0;\n"
		   "\tuse x_p0, x_w0;\n"
		   "\tmov.b64 x_r2, x_r1;\n"
		   "\tuse x_p1, x_w0;\n");
}

TEST("the lower half of a register is converted once")
{
	add_half_use(reg(1));
	add_half_use(reg(1));
	check_text("\tcvt.u32.u64 x_w0, x_r1;\n"
		   "\tuse x_p0, x_w0;\n"
		   "\tuse x_p1, x_w0;\n");
}

TEST("a lower half that is going to change is a copy")
{
	struct gt_ptxgen_value half;

	add_widened();
	half = temporary(GT_PTXGEN_B32);
	add_row(GT_PTXGEN_LOW_HALF, "", 2, gt_ptxgen_plain(half), gt_ptxgen_plain(reg(1)));
	check_text("\tcvt.u64.u32 x_r1, x_w0;\n"
		   "\tmov.b32 x_w1, x_w0;\n");
}

TEST("a register that is written has another lower half")
{
	add_widened();
	add_unary("ld.u64", reg(1), reg(2));
	add_half_use(reg(1));
	check_text("\tcvt.u64.u32 x_r1, x_w0;\n"
		   "\tld.u64 x_r1, x_r2;\n"
		   "\tcvt.u32.u64 x_w1, x_r1;\n"
		   "\tuse x_p0, x_w1;\n");
}

TEST("lower halves are not known at the label of an eBPF instruction")
{
	add_widened();
	insn = 1;
	add_label(insn_label(1));
	add_half_use(reg(1));
	check_text("\tcvt.u64.u32 x_r1, x_w0;\n"
		   "x_L0_1:\n"
		   "\tcvt.u32.u64 x_w1, x_r1;\n"
		   "\tuse x_p0, x_w1;\n");
}

TEST("at a label within an eBPF instruction those from before it are known")
{
	struct gt_ptxgen_value label = local_label();

	add_widened();
	insn = 1;
	add_branch(label);
	add_unary("cvt.u64.u32", reg(2), temporary(GT_PTXGEN_B32));
	add_label(label);
	add_half_use(reg(1));
	add_half_use(reg(2));
	check_text("\tcvt.u64.u32 x_r1, x_w0;\n"
		   "\tbra x_B0;\n"
		   "\tcvt.u64.u32 x_r2, x_w1;\n"
		   "x_B0:\n"
		   "\tuse x_p0, x_w0;\n"
		   "\tcvt.u32.u64 x_w3, x_r2;\n"
		   "\tuse x_p1, x_w3;\n");
}

TEST("at a label of a loop those that the loop writes are not known")
{
	struct gt_ptxgen_value label = local_label();

	add_widened();
	insn = 1;
	add_label(label);
	add_half_use(reg(1));
	add_unary("ld.u64", reg(1), reg(2));
	add_branch(label);
	check_text("\tcvt.u64.u32 x_r1, x_w0;\n"
		   "x_B0:\n"
		   "\tcvt.u32.u64 x_w1, x_r1;\n"
		   "\tuse x_p0, x_w1;\n"
		   "\tld.u64 x_r1, x_r2;\n"
		   "\tbra x_B0;\n");
}

TEST("a label that other eBPF instructions branch to hides all that is known")
{
	struct gt_ptxgen_value label = local_label();

	add_branch(label);
	insn = 1;
	add_widened();
	insn = 2;
	add_label(label);
	add_half_use(reg(1));
	check_text("\tbra x_B0;\n"
		   "\tcvt.u64.u32 x_r1, x_w0;\n"
		   "x_B0:\n"
		   "\tcvt.u32.u64 x_w1, x_r1;\n"
		   "\tuse x_p0, x_w1;\n");
}

TEST("a text that is too long names the eBPF instruction where it is")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	uint32_t at = 0;

	for (insn = 0; insn < 4; insn++)
		add_branch(insn_label(1));
	CHECK(gt_ptxgen_print(&list, "x_", strlen("\tbra x_L0_1;\n") * 2, &text, &at) == -E2BIG);
	CHECK_INT(at, 2);
	gt_ptxgen_list_free(&list);
}

TEST_MAIN
