/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers that are shifted to the right, and then back: sectors of 32 bytes are counted as bytes
 * again, an index that was cut out of an address is multiplied by the size of an element. Beside
 * such a number stands what it becomes when it is shifted back, calculated without shifting; ptxas
 * drops what nobody asks for.
 */
#include "gpubpf/ptxgen/private.h"

enum {
	MOST = 31, /* places: more are not shifted back */
};

static const struct gt_ptxgen_scaled none;

/* "<operation> t, left, right", with the shift of a number. */
static struct gt_ptxgen_scaled make(struct gt_ptxgen *gen, const char *operation,
				    const struct gt_ptxgen_scaled *left,
				    struct gt_ptxgen_value right)
{
	struct gt_ptxgen_scaled made = {gt_ptxgen_temporary(gen, GT_PTXGEN_B64), left->shift};

	gt_ptxgen_emit(gen, operation, made.value, left->value, right);
	return made;
}

static struct gt_ptxgen_scaled make_constant(struct gt_ptxgen *gen, const char *operation,
					     const struct gt_ptxgen_scaled *left, uint64_t right)
{
	return make(gen, operation, left, gt_ptxgen_hex(right << left->shift));
}

/* x >> n << n is x without its lowest bits. */
static struct gt_ptxgen_scaled begin(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled whole = {gt_ptxgen_reg64(gen, insn->dst_reg), (uint8_t)insn->imm};

	if (insn->code != (BPF_ALU64 | BPF_RSH | BPF_K) || insn->imm < 1 || insn->imm > MOST)
		return none;
	return make_constant(gen, "and.b64", &whole, UINT64_MAX);
}

static struct gt_ptxgen_scaled follow(struct gt_ptxgen *gen, const struct bpf_insn *insn,
				      const char *operation)
{
	const struct gt_ptxgen_scaled *left = &gen->scaled[insn->dst_reg];
	const struct gt_ptxgen_scaled *right = &gen->scaled[insn->src_reg];

	if (!left->shift)
		return none;
	if (BPF_SRC(insn->code) == BPF_K)
		return make_constant(gen, operation, left, (uint64_t)(int64_t)insn->imm);
	return left->shift == right->shift ? make(gen, operation, left, right->value) : none;
}

struct gt_ptxgen_scaled gt_ptxgen_scale_alu(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_scaled scaled = none;

	switch (BPF_OP(insn->code)) {
	case BPF_RSH:
		return begin(gen, insn);
	case BPF_MOV:
		if (BPF_SRC(insn->code) == BPF_X && !insn->off)
			scaled = gen->scaled[insn->src_reg];
		break;
	case BPF_ADD:
		scaled = follow(gen, insn, "add.s64");
		break;
	case BPF_SUB:
		scaled = follow(gen, insn, "sub.s64");
		break;
	case BPF_AND:
		scaled = follow(gen, insn, "and.b64");
		break;
	default:
		return none;
	}
	if (scaled.shift && BPF_CLASS(insn->code) == BPF_ALU)
		return make_constant(gen, "and.b64", &scaled, UINT32_MAX);
	return scaled;
}
