/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of a module: their names, and the kernels that call them. */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "patch/spirv/private.h"

enum {
	/* Visits of functions for all kernels. */
	MAX_VISITS = 1 << 22,
};

static struct gt_spirv_patch_function *find_function(const struct gt_spirv_patcher *patcher,
						     uint32_t id)
{
	const struct gt_spirv_function *function = gt_spirv_function(patcher->module, id);

	if (!function)
		return NULL;
	return &patcher->functions[function - patcher->module->functions.items];
}

/* ---- names ---- */

/* A string from a word of an instruction on. NULL: it does not end there. */
static const char *string_at(const struct gt_spirv_instruction *instruction, unsigned word)
{
	const char *text = (const char *)(instruction->words + word);

	if (word >= instruction->count ||
	    !memchr(text, 0, (instruction->count - word) * sizeof(uint32_t)))
		return NULL;
	return text;
}

/* The name that an instruction gives to a function, or NULL. */
static const char *given_name(const struct gt_spirv_instruction *instruction)
{
	if (instruction->opcode == SpvOpName)
		return string_at(instruction, 2);
	if (instruction->opcode == SpvOpDecorate && instruction->count > 3 &&
	    instruction->words[2] == SpvDecorationLinkageAttributes)
		return string_at(instruction, 3);
	return NULL;
}

/*
 * LLVM's compiler has the code of a kernel in a function with the kernel's name, which the function
 * of the entry point calls.
 */
static void name_function(struct gt_spirv_patcher *patcher, struct gt_hash *entries,
			  const struct gt_spirv_instruction *instruction)
{
	const char *name = given_name(instruction);
	struct gt_spirv_patch_function *function =
		name ? find_function(patcher, instruction->words[1]) : NULL;
	uintptr_t entry;

	if (!function)
		return;
	function->name = name;
	entry = (uintptr_t)gt_hash_get_str(entries, name);
	if (!entry || function->kernel || patcher->kernels[entry - 1].body)
		return;
	function->kernel = &patcher->module->entries.items[entry - 1];
	patcher->kernels[entry - 1].body = (uint32_t)(function - patcher->functions) + 1;
}

static int name_functions(struct gt_spirv_patcher *patcher)
{
	const struct gt_spirv_module *module = patcher->module;
	gt_auto(hash) struct gt_hash *entries = gt_hash_new();
	size_t count = module->entries.count;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < module->functions.count; i++)
		patcher->functions[i].name = "";
	for (size_t i = 0; i < count; i++) {
		const struct gt_spirv_entry *entry = &module->entries.items[i];

		find_function(patcher, entry->function)->kernel = entry;
		if (gt_hash_set_str(entries, entry->name, (void *)(uintptr_t)(i + 1)))
			return -ENOMEM;
	}
	for (size_t i = module->sections[GT_SPIRV_DEBUG]; i < module->sections[GT_SPIRV_GLOBALS];
	     i++)
		name_function(patcher, entries, &module->instructions.items[i]);
	for (size_t i = 0; i < count; i++)
		find_function(patcher, module->entries.items[i].function)->name =
			module->entries.items[i].name;
	return 0;
}

/* ---- calls ---- */

struct call_search {
	struct gt_spirv_patcher *patcher;
	uint32_t *seen; /* by function: the last entry point that calls it, from 1 */
	GT_VEC(uint32_t) pending;
	uint32_t visits;
};

static int visit_function(struct call_search *search, struct gt_spirv_patch_function *function,
			  uint32_t entry, uint64_t wanted)
{
	uint32_t number = (uint32_t)(function - search->patcher->functions);
	uint64_t matched = search->patcher->kernels[entry].matched & wanted;

	if (search->seen[number] == entry + 1)
		return 0;
	if (++search->visits > MAX_VISITS)
		return gt_diag(search->patcher->diag, -E2BIG, "patch", NULL,
			       "the kernels of the module call too many functions");
	search->seen[number] = entry + 1;
	function->matched |= matched;
	function->foreign |= wanted & ~matched;
	function->callers++;
	function->caller = entry;
	return gt_vec_push(&search->pending, number);
}

/* All functions that an entry point calls, itself included. */
static int visit_entry(struct call_search *search, uint32_t entry, uint64_t wanted)
{
	const struct gt_spirv_module *module = search->patcher->module;
	int error = visit_function(
		search, find_function(search->patcher, module->entries.items[entry].function),
		entry, wanted);

	while (!error && search->pending.count) {
		const struct gt_spirv_function *function =
			&module->functions.items[search->pending.items[--search->pending.count]];

		for (size_t i = function->begin; i < function->end && !error; i++) {
			const struct gt_spirv_instruction *one = &module->instructions.items[i];
			struct gt_spirv_patch_function *callee =
				one->opcode == SpvOpFunctionCall && one->count > 3
					? find_function(search->patcher, one->words[3])
					: NULL;

			if (callee)
				error = visit_function(search, callee, entry, wanted);
		}
	}
	return error;
}

/* A function with the name of a kernel that does not call it is another one. */
static void check_code(const struct call_search *search, uint32_t entry)
{
	struct gt_spirv_patcher *patcher = search->patcher;
	uint32_t body = patcher->kernels[entry].body;

	if (!body || search->seen[body - 1] == entry + 1)
		return;
	patcher->functions[body - 1].kernel = NULL;
	patcher->kernels[entry].body = 0;
}

/* The programs that name kernels. */
static uint64_t kernel_programs(const struct gt_spirv_patcher *patcher)
{
	uint64_t programs = 0;

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (!gt_patch_names_functions(&patcher->options->programs[i].section))
			programs |= GT_SPIRV_PROGRAM(i);
	return programs;
}

int gt_spirv_find_functions(struct gt_spirv_patcher *patcher)
{
	size_t count = patcher->module->functions.count;
	gt_autofree uint32_t *seen = calloc(count + 1, sizeof(*seen));
	struct call_search search = {.patcher = patcher, .seen = seen};
	int error;

	patcher->functions = calloc(count + 1, sizeof(*patcher->functions));
	if (!patcher->functions || !seen)
		return -ENOMEM;
	error = name_functions(patcher);
	for (uint32_t i = 0; i < patcher->module->entries.count && !error; i++) {
		error = visit_entry(&search, i, kernel_programs(patcher));
		if (!error)
			check_code(&search, i);
	}
	gt_vec_free(&search.pending);
	return error;
}
