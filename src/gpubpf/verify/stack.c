/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contents of the stack: spills, fills, and accesses of single bytes. */
#include <errno.h>
#include <string.h>

#include "gpubpf/verify/widen.h"

/* Return a slot of the frame, growing the frame; NULL: out of memory. */
static struct gt_slot *slot_at(struct gt_verify_frame *frame, uint32_t index)
{
	return gt_frame_grow(frame, index + 1) ? NULL : &frame->slots[index];
}

static uint8_t byte_kind(const struct gt_value *value)
{
	return gt_is_pointer(value) || value->address ? GT_BYTE_ADDRESS : GT_BYTE_SCALAR;
}

/* Turn a spilled value into bytes of its kind. */
static void break_spill(struct gt_slot *slot)
{
	unsigned width = gt_slot_width(slot);

	memset(slot->bytes, byte_kind(&slot->value), width);
}

/* Whether a scalar fits in so many bytes. */
static bool fits_bytes(const struct gt_value *value, unsigned size)
{
	return size == 8 || !(value->scalar.all.umax >> (8 * size));
}

/* Spill the low bytes of a scalar at the start of a slot. */
static void spill_part(struct gt_verifier *verifier, struct gt_slot *slot, struct gt_value *value,
		       unsigned size)
{
	break_spill(slot);
	memset(slot->bytes, GT_BYTE_SPILL, size);
	if (fits_bytes(value, size)) {
		gt_verify_assign_id(verifier, value);
		slot->value = *value;
		return;
	}
	slot->value = gt_value_scalar(gt_scalar_truncate(&value->scalar, size, false));
}

/* Slot and byte within it at a (negative) offset from the frame's top. */
static uint32_t slot_index(int64_t offset)
{
	return (uint32_t)((-offset - 1) / 8);
}
static unsigned byte_index(int64_t offset)
{
	return (unsigned)((offset + GT_BPF_STACK_SIZE) % 8);
}

int gt_verify_fill_stack(struct gt_verifier *verifier, struct gt_verify_frame *frame, int64_t min,
			 int64_t end, uint8_t kind)
{
	for (int64_t at = min; at < end; at++) {
		struct gt_slot *slot = slot_at(frame, slot_index(at));

		if (!slot)
			return gt_verifier_no_memory(verifier);
		/* As in Linux, zeros beside a spill that is overwritten become scalars. */
		for (unsigned i = 0; gt_slot_width(slot) && i < 8; i++)
			if (slot->bytes[i] == GT_BYTE_ZERO)
				slot->bytes[i] = GT_BYTE_SCALAR;
		break_spill(slot);
		slot->bytes[byte_index(at)] = kind;
	}
	return 0;
}

/* Whether a byte of a slot is 0. */
static bool is_zero_byte(const struct gt_slot *slot, unsigned byte)
{
	if (slot->bytes[byte] != GT_BYTE_SPILL)
		return slot->bytes[byte] == GT_BYTE_ZERO;
	return slot->value.type == GT_REG_SCALAR && gt_scalar_is_constant(&slot->value.scalar) &&
	       !slot->value.scalar.value;
}

int gt_verify_write_stack(struct gt_verifier *verifier, const struct gt_access_range *range,
			  struct gt_value *value)
{
	struct gt_verify_frame *frame = &verifier->state->frames[range->base->frame];
	bool whole = range->known && range->size == 8 && !(range->min % 8);
	uint8_t kind = byte_kind(value);
	struct gt_slot *slot;
	bool zero;

	if (value->type == GT_REG_STACK && range->base->frame != verifier->state->depth)
		return gt_reject(verifier,
				 "cannot spill pointers to stack into stack frame of the caller");
	if (range->known && !whole && gt_is_pointer(value))
		return gt_reject(verifier, "invalid size of register spill");
	gt_facts_use_stack(verifier, range->base->frame, range->min, range->max, range->size,
			   whole && range->base->frame == verifier->state->depth);
	if (whole) {
		slot = slot_at(frame, slot_index(range->min));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		if (value->type == GT_REG_SCALAR)
			gt_verify_assign_id(verifier, value);
		memset(slot->bytes, GT_BYTE_SPILL, 8);
		slot->value = *value;
		return 0;
	}
	zero = value->type == GT_REG_SCALAR && !value->address &&
	       gt_scalar_is_constant(&value->scalar) && !value->scalar.value;
	if (range->known && value->type == GT_REG_SCALAR && !value->address && !(range->min % 8)) {
		slot = slot_at(frame, slot_index(range->min));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		spill_part(verifier, slot, value, (unsigned)range->size);
		return 0;
	}
	if (range->known && zero)
		kind = GT_BYTE_ZERO;
	if (range->known)
		return gt_verify_fill_stack(verifier, frame, range->min,
					    range->min + (int64_t)range->size, kind);
	/* At an unknown offset: old bytes may remain, and show an offset that is an address. */
	if (range->base->address)
		kind = GT_BYTE_ADDRESS;
	for (int64_t at = range->min; at < range->max + (int64_t)range->size; at++) {
		slot = slot_at(frame, slot_index(at));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		if (zero && is_zero_byte(slot, byte_index(at)))
			continue;
		break_spill(slot);
		if (slot->bytes[byte_index(at)] == GT_BYTE_UNSET)
			gt_facts_read_early(verifier, range->base->frame, slot_index(at));
		if (slot->bytes[byte_index(at)] != GT_BYTE_ADDRESS)
			slot->bytes[byte_index(at)] = kind;
	}
	return 0;
}

struct gt_stack_contents gt_verify_stack_contents(struct gt_verifier *verifier, unsigned frame_no,
						  int64_t min, int64_t end)
{
	const struct gt_verify_frame *frame = &verifier->state->frames[frame_no];
	struct gt_stack_contents contents = {.zero = true};

	for (int64_t at = min; at < end; at++) {
		const struct gt_slot *slot = NULL;
		uint8_t kind = GT_BYTE_UNSET;

		if (slot_index(at) < frame->slot_count) {
			slot = &frame->slots[slot_index(at)];
			kind = slot->bytes[byte_index(at)];
		}
		if (kind == GT_BYTE_SPILL)
			kind = byte_kind(&slot->value);
		if (kind == GT_BYTE_UNSET)
			gt_facts_read_early(verifier, frame_no, slot_index(at));
		contents.zero &= kind == GT_BYTE_ZERO;
		contents.address |= kind == GT_BYTE_ADDRESS;
	}
	return contents;
}

/* Reject a partial read of a spilled pointer. */
static int check_pointer_fill(struct gt_verifier *verifier, const struct gt_access_range *range)
{
	const struct gt_verify_frame *frame = &verifier->state->frames[range->base->frame];
	const struct gt_slot *slot;

	if (!range->known || slot_index(range->min) >= frame->slot_count ||
	    (range->size == 8 && !(range->min % 8)))
		return 0;
	slot = &frame->slots[slot_index(range->min)];
	if (gt_slot_width(slot) && gt_is_pointer(&slot->value))
		return gt_reject(verifier, "invalid size of register fill");
	return 0;
}

/* Read the low bytes of a scalar at the start of a slot. */
static struct gt_value fill_part(struct gt_verifier *verifier, struct gt_slot *slot, unsigned size,
				 bool is_signed)
{
	struct gt_value value =
		gt_value_scalar(gt_scalar_truncate(&slot->value.scalar, size, is_signed));

	if (size == 4 && gt_slot_width(slot) == 4 && fits_bytes(&slot->value, 4))
		gt_verify_assign_id(verifier, &slot->value);
	if (fits_bytes(&slot->value, size) &&
	    (!is_signed || !(slot->value.scalar.all.umax >> (8 * size - 1)))) {
		value.id = slot->value.id;
		value.delta_bits = slot->value.delta_bits;
		value.delta = slot->value.delta;
		gt_origin_copy(&slot->value, &value);
	}
	return value;
}

/* Whether all these bytes are part of a spilled 0. */
static bool is_zero_spill(const struct gt_slot *slot, unsigned byte, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (byte + i > 7 || slot->bytes[byte + i] != GT_BYTE_SPILL ||
		    !is_zero_byte(slot, byte + i))
			return false;
	return true;
}

int gt_verify_read_stack(struct gt_verifier *verifier, const struct gt_access_range *range,
			 bool is_signed, struct gt_value *ret_value)
{
	struct gt_verify_frame *frame = &verifier->state->frames[range->base->frame];
	int64_t end = range->max + (int64_t)range->size;
	bool whole = range->known && range->size == 8 && !(range->min % 8);
	struct gt_stack_contents contents;

	gt_facts_use_stack(verifier, range->base->frame, range->min, range->max, range->size,
			   whole && range->base->frame == verifier->state->depth);
	if (check_pointer_fill(verifier, range))
		return -EACCES;
	if (range->known && slot_index(range->min) < frame->slot_count) {
		struct gt_slot *slot = &frame->slots[slot_index(range->min)];
		unsigned width = gt_slot_width(slot);

		if (width == 8 && whole) {
			if (slot->value.type == GT_REG_SCALAR)
				gt_verify_assign_id(verifier, &slot->value);
			*ret_value = slot->value;
			return 0;
		}
		if (width >= range->size && !(range->min % 8) && !slot->value.address) {
			*ret_value = fill_part(verifier, slot, (unsigned)range->size, is_signed);
			return 0;
		}
		if (is_zero_spill(slot, byte_index(range->min), (unsigned)range->size)) {
			*ret_value = gt_value_scalar(gt_scalar_constant(0));
			return 0;
		}
	}
	contents = gt_verify_stack_contents(verifier, range->base->frame, range->min, end);
	*ret_value =
		gt_value_scalar(contents.zero ? gt_scalar_constant(0)
					      : gt_scalar_loaded((unsigned)range->size, is_signed));
	ret_value->address = contents.address;
	return 0;
}

bool gt_verify_known_bytes(struct gt_verifier *verifier, unsigned regno, unsigned size,
			   uint64_t *ret_number)
{
	const struct gt_value *base = gt_register(verifier, regno);
	const struct gt_verify_frame *frame = &verifier->state->frames[base->frame];
	int64_t offset = base->fixed_offset;
	const struct gt_slot *slot;
	unsigned zeros = 0;

	if (base->type != GT_REG_STACK || !gt_scalar_is_constant(&base->scalar) ||
	    offset < -GT_BPF_STACK_SIZE || offset >= 0 || slot_index(offset) >= frame->slot_count ||
	    byte_index(offset) + size > 8)
		return false;
	slot = &frame->slots[slot_index(offset)];
	while (zeros < size && slot->bytes[byte_index(offset) + zeros] == GT_BYTE_ZERO)
		zeros++;
	*ret_number = zeros == size ? 0 : slot->value.scalar.value;
	return zeros == size ||
	       (!byte_index(offset) && gt_slot_width(slot) == size &&
		slot->value.type == GT_REG_SCALAR && gt_scalar_is_constant(&slot->value.scalar));
}
