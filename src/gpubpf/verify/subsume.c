/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * State pruning: a state that an explored one subsumes need not be explored. As states_equal(),
 * regsafe() and stacksafe() of Linux (kernel/bpf/verifier.c).
 */
#include <string.h>

#include "gpubpf/verify/widen.h"

/* Ids of the old state and their counterparts in the new one (struct bpf_idmap in Linux). */
struct id_map {
	struct {
		uint32_t old, new;
	} pair[256];
	unsigned count;
};

static bool same_id(struct id_map *ids, uint32_t old, uint32_t new)
{
	if (!old != !new)
		return false;
	if (!old)
		return true;
	for (unsigned i = 0; i < ids->count; i++) {
		if (ids->pair[i].old == old)
			return ids->pair[i].new == new;
		if (ids->pair[i].new == new)
			return false;
	}
	if (ids->count == gt_countof(ids->pair))
		return false;
	ids->pair[ids->count].old = old;
	ids->pair[ids->count++].new = new;
	return true;
}

/* Values that added the same did so in the new state, too. */
static bool same_sum(struct id_map *ids, uint32_t old, uint32_t new)
{
	return !old || same_id(ids, old, new);
}

static bool subsumes_value(const struct gt_value *old, const struct gt_value *new, bool precise,
			   bool exact, struct id_map *ids)
{
	if (old->origin && (!gt_origin_subsumes(old, new) || !same_sum(ids, old->sum, new->sum)))
		return false;
	/* The proof of a widened loop compares what steps lead to. */
	precise |= old->origin != 0;
	/* An unset register may be passed to a helper, which must not get an address. */
	if (old->type == GT_REG_UNSET)
		return exact ? new->type == GT_REG_UNSET : !gt_is_pointer(new) && !new->address;
	if (old->type != new->type || old->maybe_null != new->maybe_null)
		return false;
	if (new->address && !old->address)
		return false;
	if (old->type == GT_REG_SCALAR) {
		if (!precise && !exact)
			return true;
		if (old->id && (old->delta_bits != new->delta_bits || old->delta != new->delta ||
				!same_id(ids, old->id, new->id)))
			return false;
	} else {
		if (old->fixed_offset != new->fixed_offset)
			return false;
		if (old->frame != new->frame || old->map != new->map || old->size != new->size)
			return false;
		if ((old->maybe_null || exact) && !same_id(ids, old->id, new->id))
			return false;
		if (!same_id(ids, old->reference, new->reference) ||
		    !same_id(ids, old->object, new->object))
			return false;
	}
	if (exact && !gt_scalar_contains(&new->scalar, &old->scalar))
		return false;
	return gt_scalar_contains(&old->scalar, &new->scalar);
}

/* Return the kind of a slot's byte, without the values of scalars. */
static uint8_t imprecise_kind(const struct gt_slot *slot, unsigned byte)
{
	uint8_t kind = slot->bytes[byte];

	if (kind == GT_BYTE_SPILL)
		return gt_is_pointer(&slot->value) || slot->value.address ? GT_BYTE_ADDRESS
									  : GT_BYTE_SCALAR;
	return kind == GT_BYTE_ZERO ? GT_BYTE_SCALAR : kind;
}

static bool subsumes_imprecise_slot(const struct gt_slot *old, const struct gt_slot *new)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t one = imprecise_kind(old, i), other = imprecise_kind(new, i);

		/* A byte that was used as part of an address may be any that is set. */
		if (one != other && (other == GT_BYTE_UNSET ||
				     (one != GT_BYTE_ADDRESS &&
				      (other == GT_BYTE_ADDRESS || one == GT_BYTE_SCALAR))))
			return false;
	}
	return true;
}

static bool subsumes_slot(const struct gt_slot *old, const struct gt_slot *new, bool precise,
			  bool exact, struct id_map *ids)
{
	unsigned width = gt_slot_width(old);

	if (!exact && !precise && !(width && old->value.origin) &&
	    !(width && gt_is_pointer(&old->value)))
		return subsumes_imprecise_slot(old, new);
	if (width && (gt_slot_width(new) != width ||
		      !subsumes_value(&old->value, &new->value, true, exact, ids)))
		return false;
	for (unsigned i = width; i < 8; i++) {
		uint8_t one = old->bytes[i], other = new->bytes[i];

		if (one == other || (one == GT_BYTE_ADDRESS && other != GT_BYTE_UNSET))
			continue;
		if (exact || one == GT_BYTE_ZERO)
			return false;
		/* A byte that was used as any scalar may be any, but not of an address. */
		if (other == GT_BYTE_ADDRESS)
			return false;
		if (other == GT_BYTE_SPILL && (gt_is_pointer(&new->value) || new->value.address))
			return false;
		if (other == GT_BYTE_UNSET)
			return false;
	}
	return true;
}

static bool subsumes_stack(const struct gt_verify_frame *old, const struct gt_verify_frame *new,
			   uint64_t slots, bool exact, struct id_map *ids)
{
	static const struct gt_slot unset;
	uint32_t count = old->slot_count > new->slot_count ? old->slot_count : new->slot_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct gt_slot *one = i < old->slot_count ? &old->slots[i] : &unset;
		const struct gt_slot *other = i < new->slot_count ? &new->slots[i] : &unset;

		if (!subsumes_slot(one, other, slots >> i & 1, exact, ids))
			return false;
	}
	return true;
}

bool gt_slot_subsumes(const struct gt_slot *old, const struct gt_slot *slot)
{
	static const struct gt_slot unset;
	struct id_map ids;

	ids.count = 0;
	return subsumes_slot(old ? old : &unset, slot ? slot : &unset, true, false, &ids);
}

bool gt_value_subsumes(const struct gt_value *old, const struct gt_value *value)
{
	struct gt_value other = *value;
	struct id_map ids;

	ids.count = 0;
	gt_origin_copy(old, &other);
	return subsumes_value(old, &other, true, false, &ids);
}

bool gt_state_subsumes(const struct gt_verifier *verifier, const struct gt_state *old,
		       const struct gt_state *state, bool exact)
{
	struct id_map ids;

	ids.count = 0;
	if (old->widened_count != state->widened_count || old->ordered != state->ordered ||
	    (old->widened_count &&
	     memcmp(old->widened, state->widened, old->widened_count * sizeof(old->widened[0]))))
		return false;
	if (old->depth != state->depth || old->reference_count != state->reference_count)
		return false;
	for (unsigned i = 0; i < old->widened_count; i++)
		if (old->ranked[i].origin &&
		    !gt_scalar_contains(&old->ranked[i].scalar, &state->ranked[i].scalar))
			return false;
	for (unsigned i = 0; i < old->reference_count; i++)
		if (!same_id(&ids, old->references[i], state->references[i]))
			return false;
	/* The current frame first: its registers differ most often. */
	for (unsigned i = old->depth + 1; i-- > 0;) {
		const struct gt_verify_frame *one = &old->frames[i], *other = &state->frames[i];
		bool top = i == old->depth;
		const struct gt_insn_aux *aux =
			&verifier->aux[top ? verifier->at : old->frames[i + 1].return_insn];

		if (one->subprogram != other->subprogram ||
		    (i && one->return_insn != other->return_insn) ||
		    one->called_back != other->called_back)
			return false;
		/* Fewer iterations were explored from there, or a may_goto ended a path. */
		if (one->iterations > other->iterations || one->may_gotos > other->may_gotos)
			return false;
		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++) {
			if (!exact && !(aux->live >> j & 1))
				continue;
			/* bpf_loop is executed again, with its arguments. */
			if (!top && j < 6 && !old->frames[i + 1].called_back)
				continue;
			if (!subsumes_value(&one->registers[j], &other->registers[j],
					    aux->precise >> j & 1, exact, &ids))
				return false;
		}
		if (!subsumes_stack(one, other, top ? aux->precise_slots : UINT64_MAX, exact, &ids))
			return false;
	}
	return true;
}

/* Whether the scalar at a place shows a difference of the current state: then it is the key. */
static bool try_key(const struct gt_verifier *verifier, struct gt_explored *explored,
		    unsigned place, bool exact)
{
	const struct gt_value *one = gt_keyed_scalar(explored->state, place);
	struct gt_state_key before = explored->key;

	if (!one)
		return false;
	explored->key =
		(struct gt_state_key){one->scalar.all.umin, one->scalar.all.umax, (uint8_t)place};
	if (gt_key_excludes(verifier, explored, exact))
		return true;
	explored->key = before;
	return false;
}

/* Choose a scalar that shows the difference of the current state from an explored one, if any. */
static void choose_key(const struct gt_verifier *verifier, struct gt_explored *explored, bool exact)
{
	const struct gt_insn_aux *aux = &verifier->aux[verifier->at];

	for (unsigned bits = aux->live & aux->precise; bits; bits &= bits - 1)
		if (try_key(verifier, explored, (unsigned)__builtin_ctz(bits), exact))
			return;
	for (uint64_t bits = aux->precise_slots; bits; bits &= bits - 1)
		if (try_key(verifier, explored, GT_BPF_REGISTERS + (unsigned)__builtin_ctzll(bits),
			    exact))
			return;
}

bool gt_explored_subsumes(const struct gt_verifier *verifier, struct gt_explored *explored,
			  bool exact)
{
	if (gt_key_excludes(verifier, explored, exact))
		return false;
	if (gt_state_subsumes(verifier, explored->state, verifier->state, exact))
		return true;
	choose_key(verifier, explored, exact);
	return false;
}
