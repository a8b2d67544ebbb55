/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers of 32 bits. eBPF has registers of 64 bits only, and a GPU makes two instructions of most
 * of what is 64 bits wide. So a lower half that was made as a .b32 stays known beside the .b64 that
 * it became: what wants the half takes it from there, and ptxas drops the .b64 if nobody wants it.
 * (It does not see through a number that is widened and cut again.)
 */
#include <string.h>

#include "gpubpf/ptxgen/private.h"

enum {
	OTHERS = GT_BPF_REGISTERS, /* the pair of the temporary that was widened last */
};

void gt_ptxgen_forget_lows(struct gt_ptxgen *gen, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		gen->lows[i].wide.text[0] = 0;
}

void gt_ptxgen_forget_low(struct gt_ptxgen *gen, unsigned number)
{
	gt_ptxgen_forget_lows(gen, number, number + 1);
}

static const struct gt_ptxgen_name *find_low(const struct gt_ptxgen *gen, const char *wide)
{
	for (unsigned i = 0; i < gt_countof(gen->lows); i++)
		if (!strcmp(gen->lows[i].wide.text, wide))
			return &gen->lows[i].low;
	return NULL;
}

struct gt_ptxgen_name gt_ptxgen_low(struct gt_ptxgen *gen, const char *wide)
{
	struct gt_ptxgen_name low = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	const struct gt_ptxgen_name *known = find_low(gen, wide);

	if (known)
		gt_ptxgen_emit(gen, "mov.b32 %s, %s", low.text, known->text);
	else
		gt_ptxgen_emit(gen, "cvt.u32.u64 %s, %s", low.text, wide);
	return low;
}

struct gt_ptxgen_name gt_ptxgen_widen(struct gt_ptxgen *gen, const struct gt_ptxgen_name *low)
{
	struct gt_ptxgen_name wide = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);

	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", wide.text, low->text);
	gen->lows[OTHERS] = (struct gt_ptxgen_low){wide, *low};
	return wide;
}

struct gt_ptxgen_name gt_ptxgen_low_of(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_low *pair = &gen->lows[number];

	if (!pair->wide.text[0]) {
		struct gt_ptxgen_name wide = gt_ptxgen_register(gen, number);

		*pair = (struct gt_ptxgen_low){wide, gt_ptxgen_low(gen, wide.text)};
	}
	return pair->low;
}

void gt_ptxgen_give_low(struct gt_ptxgen *gen, unsigned number, const struct gt_ptxgen_name *low)
{
	struct gt_ptxgen_name wide = gt_ptxgen_register(gen, number);

	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", wide.text, low->text);
	gen->scaled[number].shift = 0;
	gen->lows[number] = (struct gt_ptxgen_low){wide, *low};
}

void gt_ptxgen_give_wide(struct gt_ptxgen *gen, unsigned number, const char *value)
{
	struct gt_ptxgen_name wide = gt_ptxgen_register(gen, number);
	const struct gt_ptxgen_name *low = find_low(gen, value);
	struct gt_ptxgen_low pair = {wide, low ? *low : (struct gt_ptxgen_name){""}};

	gt_ptxgen_emit(gen, "mov.b64 %s, %s", wide.text, value);
	gen->scaled[number].shift = 0;
	if (low)
		gen->lows[number] = pair;
	else
		gt_ptxgen_forget_low(gen, number);
}

struct gt_ptxgen_name gt_ptxgen_high(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_name low = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
	struct gt_ptxgen_name high = gt_ptxgen_temporary(gen, GT_PTXGEN_B32);

	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", low.text, high.text,
		       gt_ptxgen_register(gen, number).text);
	return high;
}

bool gt_ptxgen_is_short(const struct gt_ptxgen *gen, unsigned number)
{
	return gt_ptxgen_limit(gen, number) <= UINT32_MAX;
}

/* What the right side of an instruction is at most; a number below 0 is a great one. */
static uint64_t right_limit(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return BPF_SRC(insn->code) == BPF_K ? (uint64_t)(int64_t)insn->imm
					    : gt_ptxgen_limit(gen, insn->src_reg);
}

bool gt_ptxgen_has_short_sides(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return gt_ptxgen_is_short(gen, insn->dst_reg) && right_limit(gen, insn) <= UINT32_MAX;
}

bool gt_ptxgen_is_short_alu(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_AND:
		return gt_ptxgen_is_short(gen, insn->dst_reg) ||
		       right_limit(gen, insn) <= UINT32_MAX;
	case BPF_RSH:
		return gt_ptxgen_is_short(gen, insn->dst_reg);
	case BPF_ADD:
	case BPF_MUL:
	case BPF_OR:
	case BPF_XOR:
	case BPF_LSH:
		return gt_ptxgen_has_short_sides(gen, insn) &&
		       gt_ptxgen_limit_alu(gen, insn) <= UINT32_MAX;
	case BPF_DIV:
	case BPF_MOD:
		return gt_ptxgen_has_short_sides(gen, insn);
	default:
		return false;
	}
}
