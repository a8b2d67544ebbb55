/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads, stores and atomic operations. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/private.h"

/* A saturating sum: such large offsets are out of bounds in any case. */
static int64_t add_saturated(int64_t left, int64_t right)
{
	int64_t sum;

	if (__builtin_add_overflow(left, right, &sum))
		return left < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
	return sum > INT64_MAX / 2 ? INT64_MAX / 2 : sum < INT64_MIN / 2 ? INT64_MIN / 2 : sum;
}

static struct gt_access_range access_range(struct gt_verifier *verifier, unsigned regno,
					   int64_t offset, uint64_t size)
{
	const struct gt_value *base = gt_register(verifier, regno);
	int64_t fixed = base->fixed_offset + offset;

	return (struct gt_access_range){
		.base = base,
		.regno = regno,
		.fixed_offset = fixed,
		.min = add_saturated(base->scalar.all.smin, fixed),
		.max = add_saturated(base->scalar.all.smax, fixed),
		.size = size,
		.known = gt_scalar_is_constant(&base->scalar),
	};
}

/* Format the variable part of a pointer's offset as Linux does. */
static const char *format_bits(const struct gt_scalar *scalar, char text[48])
{
	snprintf(text, 48, "(0x%" PRIx64 "; 0x%" PRIx64 ")", scalar->value, scalar->mask);
	return text;
}

/* Check that an access is within `limit` bytes, in the order and with the messages of Linux. */
static int check_bounds(struct gt_verifier *verifier, const struct gt_access_range *range,
			uint64_t limit, const char *what, const char *size_name)
{
	const struct gt_interval *part = &range->base->scalar.all;
	int64_t ends[2] = {range->min, add_saturated((int64_t)part->umax, range->fixed_offset)};

	if (part->smin < 0 && range->min < 0)
		return gt_reject(verifier,
				 "R%u min value is negative, either use unsigned index or do a if "
				 "(index >=0) check.",
				 range->regno);
	for (unsigned i = 0; i < 2; i++) {
		if (i && part->umax >= GT_MAX_OFFSET)
			return gt_reject(verifier,
					 "R%u unbounded memory access, make sure to bounds check "
					 "any such access",
					 range->regno);
		if (ends[i] < 0 || (uint64_t)ends[i] + range->size > limit)
			return gt_reject(verifier,
					 "invalid access to %s, %s=%" PRIu64 " off=%" PRId64
					 " size=%" PRIu64
					 "; R%u %s value is outside of the allowed memory range",
					 what, size_name, limit, ends[i], range->size, range->regno,
					 i ? "max" : "min");
	}
	return 0;
}

static int check_stack_bounds(struct gt_verifier *verifier, const struct gt_access_range *range,
			      const char *verb)
{
	const struct gt_scalar *part = &range->base->scalar;
	char bits[48];

	if (!range->known && (part->all.smax >= GT_MAX_OFFSET || part->all.smin <= -GT_MAX_OFFSET))
		return gt_reject(verifier, "invalid unbounded variable-offset %s stack R%u", verb,
				 range->regno);
	if (range->min >= -GT_BPF_STACK_SIZE && range->min < 0 &&
	    range->max + (int64_t)range->size <= 0)
		return 0;
	if (range->known)
		return gt_reject(verifier, "invalid %s stack R%u off=%" PRId64 " size=%" PRIu64,
				 verb, range->regno, range->min, range->size);
	return gt_reject(
		verifier,
		"invalid variable-offset %s stack R%u var_off=%s off=%" PRId64 " size=%" PRIu64,
		verb, range->regno, format_bits(part, bits), range->fixed_offset, range->size);
}

static int check_map_access(struct gt_verifier *verifier, const struct gt_access_range *range,
			    unsigned access)
{
	const struct gt_bpf_map *map = &verifier->object->maps[range->base->map];

	if ((access & GT_ACCESS_WRITE) && gt_bpf_map_is_on_host(map))
		return gt_reject(verifier,
				 "write into map forbidden: map '%s' is on the host, and a lookup "
				 "returns a copy; use bpf_map_update_elem or bpf_map_add",
				 map->name);
	if (((access & GT_ACCESS_READ) && map->write_only) ||
	    ((access & GT_ACCESS_WRITE) && map->read_only))
		return gt_reject(
			verifier, "%s map forbidden, value_size=%u off=%" PRId64 " size=%" PRIu64,
			(access & GT_ACCESS_READ) && map->write_only ? "read from" : "write into",
			map->value_size, range->min, range->size);
	return check_bounds(verifier, range, map->value_size, "map value", "value_size");
}

static int check_context_access(struct gt_verifier *verifier, const struct gt_access_range *range,
				unsigned access)
{
	char bits[48];

	if (range->base->fixed_offset < 0)
		return gt_reject(verifier, "negative offset ctx ptr R%u off=%" PRId64 " disallowed",
				 range->regno, range->base->fixed_offset);
	if (range->base->fixed_offset)
		return gt_reject(verifier,
				 "dereference of modified ctx ptr R%u off=%" PRId64
				 " disallowed: read fields into variables before the branch or "
				 "loop that selects one",
				 range->regno, range->base->fixed_offset);
	if (!range->known || range->base->scalar.value)
		return gt_reject(verifier, "variable ctx access var_off=%s disallowed",
				 format_bits(&range->base->scalar, bits));
	if (access & GT_ACCESS_ATOMIC)
		return gt_reject(verifier, "BPF_ATOMIC stores into R%u ctx is not allowed",
				 range->regno);
	if (verifier->options->section && !(access & GT_ACCESS_WRITE))
		return gt_verify_field(verifier, range->min, range->size);
	if ((access & GT_ACCESS_WRITE) || range->min < 0 || (uint64_t)range->min % range->size ||
	    (uint64_t)range->min + range->size > range->base->size)
		return gt_reject(verifier,
				 "invalid bpf_context access off=%" PRId64 " size=%" PRIu64 "%s",
				 range->min, range->size,
				 verifier->options->section && (access & GT_ACCESS_WRITE)
					 ? ": contexts are read-only"
					 : "");
	return 0;
}

/* Check bounds and permissions of an access; the caller checks the contents of the stack. */
static int check_access(struct gt_verifier *verifier, const struct gt_access_range *range,
			unsigned access)
{
	const struct gt_value *base = range->base;

	if (base->maybe_null || !gt_is_pointer(base) || base->type == GT_REG_MAP ||
	    base->type == GT_REG_FUNCTION)
		return gt_reject(verifier, "R%u invalid mem access '%s'", range->regno,
				 gt_register_type_name(base));
	switch (base->type) {
	case GT_REG_MAP_VALUE:
		return check_map_access(verifier, range, access);
	case GT_REG_CONTEXT:
		return check_context_access(verifier, range, access);
	case GT_REG_STACK:
		return check_stack_bounds(verifier, range,
					  access & GT_ACCESS_WRITE ? "write to" : "read from");
	default:
		return check_bounds(verifier, range, base->size, "memory", "mem_size");
	}
}

static int check_alignment(struct gt_verifier *verifier, const struct gt_access_range *range,
			   bool is_atomic)
{
	const struct gt_scalar *scalar = &range->base->scalar;
	uint64_t unaligned = (scalar->mask | (scalar->value + (uint64_t)range->fixed_offset)) &
			     (range->size - 1);
	bool stack = range->base->type == GT_REG_STACK;
	char bits[48];

	if (!unaligned || (!stack && !is_atomic))
		return 0;
	return gt_reject(verifier,
			 "misaligned %saccess off %s+%" PRId64 "+%" PRId64 " size %" PRIu64 "%s",
			 stack                                   ? "stack "
			 : range->base->type == GT_REG_MAP_VALUE ? "value "
								 : "",
			 range->known ? "0" : format_bits(scalar, bits), range->base->fixed_offset,
			 range->fixed_offset - range->base->fixed_offset, range->size,
			 is_atomic ? ": atomic operations must be aligned" : "");
}

/* Read known bytes of a constant map. */
static bool read_constant(struct gt_verifier *verifier, const struct gt_access_range *range,
			  bool is_signed, struct gt_value *ret_value)
{
	const struct gt_bpf_map *map;
	uint64_t value = 0;

	if (range->base->type != GT_REG_MAP_VALUE || !range->known)
		return false;
	map = &verifier->object->maps[range->base->map];
	if (!map->constant || map->max_entries != 1)
		return false;
	if (map->initial)
		memcpy(&value, map->initial + range->min, range->size);
	if (is_signed)
		value = (uint64_t)((int64_t)(value << (64 - 8 * range->size)) >>
				   (64 - 8 * range->size));
	*ret_value = gt_value_scalar(gt_scalar_constant(value));
	return true;
}

/* Whether it is an atomic load or store: verifier->insns has a plain one. */
static bool is_ordered_access(const struct gt_verifier *verifier)
{
	return gt_bpf_is_ordered(&verifier->program->insns[verifier->at]);
}

/* Context fields are not memory: one load cannot access both. */
static int check_pointer_types(struct gt_verifier *verifier, const struct gt_access_range *range)
{
	struct gt_insn_aux *aux = &verifier->aux[verifier->at];

	aux->reads_context |= range->base->type == GT_REG_CONTEXT;
	aux->reads_memory |= range->base->type != GT_REG_CONTEXT;
	if (aux->reads_context && aux->reads_memory)
		return gt_reject(verifier, "same insn cannot be used with different pointers");
	return 0;
}

static int verify_load(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	bool is_signed = BPF_MODE(insn->code) == BPF_MEMSX;
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value value;
	struct gt_access_range range;
	int error = gt_verify_read(verifier, insn->src_reg);

	if (!error && insn->dst_reg == 10)
		error = gt_reject(verifier, "frame pointer is read only");
	if (!error && !gt_is_pointer(gt_register(verifier, insn->src_reg)))
		error = gt_reject(verifier, "R%u invalid mem access 'scalar'", insn->src_reg);
	if (error)
		return error;
	range = access_range(verifier, insn->src_reg, insn->off, size);
	error = check_alignment(verifier, &range, is_ordered_access(verifier));
	if (!error)
		error = check_access(verifier, &range, GT_ACCESS_READ);
	if (!error && is_ordered_access(verifier) && range.base->type == GT_REG_CONTEXT)
		error = gt_reject(verifier, "BPF_ATOMIC loads from R%u ctx is not allowed",
				  insn->src_reg);
	if (!error)
		error = check_pointer_types(verifier, &range);
	if (error)
		return error;
	if (range.base->type == GT_REG_STACK)
		error = gt_verify_read_stack(verifier, &range, is_signed, &value);
	else if (range.base->type == GT_REG_CONTEXT && verifier->options->section)
		value = gt_value_scalar(
			gt_verify_field_values(verifier, range.min, size, is_signed));
	else if (!read_constant(verifier, &range, is_signed, &value))
		value = gt_value_scalar(gt_scalar_loaded(size, is_signed));
	if (error)
		return error;
	value.address |= range.base->address;
	*gt_register(verifier, insn->dst_reg) = value;
	return 0;
}

/*
 * Reject addresses in maps, rings and a program's memory, where others could read them; and stores
 * there at an offset that depends on one. A source of -1 is a constant.
 */
static int check_address_leak(struct gt_verifier *verifier, const struct gt_access_range *range,
			      int source_register)
{
	const struct gt_value *value =
		source_register < 0 ? NULL : gt_register(verifier, (unsigned)source_register);
	bool leaks = value && (gt_is_pointer(value) || value->address);
	unsigned source = leaks ? (unsigned)source_register : range->regno;

	if (!leaks && !range->base->address)
		return 0;
	if (range->base->type == GT_REG_MAP_VALUE)
		return gt_reject(verifier, "R%u leaks addr into map", source);
	if (range->base->type == GT_REG_RECORD || range->base->type == GT_REG_MEMORY)
		return gt_reject(verifier, "R%u leaks addr into mem", source);
	return 0;
}

static int verify_store(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	bool from_register = BPF_CLASS(insn->code) == BPF_STX;
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value constant =
		gt_value_scalar(gt_scalar_constant((uint64_t)(int64_t)insn->imm));
	struct gt_access_range range;
	int error = from_register ? gt_verify_read(verifier, insn->src_reg) : 0;

	if (!error)
		error = gt_verify_read(verifier, insn->dst_reg);
	if (!error && !gt_is_pointer(gt_register(verifier, insn->dst_reg)))
		error = gt_reject(verifier, "R%u invalid mem access 'scalar'", insn->dst_reg);
	if (error)
		return error;
	range = access_range(verifier, insn->dst_reg, insn->off, size);
	error = check_alignment(verifier, &range, is_ordered_access(verifier));
	if (!error)
		error = check_access(verifier, &range, GT_ACCESS_WRITE);
	if (!error)
		error = check_address_leak(verifier, &range, from_register ? insn->src_reg : -1);
	if (error || range.base->type != GT_REG_STACK)
		return error;
	return gt_verify_write_stack(
		verifier, &range, from_register ? gt_register(verifier, insn->src_reg) : &constant);
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
		return gt_reject(verifier, "frame pointer is read only");
	if (gt_is_pointer(gt_register(verifier, insn->src_reg)))
		return gt_reject(verifier, "R%u leaks addr into mem", insn->src_reg);
	if (insn->imm == BPF_CMPXCHG && gt_is_pointer(gt_register(verifier, 0)))
		return gt_reject(verifier, "R0 leaks addr into mem");
	if (!gt_is_pointer(gt_register(verifier, insn->dst_reg)))
		return gt_reject(verifier, "R%u invalid mem access 'scalar'", insn->dst_reg);
	return 0;
}

static int verify_atomic(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	unsigned size = gt_bpf_access_size(insn);
	struct gt_value result = gt_value_scalar(gt_scalar_loaded(size, false)), written;
	char bits[48];
	struct gt_access_range range;
	int error = check_atomic_operands(verifier, insn);

	if (error)
		return error;
	range = access_range(verifier, insn->dst_reg, insn->off, size);
	error = range.base->type == GT_REG_CONTEXT ? 0 : check_alignment(verifier, &range, true);
	if (!error)
		error = check_access(verifier, &range,
				     GT_ACCESS_READ | GT_ACCESS_WRITE | GT_ACCESS_ATOMIC);
	if (!error)
		error = check_address_leak(verifier, &range, insn->src_reg);
	/* Whether the value is stored depends on the expected one. */
	if (!error && insn->imm == BPF_CMPXCHG)
		error = check_address_leak(verifier, &range, 0);
	if (!error && range.base->type == GT_REG_STACK && !range.known)
		error = gt_reject(verifier,
				  "variable offset stack pointer cannot be passed into helper "
				  "function; var_off=%s off=%" PRId64 " size=%u",
				  format_bits(&range.base->scalar, bits), range.fixed_offset, size);
	if (!error && range.base->type == GT_REG_STACK) {
		error = gt_verify_read_stack(verifier, &range, false, &result);
		written = gt_value_scalar(gt_scalar_unknown());
		written.address = gt_is_pointer(&result) || result.address ||
				  gt_register(verifier, insn->src_reg)->address ||
				  (insn->imm == BPF_CMPXCHG && gt_register(verifier, 0)->address);
		if (gt_is_pointer(&result)) { /* exchanged pointers are not tracked */
			result = gt_value_scalar(gt_scalar_unknown());
			result.address = true;
		}
		gt_facts_use_stack(verifier, range.base->frame, range.min, range.max, size, false);
		if (!error)
			error = gt_verify_write_stack(verifier, &range, &written);
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
		return verify_load(verifier, insn);
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return verify_atomic(verifier, insn);
	return verify_store(verifier, insn);
}

int gt_verify_helper_memory(struct gt_verifier *verifier, unsigned regno, uint64_t size,
			    unsigned access)
{
	struct gt_access_range range = access_range(verifier, regno, 0, size);
	struct gt_stack_contents contents;
	int64_t end;
	int error = 0;

	if (range.base->type == GT_REG_CONTEXT)
		error = gt_reject(verifier, "R%u type=ctx expected=fp, map_value, mem", regno);
	if (!error)
		error = check_access(verifier, &range, access);
	if (!error && range.base->address)
		error = gt_reject(verifier, "R%u leaks addr into helper function", regno);
	if (error || range.base->type != GT_REG_STACK || !size)
		return error;
	end = range.max + (int64_t)size;
	gt_facts_use_stack(verifier, range.base->frame, range.min, range.max, size, false);
	if (!(access & GT_ACCESS_READ)) {
		struct gt_value written = gt_value_scalar(gt_scalar_unknown());

		/* May span several slots: not a value in one. */
		if (range.known)
			return gt_verify_fill_stack(verifier,
						    &verifier->state->frames[range.base->frame],
						    range.min, end, GT_BYTE_SCALAR);
		return gt_verify_write_stack(verifier, &range, &written);
	}
	contents = gt_verify_stack_contents(verifier, range.base->frame, range.min, end);
	if (contents.address)
		return gt_reject(verifier, "R%u leaks addr into map", regno);
	return 0;
}
