/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bulk copies: cp.async.bulk, cp.reduce.async.bulk and st.bulk (PTX ISA 9.0, 9.7.9.25). All of them
 * are complete before the next instruction.
 */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/cluster.h"
#include "exec/ops/ops.h"

/* An address operand. */
struct bulk_address {
	uint32_t slot;
	bool is_narrow, is_shared;
	uint64_t offset;
};

/* The operands of an instruction; its `list` points to one. */
struct bulk_plan {
	struct bulk_address to, from, object; /* object: the mbarrier; its slot SG_NO_SLOT: none */
	uint32_t size;                        /* slot of the bytes */
	uint32_t size_width;                  /* bytes of its lane */
	uint32_t blocks; /* slot of a 16-bit mask: target blocks by rank; SG_NO_SLOT: none */
	/* Of a reduction: the arguments of sg_atomic_change. */
	uint8_t operation, type;
};

/* ---- at run time ----------------------------------------------------------------------- */

static const struct bulk_plan *plan_of(const struct sg_instruction *at)
{
	return (const struct bulk_plan *)(const void *)at->list;
}

/* Instead of a rank: the block of the address. */
#define ANY_BLOCK UINT32_MAX

/* Maps an address in shared memory to a block of the cluster. */
static uint64_t in_block(const struct sg_warp *warp, uint64_t address, uint32_t rank)
{
	address %= SG_CLUSTER_STRIDE;
	return rank == sg_cluster_rank(warp->block) ? address
						    : address + (rank + 1ull) * SG_CLUSTER_STRIDE;
}

/* Resolves an address, which must be a multiple of `alignment`; NULL after a fault. */
static char *find_memory_in(struct sg_warp *warp, const struct sg_instruction *at,
			    const struct bulk_address *operand, uint32_t rank, uint32_t lane,
			    uint64_t size, uint64_t alignment)
{
	uint64_t address =
		sg_read_address(warp, operand->slot, operand->is_narrow, operand->offset, lane);
	uint64_t address_in_space = rank == ANY_BLOCK ? address : in_block(warp, address, rank);
	uint64_t generic =
		address_in_space + (operand->is_shared ? warp->machine->windows.shared : 0);
	uint64_t pointer = sg_warp_pointer(warp, lane, generic, size);

	if (pointer && !(address % alignment))
		return (char *)(uintptr_t)pointer;
	sg_warp_fault(warp, at, pointer ? SG_FAULT_MISALIGNED : SG_FAULT_ILLEGAL_ADDRESS, lane,
		      address);
	return NULL;
}

static char *find_memory(struct sg_warp *warp, const struct sg_instruction *at,
			 const struct bulk_address *operand, uint32_t lane, uint64_t size,
			 uint64_t alignment)
{
	return find_memory_in(warp, at, operand, ANY_BLOCK, lane, size, alignment);
}

/* Completes the bytes at the mbarrier; false after a fault. */
static bool complete_bytes(struct sg_warp *warp, const struct sg_instruction *at, uint32_t rank,
			   uint32_t lane, uint64_t size)
{
	const struct bulk_plan *plan = plan_of(at);
	char *object;

	if (plan->object.slot == SG_NO_SLOT)
		return true;
	object = find_memory_in(warp, at, &plan->object, rank, lane, 8, 8);
	if (object)
		sg_mbarrier_complete_bytes(object, size);
	return object;
}

/* Copies the bytes of one lane to one block; false after a fault. */
static bool copy_to(struct sg_warp *warp, const struct sg_instruction *at, uint32_t rank,
		    uint32_t lane, uint64_t size)
{
	const struct bulk_plan *plan = plan_of(at);
	char *to = size ? find_memory_in(warp, at, &plan->to, rank, lane, size, 16) : NULL;
	char *from = to ? find_memory(warp, at, &plan->from, lane, size, 16) : NULL;

	if (size && !from)
		return false;
	if (size)
		memmove(to, from, size);
	return complete_bytes(warp, at, rank, lane, size);
}

/* Addresses and size are multiples of 16. */
static const struct sg_instruction *run_copy(struct sg_warp *warp, const struct sg_instruction *at)
{
	const struct bulk_plan *plan = plan_of(at);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t size = sg_read_lane(warp, plan->size, plan->size_width, lane);
		uint64_t blocks;

		if (size % 16)
			return sg_warp_fault(warp, at, SG_FAULT_MISALIGNED, lane, size);
		if (plan->blocks == SG_NO_SLOT) {
			if (!copy_to(warp, at, ANY_BLOCK, lane, size))
				return NULL;
			continue;
		}
		for (blocks = sg_read_lane(warp, plan->blocks, 2, lane); blocks;
		     blocks &= blocks - 1)
			if (!copy_to(warp, at, (uint32_t)__builtin_ctzll(blocks), lane, size))
				return NULL;
	}
	return at + 1;
}

/* Element by element: each change is atomic, all together are not. */
static const struct sg_instruction *run_reduce(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	const struct bulk_plan *plan = plan_of(at);
	struct sg_instruction change = {.selector = plan->operation, .space = plan->type};
	uint32_t element = gt_ptx_type_info((enum gt_ptx_type)plan->type)->bits / 8;

	change.size = (uint8_t)element;
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t size = sg_read_lane(warp, plan->size, plan->size_width, lane), value = 0;
		char *to, *from;

		if (size % 16)
			return sg_warp_fault(warp, at, SG_FAULT_MISALIGNED, lane, size);
		to = size ? find_memory(warp, at, &plan->to, lane, size, 16) : NULL;
		from = to ? find_memory(warp, at, &plan->from, lane, size, 16) : NULL;
		if (size && !from)
			return NULL;
		for (uint64_t i = 0; i < size; i += element) {
			memcpy(&value, from + i, element);
			sg_atomic_change(&change, to + i,
					 sg_is_private(warp, (uint64_t)(uintptr_t)to), value, 0);
		}
		if (!complete_bytes(warp, at, ANY_BLOCK, lane, size))
			return NULL;
	}
	return at + 1;
}

/* st.bulk: zeros; addresses and size are multiples of 8. */
static const struct sg_instruction *run_clear(struct sg_warp *warp, const struct sg_instruction *at)
{
	const struct bulk_plan *plan = plan_of(at);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t size = sg_read_lane(warp, plan->size, plan->size_width, lane);
		char *to;

		if (size % 8)
			return sg_warp_fault(warp, at, SG_FAULT_MISALIGNED, lane, size);
		to = size ? find_memory(warp, at, &plan->to, lane, size, 8) : NULL;
		if (size && !to)
			return NULL;
		if (size)
			memset(to, 0, size);
	}
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

static int read_address(struct sg_decoder *decoder, uint32_t index, bool is_shared,
			struct bulk_address *ret_address)
{
	struct sg_address address;
	int error = sg_decode_slot_address(decoder, index, &address);

	if (error)
		return error;
	*ret_address = (struct bulk_address){.slot = address.slot,
					     .is_narrow = address.is_narrow,
					     .is_shared = is_shared,
					     .offset = address.offset};
	return 0;
}

/* Emits an instruction with a copy of the plan, which lives as long as the function. */
static int emit_plan(struct sg_decoder *decoder, sg_run *run, const struct bulk_plan *plan)
{
	struct sg_instruction step = {0};
	/* Words of the list, with one for its alignment. */
	uint32_t words = (sizeof(*plan) + sizeof(uint32_t) - 1) / sizeof(uint32_t) + 1;
	uint32_t *list = sg_decode_list(decoder, words);

	if (!list)
		return -ENOMEM;
	list += (uintptr_t)list % _Alignof(struct bulk_plan) / sizeof(*list);
	memcpy(list, plan, sizeof(*plan));
	step.list = list;
	return sg_decode_emit_step(decoder, run, &step);
}

/* The first state space is that of the target, the second that of the source. */
static bool read_spaces(const struct gt_ptx_form *form, bool is_shared[2])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < form->modifier_count && count < 2; i++) {
		enum gt_ptx_modifier_id id = form->modifiers[i].id;
		bool shared = id == GT_PTX_MOD_SHARED || id == GT_PTX_MOD_SHARED_CTA ||
			      id == GT_PTX_MOD_SHARED_CLUSTER;

		if (shared || id == GT_PTX_MOD_GLOBAL)
			is_shared[count++] = shared;
	}
	return count == 2;
}

/* Operands of both: [to], [from], size{, [mbarrier]}. */
static int read_copy(struct sg_decoder *decoder, struct bulk_plan *plan)
{
	bool is_shared[2];
	int error;

	if (sg_decode_has(decoder, GT_PTX_MOD_TENSOR) ||
	    !read_spaces(sg_decode_form(decoder), is_shared) ||
	    sg_decode_has(decoder, GT_PTX_MOD_BYTEMASK))
		return sg_decode_bad_form(decoder);
	error = read_address(decoder, 0, is_shared[0], &plan->to);
	if (!error)
		error = read_address(decoder, 1, is_shared[1], &plan->from);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_U32, &plan->size);
	plan->size_width = 4;
	plan->object.slot = SG_NO_SLOT;
	if (!error && sg_decode_has(decoder, GT_PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
		error = read_address(decoder, 3, true, &plan->object);
	plan->blocks = SG_NO_SLOT;
	if (!error && sg_decode_has(decoder, GT_PTX_MOD_MULTICAST_CLUSTER))
		error = sg_decode_source(decoder, 4, GT_PTX_TYPE_B16, &plan->blocks);
	return error;
}

/*
 * cp.async.bulk.shared::cluster.global.mbarrier… [to], [from], size, [mbarrier] and
 * cp.async.bulk.global.shared::cta.bulk_group [to], [from], size
 */
int sg_decode_bulk_copy(struct sg_decoder *decoder)
{
	struct bulk_plan plan = {0};
	int error;

	if (sg_decode_has(decoder, GT_PTX_MOD_PREFETCH) &&
	    !sg_decode_has(decoder, GT_PTX_MOD_TENSOR))
		return sg_decode_nothing(decoder);
	error = read_copy(decoder, &plan);
	return error ? error : emit_plan(decoder, run_copy, &plan);
}

/* The operations of a reduction: those of atom, except exchanges, and min and max of .s64. */
static bool read_reduction(const struct sg_decoder *decoder, struct bulk_plan *plan)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	enum gt_ptx_type type = sg_decode_type(decoder);
	enum sg_atomic operation;

	if (!sg_find_atomic(form, &operation) || operation == SG_ATOMIC_EXCHANGE ||
	    operation == SG_ATOMIC_COMPARE ||
	    (!sg_has_atomic(operation, type) &&
	     !(operation <= SG_ATOMIC_MAX && type == GT_PTX_TYPE_S64)))
		return false;
	plan->operation = (uint8_t)operation;
	plan->type = (uint8_t)type;
	return true;
}

/* cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to], [from], size */
int sg_decode_bulk_reduce(struct sg_decoder *decoder)
{
	struct bulk_plan plan = {0};
	int error;

	if (!sg_decode_has(decoder, GT_PTX_MOD_BULK) || !read_reduction(decoder, &plan))
		return sg_decode_bad_form(decoder);
	error = read_copy(decoder, &plan);
	return error ? error : emit_plan(decoder, run_reduce, &plan);
}

/* st.bulk{.weak}{.shared::cta} [to], size, 0 */
int sg_decode_bulk_clear(struct sg_decoder *decoder)
{
	const struct gt_ptx_instruction *instruction = decoder->instruction;
	struct bulk_plan plan = {.size_width = 8, .object.slot = SG_NO_SLOT};
	int error;

	if (instruction->operand_count != 3 ||
	    instruction->operands[2].kind != GT_PTX_OPERAND_INTEGER ||
	    instruction->operands[2].integer)
		return sg_decode_bad_operand(decoder, 2);
	error = read_address(decoder, 0,
			     sg_decode_has(decoder, GT_PTX_MOD_SHARED) ||
				     sg_decode_has(decoder, GT_PTX_MOD_SHARED_CTA),
			     &plan.to);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_U64, &plan.size);
	return error ? error : emit_plan(decoder, run_clear, &plan);
}
