/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules are cached by address: a sample of 16 frames then costs a few lookups in a hash table.
 */
#include "elf/unwind.h"

#include <errno.h>

#include "base/hash.h"
#include "elf/expression.h"

#define MAX_ROWS 65536
#define MAX_MODULES 256
#define MAX_OFFSET                                                                                 \
	(UINT64_C(1) << 40) /* in a file; a key has 24 more bits for the file's number             \
			     */

struct unwind_module {
	struct gt_elf *elf; /* NULL: it cannot be read, or has no rules */
	struct gt_cfi *cfi;
};

struct unwind_row {
	bool exists;
	struct gt_cfi_row rules;
};

struct gt_unwinder {
	const struct gt_space *space;
	struct gt_hash *modules;  /* number of the file -> struct unwind_module */
	struct gt_hash *rows;     /* number of the file << 40 | offset -> struct unwind_row */
	struct unwind_row unkept; /* a row that could not be cached */
};

/* The state of unwinding one thread. */
struct unwind_walk {
	struct gt_unwinder *unwinder;
	uint32_t process;
	struct gt_unwind_registers registers;
	const struct gt_unwind_stack *stack;
	bool is_return; /* registers.pc is a return address */
	bool guessed;   /* the last step was by the frame pointer */
};

static void free_module(void *value)
{
	struct unwind_module *module = value;

	gt_cfi_free(module->cfi);
	gt_elf_free(module->elf);
	free(module);
}

struct gt_unwinder *gt_unwinder_new(const struct gt_space *space)
{
	gt_auto(unwinder) struct gt_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return NULL;
	unwinder->space = space;
	unwinder->modules = gt_hash_new();
	unwinder->rows = gt_hash_new();
	if (!unwinder->modules || !unwinder->rows)
		return NULL;
	return gt_take(unwinder);
}

static void drop_all(struct gt_unwinder *unwinder)
{
	gt_hash_free_with(unwinder->rows, free);
	gt_hash_free_with(unwinder->modules, free_module);
	unwinder->rows = unwinder->modules = NULL;
}

void gt_unwinder_free(struct gt_unwinder *unwinder)
{
	if (!unwinder)
		return;
	drop_all(unwinder);
	free(unwinder);
}

/* Reserves memory for an entry of the cache; false: out of memory. */
static bool start_anew(struct gt_unwinder *unwinder)
{
	drop_all(unwinder);
	unwinder->rows = gt_hash_new();
	unwinder->modules = gt_hash_new();
	return unwinder->rows && unwinder->modules;
}

void gt_unwind_registers_set(struct gt_unwind_registers *registers, uint64_t pc, uint64_t stack,
			     uint64_t frame, uint64_t link)
{
	*registers = (struct gt_unwind_registers){.pc = pc};
	registers->values[GT_CFI_STACK] = stack;
	registers->values[GT_CFI_FRAME] = frame;
	registers->values[GT_CFI_RETURN] = GT_CFI_RETURN == 30 ? link : pc;
	registers->known = UINT64_C(1) << GT_CFI_STACK | UINT64_C(1) << GT_CFI_FRAME |
			   UINT64_C(1) << GT_CFI_RETURN;
}

static void open_module(struct unwind_module *module, const struct gt_space_file *file)
{
	gt_auto(elf) struct gt_elf *elf = NULL;

	if (!file->is_file || gt_elf_open(file->path, &elf, NULL))
		return;
	if ((file->inode && gt_elf_info(elf)->inode != file->inode) ||
	    gt_cfi_open(elf, &module->cfi, NULL))
		return;
	gt_elf_close(elf);
	module->elf = gt_take(elf);
}

static const struct unwind_module *find_module(struct gt_unwinder *unwinder,
					       const struct gt_space_file *file)
{
	struct unwind_module *module = gt_hash_get_u64(unwinder->modules, file->number);

	if (module)
		return module;
	if (gt_hash_count(unwinder->modules) >= MAX_MODULES && !start_anew(unwinder))
		return NULL;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	open_module(module, file);
	if (gt_hash_set_u64(unwinder->modules, file->number, module)) {
		free_module(module);
		return NULL;
	}
	return module;
}

static void look_up(struct gt_unwinder *unwinder, const struct gt_space_file *file, uint64_t offset,
		    struct unwind_row *row)
{
	const struct unwind_module *module = find_module(unwinder, file);
	uint64_t address;

	row->exists = false;
	if (!module || !module->elf)
		return;
	address = gt_elf_address(module->elf, offset);
	row->exists =
		address != GT_ELF_NO_OFFSET && !gt_cfi_find(module->cfi, address, &row->rules);
}

static const struct unwind_row *find_row(struct gt_unwinder *unwinder,
					 const struct gt_space_file *file, uint64_t offset)
{
	uint64_t key = (uint64_t)file->number << 40 | offset;
	struct unwind_row *row;

	if (!unwinder->rows || !unwinder->modules)
		return NULL;
	row = gt_hash_get_u64(unwinder->rows, key);
	if (row)
		return row;
	look_up(unwinder, file, offset, &unwinder->unkept);
	if (offset >= MAX_OFFSET || file->number >> 24 || !unwinder->rows)
		return &unwinder->unkept;
	if (gt_hash_count(unwinder->rows) >= MAX_ROWS) {
		gt_hash_free_with(unwinder->rows, free);
		unwinder->rows = gt_hash_new();
	}
	row = unwinder->rows ? malloc(sizeof(*row)) : NULL;
	if (!row)
		return &unwinder->unkept;
	*row = unwinder->unkept;
	if (gt_hash_set_u64(unwinder->rows, key, row)) {
		free(row);
		return &unwinder->unkept;
	}
	return row;
}

/* Converts an error of reading memory to the end of the list. */
static int end_of(int error)
{
	return error == -ENODATA ? GT_UNWIND_STACK_END : GT_UNWIND_BROKEN;
}

static int find_cfa(const struct unwind_walk *walk, const struct gt_cfi_row *rules,
		    uint64_t *ret_cfa)
{
	const struct gt_cfi_rule *rule = &rules->cfa;

	if (rule->kind == GT_CFI_IS_EXPRESSION)
		return gt_expression_evaluate(rule->expression, rule->size, NULL, &walk->registers,
					      walk->stack, ret_cfa);
	if (!(walk->registers.known >> rule->reg & 1))
		return -ENXIO;
	*ret_cfa = walk->registers.values[rule->reg] + (uint64_t)rule->offset;
	return 0;
}

/* Returns the caller's value of a register. -ENXIO: not available; errors of
 * gt_expression_evaluate. */
static int find_register(const struct unwind_walk *walk, const struct gt_cfi_rule *rule,
			 size_t number, uint64_t cfa, uint64_t *ret_value)
{
	uint64_t place = cfa + (uint64_t)rule->offset;
	int error;

	switch (rule->kind) {
	case GT_CFI_AT:
		return gt_unwind_stack_read(walk->stack, place, ret_value);
	case GT_CFI_IS:
		*ret_value = place;
		return 0;
	case GT_CFI_AT_EXPRESSION:
	case GT_CFI_IS_EXPRESSION:
		error = gt_expression_evaluate(rule->expression, rule->size, &cfa, &walk->registers,
					       walk->stack, &place);
		if (error || rule->kind == GT_CFI_IS_EXPRESSION) {
			if (!error)
				*ret_value = place;
			return error;
		}
		return gt_unwind_stack_read(walk->stack, place, ret_value);
	case GT_CFI_SAME:
	case GT_CFI_REGISTER:
		number = rule->kind == GT_CFI_SAME ? number : rule->reg;
		if (!(walk->registers.known >> number & 1))
			return -ENXIO;
		*ret_value = walk->registers.values[number];
		return 0;
	}
	return -ENXIO;
}

/*
 * Steps to the caller by rules. -1; or the enum gt_unwind_end, with unchanged registers.
 */
static int step_by_rules(struct unwind_walk *walk, const struct gt_cfi_row *rules)
{
	struct gt_unwind_registers next = {0};
	size_t link = rules->return_register;
	uint64_t cfa = 0, stack = walk->registers.values[GT_CFI_STACK];
	int error = find_cfa(walk, rules, &cfa);

	if (error)
		return end_of(error);
	/* Only a leaf function of AArch64 has the same stack pointer as its caller. */
	if (!rules->is_signal && (cfa < stack || (cfa == stack && walk->is_return)))
		return GT_UNWIND_BROKEN;
	if (rules->rules[link].kind == GT_CFI_UNDEFINED)
		return GT_UNWIND_OUTERMOST;
	for (size_t i = 0; i < GT_CFI_REGISTERS; i++) {
		error = find_register(walk, &rules->rules[i], i, cfa, &next.values[i]);
		if (!error)
			next.known |= UINT64_C(1) << i;
		else if (i == link)
			return end_of(error);
	}
	next.pc = next.values[link];
	if (rules->is_signed)
		next.pc &= (UINT64_C(1) << 48) - 1;
	/* A stack pointer without a rule is the CFA. */
	if (rules->rules[GT_CFI_STACK].kind == GT_CFI_SAME)
		next.values[GT_CFI_STACK] = cfa;
	next.known |= UINT64_C(1) << GT_CFI_STACK;
	walk->registers = next;
	walk->is_return = !rules->is_signal;
	return -1;
}

/* On both architectures the return address follows the caller's frame pointer. */
static int step_by_frame(struct unwind_walk *walk)
{
	struct gt_unwind_registers next = {0};
	uint64_t frame = walk->registers.values[GT_CFI_FRAME], caller = 0, pc = 0;
	int error;

	if (!(walk->registers.known >> GT_CFI_FRAME & 1) || frame % 8 ||
	    frame < walk->registers.values[GT_CFI_STACK])
		return GT_UNWIND_NO_RULES;
	error = gt_unwind_stack_read(walk->stack, frame, &caller);
	if (!error)
		error = gt_unwind_stack_read(walk->stack, frame + 8, &pc);
	/* After the copy: a frame, or a value that is not a frame pointer. */
	if (error || (pc && !gt_space_at(walk->unwinder->space, walk->process, pc - 1)))
		return GT_UNWIND_NO_RULES;
	gt_unwind_registers_set(&next, pc, frame + 16, caller, pc);
	walk->registers = next;
	walk->is_return = true;
	walk->guessed = true;
	return -1;
}

/* At a function's start x86-64 has the return address on the stack, AArch64 in x30. */
static int step_by_entry(struct unwind_walk *walk)
{
	struct gt_unwind_registers next = walk->registers;
	bool on_stack = GT_CFI_RETURN != 30;
	int error = 0;

	if (on_stack)
		error = gt_unwind_stack_read(walk->stack, next.values[GT_CFI_STACK], &next.pc);
	else
		next.pc = next.values[GT_CFI_RETURN];
	if (error)
		return end_of(error);
	if (on_stack) {
		next.values[GT_CFI_STACK] += 8;
		next.values[GT_CFI_RETURN] = next.pc;
	}
	next.is_entry = false;
	walk->registers = next;
	walk->is_return = true;
	return -1;
}

static int step(struct unwind_walk *walk)
{
	uint64_t at = walk->registers.pc - (walk->is_return ? 1 : 0);
	const struct gt_space_mapping *mapping =
		gt_space_at(walk->unwinder->space, walk->process, at);
	const struct unwind_row *row;
	int end;

	if (!mapping)
		return GT_UNWIND_NO_CODE;
	row = find_row(walk->unwinder, mapping->file, at - mapping->start + mapping->offset);
	walk->guessed = false;
	if (row && row->exists)
		end = step_by_rules(walk, &row->rules);
	else if (walk->registers.is_entry)
		end = step_by_entry(walk);
	else
		end = step_by_frame(walk);
	if (end < 0 && !walk->registers.pc)
		end = GT_UNWIND_OUTERMOST;
	return end;
}

void gt_unwind(struct gt_unwinder *unwinder, uint32_t process,
	       const struct gt_unwind_registers *registers, const struct gt_unwind_stack *stack,
	       uint64_t *ret_addresses, size_t capacity, struct gt_unwound *ret_unwound)
{
	struct unwind_walk walk = {
		.unwinder = unwinder,
		.process = process,
		.registers = *registers,
		.stack = stack,
	};
	int end = -1;

	*ret_unwound = (struct gt_unwound){0};
	while (end < 0) {
		end = step(&walk);
		if (end < 0 && ret_unwound->count == capacity)
			end = GT_UNWIND_FULL;
		if (end < 0) {
			ret_addresses[ret_unwound->count++] = walk.registers.pc;
			ret_unwound->guessed += walk.guessed;
		}
	}
	ret_unwound->end = (enum gt_unwind_end)end;
}
