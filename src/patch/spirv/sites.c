/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sites in the bodies of kernels and of the functions that they call. */
#include <errno.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#include "patch/site.h"
#include "patch/spirv/private.h"

#define KIND(name) (1u << GT_KIND_##name)

/* The programs of a set that run in bodies at sites of these kinds. */
static uint64_t programs_at(const struct gt_spirv_patcher *patcher, uint64_t programs,
			    uint32_t kinds)
{
	uint64_t at = 0;

	for (uint64_t rest = programs; rest; rest &= rest - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(rest);

		if (gt_patch_site_kinds(patcher->options->programs[i].section.kind) & kinds)
			at |= GT_SPIRV_PROGRAM(i);
	}
	return at;
}

static int add_site(struct gt_spirv_patcher *patcher, const struct gt_patch_site *site)
{
	struct gt_patch_result *result = patcher->result;
	struct gt_patch_site added = *site;

	if (result->sites.count == GT_PATCH_MAX_SITES)
		return gt_diag(patcher->diag, -E2BIG, "patch", site->function,
			       "more than %d sites in one module: match fewer kernels",
			       GT_PATCH_MAX_SITES);
	added.number = patcher->options->first_site + (uint32_t)result->sites.count;
	result->found += (uint32_t)__builtin_popcountll(site->programs);
	return gt_vec_push(&result->sites, added);
}

/* ---- branches ---- */

/* Whether a block is that of an instruction, or an earlier one. */
static bool is_back(const struct gt_spirv_module *module, uint32_t label, size_t block)
{
	const struct gt_spirv_instruction *definition = gt_spirv_definition(module, label);

	return definition && definition->opcode == SpvOpLabel &&
	       definition <= &module->instructions.items[block];
}

bool gt_spirv_leads_back(const struct gt_spirv_patcher *patcher, size_t instruction,
			 uint32_t *ret_condition, bool *ret_is_inverse)
{
	const struct gt_spirv_module *module = patcher->module;
	const struct gt_spirv_instruction *one = &module->instructions.items[instruction];
	bool taken, other;

	*ret_condition = 0;
	*ret_is_inverse = false;
	if (one->opcode == SpvOpBranch && one->count == 2)
		return is_back(module, one->words[1], instruction);
	if (one->opcode != SpvOpBranchConditional || one->count < 4)
		return false;
	taken = is_back(module, one->words[2], instruction);
	other = is_back(module, one->words[3], instruction);
	if (taken != other)
		*ret_condition = one->words[1];
	*ret_is_inverse = other && !taken;
	return taken || other;
}

static bool is_switch_back(const struct gt_spirv_module *module, size_t instruction)
{
	const struct gt_spirv_instruction *one = &module->instructions.items[instruction];

	/* Literals between the labels may look like one: then it is rejected, too. */
	for (unsigned i = 2; i < one->count; i++)
		if (is_back(module, one->words[i], instruction))
			return true;
	return false;
}

static uint32_t branch_kinds(const struct gt_spirv_patcher *patcher, size_t instruction)
{
	const struct gt_spirv_instruction *one = &patcher->module->instructions.items[instruction];
	uint32_t kinds =
		one->opcode == SpvOpBranchConditional && one->count >= 4 ? KIND(BRANCH) : 0;
	uint32_t condition;
	bool is_inverse;

	if (gt_spirv_leads_back(patcher, instruction, &condition, &is_inverse))
		kinds |= KIND(LOOP);
	return kinds;
}

/* ---- what is rejected ---- */

/* One more site of a program that is rejected: those of a function and a reason are one rejection.
 */
static int reject_site(struct gt_spirv_patcher *patcher, uint32_t program, const char *function,
		       const char *reason)
{
	struct gt_patch_result *result = patcher->result;
	struct gt_patch_rejection fresh = {.program = program, .function = function, .sites = 1};

	result->found++;
	result->rejected++;
	for (size_t i = result->rejections.count; i-- > 0;) {
		struct gt_patch_rejection *rejection = &result->rejections.items[i];

		if (rejection->function != function)
			break;
		if (rejection->program != program || strcmp(rejection->reason, reason) != 0)
			continue;
		rejection->sites++;
		return 0;
	}
	snprintf(fresh.reason, sizeof(fresh.reason), "%s", reason);
	return gt_vec_push(&result->rejections, fresh);
}

static int reject_sites(struct gt_spirv_patcher *patcher, uint64_t programs, const char *function,
			const char *reason)
{
	int error = 0;

	for (uint64_t rest = programs; rest && !error; rest &= rest - 1)
		error = reject_site(patcher, (uint32_t)__builtin_ctzll(rest), function, reason);
	return error;
}

/* ---- sites ---- */

/* The function whose sites are found. */
struct site_search {
	struct gt_spirv_patcher *patcher;
	struct gt_spirv_patch_function *function;
	size_t label; /* of the block that is examined */
};

/* Code before a branch precedes an instruction that belongs to it. */
static size_t position_before(const struct gt_spirv_module *module, size_t instruction)
{
	unsigned previous = instruction ? module->instructions.items[instruction - 1].opcode : 0;

	return previous == SpvOpLoopMerge || previous == SpvOpSelectionMerge ? instruction - 1
									     : instruction;
}

static int add_place(struct site_search *search, size_t instruction, uint32_t kinds, bool after)
{
	struct gt_spirv_patcher *patcher = search->patcher;
	struct gt_spirv_patch_function *function = search->function;
	struct gt_patch_site site = {
		.function = function->name,
		.line = (uint32_t)instruction + 1,
		.opcode = gt_spirv_opcode_name(
			patcher->module->instructions.items[instruction].opcode),
		.kinds = kinds,
		.after = after,
		.programs = programs_at(patcher, function->matched, kinds),
	};
	struct gt_spirv_place place = {
		.instruction = instruction,
		.position = after ? instruction + 1 : position_before(patcher->module, instruction),
		.site = (uint32_t)patcher->result->sites.count,
		.on_edges = kinds == KIND(BRANCH) &&
			    position_before(patcher->module, instruction) == instruction &&
			    gt_spirv_is_on_edges(patcher, search->label, instruction),
	};
	uint64_t foreign = site.programs & function->foreign;
	int error;

	site.programs &= ~foreign;
	error = reject_sites(patcher, foreign, function->name,
			     "kernels that the program does not match call the function, too");
	if (error || !site.programs)
		return error;
	error = add_site(patcher, &site);
	return error ? error : gt_vec_push(&patcher->places, place);
}

static int reject_instruction(struct site_search *search, size_t instruction)
{
	struct gt_spirv_patcher *patcher = search->patcher;
	const struct gt_spirv_instruction *one = &patcher->module->instructions.items[instruction];
	const char *reason;
	uint32_t kinds = gt_spirv_rejected_kinds(patcher->module, one, patcher->registers, &reason);

	if (one->opcode == SpvOpSwitch && !is_switch_back(patcher->module, instruction))
		kinds &= ~KIND(LOOP);
	if (branch_kinds(patcher, instruction) & KIND(LOOP)) {
		kinds = KIND(LOOP_END);
		reason = "the ends of loops are no sites";
	}
	return kinds ? reject_sites(patcher, programs_at(patcher, search->function->matched, kinds),
				    search->function->name, reason)
		     : 0;
}

static int find_instruction_sites(struct site_search *search, size_t instruction)
{
	struct gt_spirv_patcher *patcher = search->patcher;
	const struct gt_spirv_instruction *one = &patcher->module->instructions.items[instruction];
	uint32_t kinds, after;
	int error = 0;

	kinds = gt_spirv_instruction_kinds(patcher->module, one, patcher->registers) |
		branch_kinds(patcher, instruction);
	after = gt_patch_kinds_after(kinds);
	if (kinds & ~after)
		error = add_place(search, instruction, kinds & ~after, false);
	if (after && !error)
		error = add_place(search, instruction, after, true);
	return error ? error : reject_instruction(search, instruction);
}

/* ---- the ends of kernels ---- */

/* The programs of a function that run at an end of its kernel; *ret_kinds: those of their sections.
 */
static uint64_t programs_at_end(const struct site_search *search, enum gt_spirv_end end,
				uint32_t *ret_kinds)
{
	uint64_t programs = 0;

	*ret_kinds = 0;
	for (uint64_t rest = search->function->matched; rest; rest &= rest - 1) {
		uint32_t number = (uint32_t)__builtin_ctzll(rest);
		const struct gt_section *section =
			&search->patcher->options->programs[number].section;

		if (gt_spirv_end_of(section) != end)
			continue;
		programs |= GT_SPIRV_PROGRAM(number);
		*ret_kinds |= 1u << section->kind;
	}
	return programs;
}

/* The site of an end of a kernel. False: no program runs there. */
static int add_end(struct site_search *search, enum gt_spirv_end end, bool *ret_added)
{
	const struct gt_spirv_patch_function *function = search->function;
	struct gt_patch_site site = {
		.function = function->name,
		.after = end == GT_SPIRV_AT_EXIT,
	};

	*ret_added = false;
	site.programs = programs_at_end(search, end, &site.kinds);
	if (!site.programs)
		return 0;
	/* Its own entry point, and that of LLVM, are of one kernel. */
	if (function->callers > 1)
		return reject_sites(search->patcher, site.programs, function->name,
				    "another kernel calls the kernel as a function");
	*ret_added = true;
	return add_site(search->patcher, &site);
}

size_t gt_spirv_after_variables(const struct gt_spirv_module *module,
				const struct gt_spirv_function *code)
{
	const struct gt_spirv_instruction *items = module->instructions.items;
	size_t at = code->begin;

	while (items[at].opcode != SpvOpLabel)
		at++;
	for (at++; items[at].opcode == SpvOpVariable || items[at].opcode == SpvOpLine ||
		   items[at].opcode == SpvOpNoLine;)
		at++;
	return at;
}

static int add_entry(struct site_search *search, const struct gt_spirv_function *code)
{
	struct gt_spirv_place place = {
		.instruction = GT_SPIRV_NO_INSTRUCTION,
		.position = gt_spirv_after_variables(search->patcher->module, code),
		.site = (uint32_t)search->patcher->result->sites.count,
		.is_entry = true,
	};
	bool is_added;
	int error = add_end(search, GT_SPIRV_AT_ENTRY, &is_added);

	if (error || !is_added)
		return error;
	return gt_vec_push(&search->patcher->places, place);
}

/* Before each return. */
static int add_exits(struct site_search *search, const struct gt_spirv_function *code)
{
	struct gt_spirv_place place = {
		.instruction = GT_SPIRV_NO_INSTRUCTION,
		.site = (uint32_t)search->patcher->result->sites.count,
	};
	bool is_added;
	int error = add_end(search, GT_SPIRV_AT_EXIT, &is_added);

	for (size_t i = code->begin; i < code->end && is_added && !error; i++) {
		if (search->patcher->module->instructions.items[i].opcode != SpvOpReturn)
			continue;
		place.position = i;
		error = gt_vec_push(&search->patcher->places, place);
	}
	return error;
}

/* By position; of one position, sites in a body precede the exit, and the entry these. */
static int compare_places(const void *a, const void *b)
{
	const struct gt_spirv_place *one = a, *other = b;

	if (one->position != other->position)
		return one->position < other->position ? -1 : 1;
	return (one->site > other->site) - (one->site < other->site);
}

/* ---- functions ---- */

static int find_body_sites(struct site_search *search, const struct gt_spirv_function *code)
{
	int error = 0;

	for (size_t i = code->begin; i < code->end && !error; i++) {
		if (search->patcher->module->instructions.items[i].opcode == SpvOpLabel)
			search->label = i;
		error = find_instruction_sites(search, i);
	}
	return error;
}

int gt_spirv_find_sites(struct gt_spirv_patcher *patcher, struct gt_spirv_patch_function *function)
{
	const struct gt_spirv_function *code =
		&patcher->module->functions.items[function - patcher->functions];
	struct site_search search = {.patcher = patcher, .function = function};
	int error = 0;

	function->first_place = patcher->places.count;
	/* The code of a kernel may be in another module, which the device links. */
	if (!function->matched || !code->has_body)
		return 0;
	if (function->kernel)
		error = add_entry(&search, code);
	if (!error)
		error = find_body_sites(&search, code);
	if (!error && function->kernel)
		error = add_exits(&search, code);
	function->place_count = patcher->places.count - function->first_place;
	if (function->place_count)
		qsort(patcher->places.items + function->first_place, function->place_count,
		      sizeof(*patcher->places.items), compare_places);
	return error;
}
