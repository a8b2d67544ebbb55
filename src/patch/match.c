/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which programs belong into which functions, and which functions into the text. */
#include "elf/demangle.h"
#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

/* Programs of a kernel's own start and end, or of one of its basic blocks. */
static bool is_kernel_only(const struct gt_section *section)
{
	return section->kind == GT_KIND_ENTRY || section->kind == GT_KIND_BLOCK_BEGIN ||
	       section->kind == GT_KIND_BLOCK_END || section->block;
}

static bool any_callee_matches(const struct gt_patch_set *set)
{
	bool matches = false;

	gt_patch_each (patcher, set)
		matches |= patcher->matches_callees;
	return matches;
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
static int match_kernel(const struct gt_patch_set *set, struct gt_patcher *patcher,
			const struct gt_ptx_function *kernel)
{
	struct gt_patch_function *known = &patcher->functions[kernel->number];
	int error;

	known->programs = known->matched;
	if (!any_callee_matches(set) || known->unwanted)
		return 0;
	error = gt_patch_reach_kernel(set, patcher, kernel);
	if (error)
		return error;
	gt_patch_each (other, set)
		gt_vec_each (function, &set->from_kernel.items[other->index].list)
			known->programs |= other->functions[(*function)->number].matched;
	return 0;
}

/* The number that a repeated kernel has in the module before. */
static uint32_t repeated_number(const struct gt_patch_set *set,
				const struct gt_patch_function *known)
{
	const struct gt_patch_import *import = &set->imports.items[known->import - 1];

	return set->patchers[import->to].functions[import->definition->number].kernel;
}

/* number: of the next kernel. */
static int match_kernels(const struct gt_patch_set *set, struct gt_patcher *patcher,
			 uint32_t *number)
{
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		struct gt_patch_function *known = &patcher->functions[function->number];

		if (!function->is_entry || !function->body)
			continue;
		patcher->result->module_kernels -= known->repeated;
		error = match_kernel(set, patcher, function);
		if (error || !known->programs)
			continue;
		known->runs_programs = true;
		known->kernel = known->repeated ? repeated_number(set, known) : (*number)++;
		if (!known->repeated)
			error = gt_vec_push(&patcher->result->kernels,
					    (struct gt_patch_kernel){.name = function->name,
								     .number = known->kernel,
								     .programs = known->programs});
	}
	return error;
}

/* Whether a kernel is one of those from which a reach starts. */
typedef bool kernel_filter(const struct gt_patch_function *known, uint64_t program);

static bool matches_program(const struct gt_patch_function *known, uint64_t program)
{
	return known->matched & program;
}

static bool matches_others(const struct gt_patch_function *known, uint64_t program)
{
	return !(known->matched & program);
}

static bool is_selected(const struct gt_patch_function *known, uint64_t program)
{
	return !known->unwanted;
}

static bool is_excluded(const struct gt_patch_function *known, uint64_t program)
{
	return known->unwanted;
}

/* All that some kernels of the text can reach. */
static int reach_from_kernels(const struct gt_patch_set *set, kernel_filter *filter,
			      uint64_t program, struct gt_patch_reaches *ret_reaches)
{
	int error = gt_patch_reaches_new(set, ret_reaches);

	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next) {
			const struct gt_patch_function *known =
				&patcher->functions[function->number];

			if (!error && function->is_entry && function->body && known->kept &&
			    filter(known, program))
				error = gt_patch_reach_add(patcher->graph, function,
							   &ret_reaches->items[patcher->index]);
		}
	return error ? error : gt_patch_reaches_follow(set, ret_reaches);
}

/* Whether machine code, which is part of what is loaded, may call a function. */
static bool is_called_by_code(const struct gt_patch_set *set, const struct gt_patcher *patcher,
			      const struct gt_ptx_function *function)
{
	return gt_patch_runs_code(patcher) && gt_patch_reached(&set->called, patcher, function);
}

/* Why a program has no sites in a device function that kernels which it matches call; or NULL. */
static const char *find_callee_obstacle(const struct gt_patcher *patcher, uint32_t program,
					const struct gt_ptx_function *function,
					const struct gt_patch_reaches *foreign)
{
	if (gt_patch_is_block_end(&patcher->options->programs[program].section))
		return "threads that exit in a device function are not counted";
	if (gt_patch_reached(foreign, patcher, function))
		return "kernels that the program does not match call the function, too";
	if (is_called_by_code(patcher->set, patcher, function))
		return "machine code that the module is linked with calls the function, too";
	return NULL;
}

/*
 * A program's sites in device functions. Where a kernel that does not match can call the function,
 * too, its sites would run for both, and are rejected.
 */
static void match_callee(struct gt_patcher *patcher, uint32_t program,
			 const struct gt_ptx_function *function,
			 const struct gt_patch_reaches *foreign)
{
	const struct gt_section *section = &patcher->options->programs[program].section;
	uint32_t sites = gt_patch_count_sites(function, gt_patch_site_kinds(section->kind), false);
	const char *obstacle = find_callee_obstacle(patcher, program, function, foreign);

	if (!obstacle)
		patcher->functions[function->number].programs |= PROGRAM(program);
	else if (sites)
		gt_patch_reject(patcher, program, function->name, sites, "%s", obstacle);
}

static int match_callees(const struct gt_patch_set *set, uint32_t program)
{
	struct gt_patch_reaches own = {0}, foreign = {0};
	int error = reach_from_kernels(set, matches_program, PROGRAM(program), &own);
	bool calls_code = !error && gt_patch_calls_code(set, &own);

	if (!error)
		error = reach_from_kernels(set, matches_others, PROGRAM(program), &foreign);
	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions;
		     function && !error; function = function->next)
			if (!function->is_entry && function->body &&
			    (gt_patch_reached(&own, patcher, function) ||
			     (calls_code && is_called_by_code(set, patcher, function))))
				match_callee(patcher, program, function, &foreign);
	gt_patch_reaches_clear(set, &own);
	gt_patch_reaches_clear(set, &foreign);
	return error;
}

/* Reject some of the programs of a device function. */
static void reject_programs(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			    uint64_t programs, const char *reason)
{
	for (uint32_t i = 0; i < patcher->options->program_count; i++) {
		const struct gt_section *section = &patcher->options->programs[i].section;
		uint32_t kinds = gt_patch_site_kinds(section->kind), sites;

		if (!(programs & PROGRAM(i)))
			continue;
		sites = gt_patch_count_sites(function, kinds, false);
		/* The start and the end of a body are no statements. */
		if (!sites && gt_patch_names_functions(section))
			sites = 1;
		if (sites)
			gt_patch_reject(patcher, i, function->name, sites, "%s", reason);
	}
}

/* Reject the programs that match a device function. */
static void reject_function(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			    const char *reason)
{
	struct gt_patch_function *known = &patcher->functions[function->number];

	reject_programs(patcher, function, known->matched, reason);
	known->matched = 0;
}

/*
 * Programs of device functions run in the selected kernels only. A function that excluded kernels
 * call, or machine code, whose kernels are not selected, has sites if a selected one can call it.
 */
static void check_selected(const struct gt_patch_set *set, struct gt_patcher *patcher,
			   const struct gt_patch_reaches *selected,
			   const struct gt_patch_reaches *excluded)
{
	bool selects = patcher->options->kernel_count;

	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next) {
		bool code = selects && is_called_by_code(set, patcher, function);

		if (function->is_entry || !function->body ||
		    !(code || gt_patch_reached(excluded, patcher, function)))
			continue;
		if (code || gt_patch_reached(selected, patcher, function))
			reject_function(patcher, function,
					"kernels that were not selected call the function, too");
		else
			patcher->functions[function->number].matched = 0;
	}
}

static int reject_shared_functions(const struct gt_patch_set *set)
{
	struct gt_patch_reaches selected = {0}, excluded = {0};
	int error = reach_from_kernels(set, is_selected, 0, &selected);

	if (!error)
		error = reach_from_kernels(set, is_excluded, 0, &excluded);
	gt_patch_each (patcher, set)
		if (!error)
			check_selected(set, patcher, &selected, &excluded);
	gt_patch_reaches_clear(set, &selected);
	gt_patch_reaches_clear(set, &excluded);
	return error;
}

/* Whether a module has functions that a side module needs. */
static bool is_needed(const struct gt_patch_set *set, const struct gt_patcher *patcher)
{
	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next)
		if (function->body && gt_patch_reached(&set->kept, patcher, function))
			return true;
	return false;
}

static void keep_functions(const struct gt_patch_set *set, struct gt_patcher *patcher,
			   const char *whole_reason)
{
	struct gt_patch_result *result = patcher->result;

	result->scope = whole_reason              ? GT_PATCH_WHOLE
			: is_needed(set, patcher) ? GT_PATCH_SIDE
						  : GT_PATCH_NONE;
	result->whole_reason = whole_reason;
	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next) {
		struct gt_patch_function *known = &patcher->functions[function->number];

		known->kept = whole_reason || gt_patch_reached(&set->kept, patcher, function);
		result->compiled +=
			function->is_entry && function->body && known->kept && !known->repeated;
	}
}

/* Inside the text, each function has the programs that run in it. */
static int match_sites(const struct gt_patch_set *set)
{
	const struct gt_patch_options *options = set->patchers->options;
	int error = any_callee_matches(set) ? reject_shared_functions(set) : 0;

	gt_patch_each (patcher, set)
		for (uint32_t i = 0; i < patcher->module->function_count; i++)
			patcher->functions[i].programs = patcher->functions[i].matched;
	for (uint32_t i = 0; i < options->program_count && !error; i++) {
		const struct gt_section *section = &options->programs[i].section;

		if (!gt_patch_names_functions(section) && !is_kernel_only(section))
			error = match_callees(set, i);
	}
	return error;
}

static uint64_t find_readers_of_kernel(const struct gt_patch_options *options)
{
	uint64_t readers = 0;

	for (uint32_t i = 0; i < options->program_count; i++) {
		const struct gt_patch_program *program = &options->programs[i];
		struct gt_patch_uses uses = {0};

		if (program->program)
			uses = gt_patch_find_uses(program->program, program->facts,
						  &program->section);
		if (uses.sources >> GT_SOURCE_KERNEL & 1)
			readers |= PROGRAM(i);
	}
	return readers;
}

/* A device function does not know which kernel called it, if there are several. */
static void reject_readers_of_kernel(const struct gt_patch_set *set)
{
	uint64_t readers = find_readers_of_kernel(set->patchers->options);

	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions;
		     function && readers; function = function->next) {
			uint64_t *programs = &patcher->functions[function->number].programs;

			if (function->is_entry || !function->body)
				continue;
			reject_programs(patcher, function, *programs & readers,
					"the program reads the kernel's number, which a function "
					"of a module with programs in several kernels lacks");
			*programs &= ~readers;
		}
}

static bool any_function_matches(const struct gt_patcher *patcher)
{
	for (uint32_t i = 0; i < patcher->module->function_count; i++)
		if (patcher->functions[i].matched)
			return true;
	return false;
}

static uint32_t count_kernels(const struct gt_ptx_module *module)
{
	uint32_t count = 0;

	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next)
		count += function->is_entry && function->body;
	return count;
}

static int match_all_names(const struct gt_patch_set *set, bool *ret_matches)
{
	int error = 0;

	*ret_matches = false;
	gt_patch_each (patcher, set) {
		patcher->result->module_kernels = count_kernels(patcher->module);
		error = error ? error : match_names(patcher);
		*ret_matches |= any_function_matches(patcher);
	}
	return error;
}

/* Without a kernel in which programs run, functions that machine code calls are all that match. */
static void reject_called(const struct gt_patch_set *set)
{
	const char *reason = set->patchers->options->kernel_count
				     ? "no selected kernel with PTX calls the function"
				     : "no kernel with PTX calls the function";

	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (!function->is_entry && function->body &&
			    gt_patch_reached(&set->called, patcher, function))
				reject_function(patcher, function, reason);
}

int gt_patch_match(struct gt_patch_set *set)
{
	uint32_t kernel = set->patchers->options->first_kernel;
	const char *reason;
	bool matches;
	int error = match_all_names(set, &matches);

	if (error || !matches)
		return error;
	gt_patch_each (patcher, set)
		error = error ? error : gt_patch_graph_new(patcher->module, &patcher->graph);
	if (!error)
		error = gt_patch_link(set);
	gt_patch_each (patcher, set)
		error = error ? error : match_kernels(set, patcher, &kernel);
	if (!error && kernel == set->patchers->options->first_kernel) {
		reject_called(set);
		return 0;
	}
	if (!error)
		error = gt_patch_plan_side(set, &reason);
	if (error)
		return error;
	gt_patch_each (patcher, set)
		keep_functions(set, patcher, reason);
	error = match_sites(set);
	if (kernel > set->patchers->options->first_kernel + 1)
		reject_readers_of_kernel(set);
	return error;
}
