/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomic operations; those on the stack, which is one thread's, are plain ones. */
#include <inttypes.h>

#include "gpubpf/ptxgen/private.h"

/* An operation and its operands, `bits` wide. */
struct atomic {
	const struct bpf_insn *insn;
	unsigned bits;
	struct gt_ptx_name source;   /* .b64 or .b32, as bits says */
	struct gt_ptx_name expected; /* of cmpxchg */
	struct gt_ptx_name old;      /* what was there */
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
	if (fact->place == GT_PLACE_MAP_VALUE)
		return gt_ptx_scope(gen, fact->map);
	if (fact->place == GT_PLACE_MIXED)
		return gt_ptx_scope(gen, -1);
	return gt_ptx_is_modern(gen) ? ".gpu" : "";
}

/* As an atomic instruction. */
static void emit_atomic(struct gt_ptxgen *gen, const struct atomic *atomic)
{
	const struct bpf_insn *insn = atomic->insn;
	const char *scope = scope_of(gen, gt_ptx_fact(gen, insn->dst_reg));
	const char *order = gt_ptx_is_modern(gen) ? ".relaxed" : "";
	struct gt_ptx_name base = gt_ptx_register(gen, insn->dst_reg);

	if (!(insn->imm & BPF_FETCH)) {
		gt_ptx(gen, "red%s%s%s.%s%u [%s+%d], %s", order, scope, gt_ptx_global(gen),
		       operation_name(insn), atomic->bits, base.text, insn->off,
		       atomic->source.text);
		return;
	}
	gt_ptx(gen, "atom%s%s%s.%s%u %s, [%s+%d], %s%s%s", order, scope, gt_ptx_global(gen),
	       operation_name(insn), atomic->bits, atomic->old.text, base.text, insn->off,
	       insn->imm == BPF_CMPXCHG ? atomic->expected.text : "",
	       insn->imm == BPF_CMPXCHG ? ", " : "", atomic->source.text);
}

/* As a load, an operation and a store. */
static void emit_plain(struct gt_ptxgen *gen, const struct atomic *atomic)
{
	const struct bpf_insn *insn = atomic->insn;
	bool wide = atomic->bits == 64;
	struct gt_ptx_name old = gt_ptx_load(gen, insn->dst_reg, insn->off, atomic->bits / 8);
	struct gt_ptx_name new = gt_ptx_temporary(gen, wide ? GT_PTX_B64 : GT_PTX_B32), is;

	if (wide)
		gt_ptx(gen, "mov.b64 %s, %s", atomic->old.text, old.text);
	else
		gt_ptx(gen, "cvt.u32.u64 %s, %s", atomic->old.text, old.text);
	if (insn->imm == BPF_XCHG) {
		gt_ptx(gen, "mov.b%u %s, %s", atomic->bits, new.text, atomic->source.text);
	} else if (insn->imm == BPF_CMPXCHG) {
		is = gt_ptx_temporary(gen, GT_PTX_PREDICATE);
		gt_ptx(gen, "setp.eq.s%u %s, %s, %s", atomic->bits, is.text, atomic->old.text,
		       atomic->expected.text);
		gt_ptx(gen, "selp.b%u %s, %s, %s, %s", atomic->bits, new.text, atomic->source.text,
		       atomic->old.text, is.text);
	} else {
		gt_ptx(gen, "%s%u %s, %s, %s", operation_name(insn), atomic->bits, new.text,
		       atomic->old.text, atomic->source.text);
	}
	if (!wide) {
		is = gt_ptx_temporary(gen, GT_PTX_B64);
		gt_ptx(gen, "cvt.u64.u32 %s, %s", is.text, new.text);
		new = is;
	}
	gt_ptx_store(gen, insn->dst_reg, insn->off, atomic->bits / 8, new.text);
}

/* A pointer to the stack or elsewhere: memory of the stack has no atomic instructions. */
static void emit_either(struct gt_ptxgen *gen, const struct atomic *atomic)
{
	struct gt_ptx_name is = gt_ptx_temporary(gen, GT_PTX_PREDICATE);
	struct gt_ptx_name local = gt_ptx_label(gen), done = gt_ptx_label(gen);
	struct gt_ptx_name base = gt_ptx_register(gen, atomic->insn->dst_reg);

	gt_ptx(gen, "isspacep.local %s, %s", is.text, base.text);
	gt_ptx(gen, "@%s bra %s", is.text, local.text);
	emit_atomic(gen, atomic);
	gt_ptx(gen, "bra %s", done.text);
	gt_ptx_put_label(gen, &local);
	emit_plain(gen, atomic);
	gt_ptx_put_label(gen, &done);
}

void gt_ptx_atomic(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_register_fact *fact = gt_ptx_fact(gen, insn->dst_reg);
	bool wide = BPF_SIZE(insn->code) == BPF_DW;
	unsigned result = insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg;
	struct atomic atomic = {
		insn, wide ? 64 : 32, gt_ptx_register(gen, insn->src_reg), {""}, {""}};

	if (!wide)
		atomic.source = gt_ptx_low(gen, atomic.source.text);
	if (insn->imm == BPF_CMPXCHG) {
		atomic.expected = gt_ptx_register(gen, 0);
		if (!wide)
			atomic.expected = gt_ptx_low(gen, atomic.expected.text);
	}
	atomic.old = gt_ptx_temporary(gen, wide ? GT_PTX_B64 : GT_PTX_B32);
	if (fact->place == GT_PLACE_STACK)
		emit_plain(gen, &atomic);
	else if (fact->place == GT_PLACE_MIXED && gen->generic)
		emit_either(gen, &atomic);
	else
		emit_atomic(gen, &atomic);
	if (!(insn->imm & BPF_FETCH))
		return;
	if (wide)
		gt_ptx_give_wide(gen, result, atomic.old.text);
	else
		gt_ptx_give_low(gen, result, &atomic.old);
}

/* All that is read and written before it comes before all behind it. */
static void emit_fence(struct gt_ptxgen *gen, const char *scope)
{
	if (gt_ptx_is_modern(gen))
		gt_ptx(gen, "fence.acq_rel%s", scope);
	else
		gt_ptx(gen, "membar%s", *scope ? scope : ".gl");
}

void gt_ptx_ordered(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool loads = BPF_CLASS(insn->code) == BPF_LDX;
	unsigned number = loads ? insn->src_reg : insn->dst_reg;
	const struct gt_register_fact *fact = gt_ptx_fact(gen, number);
	struct gt_ptx_name base = gt_ptx_register(gen, number);
	const char *scope = scope_of(gen, fact);
	unsigned bits = 8 * gt_bpf_access_size(insn);

	if (fact->place == GT_PLACE_STACK || fact->place == GT_PLACE_MIXED ||
	    !gt_ptx_is_modern(gen)) {
		if (!loads && fact->place != GT_PLACE_STACK)
			emit_fence(gen, scope);
		gt_ptx_access(gen, insn);
		if (loads && fact->place != GT_PLACE_STACK)
			emit_fence(gen, scope);
	} else if (loads) {
		gt_ptx(gen, "ld.acquire%s%s.u%u %s, [%s+%d]", scope, gt_ptx_global(gen), bits,
		       gt_ptx_register(gen, insn->dst_reg).text, base.text, insn->off);
	} else {
		gt_ptx(gen, "st.release%s%s.u%u [%s+%d], %s", scope, gt_ptx_global(gen), bits,
		       base.text, insn->off, gt_ptx_register(gen, insn->src_reg).text);
	}
}
