/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of helpers: arguments and results. */
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/private.h"

enum {
	LINUX_HELPERS = 211, /* enum bpf_func_id of linux/bpf.h, which is frozen */
};

/* A call of a helper. */
struct helper_call {
	const struct gt_helper *helper;
	int32_t map;        /* index of the map argument; -1 before it */
	uint32_t size;      /* of the reserved record */
	uint32_t reference; /* released by the call */
	bool key_exists;    /* a constant key within an array */
};

static const struct gt_bpf_map *map_argument(struct gt_verifier *verifier,
					     const struct helper_call *call)
{
	return &verifier->object->maps[call->map];
}

static int reject_type(struct gt_verifier *verifier, unsigned regno, const char *expected)
{
	return gt_reject(verifier, "R%u type=%s expected=%s", regno,
			 gt_register_type_name(gt_register(verifier, regno)), expected);
}

/* Check the map of a helper that adds to values. */
static int check_addition(struct gt_verifier *verifier, const struct helper_call *call)
{
	const struct gt_bpf_map *map = map_argument(verifier, call);

	if (!(call->helper->traits & GT_TRAIT_ADDS))
		return 0;
	if (call->helper->arguments[1] == GT_ARG_KEY_SCALAR &&
	    gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_ARRAY)
		return gt_reject(verifier, "%s#%u requires an array: map '%s' is not one",
				 call->helper->name, call->helper->number, map->name);
	if (map->with_host && gt_bpf_map_is_on_host(map))
		return gt_reject(verifier,
				 "%s#%u on map '%s' would not be atomic: it is the kernel's; use "
				 "bpf_map_update_elem",
				 call->helper->name, call->helper->number, map->name);
	if (!gt_bpf_map_has_numbers(map))
		return gt_reject(verifier,
				 "%s#%u requires values of 4 or 8 bytes: those of map '%s' have %u",
				 call->helper->name, call->helper->number, map->name,
				 map->value_size);
	return 0;
}

static int check_map_argument(struct gt_verifier *verifier, struct helper_call *call,
			      unsigned regno, bool ring)
{
	const struct gt_value *value = gt_register(verifier, regno);
	const struct gt_bpf_map_kind *kind;

	if (value->type != GT_REG_MAP)
		return reject_type(verifier, regno, "map_ptr");
	call->map = value->map;
	kind = gt_bpf_map_kind(map_argument(verifier, call)->type);
	if (!kind || (kind->shape == GT_BPF_MAP_RING) != ring)
		return gt_reject(verifier, "cannot pass map_type %u into func bpf_%s#%u",
				 map_argument(verifier, call)->type, call->helper->name,
				 call->helper->number);
	if (map_argument(verifier, call)->read_only && (call->helper->traits & GT_TRAIT_WRITES))
		return gt_reject(verifier, "write into map forbidden");
	return check_addition(verifier, call);
}

static int check_memory_argument(struct gt_verifier *verifier, unsigned regno, uint64_t size,
				 unsigned access)
{
	const struct gt_value *value = gt_register(verifier, regno);

	if (!gt_is_pointer(value) || value->maybe_null || value->type == GT_REG_MAP ||
	    value->type == GT_REG_CONTEXT)
		return reject_type(verifier, regno, "fp, map_value, mem, ringbuf_mem");
	return gt_verify_helper_memory(verifier, regno, size, access);
}

/* A helper prints or publishes its scalars, sizes included: no addresses. */
static int check_scalar_leak(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);

	if (gt_is_pointer(value) || value->address)
		return gt_reject(verifier, "R%u leaks addr into helper function", regno);
	return 0;
}

/* r<regno> is memory and r<regno + 1> its size. */
static int check_sized_memory(struct gt_verifier *verifier, unsigned regno, bool zero)
{
	const struct gt_value *size = gt_register(verifier, regno + 1);
	const struct gt_interval *all = &size->scalar.all;

	if (size->type == GT_REG_UNSET)
		return gt_verify_read(verifier, regno + 1);
	if (size->type != GT_REG_SCALAR)
		return reject_type(verifier, regno + 1, "scalar");
	if (all->smin < 0)
		return gt_reject(verifier,
				 "R%u min value is negative, either use unsigned or 'var &= const'",
				 regno + 1);
	if (!all->umin && !zero)
		return gt_reject(verifier,
				 "R%u invalid zero-sized read: u64=[%" PRIu64 ",%" PRIu64 "]",
				 regno + 1, all->umin, all->umax);
	if (all->umax >= GT_MAX_OFFSET)
		return gt_reject(verifier,
				 "R%u unbounded memory access, use 'var &= const' or 'if (var < "
				 "const)'",
				 regno + 1);
	if (check_scalar_leak(verifier, regno + 1))
		return -EINVAL;
	return check_memory_argument(verifier, regno, all->umax, GT_ACCESS_READ);
}

static int check_record_size(struct gt_verifier *verifier, struct helper_call *call, unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);

	if (value->type != GT_REG_SCALAR)
		return reject_type(verifier, regno, "scalar");
	if (!gt_scalar_is_constant(&value->scalar))
		return gt_reject(verifier, "R%u is not a known constant", regno);
	if (value->scalar.value > GT_MAX_OFFSET)
		return gt_reject(verifier, "R%u is not a valid record size", regno);
	call->size = (uint32_t)value->scalar.value;
	return check_scalar_leak(verifier, regno);
}

static int check_record_argument(struct gt_verifier *verifier, struct helper_call *call,
				 unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);

	if (value->type != GT_REG_RECORD || value->maybe_null)
		return reject_type(verifier, regno, "ringbuf_mem");
	if (value->fixed_offset)
		return gt_reject(verifier,
				 "R%u must have zero offset when passed to release func or trusted "
				 "arg to kfunc",
				 regno);
	if (!gt_scalar_is_constant(&value->scalar))
		return gt_reject(verifier,
				 "variable ringbuf_mem access var_off=(0x%" PRIx64 "; 0x%" PRIx64
				 ") disallowed",
				 value->scalar.value, value->scalar.mask);
	call->reference = value->reference;
	return 0;
}

static int check_string_argument(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);
	const struct gt_bpf_map *map;
	int64_t offset = value->fixed_offset;

	if (value->type != GT_REG_MAP_VALUE || value->maybe_null)
		return reject_type(verifier, regno, "map_value");
	map = &verifier->object->maps[value->map];
	if (!map->constant)
		return gt_reject(verifier, "R%u does not point to a readonly map", regno);
	if (!gt_scalar_is_constant(&value->scalar))
		return gt_reject(verifier, "R%u is not a constant address", regno);
	if (offset < 0 || offset >= map->value_size ||
	    (map->initial && !memchr(map->initial + offset, 0, map->value_size - (size_t)offset)))
		return gt_reject(verifier, "string is not zero-terminated");
	return 0;
}

static int check_lane_field(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);
	const struct gt_section *section = verifier->options->section;
	enum gt_context_source source;

	if (value->type != GT_REG_SCALAR)
		return reject_type(verifier, regno, "scalar");
	if (!gt_scalar_is_constant(&value->scalar))
		return gt_reject(verifier, "R%u is not a known constant", regno);
	if (!gt_lane_field_name(value->scalar.value))
		return gt_reject(verifier, "R%u is not a lane field: %" PRIu64, regno,
				 value->scalar.value);
	if (gt_lane_source(section, value->scalar.value, &source))
		return gt_reject(verifier, "a context of gpu/%s has no field '%s'",
				 gt_section_row(section->kind)->name,
				 gt_lane_field_name(value->scalar.value));
	return 0;
}

static int check_prefetch(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);

	if (value->type != GT_REG_SCALAR)
		return reject_type(verifier, regno, "scalar");
	if (!gt_scalar_is_constant(&value->scalar))
		return gt_reject(verifier, "R%u is not a known constant", regno);
	return value->scalar.value < GT_PREFETCH_COUNT
		       ? 0
		       : gt_reject(verifier, "R%u is not a known prefetch: %" PRIu64, regno,
				   value->scalar.value);
}

/*
 * The number of a register of PTX, at a basic block whose section lists registers. Elsewhere helper
 * 512 is helper 536, as in programs for bpftime, and has no argument.
 */
static int check_register_number(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_section *section = verifier->options->section;
	const struct gt_value *value = gt_register(verifier, regno);
	const char *name;
	size_t length;
	int error;

	if (section && section->block && !section->registers)
		return gt_reject(verifier, "get_register#512: the section lists no register of PTX "
					   "(kprobe/<kernel>__BB<n>__<register>)");
	if (!gt_section_lists_registers(section))
		return 0;
	error = gt_verify_read(verifier, regno);
	if (error)
		return error;
	if (value->type != GT_REG_SCALAR)
		return reject_type(verifier, regno, "scalar");
	if (!gt_scalar_is_constant(&value->scalar))
		return gt_reject(verifier, "R%u is not a known constant", regno);
	if (!gt_section_register(section, value->scalar.value, &name, &length))
		return gt_reject(
			verifier,
			"R%u is not the number of a register that the section lists: %" PRIu64,
			regno, value->scalar.value);
	return 0;
}

/* Helpers that end threads: those of a block do not run a program that runs once per block. */
static int check_end(struct gt_verifier *verifier, const struct gt_helper *helper)
{
	const struct gt_section *section = verifier->options->section;

	if (!(helper->traits & GT_TRAIT_ENDS))
		return 0;
	for (unsigned i = 0; i <= verifier->state->depth; i++)
		if (verifier->state->frames[i].called_back)
			return gt_reject(verifier, "%s#%u is not for functions that bpf_loop calls",
					 helper->name, helper->number);
	if (section && section->level == GT_LEVEL_BLOCK)
		return gt_reject(verifier,
				 "%s#%u would end one thread of the block: to skip blocks, call it "
				 "in a program that runs once per thread (gpu/entry)",
				 helper->name, helper->number);
	if (section && section->level == GT_LEVEL_WARP &&
	    gt_section_row(section->kind)->traits & GT_SECTION_LEAVES)
		return gt_reject(
			verifier,
			"%s#%u is not for programs that run once per warp at gpu/%s, where "
			"some lanes have exited",
			helper->name, helper->number, gt_section_row(section->kind)->name);
	if (verifier->state->reference_count)
		return gt_reject(verifier,
				 "Unreleased reference id=%u alloc_insn=%u; %s#%u would lead to "
				 "reference leak",
				 verifier->state->references[0],
				 verifier->state->reference_insns[0], helper->name, helper->number);
	return 0;
}

/* Collective helpers run where lanes form a group and may wait for each other. */
static int check_collective(struct gt_verifier *verifier, const struct gt_helper *helper)
{
	const struct gt_section *section = verifier->options->section;
	enum gt_level level = section ? section->level : GT_LEVEL_THREAD;
	bool for_group = helper->traits & GT_TRAIT_GROUP;

	if (!(helper->traits & GT_TRAIT_COLLECTIVE))
		return 0;
	if (section && (gt_section_row(section->kind)->traits & GT_SECTION_LEAVES))
		return gt_reject(verifier,
				 "%s#%u waits for other lanes: not allowed at gpu/%s, where some "
				 "have exited",
				 helper->name, helper->number, gt_section_row(section->kind)->name);
	if (for_group != (level == GT_LEVEL_WARP) || level == GT_LEVEL_BLOCK)
		return gt_reject(
			verifier,
			"%s#%u is for programs that run once per %s: this one runs once per %s",
			helper->name, helper->number, for_group ? "warp" : "thread",
			gt_level_name(level));
	return 0;
}

static int check_key_argument(struct gt_verifier *verifier, struct helper_call *call,
			      unsigned regno)
{
	const struct gt_bpf_map *map = map_argument(verifier, call);
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint64_t key;

	/* As in Linux since 6.14. Arrays with copies may have fewer copies than users. */
	call->key_exists = kind->shape == GT_BPF_MAP_ARRAY && kind->copies == GT_COPY_ONE &&
			   gt_verify_known_bytes(verifier, regno, map->key_size, &key) &&
			   key < map->max_entries;
	return check_memory_argument(verifier, regno, map->key_size, GT_ACCESS_READ);
}

/* No helper reads the context on GPUs: only host programs must pass theirs. */
static int check_context_argument(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_verify_options *options = verifier->options;
	const struct gt_value *value = gt_register(verifier, regno);
	bool for_gpu = options->section || options->input == GT_INPUT_MEMORY;

	if (for_gpu || (value->type == GT_REG_CONTEXT && gt_scalar_is_constant(&value->scalar) &&
			!value->fixed_offset))
		return 0;
	return reject_type(verifier, regno, "ctx");
}

static int check_stack_argument(struct gt_verifier *verifier, unsigned regno)
{
	const struct gt_value *value = gt_register(verifier, regno);
	bool null = value->type == GT_REG_SCALAR && gt_scalar_is_constant(&value->scalar) &&
		    !value->scalar.value;

	return null || value->type == GT_REG_STACK ? 0 : reject_type(verifier, regno, "fp");
}

static int check_argument(struct gt_verifier *verifier, struct helper_call *call, unsigned regno)
{
	enum gt_helper_argument kind = call->helper->arguments[regno - 1];
	const struct gt_value *value = gt_register(verifier, regno);
	int error;

	if (kind == GT_ARG_NONE || (kind == GT_ARG_OPTIONAL && value->type == GT_REG_UNSET))
		return 0;
	if (kind == GT_ARG_REGISTER) /* without a list of registers, whatever the argument is */
		return check_register_number(verifier, regno);
	error = gt_verify_read(verifier, regno);
	if (error)
		return error;
	switch (kind) {
	case GT_ARG_MAP:
		return check_map_argument(verifier, call, regno, false);
	case GT_ARG_RING:
		return check_map_argument(verifier, call, regno, true);
	case GT_ARG_KEY:
		return check_key_argument(verifier, call, regno);
	case GT_ARG_VALUE:
		return check_memory_argument(
			verifier, regno, map_argument(verifier, call)->value_size, GT_ACCESS_READ);
	case GT_ARG_MEMORY:
		return check_sized_memory(verifier, regno,
					  call->helper->arguments[regno] == GT_ARG_SIZE_OR_ZERO);
	case GT_ARG_RECORD_SIZE:
		return check_record_size(verifier, call, regno);
	case GT_ARG_RECORD:
		return check_record_argument(verifier, call, regno);
	case GT_ARG_CONTEXT:
		return check_context_argument(verifier, regno);
	case GT_ARG_RESULT_U64:
		return check_memory_argument(verifier, regno, 8, GT_ACCESS_WRITE);
	case GT_ARG_PREFETCH:
		return check_prefetch(verifier, regno);
	case GT_ARG_LANE_FIELD:
		return check_lane_field(verifier, regno);
	case GT_ARG_STRING:
		return check_string_argument(verifier, regno);
	case GT_ARG_COUNT:
		return value->type == GT_REG_SCALAR ? check_scalar_leak(verifier, regno)
						    : reject_type(verifier, regno, "scalar");
	case GT_ARG_FUNCTION:
		return value->type == GT_REG_FUNCTION ? 0 : reject_type(verifier, regno, "func");
	case GT_ARG_STACK_OR_NULL:
		return check_stack_argument(verifier, regno);
	case GT_ARG_SCALAR:
	case GT_ARG_KEY_SCALAR:
	case GT_ARG_OPTIONAL:
		return check_scalar_leak(verifier, regno);
	default:
		return 0;
	}
}

/* Release a reference; pointers into its record become scalars. */
static void release_reference(struct gt_state *state, uint32_t reference)
{
	struct gt_value no_longer_pointer = gt_value_scalar(gt_scalar_unknown());

	no_longer_pointer.address = true;
	for (unsigned i = 0; i < state->reference_count; i++) {
		if (state->references[i] != reference)
			continue;
		state->reference_count--;
		state->references[i] = state->references[state->reference_count];
		state->reference_insns[i] = state->reference_insns[state->reference_count];
		break;
	}
	for (unsigned i = 0; i <= state->depth; i++) {
		struct gt_verify_frame *frame = &state->frames[i];

		for (unsigned j = 0; j < GT_BPF_REGISTERS; j++)
			if (gt_is_pointer(&frame->registers[j]) &&
			    frame->registers[j].reference == reference)
				frame->registers[j] = no_longer_pointer;
		for (uint32_t j = 0; j < frame->slot_count; j++)
			if (frame->slots[j].bytes[7] == GT_BYTE_SPILL &&
			    gt_is_pointer(&frame->slots[j].value) &&
			    frame->slots[j].value.reference == reference)
				memset(frame->slots[j].bytes, GT_BYTE_ADDRESS, 8);
	}
}

static int acquire_reference(struct gt_verifier *verifier, struct gt_value *value)
{
	struct gt_state *state = verifier->state;

	if (state->reference_count == GT_MAX_REFERENCES)
		return gt_reject(verifier, "too many reserved records, the maximum is %d",
				 GT_MAX_REFERENCES);
	value->reference = ++verifier->next_id;
	state->references[state->reference_count] = value->reference;
	state->reference_insns[state->reference_count++] = verifier->at;
	return 0;
}

static int set_result(struct gt_verifier *verifier, const struct helper_call *call)
{
	struct gt_value *result = gt_register(verifier, 0);
	int error = 0;

	for (unsigned i = 0; i <= 5; i++)
		*gt_register(verifier, i) = (struct gt_value){0};
	if (call->helper->result == GT_RESULT_NOTHING)
		return 0;
	*result = gt_value_scalar(call->helper->arguments[0] == GT_ARG_NONE
					  ? gt_verify_source_values(call->helper->source)
					  : gt_scalar_unknown());
	if (call->helper->result == GT_RESULT_SCALAR)
		return 0;
	result->scalar = gt_scalar_constant(0);
	result->maybe_null = true;
	result->map = call->map;
	result->type = GT_REG_MAP_VALUE;
	if (call->helper->result == GT_RESULT_RECORD_OR_NULL) {
		result->type = GT_REG_RECORD;
		result->size = call->size;
		error = acquire_reference(verifier, result);
	} else if (verifier->widens) {
		result->object = ++verifier->next_id;
	}
	if (call->key_exists)
		result->maybe_null = false;
	else
		result->id = ++verifier->next_id;
	return error;
}

int gt_verify_loop_arguments(struct gt_verifier *verifier)
{
	struct helper_call call = {.helper = gt_helper(GT_HELPER_loop), .map = -1};
	int error = 0;

	for (unsigned i = 1; !error && i <= GT_HELPER_ARGUMENTS; i++)
		error = check_argument(verifier, &call, i);
	return error;
}

/* Reject a helper that does not exist here: with its name, if Linux has it. */
static int reject_helper(struct gt_verifier *verifier, int32_t number)
{
	static const char *const linux_names[] = {
#define NAME(name) #name
		__BPF_FUNC_MAPPER(NAME)
#undef NAME
	};
	if (number > 0 && number <= LINUX_HELPERS)
		return gt_reject(verifier,
				 "program of this type cannot use helper bpf_%s#%d: it is not "
				 "available on the GPU (see gputap/bpf.h)",
				 (size_t)number < gt_countof(linux_names) ? linux_names[number]
									  : "helper",
				 number);
	return gt_reject(verifier, "invalid func unknown#%d", number);
}

int gt_verify_helper(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	struct helper_call call = {.helper = gt_helper((uint32_t)insn->imm), .map = -1};
	int error;

	if (!call.helper)
		return reject_helper(verifier, insn->imm);
	if ((call.helper->traits & GT_TRAIT_CONTROL) && !verifier->options->allow_control)
		return gt_reject(
			verifier,
			"%s#%u changes the execution of the kernel: it requires --allow-control",
			call.helper->name, call.helper->number);
	error = check_end(verifier, call.helper);
	if (!error)
		error = check_collective(verifier, call.helper);
	for (unsigned i = 1; !error && i <= GT_HELPER_ARGUMENTS; i++)
		error = check_argument(verifier, &call, i);
	if (error)
		return error;
	if (call.reference)
		release_reference(verifier->state, call.reference);
	return set_result(verifier, &call);
}
