/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Print instructions in the form of the kernel's verifier log. */
#include <inttypes.h>

#include "gpubpf/helpers.h"
#include "gpubpf/program.h"

static const char *const alu_signs[16] = {
	"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "", "%=", "^=", "=", "s>>="};
static const char *const jump_signs[16] = {"",    "==", ">", ">=", "&",  "!=", "s>",
					   "s>=", "",   "",  "<",  "<=", "s<", "s<="};
static const char *const sizes[4] = {"u32", "u16", "u8", "u64"};
static const char *const signed_sizes[4] = {"s32", "s16", "s8", "s64"};

static const char *size_name(const struct bpf_insn *insn, bool is_signed)
{
	return (is_signed ? signed_sizes : sizes)[BPF_SIZE(insn->code) >> 3];
}

static void put_address(struct gt_strbuf *text, unsigned number, int offset)
{
	gt_strbuf_printf(text, "(r%u %c%d)", number, offset < 0 ? '-' : '+',
			 offset < 0 ? -offset : offset);
}

static void put_alu(struct gt_strbuf *text, const struct bpf_insn *insn)
{
	char letter = BPF_CLASS(insn->code) == BPF_ALU64 ? 'r' : 'w';
	unsigned operation = BPF_OP(insn->code);
	bool is_signed = insn->off == 1 && (operation == BPF_DIV || operation == BPF_MOD);

	if (operation == BPF_END) {
		const char *name = letter == 'r'                      ? "bswap"
				   : BPF_SRC(insn->code) == BPF_TO_BE ? "be"
								      : "le";
		gt_strbuf_printf(text, "r%u = %s%d r%u", insn->dst_reg, name, insn->imm,
				 insn->dst_reg);
		return;
	}
	if (operation == BPF_NEG) {
		gt_strbuf_printf(text, "%c%u = -%c%u", letter, insn->dst_reg, letter,
				 insn->dst_reg);
		return;
	}
	gt_strbuf_printf(text, "%c%u %s%s ", letter, insn->dst_reg, is_signed ? "s" : "",
			 alu_signs[operation >> 4]);
	if (BPF_SRC(insn->code) == BPF_K)
		gt_strbuf_printf(text, "%d", insn->imm);
	else if (operation == BPF_MOV && insn->off)
		gt_strbuf_printf(text, "(s%d)%c%u", insn->off, letter, insn->src_reg);
	else
		gt_strbuf_printf(text, "%c%u", letter, insn->src_reg);
}

static void put_jump(struct gt_strbuf *text, const struct bpf_insn *insn)
{
	char letter = BPF_CLASS(insn->code) == BPF_JMP ? 'r' : 'w';
	const struct gt_helper *helper;

	switch (BPF_OP(insn->code)) {
	case BPF_EXIT:
		gt_strbuf_puts(text, "exit");
		return;
	case BPF_JA:
		if (letter == 'w')
			gt_strbuf_printf(text, "gotol %+d", insn->imm);
		else
			gt_strbuf_printf(text, "goto pc%+d", insn->off);
		return;
	case BPF_JCOND:
		gt_strbuf_printf(text, "may_goto pc%+d", insn->off);
		return;
	case BPF_CALL:
		if (insn->src_reg) {
			gt_strbuf_printf(text, "call pc%+d", insn->imm);
			return;
		}
		helper = gt_helper((uint32_t)insn->imm);
		gt_strbuf_printf(text, "call %s#%d", helper ? helper->name : "unknown", insn->imm);
		return;
	}
	gt_strbuf_printf(text, "if %c%u %s ", letter, insn->dst_reg,
			 jump_signs[BPF_OP(insn->code) >> 4]);
	if (BPF_SRC(insn->code) == BPF_K)
		gt_strbuf_printf(text, "0x%x", (unsigned)insn->imm);
	else
		gt_strbuf_printf(text, "%c%u", letter, insn->src_reg);
	gt_strbuf_printf(text, " goto pc%+d", insn->off);
}

static void put_atomic(struct gt_strbuf *text, const struct bpf_insn *insn)
{
	const char *name = "add";

	switch (insn->imm & ~BPF_FETCH) {
	case BPF_OR:
		name = "or";
		break;
	case BPF_AND:
		name = "and";
		break;
	case BPF_XOR:
		name = "xor";
		break;
	case BPF_XCHG & ~BPF_FETCH:
		name = "xchg";
		break;
	case BPF_CMPXCHG & ~BPF_FETCH:
		name = "cmpxchg";
		break;
	}
	if (insn->imm == BPF_CMPXCHG)
		gt_strbuf_puts(text, "r0 = ");
	else if (insn->imm & BPF_FETCH)
		gt_strbuf_printf(text, "r%u = ", insn->src_reg);
	gt_strbuf_printf(text, "atomic_%s((%s *)", name, size_name(insn, false));
	put_address(text, insn->dst_reg, insn->off);
	gt_strbuf_printf(text, ", r%u)", insn->src_reg);
}

static void put_ordered(struct gt_strbuf *text, const struct bpf_insn *insn)
{
	bool loads = insn->imm == BPF_LOAD_ACQ;

	if (loads)
		gt_strbuf_printf(text, "r%u = ", insn->dst_reg);
	gt_strbuf_printf(text, "%s((%s *)", loads ? "load_acquire" : "store_release",
			 size_name(insn, false));
	put_address(text, loads ? insn->src_reg : insn->dst_reg, insn->off);
	if (!loads)
		gt_strbuf_printf(text, ", r%u", insn->src_reg);
	gt_strbuf_putc(text, ')');
}

static void put_memory(struct gt_strbuf *text, const struct bpf_insn *insn)
{
	if (BPF_CLASS(insn->code) == BPF_LDX) {
		gt_strbuf_printf(text, "r%u = *(%s *)", insn->dst_reg,
				 size_name(insn, BPF_MODE(insn->code) == BPF_MEMSX));
		put_address(text, insn->src_reg, insn->off);
		return;
	}
	if (gt_bpf_is_ordered(insn)) {
		put_ordered(text, insn);
		return;
	}
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC) {
		put_atomic(text, insn);
		return;
	}
	gt_strbuf_printf(text, "*(%s *)", size_name(insn, false));
	put_address(text, insn->dst_reg, insn->off);
	if (BPF_CLASS(insn->code) == BPF_ST)
		gt_strbuf_printf(text, " = %d", insn->imm);
	else
		gt_strbuf_printf(text, " = r%u", insn->src_reg);
}

/* The verifier rejects it, but its meaning is clear. */
static bool divides_by_zero(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	return (class == BPF_ALU || class == BPF_ALU64) && BPF_SRC(insn->code) == BPF_K &&
	       (operation == BPF_DIV || operation == BPF_MOD) && !insn->imm && !insn->src_reg &&
	       (insn->off == 0 || insn->off == 1) && insn->dst_reg < GT_BPF_REGISTERS;
}

void gt_bpf_put_insn(struct gt_strbuf *text, const struct bpf_insn *insns, uint32_t count,
		     uint32_t at)
{
	const struct bpf_insn *insn = &insns[at];

	gt_strbuf_printf(text, "(%02x) ", insn->code);
	if (gt_bpf_check_insn(insns, count, at, NULL) && !divides_by_zero(insn)) {
		gt_strbuf_puts(text, "unknown");
		return;
	}
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		put_alu(text, insn);
		return;
	case BPF_JMP:
	case BPF_JMP32:
		put_jump(text, insn);
		return;
	case BPF_LD:
		gt_strbuf_printf(text, "r%u = ", insn->dst_reg);
		if (insn->src_reg == GT_BPF_IMM_SCALAR)
			gt_strbuf_printf(text, "0x%" PRIx64,
					 (uint64_t)(uint32_t)insn[1].imm << 32 |
						 (uint32_t)insn->imm);
		else if (insn->src_reg == GT_BPF_IMM_MAP_INDEX)
			gt_strbuf_printf(text, "map[%d]", insn->imm);
		else
			gt_strbuf_printf(text, "map[%d] value +%d", insn->imm, insn[1].imm);
		return;
	default:
		put_memory(text, insn);
	}
}
