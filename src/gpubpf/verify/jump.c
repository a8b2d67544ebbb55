/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditional jumps: which branches are possible, and the bounds on each. */
#include <errno.h>

#include "gpubpf/verify/widen.h"

/* Run a block for each value of a state. */
#define EACH_VALUE(state, value, ...)                                                              \
	for (unsigned frame_ = 0; frame_ <= (state)->depth; frame_++) {                            \
		struct gt_verify_frame *here_ = &(state)->frames[frame_];                          \
		for (unsigned i_ = 0; i_ < GT_BPF_REGISTERS; i_++) {                               \
			struct gt_value *value = &here_->registers[i_];                            \
			__VA_ARGS__                                                                \
		}                                                                                  \
		for (uint32_t i_ = 0; i_ < here_->slot_count; i_++) {                              \
			struct gt_value *value = &here_->slots[i_].value;                          \
			if (!gt_slot_width(&here_->slots[i_]))                                     \
				continue;                                                          \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/*
 * Compute the bounds of a scalar from those of one linked with it. False: unknown, since a 32-bit
 * sum does not bound the upper half.
 */
static bool apply_link(const struct gt_value *known, const struct gt_value *value,
		       struct gt_scalar *ret_number)
{
	struct gt_scalar more =
		gt_scalar_constant((uint64_t)((int64_t)value->delta - (int64_t)known->delta));
	bool narrow = known->delta_bits == 32 || value->delta_bits == 32;
	struct bpf_insn add = {.code = (narrow ? BPF_ALU : BPF_ALU64) | BPF_ADD | BPF_X};

	if (known->delta_bits + value->delta_bits == 32 + 64)
		return false;
	if (known->delta_bits == 32 && !value->delta_bits && value->scalar.all.umax > UINT32_MAX)
		return false;
	*ret_number = known->delta_bits == value->delta_bits && known->delta == value->delta
			      ? known->scalar
			      : gt_scalar_alu(&add, &known->scalar, &more);
	return true;
}

/* Apply new bounds of a scalar to all linked with it (sync_linked_regs() in Linux). Whether there
 * are others. */
static bool sync_linked_scalars(struct gt_state *state, struct gt_value known)
{
	struct gt_scalar scalar;
	unsigned linked = 0;

	if (!known.id)
		return false;
	EACH_VALUE(state, value, {
		linked += value->type == GT_REG_SCALAR && value->id == known.id;
		if (value->type == GT_REG_SCALAR && value->id == known.id &&
		    apply_link(&known, value, &scalar)) {
			/* As in Linux, a sum with 0 becomes the scalar itself. */
			if (value->delta == known.delta &&
			    (value->delta_bits + known.delta_bits != 32 ||
			     known.scalar.all.umax <= UINT32_MAX))
				value->delta_bits = known.delta_bits;
			value->scalar = scalar;
		}
	})
	return linked > 1;
}

static void drop_reference(struct gt_state *state, uint32_t reference)
{
	for (unsigned i = 0; i < state->reference_count; i++) {
		if (state->references[i] != reference)
			continue;
		state->reference_count--;
		state->references[i] = state->references[state->reference_count];
		state->reference_insns[i] = state->reference_insns[state->reference_count];
		return;
	}
}

/* A NULL check was decided: set the pointer and its copies to NULL or non-NULL. */
static void mark_null_check(struct gt_state *state, uint32_t id, uint32_t reference, bool null)
{
	if (null && reference)
		drop_reference(state, reference);
	EACH_VALUE(state, value, {
		if (gt_is_pointer(value) && value->maybe_null && value->id == id) {
			value->maybe_null = false;
			value->id = 0;
			if (null)
				*value = gt_value_scalar(gt_scalar_constant(0));
		}
	})
}

static bool is_zero_scalar(const struct gt_value *value)
{
	return value->type == GT_REG_SCALAR && gt_scalar_is_constant(&value->scalar) &&
	       !value->scalar.value;
}

/* Return the pointer of a NULL check, or NULL. A pointer that may be NULL requires an immediate. */
static const struct gt_value *find_null_check(const struct bpf_insn *insn,
					      const struct gt_value *left,
					      const struct gt_value *right)
{
	unsigned operation = BPF_OP(insn->code);

	if (BPF_CLASS(insn->code) != BPF_JMP || (operation != BPF_JEQ && operation != BPF_JNE))
		return NULL;
	if (gt_is_pointer(left) && is_zero_scalar(right))
		return !left->maybe_null || BPF_SRC(insn->code) == BPF_K ? left : NULL;
	return gt_is_pointer(right) && is_zero_scalar(left) && !right->maybe_null ? right : NULL;
}

/*
 * Whether a pointer is not 0 on any device. Contexts have no address there, stacks may start at 0
 * of local memory, and a pointer outside its object may be 0, whatever the object's address. Linux
 * assumes that none is 0.
 */
static bool is_never_zero(const struct gt_verifier *verifier, const struct gt_value *value)
{
	const struct gt_interval *part = &value->scalar.all;
	uint64_t size = value->size;

	if (value->maybe_null)
		return false;
	if (value->type == GT_REG_MAP)
		return true;
	if (value->type == GT_REG_MAP_VALUE)
		size = verifier->object->maps[value->map].value_size;
	else if (value->type != GT_REG_RECORD && value->type != GT_REG_MEMORY)
		return false;
	return value->fixed_offset >= 0 && part->smin >= 0 && part->umax <= size &&
	       (uint64_t)value->fixed_offset + part->umax <= size;
}

/*
 * A pointer that equals one that is not 0 is not NULL. Where that is used, the other pointer is
 * precise (gt_precise_before), and so is its offset.
 */
static void mark_equal_pointers(const struct gt_verifier *verifier, const struct bpf_insn *insn,
				bool taken, struct gt_value *left, struct gt_value *right)
{
	unsigned operation = BPF_OP(insn->code);

	if (BPF_CLASS(insn->code) != BPF_JMP || operation != (taken ? BPF_JEQ : BPF_JNE) ||
	    !gt_is_pointer(left) || !gt_is_pointer(right) ||
	    (!is_never_zero(verifier, left) && !is_never_zero(verifier, right)))
		return;
	left->maybe_null = false;
	right->maybe_null = false;
}

bool gt_is_same_object(const struct gt_verifier *verifier, const struct gt_value *one,
		       const struct gt_value *other)
{
	const struct gt_bpf_map *map;

	if (one->type != other->type || one->maybe_null || other->maybe_null)
		return false;
	switch (one->type) {
	case GT_REG_STACK:
		return one->frame == other->frame;
	case GT_REG_RECORD:
		return one->reference && one->reference == other->reference;
	case GT_REG_MAP_VALUE:
		if (one->map != other->map)
			return false;
		map = &verifier->object->maps[one->map];
		return (map->type == BPF_MAP_TYPE_ARRAY && map->max_entries == 1) ||
		       (one->object && one->object == other->object);
	default:
		return false;
	}
}

/* Whether a pointer is within its object, or at its end. */
static bool is_in_object(const struct gt_verifier *verifier, const struct gt_value *value)
{
	struct gt_scalar offset = gt_value_offset(value);
	int64_t first = 0, end = value->size;

	if (value->type == GT_REG_STACK) {
		first = -GT_BPF_STACK_SIZE;
		end = 0;
	} else if (value->type == GT_REG_MAP_VALUE) {
		end = verifier->object->maps[value->map].value_size;
	}
	return offset.all.smin >= first && offset.all.smax <= end;
}

bool gt_compares_offsets(const struct gt_verifier *verifier, const struct bpf_insn *insn,
			 const struct gt_value *one, const struct gt_value *other,
			 uint8_t *operation)
{
	static const uint8_t offsets[16] = {
		[BPF_JEQ >> 4] = BPF_JEQ,  [BPF_JNE >> 4] = BPF_JNE,  [BPF_JGT >> 4] = BPF_JSGT,
		[BPF_JGE >> 4] = BPF_JSGE, [BPF_JLT >> 4] = BPF_JSLT, [BPF_JLE >> 4] = BPF_JSLE,
	};

	if (!verifier->widens || BPF_CLASS(insn->code) != BPF_JMP || !offsets[*operation >> 4] ||
	    !gt_is_same_object(verifier, one, other))
		return false;
	*operation = offsets[*operation >> 4];
	return *operation == BPF_JEQ || *operation == BPF_JNE ||
	       (is_in_object(verifier, one) && is_in_object(verifier, other));
}

/* Apply a comparison of two pointers of one object to their offsets. False: impossible. */
static bool assume_offsets(const struct gt_verifier *verifier, struct gt_state *state,
			   const struct bpf_insn *insn, bool taken, struct gt_value *left,
			   struct gt_value *right)
{
	uint8_t operation = BPF_OP(insn->code);
	struct bpf_insn compare = {.code = BPF_JMP | BPF_X};
	struct gt_scalar one, other;

	if (left == right || !gt_compares_offsets(verifier, insn, left, right, &operation))
		return true;
	compare.code |= operation;
	one = gt_value_offset(left);
	other = gt_value_offset(right);
	if (!gt_scalar_assume(&compare, taken, &one, &other))
		return false;
	gt_narrow_number(left, &one);
	gt_origin_sync(state, left);
	gt_narrow_number(right, &other);
	gt_origin_sync(state, right);
	return true;
}

/* Apply the condition of one branch. False: impossible. *ret_linked: it bounds other scalars, too.
 */
static bool assume_branch(const struct gt_verifier *verifier, struct gt_state *state,
			  const struct bpf_insn *insn, bool taken, bool *ret_linked)
{
	struct gt_verify_frame *frame = &state->frames[state->depth];
	struct gt_value *left = &frame->registers[insn->dst_reg], *right;
	struct gt_value constant =
		gt_value_scalar(gt_scalar_constant((uint64_t)(int64_t)insn->imm));
	const struct gt_value *pointer;
	struct gt_scalar one, other;
	bool is_null = (BPF_OP(insn->code) == BPF_JEQ) == taken;

	right = BPF_SRC(insn->code) == BPF_X ? &frame->registers[insn->src_reg] : &constant;
	pointer = find_null_check(insn, left, right);
	if (pointer) {
		if (!pointer->maybe_null)
			return !is_null || !is_never_zero(verifier, pointer);
		mark_null_check(state, pointer->id, pointer->reference, is_null);
		return true;
	}
	if (gt_is_pointer(left) || gt_is_pointer(right)) {
		mark_equal_pointers(verifier, insn, taken, left, right);
		return assume_offsets(verifier, state, insn, taken, left, right);
	}
	if (left == right && !gt_scalar_is_constant(&left->scalar)) {
		*ret_linked |= sync_linked_scalars(state, *left);
		return true;
	}
	one = left->scalar;
	other = right->scalar;
	if (!gt_scalar_assume(insn, taken, &one, &other))
		return false;
	left->scalar = one;
	*ret_linked |= sync_linked_scalars(state, *left);
	gt_origin_sync(state, left);
	if (right != &constant) {
		right->scalar = other;
		*ret_linked |= sync_linked_scalars(state, *right);
		gt_origin_sync(state, right);
	}
	return true;
}

int gt_verify_push_path(struct gt_verifier *verifier, struct gt_state *state, uint32_t insn)
{
	struct gt_pending_path path = {state, verifier->parent, insn, verifier->steps};

	if (verifier->pending.count >= GT_MAX_PENDING)
		return gt_diag(verifier->diag, -E2BIG, "verify", NULL,
			       "The sequence of %d jumps is too complex.", GT_MAX_PENDING + 1);
	if (gt_vec_push(&verifier->pending, path))
		return gt_verifier_no_memory(verifier);
	if (verifier->parent)
		verifier->parent->branches++;
	return 0;
}

static int check_jump_operands(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	int error = 0;

	if (BPF_SRC(insn->code) == BPF_X)
		error = gt_verify_read(verifier, insn->src_reg);
	return error ? error : gt_verify_read(verifier, insn->dst_reg);
}

int gt_verify_branch(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	uint32_t target = (uint32_t)gt_bpf_jump_target(verifier->insns, verifier->at);
	struct gt_insn_facts *facts = &verifier->facts.insns[verifier->at];
	struct gt_insn_aux *aux = &verifier->aux[verifier->at];
	struct gt_state *other;
	bool jumps, falls, linked = false;
	int error = check_jump_operands(verifier, insn);

	if (error)
		return error;
	other = gt_state_copy(verifier->state);
	if (!other)
		return gt_verifier_no_memory(verifier);
	verifier->work += 4 * gt_state_work(other);
	gt_rank_note_test(verifier, insn);
	jumps = assume_branch(verifier, other, insn, true, &linked) &&
		gt_rank_apply_order(verifier, other, insn, true);
	falls = assume_branch(verifier, verifier->state, insn, false, &linked) &&
		gt_rank_apply_order(verifier, verifier->state, insn, false);
	facts->branch |= (uint8_t)(jumps << 1 | falls);
	if (!aux->precise_jump && (!jumps || !falls || linked)) {
		aux->precise_jump = true;
		verifier->more_precise = true;
	}
	if (jumps && falls) {
		error = gt_verify_push_path(verifier, other, target);
		if (error)
			gt_state_free(other);
		verifier->at++;
		return error;
	}
	if (!jumps) {
		gt_state_free(other);
		verifier->at++;
		return 0;
	}
	gt_state_free(verifier->state);
	verifier->state = other;
	verifier->at = target;
	return 0;
}
