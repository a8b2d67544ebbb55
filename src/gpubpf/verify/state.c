/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* States of the verifier: copies, comparison, text. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/private.h"

struct gt_value gt_value_scalar(struct gt_scalar number)
{
	return (struct gt_value){.type = GT_REG_SCALAR, .number = number};
}

struct gt_scalar gt_value_offset(const struct gt_value *pointer)
{
	static const struct bpf_insn add = {.code = BPF_ALU64 | BPF_ADD | BPF_X};
	struct gt_scalar fixed;

	if (!pointer->fixed)
		return pointer->number;
	fixed = gt_scalar_constant((uint64_t)pointer->fixed);
	return gt_scalar_alu(&add, &pointer->number, &fixed);
}

void gt_state_free(struct gt_state *state)
{
	if (!state)
		return;
	for (unsigned i = 0; i < GT_BPF_MAX_FRAMES; i++)
		free(state->frames[i].slots);
	free(state);
}

int gt_frame_grow(struct gt_verify_frame *frame, uint32_t slots)
{
	struct gt_slot *grown;

	if (slots <= frame->slot_count)
		return 0;
	grown = realloc(frame->slots, slots * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + frame->slot_count, 0, (slots - frame->slot_count) * sizeof(*grown));
	frame->slots = grown;
	frame->slot_count = slots;
	return 0;
}

struct gt_state *gt_state_copy(const struct gt_state *state)
{
	struct gt_state *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	/* Of frames that are not there, no more: most of a state is of them. */
	for (unsigned i = 0; i < GT_BPF_MAX_FRAMES; i++) {
		copy->frames[i].slots = NULL;
		copy->frames[i].slot_count = 0;
	}
	copy->depth = state->depth;
	copy->reference_count = state->reference_count;
	memcpy(copy->references, state->references, sizeof(copy->references));
	memcpy(copy->reference_insns, state->reference_insns, sizeof(copy->reference_insns));
	for (unsigned i = 0; i <= state->depth; i++) {
		const struct gt_verify_frame *from = &state->frames[i];
		struct gt_verify_frame *to = &copy->frames[i];

		*to = *from;
		to->slots = NULL;
		to->slot_count = 0;
		if (gt_frame_grow(to, from->slot_count)) {
			gt_state_free(copy);
			return NULL;
		}
		if (from->slot_count)
			memcpy(to->slots, from->slots, from->slot_count * sizeof(*to->slots));
	}
	return copy;
}

uint64_t gt_state_bytes(const struct gt_state *state)
{
	uint64_t bytes = sizeof(*state);

	for (unsigned i = 0; i <= state->depth; i++)
		bytes += state->frames[i].slot_count * sizeof(struct gt_slot);
	return bytes;
}

static bool holds_value(const struct gt_slot *slot)
{
	return gt_slot_width(slot) != 0;
}

/* Calls visit on each value of a state. */
static void each_value(struct gt_state *state, void (*visit)(struct gt_value *value, void *data),
		       void *data)
{
	for (unsigned i = 0; i <= state->depth; i++) {
		struct gt_verify_frame *frame = &state->frames[i];

		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++)
			visit(&frame->registers[j], data);
		for (uint32_t j = 0; j < frame->slot_count; j++)
			if (holds_value(&frame->slots[j]))
				visit(&frame->slots[j].value, data);
	}
}

struct ids {
	uint32_t seen[GT_BPF_MAX_FRAMES * (GT_BPF_REGISTERS + GT_BPF_STACK_SLOTS)];
	unsigned count;
};

static void collect_id(struct gt_value *value, void *data)
{
	struct ids *ids = data;

	if (value->type == GT_REG_SCALAR && value->id)
		ids->seen[ids->count++] = value->id;
}

static void forget_lone_id(struct gt_value *value, void *data)
{
	const struct ids *ids = data;
	unsigned found = 0;

	if (value->type != GT_REG_SCALAR || !value->id)
		return;
	for (unsigned i = 0; i < ids->count && found < 2; i++)
		found += ids->seen[i] == value->id;
	if (found < 2)
		value->id = 0;
}

void gt_state_forget_lone_ids(struct gt_state *state)
{
	struct ids ids;

	ids.count = 0;
	each_value(state, collect_id, &ids);
	if (ids.count)
		each_value(state, forget_lone_id, &ids);
}

/* Ids of the old state and what they are in the new one. */
struct pairs {
	struct {
		uint32_t old, new;
	} pair[256];
	unsigned count;
};

static bool same_id(struct pairs *pairs, uint32_t old, uint32_t new)
{
	if (!old != !new)
		return false;
	if (!old)
		return true;
	for (unsigned i = 0; i < pairs->count; i++) {
		if (pairs->pair[i].old == old)
			return pairs->pair[i].new == new;
		if (pairs->pair[i].new == new)
			return false;
	}
	if (pairs->count == gt_countof(pairs->pair))
		return false;
	pairs->pair[pairs->count].old = old;
	pairs->pair[pairs->count++].new = new;
	return true;
}

static bool covers_value(const struct gt_value *old, const struct gt_value *new, bool relevant,
			 bool exact, struct pairs *pairs)
{
	/* What is not set may be given to a helper, where no address may be. */
	if (old->type == GT_REG_UNSET)
		return exact ? new->type == GT_REG_UNSET : !gt_is_pointer(new) && !new->address;
	if (old->type != new->type || old->maybe_null != new->maybe_null)
		return false;
	if (new->address && !old->address)
		return false;
	if (old->type == GT_REG_SCALAR) {
		if (!relevant && !exact)
			return true;
		if (old->id && (old->sum != new->sum || old->delta != new->delta ||
				!same_id(pairs, old->id, new->id)))
			return false;
	} else {
		if (old->fixed != new->fixed)
			return false;
		if (old->frame != new->frame || old->map != new->map || old->size != new->size)
			return false;
		if ((old->maybe_null || exact) && !same_id(pairs, old->id, new->id))
			return false;
		if (!same_id(pairs, old->reference, new->reference))
			return false;
	}
	if (exact && !gt_scalar_within(&new->number, &old->number))
		return false;
	return gt_scalar_within(&old->number, &new->number);
}

/* What a byte of a slot is where numbers do not matter. */
static uint8_t kind_of(const struct gt_slot *slot, unsigned byte)
{
	uint8_t kind = slot->bytes[byte];

	if (kind == GT_BYTE_VALUE)
		return gt_is_pointer(&slot->value) || slot->value.address ? GT_BYTE_ADDRESS
									  : GT_BYTE_SCALAR;
	return kind == GT_BYTE_ZERO ? GT_BYTE_SCALAR : kind;
}

/* A slot whose numbers decide nothing. */
static bool covers_idle_slot(const struct gt_slot *old, const struct gt_slot *new)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t one = kind_of(old, i), other = kind_of(new, i);

		/* What was read as part of an address may be any number, but one that is set. */
		if (one != other && (other == GT_BYTE_UNSET ||
				     (one != GT_BYTE_ADDRESS &&
				      (other == GT_BYTE_ADDRESS || one == GT_BYTE_SCALAR))))
			return false;
	}
	return true;
}

static bool covers_slot(const struct gt_slot *old, const struct gt_slot *new, bool relevant,
			bool exact, struct pairs *pairs)
{
	unsigned width = gt_slot_width(old);

	if (!exact && !relevant && !(width && gt_is_pointer(&old->value)))
		return covers_idle_slot(old, new);
	if (width && (gt_slot_width(new) != width ||
		      !covers_value(&old->value, &new->value, true, exact, pairs)))
		return false;
	for (unsigned i = width; i < 8; i++) {
		uint8_t one = old->bytes[i], other = new->bytes[i];

		if (one == other || (one == GT_BYTE_ADDRESS && other != GT_BYTE_UNSET))
			continue;
		if (exact || one == GT_BYTE_ZERO)
			return false;
		/* What was read as any number may be any, but no address. */
		if (other == GT_BYTE_ADDRESS)
			return false;
		if (other == GT_BYTE_VALUE && (gt_is_pointer(&new->value) || new->value.address))
			return false;
		if (other == GT_BYTE_UNSET)
			return false;
	}
	return true;
}

static bool covers_stack(const struct gt_verify_frame *old, const struct gt_verify_frame *new,
			 uint64_t slots, bool exact, struct pairs *pairs)
{
	static const struct gt_slot unset;
	uint32_t count = old->slot_count > new->slot_count ? old->slot_count : new->slot_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct gt_slot *one = i < old->slot_count ? &old->slots[i] : &unset;
		const struct gt_slot *other = i < new->slot_count ? &new->slots[i] : &unset;

		if (!covers_slot(one, other, slots >> i & 1, exact, pairs))
			return false;
	}
	return true;
}

bool gt_state_covers(const struct gt_verifier *verifier, const struct gt_state *old,
		     const struct gt_state *state, bool exact)
{
	struct pairs pairs;

	pairs.count = 0;
	if (old->depth != state->depth || old->reference_count != state->reference_count)
		return false;
	for (unsigned i = 0; i < old->reference_count; i++)
		if (!same_id(&pairs, old->references[i], state->references[i]))
			return false;
	/* The frame that runs first: its registers are what differs most often. */
	for (unsigned i = old->depth + 1; i-- > 0;) {
		const struct gt_verify_frame *one = &old->frames[i], *other = &state->frames[i];
		bool top = i == old->depth;
		const struct gt_flow *flow =
			&verifier->flow[top ? verifier->at : old->frames[i + 1].back];

		if (one->subprogram != other->subprogram || (i && one->back != other->back))
			return false;
		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++) {
			if (!exact && !(flow->live >> j & 1))
				continue;
			if (!top && j < 6)
				continue;
			if (!covers_value(&one->registers[j], &other->registers[j],
					  flow->relevant >> j & 1, exact, &pairs))
				return false;
		}
		if (!covers_stack(one, other, top ? flow->slots : UINT64_MAX, exact, &pairs))
			return false;
	}
	return true;
}

const char *gt_register_type_name(const struct gt_value *value)
{
	switch (value->type) {
	case GT_REG_SCALAR:
		return "scalar";
	case GT_REG_STACK:
		return "fp";
	case GT_REG_CONTEXT:
		return "ctx";
	case GT_REG_MAP:
		return "map_ptr";
	case GT_REG_MAP_VALUE:
		return value->maybe_null ? "map_value_or_null" : "map_value";
	case GT_REG_RECORD:
		return value->maybe_null ? "ringbuf_mem_or_null" : "ringbuf_mem";
	case GT_REG_MEMORY:
		return "mem";
	default:
		return "?";
	}
}

static void put_number(struct gt_strbuf *text, const struct gt_scalar *number)
{
	const struct gt_interval *all = &number->all;
	const char *comma = "";

	gt_strbuf_putc(text, '(');
	if (all->smin != INT64_MIN || all->smax != INT64_MAX) {
		gt_strbuf_printf(text, "smin=%" PRId64 ",smax=%" PRId64, all->smin, all->smax);
		comma = ",";
	}
	if ((all->umin || all->umax != UINT64_MAX) &&
	    (all->smin < 0 || all->umin != (uint64_t)all->smin ||
	     all->umax != (uint64_t)all->smax)) {
		gt_strbuf_printf(text, "%sumin=%" PRIu64 ",umax=%" PRIu64, comma, all->umin,
				 all->umax);
		comma = ",";
	}
	if (number->mask != UINT64_MAX)
		gt_strbuf_printf(text, "%svar_off=(0x%" PRIx64 "; 0x%" PRIx64 ")", comma,
				 number->value, number->mask);
	gt_strbuf_putc(text, ')');
}

static void put_value(struct gt_strbuf *text, const struct gt_value *value)
{
	const struct gt_scalar *number = &value->number;
	struct gt_scalar offset;

	if (value->type == GT_REG_SCALAR) {
		if (gt_scalar_is_constant(number)) {
			gt_strbuf_printf(text, "%" PRId64, (int64_t)number->value);
			return;
		}
		gt_strbuf_puts(text, "scalar");
		put_number(text, number);
		return;
	}
	offset = gt_value_offset(value);
	gt_strbuf_puts(text, gt_register_type_name(value));
	if (!gt_scalar_is_constant(&offset))
		put_number(text, &offset);
	else if (value->type == GT_REG_STACK || offset.value)
		gt_strbuf_printf(text, value->type == GT_REG_STACK ? "%" PRId64 : "+%" PRId64,
				 (int64_t)offset.value);
}

void gt_put_state(struct gt_strbuf *text, const struct gt_state *state)
{
	const struct gt_verify_frame *frame = &state->frames[state->depth];
	const char *space = "";

	if (state->depth) {
		gt_strbuf_printf(text, "frame%u:", state->depth);
		space = " ";
	}
	for (unsigned i = 0; i < GT_BPF_REGISTERS; i++) {
		if (frame->registers[i].type == GT_REG_UNSET)
			continue;
		gt_strbuf_printf(text, "%sR%u=", space, i);
		put_value(text, &frame->registers[i]);
		space = " ";
	}
	for (uint32_t i = 0; i < frame->slot_count; i++) {
		if (!holds_value(&frame->slots[i]))
			continue;
		gt_strbuf_printf(text, "%sfp-%u=", space, 8 * (i + 1));
		put_value(text, &frame->slots[i].value);
		space = " ";
	}
}
