/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomic operations. Those on the stack, which no other thread sees, are plain ones. */
#include "gpubpf/ptxgen/private.h"

/* An operation and its operands, `bits` wide. */
struct atomic_operation {
	const struct bpf_insn *insn;
	unsigned bits;
	struct gt_ptxgen_value source;   /* .b64 or .b32, as bits says */
	struct gt_ptxgen_value expected; /* of cmpxchg */
	struct gt_ptxgen_value old;      /* the value before the operation */
};

/* The operation with its type: the suffix of atom and red, or an instruction of its own. */
static const char *operation_name(const struct bpf_insn *insn, bool wide)
{
	switch (insn->imm & ~BPF_FETCH) {
	case BPF_ADD:
		return wide ? "add.u64" : "add.u32";
	case BPF_OR:
		return wide ? "or.b64" : "or.b32";
	case BPF_AND:
		return wide ? "and.b64" : "and.b32";
	case BPF_XOR:
		return wide ? "xor.b64" : "xor.b32";
	case BPF_XCHG & ~BPF_FETCH:
		return wide ? "exch.b64" : "exch.b32";
	default:
		return wide ? "cas.b64" : "cas.b32";
	}
}

/* The scope of an atomic operation at a pointer. */
static enum gt_ptxgen_scope scope_of(const struct gt_ptxgen *gen,
				     const struct gt_register_fact *fact)
{
	if (fact->type == GT_REG_MAP_VALUE)
		return gt_ptxgen_scope(gen, fact->map);
	if (fact->type == GT_REG_MIXED)
		return gt_ptxgen_scope(gen, -1);
	return gt_ptxgen_is_modern(gen) ? GT_PTXGEN_GPU : GT_PTXGEN_NO_SCOPE;
}

static void emit_atomic(struct gt_ptxgen *gen, const struct atomic_operation *atomic)
{
	const struct bpf_insn *insn = atomic->insn;
	struct gt_ptxgen_operand address =
		gt_ptxgen_at(gt_ptxgen_reg64(gen, insn->dst_reg), insn->off);
	struct gt_ptxgen_opcode opcode = {
		.name = insn->imm & BPF_FETCH ? "atom" : "red",
		.suffix = operation_name(insn, atomic->bits == 64),
		.order = gt_ptxgen_is_modern(gen) ? GT_PTXGEN_RELAXED : GT_PTXGEN_WEAK,
		.scope = scope_of(gen, gt_ptxgen_fact(gen, insn->dst_reg)),
		.space = gt_ptxgen_global(gen),
	};

	if (!(insn->imm & BPF_FETCH))
		gt_ptxgen_emit(gen, opcode, address, atomic->source);
	else if (insn->imm == BPF_CMPXCHG)
		gt_ptxgen_emit(gen, opcode, atomic->old, address, atomic->expected, atomic->source);
	else
		gt_ptxgen_emit(gen, opcode, atomic->old, address, atomic->source);
}

/* The new value of memory that only this thread changes. */
static void emit_new_value(struct gt_ptxgen *gen, const struct atomic_operation *atomic,
			   struct gt_ptxgen_value new)
{
	const struct bpf_insn *insn = atomic->insn;
	struct gt_ptxgen_value is_equal;

	if (insn->imm == BPF_XCHG) {
		gt_ptxgen_emit(gen, gt_ptxgen_typed("mov", 'b', atomic->bits), new, atomic->source);
	} else if (insn->imm == BPF_CMPXCHG) {
		is_equal = gt_ptxgen_predicate(gen);
		gt_ptxgen_emit(gen, gt_ptxgen_typed("setp.eq", 's', atomic->bits), is_equal,
			       atomic->old, atomic->expected);
		gt_ptxgen_emit(gen, gt_ptxgen_typed("selp", 'b', atomic->bits), new, atomic->source,
			       atomic->old, is_equal);
	} else {
		gt_ptxgen_emit(gen, operation_name(insn, atomic->bits == 64), new, atomic->old,
			       atomic->source);
	}
}

/* As a load, an operation and a store. */
static void emit_plain(struct gt_ptxgen *gen, const struct atomic_operation *atomic)
{
	const struct bpf_insn *insn = atomic->insn;
	bool wide = atomic->bits == 64;
	struct gt_ptxgen_value old =
		gt_ptxgen_load(gen, insn->dst_reg, insn->off, atomic->bits / 8);
	struct gt_ptxgen_value new = wide ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen), narrow;

	gt_ptxgen_emit(gen, wide ? "mov.b64" : "cvt.u32.u64", atomic->old, old);
	emit_new_value(gen, atomic, new);
	if (!wide) {
		narrow = new;
		new = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "cvt.u64.u32", new, narrow);
	}
	gt_ptxgen_store(gen, insn->dst_reg, insn->off, atomic->bits / 8, new);
}

/* A pointer to the stack or elsewhere: local memory has no atomic instructions. */
static void emit_atomic_or_plain(struct gt_ptxgen *gen, const struct atomic_operation *atomic)
{
	struct gt_ptxgen_value is_local = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value local = gt_ptxgen_label(gen), done = gt_ptxgen_label(gen);

	gt_ptxgen_emit(gen, "isspacep.local", is_local,
		       gt_ptxgen_reg64(gen, atomic->insn->dst_reg));
	gt_ptxgen_branch_if(gen, is_local, local);
	emit_atomic(gen, atomic);
	gt_ptxgen_branch(gen, done);
	gt_ptxgen_emit_label(gen, local);
	emit_plain(gen, atomic);
	gt_ptxgen_emit_label(gen, done);
}

void gt_ptxgen_atomic(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, insn->dst_reg);
	bool wide = BPF_SIZE(insn->code) == BPF_DW;
	unsigned result = insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg;
	struct atomic_operation atomic = {.insn = insn,
					  .bits = wide ? 64 : 32,
					  .source = gt_ptxgen_reg64(gen, insn->src_reg)};

	if (insn->imm == BPF_ADD && fact->type != GT_REG_STACK)
		atomic.source = gt_ptxgen_vary(gen, insn->src_reg);
	if (!wide)
		atomic.source = gt_ptxgen_low_half(gen, atomic.source);
	if (insn->imm == BPF_CMPXCHG) {
		atomic.expected = gt_ptxgen_reg64(gen, 0);
		if (!wide)
			atomic.expected = gt_ptxgen_low_half(gen, atomic.expected);
	}
	atomic.old = wide ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen);
	if (fact->type == GT_REG_STACK)
		emit_plain(gen, &atomic);
	else if (fact->type == GT_REG_MIXED && gen->generic)
		emit_atomic_or_plain(gen, &atomic);
	else
		emit_atomic(gen, &atomic);
	if (!(insn->imm & BPF_FETCH))
		return;
	if (wide)
		gt_ptxgen_write_reg64(gen, result, atomic.old);
	else
		gt_ptxgen_write_reg32(gen, result, atomic.old);
}

/* Orders all accesses before it before all after it. */
static void emit_fence(struct gt_ptxgen *gen, enum gt_ptxgen_scope scope)
{
	struct gt_ptxgen_opcode opcode = {.name = gt_ptxgen_is_modern(gen) ? "fence.acq_rel"
									   : "membar"};

	if (scope == GT_PTXGEN_NO_SCOPE)
		opcode.suffix = "gl";
	else
		opcode.suffix = scope == GT_PTXGEN_SYS ? "sys" : "gpu";
	gt_ptxgen_emit(gen, opcode);
}

/* Whether an atomic load or store needs a fence: instructions with an order are for .global. */
static bool needs_fence(const struct gt_ptxgen *gen, const struct gt_register_fact *fact)
{
	return fact->type == GT_REG_MIXED || !gt_ptxgen_is_modern(gen);
}

void gt_ptxgen_ordered(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	bool loads = BPF_CLASS(insn->code) == BPF_LDX;
	unsigned number = loads ? insn->src_reg : insn->dst_reg;
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);
	struct gt_ptxgen_operand address = gt_ptxgen_at(gt_ptxgen_reg64(gen, number), insn->off);
	struct gt_ptxgen_opcode opcode =
		gt_ptxgen_typed(loads ? "ld" : "st", 'u', 8 * gt_bpf_access_size(insn));

	opcode.order = loads ? GT_PTXGEN_ACQUIRE : GT_PTXGEN_RELEASE;
	opcode.scope = scope_of(gen, fact);
	opcode.space = gt_ptxgen_global(gen);
	if (fact->type == GT_REG_STACK) {
		gt_ptxgen_access(gen, insn);
	} else if (needs_fence(gen, fact)) {
		if (!loads)
			emit_fence(gen, opcode.scope);
		gt_ptxgen_access(gen, insn);
		if (loads)
			emit_fence(gen, opcode.scope);
	} else if (loads) {
		gt_ptxgen_emit(gen, opcode, gt_ptxgen_reg64(gen, insn->dst_reg), address);
	} else {
		gt_ptxgen_emit(gen, opcode, address, gt_ptxgen_reg64(gen, insn->src_reg));
	}
}
