/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordered accesses. From sm_70 on they carry their order and scope; older devices have fences, and
 * volatile accesses that no cache answers (PTX ISA, memory consistency model).
 */
#include "gpubpf/ptxgen/map.h"

static enum gt_ptxgen_scope scope_of(enum gt_bpf_map_place place)
{
	return place == GT_BPF_MAP_SHARED ? GT_PTXGEN_SYS : GT_PTXGEN_GPU;
}

static void emit_fence(struct gt_ptxgen *gen, enum gt_bpf_map_place place)
{
	gt_ptxgen_emit(gen, place == GT_BPF_MAP_SHARED ? "membar.sys" : "membar.gl");
}

/* The fence in place of an order that the instructions of old devices do not have. */
static void emit_fence_for(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			   enum gt_ptxgen_order order)
{
	if (!gt_ptxgen_is_modern(gen) && ordering.order == order)
		emit_fence(gen, ordering.place);
}

/* A load or store of `bits` bits. */
static struct gt_ptxgen_opcode access_opcode(const struct gt_ptxgen *gen, const char *name,
					     struct gt_ptxgen_ordering ordering, unsigned bits)
{
	struct gt_ptxgen_opcode opcode = gt_ptxgen_memory(name, gt_ptxgen_global(gen), 'b', bits);

	opcode.order = GT_PTXGEN_VOLATILE;
	if (gt_ptxgen_is_modern(gen)) {
		opcode.order = ordering.order;
		opcode.scope = scope_of(ordering.place);
	}
	return opcode;
}

void gt_ptxgen_load_ordered(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			    unsigned bits, struct gt_ptxgen_value value,
			    struct gt_ptxgen_operand address)
{
	gt_ptxgen_emit(gen, access_opcode(gen, "ld", ordering, bits), value, address);
	emit_fence_for(gen, ordering, GT_PTXGEN_ACQUIRE);
}

void gt_ptxgen_store_ordered(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			     unsigned bits, struct gt_ptxgen_operand address,
			     struct gt_ptxgen_value value)
{
	emit_fence_for(gen, ordering, GT_PTXGEN_RELEASE);
	gt_ptxgen_emit(gen, access_opcode(gen, "st", ordering, bits), address, value);
}

static struct gt_ptxgen_opcode atomic_opcode(const struct gt_ptxgen *gen, const char *name,
					     struct gt_ptxgen_ordering ordering,
					     const char *operation)
{
	return (struct gt_ptxgen_opcode){
		.name = name,
		.suffix = operation,
		.order = gt_ptxgen_is_modern(gen) ? ordering.order : GT_PTXGEN_WEAK,
		.scope = scope_of(ordering.place),
		.space = gt_ptxgen_global(gen),
	};
}

void gt_ptxgen_atom_ordered(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			    const char *operation, struct gt_ptxgen_value old,
			    struct gt_ptxgen_operand address, struct gt_ptxgen_value operand)
{
	emit_fence_for(gen, ordering, GT_PTXGEN_RELEASE);
	gt_ptxgen_emit(gen, atomic_opcode(gen, "atom", ordering, operation), old, address, operand);
	emit_fence_for(gen, ordering, GT_PTXGEN_ACQUIRE);
}

void gt_ptxgen_compare_and_swap(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
				struct gt_ptxgen_value old, struct gt_ptxgen_operand address,
				struct gt_ptxgen_value expected, struct gt_ptxgen_value wanted)
{
	emit_fence_for(gen, ordering, GT_PTXGEN_RELEASE);
	gt_ptxgen_emit(gen, atomic_opcode(gen, "atom", ordering, "cas.b64"), old, address, expected,
		       wanted);
}

void gt_ptxgen_reduce(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
		      struct gt_ptxgen_condition condition, const char *operation,
		      struct gt_ptxgen_operand address, struct gt_ptxgen_value operand)
{
	gt_ptxgen_emit_if(gen, condition,
			  atomic_opcode(gen, "red", gt_ptxgen_relaxed(place), operation), address,
			  operand);
}

void gt_ptxgen_count(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
		     struct gt_ptxgen_operand address, int number, struct gt_ptxgen_value varying)
{
	struct gt_ptxgen_value zero = gt_ptxgen_b32(gen), operand = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "shr.u32", zero, varying, 31);
	gt_ptxgen_emit(gen, "cvt.u64.u32", operand, zero);
	gt_ptxgen_emit(gen, "add.s64", operand, operand, number);
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64", address, operand);
}

static bool is_power(uint64_t number)
{
	return !(number & (number - 1));
}

/* A multiplication of 64 bits is three of 32; a shift and an addition are one each, or two. */
struct gt_ptxgen_value gt_ptxgen_element_wide(struct gt_ptxgen *gen, struct gt_ptxgen_value base,
					      struct gt_ptxgen_value index, uint64_t stride)
{
	struct gt_ptxgen_value address = gt_ptxgen_b64(gen), offset;

	if (!is_power(stride)) {
		gt_ptxgen_emit(gen, "mad.lo.u64", address, index, stride, base);
		return address;
	}
	offset = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, "shl.b64", offset, index, __builtin_ctzll(stride));
	gt_ptxgen_emit(gen, "add.s64", address, base, offset);
	return address;
}

/*
 * One multiplication does it, but where 64 bits are added in one instruction for all lanes: these
 * GPUs have none that multiplies and adds what all lanes have in common to what they do not.
 */
struct gt_ptxgen_value gt_ptxgen_element(struct gt_ptxgen *gen, struct gt_ptxgen_value base,
					 struct gt_ptxgen_value index, uint64_t stride,
					 uint64_t offset)
{
	struct gt_ptxgen_value address, wide;

	if (gen->sm < 120 || !is_power(stride)) {
		address = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "mad.wide.u32", address, index, stride, base);
	} else {
		wide = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "cvt.u64.u32", wide, index);
		address = gt_ptxgen_element_wide(gen, base, wide, stride);
	}
	if (offset)
		gt_ptxgen_emit(gen, "add.s64", address, address, (int64_t)offset);
	return address;
}
