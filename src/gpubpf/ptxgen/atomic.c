/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomic operations; those on the stack, which is one thread's, are plain ones. */
#include <inttypes.h>

#include "gpubpf/ptxgen/private.h"

/* An operation and its operands, `bits` wide. */
struct atomic {
	const struct bpf_insn *insn;
	unsigned bits;
	struct gt_ptxgen_name source;   /* .b64 or .b32, as bits says */
	struct gt_ptxgen_name expected; /* of cmpxchg */
	struct gt_ptxgen_name old;      /* what was there */
};

static const char *operation_name(const struct bpf_insn *insn)
{
	switch (insn->imm) {
	case BPF_ADD:
	case BPF_ADD | BPF_FETCH:
		return "add.u";
	case BPF_OR:
	case BPF_OR | BPF_FETCH:
		return "or.b";
	case BPF_AND:
	case BPF_AND | BPF_FETCH:
		return "and.b";
	case BPF_XOR:
	case BPF_XOR | BPF_FETCH:
		return "xor.b";
	case BPF_XCHG:
		return "exch.b";
	default:
		return "cas.b";
	}
}

/* How far an atomic operation at a pointer is seen. */
static const char *scope_of(const struct gt_ptxgen *gen, const struct gt_register_fact *fact)
{
	if (fact->type == GT_REG_MAP_VALUE)
		return gt_ptxgen_scope(gen, fact->map);
	if (fact->type == GT_REG_MIXED)
		return gt_ptxgen_scope(gen, -1);
	return gt_ptxgen_is_modern(gen) ? ".gpu" : "";
}

/* As an atomic instruction. */
static void emit_atomic(struct gt_ptxgen *gen, const struct atomic *atomic)
{
	const struct bpf_insn *insn = atomic->insn;
	const char *scope = scope_of(gen, gt_ptxgen_fact(gen, insn->dst_reg));
	const char *order = gt_ptxgen_is_modern(gen) ? ".relaxed" : "";
	struct gt_ptxgen_name base = gt_ptxgen_register(gen, insn->dst_reg);

	if (!(insn->imm & BPF_FETCH)) {
		gt_ptxgen_emit(gen, "red%s%s%s.%s%u [%s+%d], %s", order, scope,
			       gt_ptxgen_global(gen), operation_name(insn), atomic->bits, base.text,
			       insn->off, atomic->source.text);
		return;
	}
	gt_ptxgen_emit(gen, "atom%s%s%s.%s%u %s, [%s+%d], %s%s%s", order, scope,
		       gt_ptxgen_global(gen), operation_name(insn), atomic->bits, atomic->old.text,
		       base.text, insn->off, insn->imm == BPF_CMPXCHG ? atomic->expected.text : "",
		       insn->imm == BPF_CMPXCHG ? ", " : "", atomic->source.text);
}

/* As a load, an operation and a store. */
static void emit_plain(struct gt_ptxgen *gen, const struct atomic *atomic)
{
	const struct bpf_insn *insn = atomic->insn;
	bool wide = atomic->bits == 64;
	struct gt_ptxgen_name old = gt_ptxgen_load(gen, insn->dst_reg, insn->off, atomic->bits / 8);
	struct gt_ptxgen_name new = gt_ptxgen_temporary(gen, wide ? GT_PTXGEN_B64 : GT_PTXGEN_B32),
			      is;

	if (wide)
		gt_ptxgen_emit(gen, "mov.b64 %s, %s", atomic->old.text, old.text);
	else
		gt_ptxgen_emit(gen, "cvt.u32.u64 %s, %s", atomic->old.text, old.text);
	if (insn->imm == BPF_XCHG) {
		gt_ptxgen_emit(gen, "mov.b%u %s, %s", atomic->bits, new.text, atomic->source.text);
	} else if (insn->imm == BPF_CMPXCHG) {
		is = gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);
		gt_ptxgen_emit(gen, "setp.eq.s%u %s, %s, %s", atomic->bits, is.text,
			       atomic->old.text, atomic->expected.text);
		gt_ptxgen_emit(gen, "selp.b%u %s, %s, %s, %s", atomic->bits, new.text,
			       atomic->source.text, atomic->old.text, is.text);
	} else {
		gt_ptxgen_emit(gen, "%s%u %s, %s, %s", operation_name(insn), atomic->bits, new.text,
			       atomic->old.text, atomic->source.text);
	}
	if (!wide) {
		is = gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
		gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", is.text, new.text);
		new = is;
	}
	gt_ptxgen_store(gen, insn->dst_reg, insn->off, atomic->bits / 8, new.text);
}

/* A pointer to the stack or elsewhere: memory of the stack has no atomic instructions. */
static void emit_either(struct gt_ptxgen *gen, const struct atomic *atomic)
{
	struct gt_ptxgen_name is = gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);
	struct gt_ptxgen_name local = gt_ptxgen_label(gen), done = gt_ptxgen_label(gen);
	struct gt_ptxgen_name base = gt_ptxgen_register(gen, atomic->insn->dst_reg);

	gt_ptxgen_emit(gen, "isspacep.local %s, %s", is.text, base.text);
	gt_ptxgen_emit(gen, "@%s bra %s", is.text, local.text);
	emit_atomic(gen, atomic);
	gt_ptxgen_emit(gen, "bra %s", done.text);
	gt_ptxgen_put_label(gen, &local);
	emit_plain(gen, atomic);
	gt_ptxgen_put_label(gen, &done);
}

void gt_ptxgen_atomic(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->dst_reg);
	bool wide = BPF_SIZE(insn->code) == BPF_DW;
	unsigned result = insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg;
	struct atomic atomic = {
		insn, wide ? 64 : 32, gt_ptxgen_register(gen, insn->src_reg), {""}, {""}};

	if (!wide)
		atomic.source = gt_ptxgen_low(gen, atomic.source.text);
	if (insn->imm == BPF_CMPXCHG) {
		atomic.expected = gt_ptxgen_register(gen, 0);
		if (!wide)
			atomic.expected = gt_ptxgen_low(gen, atomic.expected.text);
	}
	atomic.old = gt_ptxgen_temporary(gen, wide ? GT_PTXGEN_B64 : GT_PTXGEN_B32);
	if (fact->type == GT_REG_STACK)
		emit_plain(gen, &atomic);
	else if (fact->type == GT_REG_MIXED && gen->generic)
		emit_either(gen, &atomic);
	else
		emit_atomic(gen, &atomic);
	if (!(insn->imm & BPF_FETCH))
		return;
	if (wide)
		gt_ptxgen_give_wide(gen, result, atomic.old.text);
	else
		gt_ptxgen_give_low(gen, result, &atomic.old);
}

/* All that is read and written before it comes before all behind it. */
static void emit_fence(struct gt_ptxgen *gen, const char *scope)
{
	if (gt_ptxgen_is_modern(gen))
		gt_ptxgen_emit(gen, "fence.acq_rel%s", scope);
	else
		gt_ptxgen_emit(gen, "membar%s", *scope ? scope : ".gl");
}

void gt_ptxgen_ordered(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool loads = BPF_CLASS(insn->code) == BPF_LDX;
	unsigned number = loads ? insn->src_reg : insn->dst_reg;
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	struct gt_ptxgen_name base = gt_ptxgen_register(gen, number);
	const char *scope = scope_of(gen, fact);
	unsigned bits = 8 * gt_bpf_access_size(insn);

	if (fact->type == GT_REG_STACK || fact->type == GT_REG_MIXED || !gt_ptxgen_is_modern(gen)) {
		if (!loads && fact->type != GT_REG_STACK)
			emit_fence(gen, scope);
		gt_ptxgen_access(gen, insn);
		if (loads && fact->type != GT_REG_STACK)
			emit_fence(gen, scope);
	} else if (loads) {
		gt_ptxgen_emit(gen, "ld.acquire%s%s.u%u %s, [%s+%d]", scope, gt_ptxgen_global(gen),
			       bits, gt_ptxgen_register(gen, insn->dst_reg).text, base.text,
			       insn->off);
	} else {
		gt_ptxgen_emit(gen, "st.release%s%s.u%u [%s+%d], %s", scope, gt_ptxgen_global(gen),
			       bits, base.text, insn->off,
			       gt_ptxgen_register(gen, insn->src_reg).text);
	}
}
