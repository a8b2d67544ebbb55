/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which programs belong into which functions, and which functions into the text. */
#include "elf/demangle.h"
#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

/* Programs of a kernel's own start and end, not of its statements. */
static bool is_kernel_only(const struct gt_section *section)
{
	return section->kind == GT_KIND_ENTRY || section->kind == GT_KIND_BLOCK_BEGIN ||
	       section->kind == GT_KIND_BLOCK_END;
}

static int match_names(struct gt_patcher *patcher)
{
	const struct gt_patch_options *options = patcher->options;
	gt_auto_strbuf demangled = GT_STRBUF_INIT;

	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next) {
		struct gt_patch_function *known = &patcher->functions[function->number];

		if (!function->body || function->is_prototype)
			continue;
		gt_strbuf_clear(&demangled);
		gt_demangle(function->name, &demangled);
		if (demangled.failed)
			return -ENOMEM;
		known->unwanted =
			function->is_entry &&
			!gt_patch_wants(options, function->name, gt_strbuf_string(&demangled));
		for (uint32_t i = 0; i < options->program_count && !known->unwanted; i++)
			if (gt_patch_names_functions(&options->programs[i].section) !=
				    function->is_entry &&
			    gt_section_matches(&options->programs[i].section, function->name,
					       gt_strbuf_string(&demangled)))
				known->matched |= PROGRAM(i);
		patcher->matches_callees |= known->matched && !function->is_entry;
	}
	return 0;
}

/* The programs of a kernel: its own, and those of device functions that it can reach. */
static int match_kernel(struct gt_patcher *patcher, const struct gt_ptx_function *kernel)
{
	struct gt_patch_function *known = &patcher->functions[kernel->number];
	struct gt_patch_reach reach;
	int error;

	known->programs = known->matched;
	if (!patcher->matches_callees || known->unwanted)
		return 0;
	error = gt_patch_reach_new(patcher->graph, &reach);
	if (!error)
		error = gt_patch_reach_add(patcher->graph, kernel, &reach);
	for (uint32_t i = 0; !error && i < patcher->module->function_count; i++)
		if (reach.functions[i])
			known->programs |= patcher->functions[i].matched;
	gt_patch_reach_clear(&reach);
	return error;
}

static int match_kernels(struct gt_patcher *patcher)
{
	uint32_t number = patcher->options->first_kernel;
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		struct gt_patch_function *known = &patcher->functions[function->number];

		if (!function->is_entry || !function->body)
			continue;
		error = match_kernel(patcher, function);
		if (error || !known->programs)
			continue;
		known->kernel = number++;
		error = gt_vec_push(&patcher->result->kernels,
				    (struct gt_patch_kernel){.name = function->name,
							     .number = known->kernel,
							     .programs = known->programs});
	}
	return error;
}

/* All that the kernels can reach that a program does, or does not, match. */
static int reach_from_kernels(const struct gt_patcher *patcher, uint32_t program, bool matching,
			      struct gt_patch_reach *ret_reach)
{
	int error = gt_patch_reach_new(patcher->graph, ret_reach);

	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next) {
		const struct gt_patch_function *known = &patcher->functions[function->number];

		if (!error && function->is_entry && function->body && known->kept &&
		    !!(known->matched & PROGRAM(program)) == matching)
			error = gt_patch_reach_add(patcher->graph, function, ret_reach);
	}
	return error;
}

/*
 * A program's sites in device functions. Where a kernel that does not match can call the function,
 * too, its sites would run for both, and are rejected.
 */
static int match_callees(struct gt_patcher *patcher, uint32_t program)
{
	const struct gt_section *section = &patcher->options->programs[program].section;
	uint32_t kinds = gt_patch_site_kinds(section->kind);
	struct gt_patch_reach own = {0}, foreign = {0};
	int error = reach_from_kernels(patcher, program, true, &own);

	if (!error)
		error = reach_from_kernels(patcher, program, false, &foreign);
	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		uint32_t sites;

		if (function->is_entry || !function->body || !own.functions[function->number])
			continue;
		sites = gt_patch_count_sites(function, kinds, false);
		if (sites && gt_patch_is_block_end(section)) {
			gt_patch_reject(patcher, program, function->name, sites,
					"threads that exit in a device function are not counted");
			continue;
		}
		if (!foreign.functions[function->number]) {
			patcher->functions[function->number].programs |= PROGRAM(program);
			continue;
		}
		if (sites)
			gt_patch_reject(
				patcher, program, function->name, sites,
				"kernels that the program does not match call the function, "
				"too");
	}
	gt_patch_reach_clear(&own);
	gt_patch_reach_clear(&foreign);
	return error;
}

/* Reject programs of a device function that kernels which are not wanted can call, too. */
static void reject_shared_function(struct gt_patcher *patcher,
				   const struct gt_ptx_function *function)
{
	struct gt_patch_function *known = &patcher->functions[function->number];

	for (uint32_t i = 0; i < patcher->options->program_count; i++) {
		uint32_t kinds = gt_patch_site_kinds(patcher->options->programs[i].section.kind);
		uint32_t sites = gt_patch_count_sites(function, kinds, false);

		/* The start and the end of a body are no statements. */
		if (known->matched & PROGRAM(i))
			gt_patch_reject(patcher, i, function->name, sites ? sites : 1,
					"kernels that were not selected call the function, too");
	}
	known->matched = 0;
}

/* All that the kernels of the text can reach that the options select, or exclude. */
static int reach_from_selected(const struct gt_patcher *patcher, bool selected,
			       struct gt_patch_reach *ret_reach)
{
	int error = gt_patch_reach_new(patcher->graph, ret_reach);

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		const struct gt_patch_function *known = &patcher->functions[function->number];

		if (function->is_entry && function->body && known->kept &&
		    known->unwanted != selected)
			error = gt_patch_reach_add(patcher->graph, function, ret_reach);
	}
	return error;
}

/*
 * Programs of device functions run in the selected kernels only. A function that excluded kernels
 * call has sites if a selected one can call it, too: in a linked program also one of another
 * module.
 */
static int reject_shared_functions(struct gt_patcher *patcher)
{
	struct gt_patch_reach selected = {0}, excluded = {0};
	int error = reach_from_selected(patcher, true, &selected);

	if (!error)
		error = reach_from_selected(patcher, false, &excluded);
	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		if (function->is_entry || !function->body || !excluded.functions[function->number])
			continue;
		if (selected.functions[function->number] ||
		    (patcher->options->is_linked && function->linkage != GT_PTX_LINKAGE_NONE))
			reject_shared_function(patcher, function);
		else
			patcher->functions[function->number].matched = 0;
	}
	gt_patch_reach_clear(&selected);
	gt_patch_reach_clear(&excluded);
	return error;
}

static void keep_functions(struct gt_patcher *patcher)
{
	bool whole = patcher->result->scope == GT_PATCH_WHOLE;

	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next)
		patcher->functions[function->number].kept =
			whole || patcher->kept.functions[function->number];
	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next) {
		if (function->is_entry && function->body)
			patcher->result->compiled += patcher->functions[function->number].kept;
	}
}

/* Inside the text, each function has the programs that run in it. */
static int match_sites(struct gt_patcher *patcher)
{
	int error = patcher->matches_callees ? reject_shared_functions(patcher) : 0;

	for (uint32_t i = 0; i < patcher->module->function_count; i++)
		patcher->functions[i].programs = patcher->functions[i].matched;
	for (uint32_t i = 0; i < patcher->options->program_count && !error; i++) {
		const struct gt_section *section = &patcher->options->programs[i].section;

		if (!gt_patch_names_functions(section) && !is_kernel_only(section))
			error = match_callees(patcher, i);
	}
	return error;
}

static bool any_function_matches(const struct gt_patcher *patcher)
{
	for (uint32_t i = 0; i < patcher->module->function_count; i++)
		if (patcher->functions[i].matched)
			return true;
	return false;
}

int gt_patch_match(struct gt_patcher *patcher)
{
	const char *reason;
	int error = match_names(patcher);

	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next)
		patcher->result->module_kernels += function->is_entry && function->body;
	if (error || !any_function_matches(patcher))
		return error;
	error = gt_patch_graph_new(patcher->module, &patcher->graph);
	if (!error)
		error = match_kernels(patcher);
	if (!error)
		error = gt_patch_plan_side(patcher, &reason);
	if (error)
		return error;
	patcher->result->scope = reason ? GT_PATCH_WHOLE : GT_PATCH_SIDE;
	patcher->result->whole_reason = reason;
	keep_functions(patcher);
	return match_sites(patcher);
}
