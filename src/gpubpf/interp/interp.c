/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The interpreter: its memory, and the loop over the instructions. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/interp/private.h"
#include "gpubpf/map/map.h"

int gt_interp_fail(struct gt_interp_machine *machine, int error, const char *format, ...)
{
	char place[32], text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place, sizeof(place), "insn %u", machine->at);
	return gt_diag(machine->diag, error, "run", place, "%s", text);
}

/* Whether an access to a map's memory is within one value or reserved record. */
static bool is_in_map(struct gt_interp_machine *machine, unsigned number, uint64_t offset,
		      uint64_t size)
{
	const struct gt_bpf_map *map = &machine->options->object->maps[number];
	uint32_t copies = machine->options->map_copies ? machine->options->map_copies[number] : 1;
	uint64_t address;

	if (gt_bpf_map_kind(map->type)->shape != GT_BPF_MAP_RING)
		return gt_bpf_map_holds(map, copies, offset, size);
	address = gt_region_address(machine->options, GT_REGION_MAPS + number, offset);
	for (unsigned i = 0; i < machine->record_count; i++)
		if (address >= machine->records[i].address &&
		    address - machine->records[i].address <= machine->records[i].size &&
		    size <= machine->records[i].size - (address - machine->records[i].address))
			return true;
	return false;
}

static void *find_memory(struct gt_interp_machine *machine, uint64_t address, uint64_t size,
			 bool write)
{
	const struct gt_interp_options *options = machine->options;
	uint64_t offset, region = gt_region_of(options, address, &offset);

	if (region >= GT_REGION_STACK && region <= GT_REGION_STACK + machine->frame) {
		if (offset > GT_BPF_STACK_SIZE || size > GT_BPF_STACK_SIZE - offset)
			return NULL;
		return &machine->stacks[region - GT_REGION_STACK][offset];
	}
	if (region == GT_REGION_MEMORY) {
		if (offset > options->memory_size || size > options->memory_size - offset)
			return NULL;
		return options->memory + offset;
	}
	if (region == GT_REGION_CONTEXT && !write && machine->context) {
		if (offset > machine->context_size || size > machine->context_size - offset)
			return NULL;
		return (uint8_t *)machine->context + offset;
	}
	for (struct gt_interp_copy *copy = machine->copies; copy && !write; copy = copy->next)
		if (region == (uint64_t)GT_REGION_COPIES + copy->insn)
			return offset > copy->size || size > copy->size - offset
				       ? NULL
				       : copy->data + offset;
	if (options->object && region >= GT_REGION_MAPS &&
	    region - GT_REGION_MAPS < options->object->map_count) {
		unsigned number = (unsigned)region - GT_REGION_MAPS;

		if ((write ? options->object->maps[number].read_only
			   : options->object->maps[number].write_only) ||
		    !is_in_map(machine, number, offset, size))
			return NULL;
		return (uint8_t *)options->map_memory[number] + offset;
	}
	return NULL;
}

void *gt_interp_memory(struct gt_interp_machine *machine, uint64_t address, uint64_t size,
		       bool write)
{
	void *memory = find_memory(machine, address, size, write);

	if (!memory)
		gt_interp_fail(machine, -EFAULT, "invalid %s of %" PRIu64 " bytes at 0x%" PRIx64,
			       write ? "write" : "read", size, address);
	return memory;
}

static uint64_t load(const void *memory, unsigned size, bool is_signed)
{
	uint64_t value = 0;

	memcpy(&value, memory, size);
	if (is_signed)
		value = (uint64_t)((int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size));
	return value;
}

/* Compare and exchange. Unaligned memory is not shared with anybody. */
static bool exchange(void *memory, unsigned size, uint64_t old, uint64_t number)
{
	uint32_t narrow = (uint32_t)old;

	if ((uintptr_t)memory % size) {
		memcpy(memory, &number, size);
		return true;
	}
	if (size == 4)
		return __atomic_compare_exchange_n((uint32_t *)memory, &narrow, (uint32_t)number,
						   false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n((uint64_t *)memory, &old, number, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* The new value of an atomic operation. */
static uint64_t combine(const struct gt_interp_machine *machine, const struct bpf_insn *insn,
			uint64_t old)
{
	uint64_t source = machine->registers[insn->src_reg], wanted;

	switch (insn->imm & ~BPF_FETCH) {
	case BPF_ADD:
		return old + source;
	case BPF_OR:
		return old | source;
	case BPF_AND:
		return old & source;
	case BPF_XOR:
		return old ^ source;
	case BPF_CMPXCHG & ~BPF_FETCH:
		wanted = machine->registers[0];
		if (gt_bpf_access_size(insn) == 4)
			wanted = (uint32_t)wanted;
		return old == wanted ? source : old;
	default:
		return source;
	}
}

/* Atomically, since host programs may access the same memory. */
static int run_atomic(struct gt_interp_machine *machine, const struct bpf_insn *insn)
{
	unsigned size = gt_bpf_access_size(insn);
	uint64_t old;
	void *memory = gt_interp_memory(
		machine, machine->registers[insn->dst_reg] + (uint64_t)(int64_t)insn->off, size,
		true);

	if (!memory)
		return -EFAULT;
	do
		old = load(memory, size, false);
	while (!exchange(memory, size, old, combine(machine, insn, old)));
	if (insn->imm == BPF_CMPXCHG)
		machine->registers[0] = old;
	else if (insn->imm & BPF_FETCH)
		machine->registers[insn->src_reg] = old;
	return 0;
}

static int run_memory(struct gt_interp_machine *machine, const struct bpf_insn *given)
{
	struct bpf_insn plain = gt_bpf_without_order(given);
	const struct bpf_insn *insn = &plain;
	unsigned size = gt_bpf_access_size(insn);
	bool loads = BPF_CLASS(insn->code) == BPF_LDX;
	uint64_t value, base = machine->registers[loads ? insn->src_reg : insn->dst_reg];
	void *memory;

	if (BPF_MODE(insn->code) == BPF_ATOMIC)
		return run_atomic(machine, insn);
	memory = gt_interp_memory(machine, base + (uint64_t)(int64_t)insn->off, size, !loads);
	if (!memory)
		return -EFAULT;
	if (loads) {
		machine->registers[insn->dst_reg] =
			load(memory, size, BPF_MODE(insn->code) == BPF_MEMSX);
		return 0;
	}
	value = BPF_CLASS(insn->code) == BPF_ST ? (uint64_t)(int64_t)insn->imm
						: machine->registers[insn->src_reg];
	memcpy(memory, &value, size);
	return 0;
}

static int run_wide(struct gt_interp_machine *machine, const struct bpf_insn *insn)
{
	uint64_t number = (uint32_t)insn->imm, offset = (uint32_t)insn[1].imm;
	uint64_t *target = &machine->registers[insn->dst_reg];
	uint32_t maps = machine->options->object ? machine->options->object->map_count : 0;

	if (insn->src_reg != GT_BPF_IMM_SCALAR && !gt_bpf_is_function(insn) && number >= maps)
		return gt_interp_fail(machine, -EINVAL, "no map %" PRIu64, number);
	if (gt_bpf_is_function(insn))
		*target = gt_function_address(
			(uint32_t)gt_bpf_jump_target(machine->program->insns, machine->at - 1));
	else if (insn->src_reg == GT_BPF_IMM_SCALAR)
		*target = offset << 32 | number;
	else if (insn->src_reg == GT_BPF_IMM_MAP_INDEX)
		*target = gt_region_address(machine->options, GT_REGION_HANDLES + (unsigned)number,
					    0);
	else
		*target = gt_region_address(machine->options, GT_REGION_MAPS + (unsigned)number,
					    offset);
	machine->at++;
	return 0;
}

int gt_interp_enter(struct gt_interp_machine *machine, uint32_t target)
{
	if (machine->frame + 1 == GT_BPF_MAX_FRAMES)
		return gt_interp_fail(machine, -ELOOP, "calls are more than %d deep",
				      GT_BPF_MAX_FRAMES);
	machine->calls[machine->frame].back = machine->at;
	memcpy(machine->calls[machine->frame].saved, &machine->registers[6],
	       sizeof(machine->calls[0].saved));
	machine->calls[machine->frame].loop.runs = false;
	machine->frame++;
	machine->may_gotos[machine->frame] = 0;
	memset(machine->stacks[machine->frame], 0, GT_BPF_STACK_SIZE);
	machine->registers[10] = gt_region_address(
		machine->options, GT_REGION_STACK + machine->frame, GT_BPF_STACK_SIZE);
	machine->at = target;
	return 0;
}

static int leave_function(struct gt_interp_machine *machine)
{
	machine->frame--;
	machine->at = machine->calls[machine->frame].back;
	memcpy(&machine->registers[6], machine->calls[machine->frame].saved,
	       sizeof(machine->calls[0].saved));
	gt_interp_drop_arguments(machine);
	machine->registers[10] = gt_region_address(
		machine->options, GT_REGION_STACK + machine->frame, GT_BPF_STACK_SIZE);
	return machine->calls[machine->frame].loop.runs ? gt_interp_continue_loop(machine) : 0;
}

/* Whether a may_goto jumps. */
static bool is_exhausted(struct gt_interp_machine *machine)
{
	if (machine->may_gotos[machine->frame] == GT_BPF_MAX_LOOPS)
		return true;
	machine->may_gotos[machine->frame]++;
	return false;
}

/* Runs the jump before machine->at. 1 at the program's end. */
static int run_jump(struct gt_interp_machine *machine, const struct bpf_insn *insn)
{
	uint32_t from = machine->at - 1;
	int64_t target = gt_bpf_jump_target(machine->program->insns, from);

	switch (BPF_OP(insn->code)) {
	case BPF_EXIT:
		if (machine->frame)
			return leave_function(machine);
		if (machine->record_count)
			return gt_interp_fail(machine, -EINVAL,
					      "a reserved record is not submitted");
		return 1;
	case BPF_CALL:
		if (gt_bpf_is_subprogram_call(insn))
			return gt_interp_enter(machine, (uint32_t)target);
		return gt_interp_call(machine, (uint32_t)insn->imm);
	case BPF_JA:
		break;
	case BPF_JCOND:
		if (!is_exhausted(machine))
			return 0;
		break;
	default:
		if (!gt_interp_jumps(insn, machine->registers[insn->dst_reg],
				     machine->registers[insn->src_reg]))
			return 0;
	}
	if (target < 0 || target >= machine->program->count)
		return gt_interp_fail(machine, -EINVAL, "a jump out of the program");
	machine->at = (uint32_t)target;
	return 0;
}

/* Runs one instruction: 0, 1 at the program's end, -Exxx. */
static int run_insn(struct gt_interp_machine *machine)
{
	const struct bpf_insn *insn = &machine->program->insns[machine->at];
	int error = gt_bpf_check_insn(machine->program->insns, machine->program->count, machine->at,
				      machine->diag);

	if (error)
		return error;
	machine->executed++;
	machine->at++;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		machine->registers[insn->dst_reg] = gt_interp_alu(
			insn, machine->registers[insn->dst_reg], machine->registers[insn->src_reg]);
		return 0;
	case BPF_LD:
		return run_wide(machine, insn);
	case BPF_JMP:
	case BPF_JMP32:
		return run_jump(machine, insn);
	default:
		return run_memory(machine, insn);
	}
}

void gt_interp_start(struct gt_interp_machine *machine, const struct gt_bpf_program *program,
		     const struct gt_interp_options *options, struct gt_diag *diag)
{
	*machine = (struct gt_interp_machine){
		.options = options,
		.program = program,
		.random = 0x9e3779b97f4a7c15,
		.diag = diag,
	};
	machine->registers[10] = gt_region_address(options, GT_REGION_STACK, GT_BPF_STACK_SIZE);
}

/* Free what a run has allocated. */
static void end_machine(struct gt_interp_machine *machine)
{
	while (machine->copies) {
		struct gt_interp_copy *copy = machine->copies;

		machine->copies = copy->next;
		free(copy->data);
		free(copy);
	}
}

static void set_context(struct gt_interp_machine *machine, const struct gt_interp_options *options)
{
	machine->context = options->context;
	machine->context_size = options->context_size;
	machine->registers[1] = gt_region_address(options, GT_REGION_CONTEXT, 0);
}

void gt_interp_set_memory(struct gt_interp_machine *machine)
{
	if (machine->options->memory_size)
		machine->registers[1] = gt_region_address(machine->options, GT_REGION_MEMORY, 0);
	machine->registers[2] = machine->options->memory_size;
}

/* Run until the program ends or waits. 0 or -Exxx. */
static int run_machine(struct gt_interp_machine *machine)
{
	const struct gt_interp_options *options = machine->options;
	uint64_t limit = options->max_executed ? options->max_executed : 100000000;
	int status = 0;

	while (!status && machine->state == GT_INTERP_RUNNING) {
		if (machine->at >= machine->program->count)
			return gt_interp_fail(machine, -EINVAL,
					      "execution beyond the end of the program");
		if (machine->executed == limit)
			return gt_interp_fail(machine, -ELOOP, "more than %" PRIu64 " instructions",
					      limit);
		if (options->visit)
			options->visit(options->visit_data, machine->run, machine->at,
				       machine->registers);
		status = run_insn(machine);
	}
	if (status > 0)
		machine->state = GT_INTERP_ENDED;
	return status < 0 ? status : 0;
}

static int run_lanes_to_end(struct gt_interp_warp *warp)
{
	unsigned waiting;

	do {
		for (unsigned i = 0; i < warp->count; i++) {
			int error = run_machine(&warp->lanes[i]);

			if (error)
				return error;
		}
		waiting = 0;
		while (waiting < warp->count && warp->lanes[waiting].state != GT_INTERP_WAITING)
			waiting++;
		if (waiting < warp->count)
			gt_interp_resume_group(warp, waiting);
	} while (waiting < warp->count);
	return 0;
}

int gt_interp_run_warp(struct gt_interp_warp *warp)
{
	int error = run_lanes_to_end(warp);

	for (unsigned i = 0; i < warp->count; i++)
		end_machine(&warp->lanes[i]);
	return error;
}

int gt_interp_run(const struct gt_bpf_program *program, const struct gt_interp_options *options,
		  struct gt_interp_result *ret_result, struct gt_diag *diag)
{
	static const struct gt_interp_thread only_thread = {
		.block_size = {1, 1, 1},
		.grid_size = {1, 1, 1},
	};
	gt_autofree struct gt_interp_machine *machine = malloc(sizeof(*machine));
	struct gt_interp_warp warp = {machine, 1};
	int error;

	if (!machine)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	gt_interp_start(machine, program, options, diag);
	machine->thread = options->thread ? *options->thread : only_thread;
	if (!machine->thread.mask)
		machine->thread.mask = 1u << gt_interp_in_block(&machine->thread) % 32;
	if (options->context)
		set_context(machine, options);
	else
		gt_interp_set_memory(machine);
	error = gt_interp_run_warp(&warp);
	if (!error)
		*ret_result = (struct gt_interp_result){machine->registers[0], machine->executed};
	return error;
}
