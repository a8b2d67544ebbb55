/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What stands on the stack: of loads and stores, what they leave there and find there. */
#include <errno.h>
#include <string.h>

#include "gpubpf/verify/private.h"

/* The frame's slot, grown so far; NULL where memory runs out. */
static struct gt_slot *slot_at(struct gt_verify_frame *frame, uint32_t number)
{
	return gt_frame_grow(frame, number + 1) ? NULL : &frame->slots[number];
}

static uint8_t part_of(const struct gt_value *value)
{
	return gt_is_pointer(value) || value->address ? GT_BYTE_ADDRESS : GT_BYTE_SCALAR;
}

/* A slot that holds a value becomes bytes. */
static void break_up(struct gt_slot *slot)
{
	unsigned width = gt_slot_width(slot);

	memset(slot->bytes, part_of(&slot->value), width);
}

/* Whether a number has no bits above so many bytes. */
static bool fits(const struct gt_value *value, unsigned size)
{
	return size == 8 || !(value->number.all.umax >> (8 * size));
}

/* A number's lower bytes stand at the start of a slot, and what they are stays known. */
static void keep_part(struct gt_verifier *verifier, struct gt_slot *slot, struct gt_value *value,
		      unsigned size)
{
	break_up(slot);
	memset(slot->bytes, GT_BYTE_VALUE, size);
	if (fits(value, size)) {
		gt_verify_link(verifier, value);
		slot->value = *value;
		return;
	}
	slot->value = gt_value_scalar(gt_scalar_cut(&value->number, size, false));
}

/* The byte at a (negative) offset from the frame's top: its slot, and where in it. */
static uint32_t slot_of(int64_t offset)
{
	return (uint32_t)((-offset - 1) / 8);
}
static unsigned byte_of(int64_t offset)
{
	return (unsigned)((offset + GT_BPF_STACK_SIZE) % 8);
}

int gt_verify_mark_bytes(struct gt_verifier *verifier, struct gt_verify_frame *frame, int64_t min,
			 int64_t end, uint8_t kind)
{
	for (int64_t at = min; at < end; at++) {
		struct gt_slot *slot = slot_at(frame, slot_of(at));

		if (!slot)
			return gt_verifier_no_memory(verifier);
		/* As in Linux, zeros next to a value that is no more are numbers, too. */
		for (unsigned i = 0; gt_slot_width(slot) && i < 8; i++)
			if (slot->bytes[i] == GT_BYTE_ZERO)
				slot->bytes[i] = GT_BYTE_SCALAR;
		break_up(slot);
		slot->bytes[byte_of(at)] = kind;
	}
	return 0;
}

/* Whether a byte of a slot is known to be 0. */
static bool is_zero_part(const struct gt_slot *slot, unsigned byte)
{
	if (slot->bytes[byte] != GT_BYTE_VALUE)
		return slot->bytes[byte] == GT_BYTE_ZERO;
	return slot->value.type == GT_REG_SCALAR && gt_scalar_is_constant(&slot->value.number) &&
	       !slot->value.number.value;
}

int gt_verify_write_stack(struct gt_verifier *verifier, const struct gt_access_range *reach,
			  struct gt_value *value)
{
	struct gt_verify_frame *frame = &verifier->state->frames[reach->base->frame];
	bool whole = reach->known && reach->size == 8 && !(reach->min % 8);
	uint8_t kind = part_of(value);
	struct gt_slot *slot;
	bool zero;

	if (value->type == GT_REG_STACK && reach->base->frame != verifier->state->depth)
		return gt_reject(verifier,
				 "cannot spill pointers to stack into stack frame of the caller");
	if (reach->known && !whole && gt_is_pointer(value))
		return gt_reject(verifier, "invalid size of register spill");
	gt_facts_use_stack(verifier, reach->base->frame, reach->min, reach->max, reach->size,
			   whole && reach->base->frame == verifier->state->depth);
	if (whole) {
		slot = slot_at(frame, slot_of(reach->min));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		if (value->type == GT_REG_SCALAR)
			gt_verify_link(verifier, value);
		memset(slot->bytes, GT_BYTE_VALUE, 8);
		slot->value = *value;
		return 0;
	}
	zero = value->type == GT_REG_SCALAR && !value->address &&
	       gt_scalar_is_constant(&value->number) && !value->number.value;
	if (reach->known && value->type == GT_REG_SCALAR && !value->address && !(reach->min % 8)) {
		slot = slot_at(frame, slot_of(reach->min));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		keep_part(verifier, slot, value, (unsigned)reach->size);
		return 0;
	}
	if (reach->known && zero)
		kind = GT_BYTE_ZERO;
	if (reach->known)
		return gt_verify_mark_bytes(verifier, frame, reach->min,
					    reach->min + (int64_t)reach->size, kind);
	/* Anywhere in there: what stood there may still stand. */
	for (int64_t at = reach->min; at < reach->max + (int64_t)reach->size; at++) {
		slot = slot_at(frame, slot_of(at));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		if (zero && is_zero_part(slot, byte_of(at)))
			continue;
		break_up(slot);
		if (slot->bytes[byte_of(at)] == GT_BYTE_UNSET)
			gt_facts_read_early(verifier, reach->base->frame, slot_of(at));
		if (slot->bytes[byte_of(at)] != GT_BYTE_ADDRESS)
			slot->bytes[byte_of(at)] = kind;
	}
	return 0;
}

struct gt_mixture gt_verify_mix_stack(struct gt_verifier *verifier, unsigned number, int64_t min,
				      int64_t end)
{
	const struct gt_verify_frame *frame = &verifier->state->frames[number];
	struct gt_mixture mixture = {.zero = true};

	for (int64_t at = min; at < end; at++) {
		const struct gt_slot *slot = NULL;
		uint8_t kind = GT_BYTE_UNSET;

		if (slot_of(at) < frame->slot_count) {
			slot = &frame->slots[slot_of(at)];
			kind = slot->bytes[byte_of(at)];
		}
		if (kind == GT_BYTE_VALUE)
			kind = part_of(&slot->value);
		if (kind == GT_BYTE_UNSET)
			gt_facts_read_early(verifier, number, slot_of(at));
		mixture.zero &= kind == GT_BYTE_ZERO;
		mixture.address |= kind == GT_BYTE_ADDRESS;
	}
	return mixture;
}

/* A pointer on the stack is read whole. */
static int check_fill(struct gt_verifier *verifier, const struct gt_access_range *reach)
{
	const struct gt_verify_frame *frame = &verifier->state->frames[reach->base->frame];
	const struct gt_slot *slot;

	if (!reach->known || slot_of(reach->min) >= frame->slot_count ||
	    (reach->size == 8 && !(reach->min % 8)))
		return 0;
	slot = &frame->slots[slot_of(reach->min)];
	if (gt_slot_width(slot) && gt_is_pointer(&slot->value))
		return gt_reject(verifier, "invalid size of register fill");
	return 0;
}

/* The lower bytes of a number that stands at the start of a slot. */
static struct gt_value fill_part(struct gt_verifier *verifier, struct gt_slot *slot, unsigned size,
				 bool is_signed)
{
	struct gt_value value =
		gt_value_scalar(gt_scalar_cut(&slot->value.number, size, is_signed));

	if (size == 4 && gt_slot_width(slot) == 4 && fits(&slot->value, 4))
		gt_verify_link(verifier, &slot->value);
	if (fits(&slot->value, size) &&
	    (!is_signed || !(slot->value.number.all.umax >> (8 * size - 1)))) {
		value.id = slot->value.id;
		value.sum = slot->value.sum;
		value.delta = slot->value.delta;
	}
	return value;
}

/* Whether all these bytes are of a slot's value, and 0. */
static bool is_zero_value(const struct gt_slot *slot, unsigned byte, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (byte + i > 7 || slot->bytes[byte + i] != GT_BYTE_VALUE ||
		    !is_zero_part(slot, byte + i))
			return false;
	return true;
}

int gt_verify_read_stack(struct gt_verifier *verifier, const struct gt_access_range *reach,
			 bool is_signed, struct gt_value *ret_value)
{
	struct gt_verify_frame *frame = &verifier->state->frames[reach->base->frame];
	int64_t end = reach->max + (int64_t)reach->size;
	bool whole = reach->known && reach->size == 8 && !(reach->min % 8);
	struct gt_mixture mixture;

	gt_facts_use_stack(verifier, reach->base->frame, reach->min, reach->max, reach->size,
			   whole && reach->base->frame == verifier->state->depth);
	if (check_fill(verifier, reach))
		return -EACCES;
	if (reach->known && slot_of(reach->min) < frame->slot_count) {
		struct gt_slot *slot = &frame->slots[slot_of(reach->min)];
		unsigned width = gt_slot_width(slot);

		if (width == 8 && whole) {
			if (slot->value.type == GT_REG_SCALAR)
				gt_verify_link(verifier, &slot->value);
			*ret_value = slot->value;
			return 0;
		}
		if (width >= reach->size && !(reach->min % 8) && !slot->value.address) {
			*ret_value = fill_part(verifier, slot, (unsigned)reach->size, is_signed);
			return 0;
		}
		if (is_zero_value(slot, byte_of(reach->min), (unsigned)reach->size)) {
			*ret_value = gt_value_scalar(gt_scalar_constant(0));
			return 0;
		}
	}
	mixture = gt_verify_mix_stack(verifier, reach->base->frame, reach->min, end);
	*ret_value =
		gt_value_scalar(mixture.zero ? gt_scalar_constant(0)
					     : gt_scalar_loaded((unsigned)reach->size, is_signed));
	ret_value->address = mixture.address;
	return 0;
}

bool gt_verify_known_bytes(struct gt_verifier *verifier, unsigned number, unsigned size,
			   uint64_t *ret_number)
{
	const struct gt_value *base = gt_register(verifier, number);
	const struct gt_verify_frame *frame = &verifier->state->frames[base->frame];
	int64_t offset = base->fixed;
	const struct gt_slot *slot;
	unsigned zeros = 0;

	if (base->type != GT_REG_STACK || !gt_scalar_is_constant(&base->number) ||
	    offset < -GT_BPF_STACK_SIZE || offset >= 0 || slot_of(offset) >= frame->slot_count ||
	    byte_of(offset) + size > 8)
		return false;
	slot = &frame->slots[slot_of(offset)];
	while (zeros < size && slot->bytes[byte_of(offset) + zeros] == GT_BYTE_ZERO)
		zeros++;
	*ret_number = zeros == size ? 0 : slot->value.number.value;
	return zeros == size ||
	       (!byte_of(offset) && gt_slot_width(slot) == size &&
		slot->value.type == GT_REG_SCALAR && gt_scalar_is_constant(&slot->value.number));
}
