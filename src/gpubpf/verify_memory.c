/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads, stores and atomic operations. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify_private.h"

/* A pointer with an instruction's offset added: the offsets of the first byte it can reach. */
struct reach {
	const struct gt_value *base;
	unsigned number; /* of the register, for messages */
	int64_t least, greatest;
	uint64_t size;
	bool known; /* one offset only */
};

/* 0 or -EACCES where the offset is not within what offsets may be. */
static int find_reach(struct gt_verifier *verifier, unsigned number, int64_t offset, uint64_t size,
		      struct reach *ret_reach)
{
	const struct gt_value *base = gt_register(verifier, number);
	const struct gt_interval *all = &base->number.all;

	if (all->smin < -GT_MAX_OFFSET || all->smax > GT_MAX_OFFSET) {
		if (all->smin < 0)
			return gt_refuse(verifier,
					 "R%u min value is negative, either use unsigned index or "
					 "do a if (index >=0) check.",
					 number);
		return gt_refuse(verifier,
				 "R%u unbounded memory access, make sure to bounds check any such "
				 "access",
				 number);
	}
	*ret_reach = (struct reach){base,
				    number,
				    all->smin + offset,
				    all->smax + offset,
				    size,
				    gt_number_is_constant(&base->number)};
	return 0;
}

static int check_bounds(struct gt_verifier *verifier, const struct reach *reach, uint64_t limit,
			const char *what, const char *size_name)
{
	if (reach->least >= 0 && (uint64_t)reach->greatest + reach->size <= limit) {
		/* As in Linux, only what stands in the text makes up for a negative number. */
		if (reach->known || reach->base->number.all.smin >= reach->base->fixed)
			return 0;
		return gt_refuse(verifier,
				 "R%u unbounded memory access, make sure to bounds check any such "
				 "access",
				 reach->number);
	}
	if (reach->known || reach->least >= 0)
		return gt_refuse(
			verifier,
			"invalid access to %s, %s=%" PRIu64 " off=%" PRId64 " size=%" PRIu64 "%s",
			what, size_name, limit, reach->least < 0 ? reach->least : reach->greatest,
			reach->size,
			reach->known ? "" : ": the offset is not bounded to what is there");
	return gt_refuse(verifier,
			 "R%u min value is negative, either use unsigned index or do a if (index "
			 ">=0) check.",
			 reach->number);
}

static int check_stack_reach(struct gt_verifier *verifier, const struct reach *reach,
			     const char *verb)
{
	if (reach->least >= -GT_BPF_STACK_SIZE && reach->greatest + (int64_t)reach->size <= 0)
		return 0;
	if (reach->known)
		return gt_refuse(verifier, "invalid %s stack R%u off=%" PRId64 " size=%" PRIu64,
				 verb, reach->number, reach->least, reach->size);
	return gt_refuse(verifier,
			 "invalid variable-offset %s stack R%u off=%" PRId64 "..%" PRId64
			 " size=%" PRIu64,
			 verb, reach->number, reach->least, reach->greatest, reach->size);
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
	if (!reach->known)
		return gt_refuse(verifier,
				 "variable ctx access var_off=%" PRId64 "..%" PRId64 " disallowed",
				 reach->least, reach->greatest);
	if (reach->base->number.value)
		return gt_refuse(verifier,
				 "dereference of modified ctx ptr R%u off=%" PRId64 " disallowed: "
				 "read fields into variables before branches and loops choose one",
				 reach->number, (int64_t)reach->base->number.value);
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

/* A number's lower bytes stand at the start of a slot, and what they are stays known. */
static void keep_part(struct gt_slot *slot, const struct gt_value *value, unsigned size)
{
	struct gt_number number = value->number;

	break_up(slot);
	memset(slot->bytes, GT_BYTE_VALUE, size);
	slot->value = gt_value_number(gt_number_cut(&number, size, false));
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
		break_up(slot);
		slot->bytes[byte_of(at)] = kind;
	}
	return 0;
}

static int write_stack(struct gt_verifier *verifier, const struct reach *reach,
		       struct gt_value *value)
{
	struct gt_frame *frame = &verifier->state->frames[reach->base->frame];
	bool whole = reach->known && reach->size == 8 && !(reach->least % 8);
	uint8_t kind = part_of(value);
	struct gt_slot *slot;

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
		if (value->place == GT_PLACE_NUMBER && !value->id &&
		    !gt_number_is_constant(&value->number))
			value->id = ++verifier->next_id;
		memset(slot->bytes, GT_BYTE_VALUE, 8);
		slot->value = *value;
		return 0;
	}
	if (reach->known && value->place == GT_PLACE_NUMBER && !value->address &&
	    gt_number_is_constant(&value->number) && !value->number.value)
		kind = GT_BYTE_ZERO;
	else if (reach->known && value->place == GT_PLACE_NUMBER && !value->address &&
		 !(reach->least % 8)) {
		slot = slot_at(frame, slot_of(reach->least));
		if (!slot)
			return gt_verifier_no_memory(verifier);
		keep_part(slot, value, (unsigned)reach->size);
		return 0;
	}
	if (reach->known)
		return mark_bytes(verifier, frame, reach->least,
				  reach->least + (int64_t)reach->size, kind);
	/* Anywhere in there: what stood there may still stand. */
	for (int64_t at = reach->least; at < reach->greatest + (int64_t)reach->size; at++) {
		slot = slot_at(frame, slot_of(at));
		if (!slot)
			return gt_verifier_no_memory(verifier);
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
			*ret_value = slot->value;
			return 0;
		}
		if (width >= reach->size && !(reach->least % 8) && !slot->value.address) {
			*ret_value = gt_value_number(gt_number_cut(
				&slot->value.number, (unsigned)reach->size, is_signed));
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

static int check_alignment(struct gt_verifier *verifier, const struct reach *reach, int64_t offset,
			   bool atomic)
{
	const struct gt_number *number = &reach->base->number;
	uint64_t unaligned =
		(number->mask | (number->value + (uint64_t)offset)) & (reach->size - 1);

	if (!unaligned)
		return 0;
	if (reach->base->place == GT_PLACE_STACK)
		return gt_refuse(verifier, "misaligned stack access off %" PRId64 " size %" PRIu64,
				 reach->least, reach->size);
	if (atomic)
		return gt_refuse(verifier, "misaligned atomic access off %" PRId64 " size %" PRIu64,
				 reach->least, reach->size);
	return 0;
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
	if (!error)
		error = find_reach(verifier, insn->src_reg, insn->off, size, &reach);
	if (!error)
		error = check_alignment(verifier, &reach, insn->off, false);
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
	if (!error)
		error = find_reach(verifier, insn->dst_reg, insn->off, size, &reach);
	if (!error)
		error = check_alignment(verifier, &reach, insn->off, false);
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
	if (gt_is_pointer(gt_register(verifier, insn->src_reg)))
		return gt_refuse(verifier, "R%u leaks addr into mem", insn->src_reg);
	if (insn->imm == BPF_CMPXCHG && gt_is_pointer(gt_register(verifier, 0)))
		return gt_refuse(verifier, "R0 leaks addr into mem");
	if (insn->src_reg == 10 && (insn->imm & BPF_FETCH) && insn->imm != BPF_CMPXCHG)
		return gt_refuse(verifier, "frame pointer is read only");
	if (!gt_is_pointer(gt_register(verifier, insn->dst_reg)))
		return gt_refuse(verifier, "R%u invalid mem access 'scalar'", insn->dst_reg);
	return 0;
}

static int atomic(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value result = gt_value_number(gt_number_loaded(size, false)), written;
	struct reach reach = {0};
	int error = check_atomic_operands(verifier, insn);

	if (!error)
		error = find_reach(verifier, insn->dst_reg, insn->off, size, &reach);
	if (!error)
		error = check_reach(verifier, &reach,
				    GT_ACCESS_READ | GT_ACCESS_WRITE | GT_ACCESS_ATOMIC);
	if (!error)
		error = check_alignment(verifier, &reach, insn->off, true);
	if (!error)
		error = check_leak(verifier, &reach, insn->src_reg);
	if (!error && reach.base->place == GT_PLACE_STACK)
		error = check_fill(verifier, &reach);
	if (!error && reach.base->place == GT_PLACE_STACK) {
		struct mixture mixture = mix_stack(verifier, reach.base->frame, reach.least,
						   reach.greatest + (int64_t)size);

		result.address = mixture.address;
		written = gt_value_number(gt_number_unknown());
		written.address = mixture.address || gt_register(verifier, insn->src_reg)->address;
		gt_facts_use_stack(verifier, reach.base->frame, reach.least, reach.greatest, size,
				   false);
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
	struct reach reach;
	struct mixture mixture;
	int64_t end;
	int error = find_reach(verifier, number, 0, size, &reach);

	if (!error && reach.base->place == GT_PLACE_CONTEXT)
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
	int64_t offset = base->number.all.smin;
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
