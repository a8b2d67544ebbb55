/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads, stores and atomic operations. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify_private.h"

/* A pointer with an instruction's offset added: where the first byte can be. */
struct reach {
	const struct gt_value *base;
	unsigned number;         /* of the register, for messages */
	int64_t fixed;           /* the known part of the offset, that of the instruction with it */
	int64_t least, greatest; /* offsets; held back from wrapping */
	uint64_t size;
	bool known; /* one offset only */
};

/* A sum that does not wrap: what is that far away is out of bounds anyway. */
static int64_t add_far(int64_t left, int64_t right)
{
	int64_t sum;

	if (__builtin_add_overflow(left, right, &sum))
		return left < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
	return sum > INT64_MAX / 2 ? INT64_MAX / 2 : sum < INT64_MIN / 2 ? INT64_MIN / 2 : sum;
}

static struct reach find_reach(struct gt_verifier *verifier, unsigned number, int64_t offset,
			       uint64_t size)
{
	const struct gt_value *base = gt_register(verifier, number);
	int64_t fixed = base->fixed + offset;

	return (struct reach){
		.base = base,
		.number = number,
		.fixed = fixed,
		.least = add_far(base->number.all.smin, fixed),
		.greatest = add_far(base->number.all.smax, fixed),
		.size = size,
		.known = gt_number_is_constant(&base->number),
	};
}

/* The unknown part of a pointer's offset, as Linux shows it. */
static const char *show_bits(const struct gt_number *number, char text[48])
{
	snprintf(text, 48, "(0x%" PRIx64 "; 0x%" PRIx64 ")", number->value, number->mask);
	return text;
}

/* What is reached lies within `limit` bytes. The steps and their words are those of Linux. */
static int check_bounds(struct gt_verifier *verifier, const struct reach *reach, uint64_t limit,
			const char *what, const char *size_name)
{
	const struct gt_interval *part = &reach->base->number.all;
	int64_t ends[2] = {reach->least, add_far((int64_t)part->umax, reach->fixed)};

	if (part->smin < 0 && reach->least < 0)
		return gt_refuse(verifier,
				 "R%u min value is negative, either use unsigned index or do a if "
				 "(index >=0) check.",
				 reach->number);
	for (unsigned i = 0; i < 2; i++) {
		if (i && part->umax >= GT_MAX_OFFSET)
			return gt_refuse(verifier,
					 "R%u unbounded memory access, make sure to bounds check "
					 "any such access",
					 reach->number);
		if (ends[i] < 0 || (uint64_t)ends[i] + reach->size > limit)
			return gt_refuse(verifier,
					 "invalid access to %s, %s=%" PRIu64 " off=%" PRId64
					 " size=%" PRIu64
					 "; R%u %s value is outside of the allowed memory range",
					 what, size_name, limit, ends[i], reach->size,
					 reach->number, i ? "max" : "min");
	}
	return 0;
}

static int check_stack_reach(struct gt_verifier *verifier, const struct reach *reach,
			     const char *verb)
{
	const struct gt_number *part = &reach->base->number;
	char bits[48];

	if (!reach->known && (part->all.smax >= GT_MAX_OFFSET || part->all.smin <= -GT_MAX_OFFSET))
		return gt_refuse(verifier, "invalid unbounded variable-offset %s stack R%u", verb,
				 reach->number);
	if (reach->least >= -GT_BPF_STACK_SIZE && reach->least < 0 &&
	    reach->greatest + (int64_t)reach->size <= 0)
		return 0;
	if (reach->known)
		return gt_refuse(verifier, "invalid %s stack R%u off=%" PRId64 " size=%" PRIu64,
				 verb, reach->number, reach->least, reach->size);
	return gt_refuse(verifier,
			 "invalid variable-offset %s stack R%u var_off=%s off=%" PRId64
			 " size=%" PRIu64,
			 verb, reach->number, show_bits(part, bits), reach->fixed, reach->size);
}

static int check_map(struct gt_verifier *verifier, const struct reach *reach, unsigned access)
{
	const struct gt_bpf_map *map = &verifier->object->maps[reach->base->map];

	if ((access & GT_ACCESS_WRITE) && map->read_only)
		return gt_refuse(verifier,
				 "write into map forbidden, value_size=%u off=%" PRId64
				 " size=%" PRIu64,
				 map->value_size, reach->least, reach->size);
	return check_bounds(verifier, reach, map->value_size, "map value", "value_size");
}

static int check_context(struct gt_verifier *verifier, const struct reach *reach, unsigned access)
{
	char bits[48];

	if (reach->base->fixed < 0)
		return gt_refuse(verifier, "negative offset ctx ptr R%u off=%" PRId64 " disallowed",
				 reach->number, reach->base->fixed);
	if (reach->base->fixed)
		return gt_refuse(verifier,
				 "dereference of modified ctx ptr R%u off=%" PRId64 " disallowed: "
				 "read fields into variables before branches and loops choose one",
				 reach->number, reach->base->fixed);
	if (!reach->known || reach->base->number.value)
		return gt_refuse(verifier, "variable ctx access var_off=%s disallowed",
				 show_bits(&reach->base->number, bits));
	if (access & GT_ACCESS_ATOMIC)
		return gt_refuse(verifier, "BPF_ATOMIC stores into R%u ctx is not allowed",
				 reach->number);
	if (verifier->options->section && !(access & GT_ACCESS_WRITE))
		return gt_verify_field(verifier, reach->least, reach->size);
	if ((access & GT_ACCESS_WRITE) || reach->least < 0 ||
	    (uint64_t)reach->least % reach->size ||
	    (uint64_t)reach->least + reach->size > reach->base->size)
		return gt_refuse(verifier,
				 "invalid bpf_context access off=%" PRId64 " size=%" PRIu64 "%s",
				 reach->least, reach->size,
				 verifier->options->section && (access & GT_ACCESS_WRITE)
					 ? ": contexts are read only"
					 : "");
	return 0;
}

/* Bounds and rights of an access; the stack's contents are the caller's. */
static int check_reach(struct gt_verifier *verifier, const struct reach *reach, unsigned access)
{
	const struct gt_value *base = reach->base;

	if (base->maybe_null || !gt_is_pointer(base) || base->place == GT_PLACE_MAP)
		return gt_refuse(verifier, "R%u invalid mem access '%s'", reach->number,
				 gt_place_name(base));
	switch (base->place) {
	case GT_PLACE_MAP_VALUE:
		return check_map(verifier, reach, access);
	case GT_PLACE_CONTEXT:
		return check_context(verifier, reach, access);
	case GT_PLACE_STACK:
		return check_stack_reach(verifier, reach,
					 access & GT_ACCESS_WRITE ? "write to" : "read from");
	default:
		return check_bounds(verifier, reach, base->size, "memory", "mem_size");
	}
}

/* The frame's slot, grown so far; NULL where memory runs out. */
static struct gt_slot *slot_at(struct gt_frame *frame, uint32_t number)
{
	return gt_frame_grow(frame, number + 1) ? NULL : &frame->slots[number];
}

static uint8_t part_of(const struct gt_value *value)
{
	return gt_is_pointer(value) || value->address ? GT_BYTE_ADDRESS : GT_BYTE_NUMBER;
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
	slot->value = gt_value_number(gt_number_cut(&value->number, size, false));
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

/* Marks bytes least … end - 1 of a frame's stack. */
static int mark_bytes(struct gt_verifier *verifier, struct gt_frame *frame, int64_t least,
		      int64_t end, uint8_t kind)
{
	for (int64_t at = least; at < end; at++) {
		struct gt_slot *slot = slot_at(frame, slot_of(at));

		if (!slot)
			return gt_verifier_no_memory(verifier);
		/* As in Linux, zeros next to a value that is no more are numbers, too. */
		for (unsigned i = 0; gt_slot_width(slot) && i < 8; i++)
			if (slot->bytes[i] == GT_BYTE_ZERO)
				slot->bytes[i] = GT_BYTE_NUMBER;
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
	return slot->value.place == GT_PLACE_NUMBER && gt_number_is_constant(&slot->value.number) &&
	       !slot->value.number.value;
}

static int write_stack(struct gt_verifier *verifier, const struct reach *reach,
		       struct gt_value *value)
{
	struct gt_frame *frame = &verifier->state->frames[reach->base->frame];
	bool whole = reach->known && reach->size == 8 && !(reach->least % 8);
	uint8_t kind = part_of(value);
	struct gt_slot *slot;
	bool zero;

	if (value->place == GT_PLACE_STACK && reach->base->frame != verifier->state->depth)
		return gt_refuse(verifier,
				 "cannot spill pointers to stack into stack frame of the caller");
	if (reach->known && !whole && gt_is_pointer(value))
		return gt_refuse(verifier, "invalid size of register spill");
	gt_facts_use_stack(verifier, reach->base->frame, reach->least, reach->greatest, reach->size,
			   whole && reach->base->frame == verifier->state->depth);
	if (whole) {
		slot = slot_at(frame, slot_of(reach->least));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		if (value->place == GT_PLACE_NUMBER)
			gt_verify_link(verifier, value);
		memset(slot->bytes, GT_BYTE_VALUE, 8);
		slot->value = *value;
		return 0;
	}
	zero = value->place == GT_PLACE_NUMBER && !value->address &&
	       gt_number_is_constant(&value->number) && !value->number.value;
	if (reach->known && value->place == GT_PLACE_NUMBER && !value->address &&
	    !(reach->least % 8)) {
		slot = slot_at(frame, slot_of(reach->least));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		keep_part(verifier, slot, value, (unsigned)reach->size);
		return 0;
	}
	if (reach->known && zero)
		kind = GT_BYTE_ZERO;
	if (reach->known)
		return mark_bytes(verifier, frame, reach->least,
				  reach->least + (int64_t)reach->size, kind);
	/* Anywhere in there: what stood there may still stand. */
	for (int64_t at = reach->least; at < reach->greatest + (int64_t)reach->size; at++) {
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

/* What bytes of the stack are, taken together. */
struct mixture {
	bool zero, address;
};

static struct mixture mix_stack(struct gt_verifier *verifier, unsigned number, int64_t least,
				int64_t end)
{
	const struct gt_frame *frame = &verifier->state->frames[number];
	struct mixture mixture = {.zero = true};

	for (int64_t at = least; at < end; at++) {
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
static int check_fill(struct gt_verifier *verifier, const struct reach *reach)
{
	const struct gt_frame *frame = &verifier->state->frames[reach->base->frame];
	const struct gt_slot *slot;

	if (!reach->known || slot_of(reach->least) >= frame->slot_count ||
	    (reach->size == 8 && !(reach->least % 8)))
		return 0;
	slot = &frame->slots[slot_of(reach->least)];
	if (gt_slot_width(slot) && gt_is_pointer(&slot->value))
		return gt_refuse(verifier, "invalid size of register fill");
	return 0;
}

/* The lower bytes of a number that stands at the start of a slot. */
static struct gt_value fill_part(struct gt_verifier *verifier, struct gt_slot *slot, unsigned size,
				 bool is_signed)
{
	struct gt_value value =
		gt_value_number(gt_number_cut(&slot->value.number, size, is_signed));

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

/* What a load from the stack gives. */
static int read_stack(struct gt_verifier *verifier, const struct reach *reach, bool is_signed,
		      struct gt_value *ret_value)
{
	struct gt_frame *frame = &verifier->state->frames[reach->base->frame];
	int64_t end = reach->greatest + (int64_t)reach->size;
	bool whole = reach->known && reach->size == 8 && !(reach->least % 8);
	struct mixture mixture;

	gt_facts_use_stack(verifier, reach->base->frame, reach->least, reach->greatest, reach->size,
			   whole && reach->base->frame == verifier->state->depth);
	if (check_fill(verifier, reach))
		return -EACCES;
	if (reach->known && slot_of(reach->least) < frame->slot_count) {
		struct gt_slot *slot = &frame->slots[slot_of(reach->least)];
		unsigned width = gt_slot_width(slot);

		if (width == 8 && whole) {
			if (slot->value.place == GT_PLACE_NUMBER)
				gt_verify_link(verifier, &slot->value);
			*ret_value = slot->value;
			return 0;
		}
		if (width >= reach->size && !(reach->least % 8) && !slot->value.address) {
			*ret_value = fill_part(verifier, slot, (unsigned)reach->size, is_signed);
			return 0;
		}
		if (is_zero_value(slot, byte_of(reach->least), (unsigned)reach->size)) {
			*ret_value = gt_value_number(gt_number_constant(0));
			return 0;
		}
	}
	mixture = mix_stack(verifier, reach->base->frame, reach->least, end);
	*ret_value =
		gt_value_number(mixture.zero ? gt_number_constant(0)
					     : gt_number_loaded((unsigned)reach->size, is_signed));
	ret_value->address = mixture.address;
	return 0;
}

static int check_alignment(struct gt_verifier *verifier, const struct reach *reach, bool atomic)
{
	const struct gt_number *number = &reach->base->number;
	uint64_t unaligned =
		(number->mask | (number->value + (uint64_t)reach->fixed)) & (reach->size - 1);
	bool stack = reach->base->place == GT_PLACE_STACK;
	char bits[48];

	if (!unaligned || (!stack && !atomic))
		return 0;
	return gt_refuse(verifier,
			 "misaligned %saccess off %s+%" PRId64 "+%" PRId64 " size %" PRIu64 "%s",
			 stack                                      ? "stack "
			 : reach->base->place == GT_PLACE_MAP_VALUE ? "value "
								    : "",
			 reach->known ? "0" : show_bits(number, bits), reach->base->fixed,
			 reach->fixed - reach->base->fixed, reach->size,
			 atomic ? ": atomic operations are aligned" : "");
}

/* The known bytes of a constant map. */
static bool read_constant(struct gt_verifier *verifier, const struct reach *reach, bool is_signed,
			  struct gt_value *ret_value)
{
	const struct gt_bpf_map *map;
	uint64_t value = 0;

	if (reach->base->place != GT_PLACE_MAP_VALUE || !reach->known)
		return false;
	map = &verifier->object->maps[reach->base->map];
	if (!map->constant || map->max_entries != 1)
		return false;
	if (map->initial)
		memcpy(&value, map->initial + reach->least, reach->size);
	if (is_signed)
		value = (uint64_t)((int64_t)(value << (64 - 8 * reach->size)) >>
				   (64 - 8 * reach->size));
	*ret_value = gt_value_number(gt_number_constant(value));
	return true;
}

/* A field of a context is no memory: one load cannot be of the one and of the other. */
static int check_mixture(struct gt_verifier *verifier, const struct reach *reach)
{
	struct gt_flow *flow = &verifier->flow[verifier->at];

	flow->reads_context |= reach->base->place == GT_PLACE_CONTEXT;
	flow->reads_memory |= reach->base->place != GT_PLACE_CONTEXT;
	if (flow->reads_context && flow->reads_memory)
		return gt_refuse(verifier, "same insn cannot be used with different pointers");
	return 0;
}

static int load(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	bool is_signed = BPF_MODE(insn->code) == BPF_MEMSX;
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value value;
	struct reach reach;
	int error = gt_verify_read(verifier, insn->src_reg);

	if (!error && insn->dst_reg == 10)
		error = gt_refuse(verifier, "frame pointer is read only");
	if (!error && !gt_is_pointer(gt_register(verifier, insn->src_reg)))
		error = gt_refuse(verifier, "R%u invalid mem access 'scalar'", insn->src_reg);
	if (error)
		return error;
	reach = find_reach(verifier, insn->src_reg, insn->off, size);
	error = check_alignment(verifier, &reach, false);
	if (!error)
		error = check_reach(verifier, &reach, GT_ACCESS_READ);
	if (!error)
		error = check_mixture(verifier, &reach);
	if (error)
		return error;
	if (reach.base->place == GT_PLACE_STACK)
		error = read_stack(verifier, &reach, is_signed, &value);
	else if (!read_constant(verifier, &reach, is_signed, &value))
		value = gt_value_number(gt_number_loaded(size, is_signed));
	if (!error)
		*gt_register(verifier, insn->dst_reg) = value;
	return error;
}

/* Addresses stay out of maps and rings, where somebody else would read them. */
static int check_leak(struct gt_verifier *verifier, const struct reach *reach, unsigned source)
{
	const struct gt_value *value = gt_register(verifier, source);

	if (!gt_is_pointer(value) && !value->address)
		return 0;
	if (reach->base->place == GT_PLACE_MAP_VALUE)
		return gt_refuse(verifier, "R%u leaks addr into map", source);
	if (reach->base->place == GT_PLACE_RECORD)
		return gt_refuse(verifier, "R%u leaks addr into mem", source);
	return 0;
}

static int store(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	bool from_register = BPF_CLASS(insn->code) == BPF_STX;
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value constant =
		gt_value_number(gt_number_constant((uint64_t)(int64_t)insn->imm));
	struct reach reach;
	int error = from_register ? gt_verify_read(verifier, insn->src_reg) : 0;

	if (!error)
		error = gt_verify_read(verifier, insn->dst_reg);
	if (!error && !gt_is_pointer(gt_register(verifier, insn->dst_reg)))
		error = gt_refuse(verifier, "R%u invalid mem access 'scalar'", insn->dst_reg);
	if (error)
		return error;
	reach = find_reach(verifier, insn->dst_reg, insn->off, size);
	error = check_alignment(verifier, &reach, false);
	if (!error)
		error = check_reach(verifier, &reach, GT_ACCESS_WRITE);
	if (!error && from_register)
		error = check_leak(verifier, &reach, insn->src_reg);
	if (error || reach.base->place != GT_PLACE_STACK)
		return error;
	return write_stack(verifier, &reach,
			   from_register ? gt_register(verifier, insn->src_reg) : &constant);
}

static int check_atomic_operands(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	int error = gt_verify_read(verifier, insn->src_reg);

	if (!error)
		error = gt_verify_read(verifier, insn->dst_reg);
	if (!error && insn->imm == BPF_CMPXCHG)
		error = gt_verify_read(verifier, 0);
	if (error)
		return error;
	if (insn->src_reg == 10 && (insn->imm & BPF_FETCH) && insn->imm != BPF_CMPXCHG)
		return gt_refuse(verifier, "frame pointer is read only");
	if (gt_is_pointer(gt_register(verifier, insn->src_reg)))
		return gt_refuse(verifier, "R%u leaks addr into mem", insn->src_reg);
	if (insn->imm == BPF_CMPXCHG && gt_is_pointer(gt_register(verifier, 0)))
		return gt_refuse(verifier, "R0 leaks addr into mem");
	if (!gt_is_pointer(gt_register(verifier, insn->dst_reg)))
		return gt_refuse(verifier, "R%u invalid mem access 'scalar'", insn->dst_reg);
	return 0;
}

static int atomic(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value result = gt_value_number(gt_number_loaded(size, false)), written;
	char bits[48];
	struct reach reach;
	int error = check_atomic_operands(verifier, insn);

	if (error)
		return error;
	reach = find_reach(verifier, insn->dst_reg, insn->off, size);
	error = reach.base->place == GT_PLACE_CONTEXT ? 0 : check_alignment(verifier, &reach, true);
	if (!error)
		error = check_reach(verifier, &reach,
				    GT_ACCESS_READ | GT_ACCESS_WRITE | GT_ACCESS_ATOMIC);
	if (!error)
		error = check_leak(verifier, &reach, insn->src_reg);
	if (!error && reach.base->place == GT_PLACE_STACK && !reach.known)
		error = gt_refuse(verifier,
				  "variable offset stack pointer cannot be passed into helper "
				  "function; var_off=%s off=%" PRId64 " size=%u",
				  show_bits(&reach.base->number, bits), reach.fixed, size);
	if (!error && reach.base->place == GT_PLACE_STACK) {
		error = read_stack(verifier, &reach, false, &result);
		written = gt_value_number(gt_number_unknown());
		written.address = gt_is_pointer(&result) || result.address ||
				  gt_register(verifier, insn->src_reg)->address;
		if (gt_is_pointer(&result)) { /* what was exchanged is followed no more */
			result = gt_value_number(gt_number_unknown());
			result.address = true;
		}
		gt_facts_use_stack(verifier, reach.base->frame, reach.least, reach.greatest, size,
				   false);
		if (!error)
			error = write_stack(verifier, &reach, &written);
	}
	if (error)
		return error;
	if (insn->imm == BPF_CMPXCHG)
		*gt_register(verifier, 0) = result;
	else if (insn->imm & BPF_FETCH)
		*gt_register(verifier, insn->src_reg) = result;
	return 0;
}

int gt_verify_memory(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	if (BPF_CLASS(insn->code) == BPF_LDX)
		return load(verifier, insn);
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return atomic(verifier, insn);
	return store(verifier, insn);
}

int gt_verify_helper_memory(struct gt_verifier *verifier, unsigned number, uint64_t size,
			    unsigned access)
{
	struct reach reach = find_reach(verifier, number, 0, size);
	struct mixture mixture;
	int64_t end;
	int error = 0;

	if (reach.base->place == GT_PLACE_CONTEXT)
		error = gt_refuse(verifier, "R%u type=ctx expected=fp, map_value, mem", number);
	if (!error)
		error = check_reach(verifier, &reach, access);
	if (error || reach.base->place != GT_PLACE_STACK || !size)
		return error;
	end = reach.greatest + (int64_t)size;
	gt_facts_use_stack(verifier, reach.base->frame, reach.least, reach.greatest, size, false);
	if (!(access & GT_ACCESS_READ)) {
		struct gt_value written = gt_value_number(gt_number_unknown());

		/* Not a value in a slot: several slots at once. */
		if (reach.known)
			return mark_bytes(verifier, &verifier->state->frames[reach.base->frame],
					  reach.least, end, GT_BYTE_NUMBER);
		return write_stack(verifier, &reach, &written);
	}
	mixture = mix_stack(verifier, reach.base->frame, reach.least, end);
	if (mixture.address)
		return gt_refuse(verifier, "R%u leaks addr into map", number);
	return 0;
}

bool gt_verify_known_bytes(struct gt_verifier *verifier, unsigned number, unsigned size,
			   uint64_t *ret_number)
{
	const struct gt_value *base = gt_register(verifier, number);
	const struct gt_frame *frame = &verifier->state->frames[base->frame];
	int64_t offset = base->fixed;
	const struct gt_slot *slot;
	unsigned zeros = 0;

	if (base->place != GT_PLACE_STACK || !gt_number_is_constant(&base->number) ||
	    offset < -GT_BPF_STACK_SIZE || offset >= 0 || slot_of(offset) >= frame->slot_count ||
	    byte_of(offset) + size > 8)
		return false;
	slot = &frame->slots[slot_of(offset)];
	while (zeros < size && slot->bytes[byte_of(offset) + zeros] == GT_BYTE_ZERO)
		zeros++;
	*ret_number = zeros == size ? 0 : slot->value.number.value;
	return zeros == size ||
	       (!byte_of(offset) && gt_slot_width(slot) == size &&
		slot->value.place == GT_PLACE_NUMBER && gt_number_is_constant(&slot->value.number));
}
