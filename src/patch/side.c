/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Side modules. Kernels that share no state with the rest of their module can be loaded from a
 * second module, and the original keeps its machine code. State is shared by variables at module
 * scope: the host finds them by their names in the original, and other kernels write to them.
 */
#include <string.h>

#include "base/clean.h"
#include "base/hash.h"
#include "patch/private.h"
#include "patch/statics.h"

/* Functions without a body that the driver itself provides. */
static const char *const system_calls[] = {"vprintf", "malloc", "free", "__assertfail"};

bool gt_patch_is_system_call(const char *name)
{
	for (size_t i = 0; i < gt_countof(system_calls); i++)
		if (!strcmp(name, system_calls[i]))
			return true;
	return false;
}

/*
 * Names that compilers make up: string literals, initial values of arrays, tables of switches, and
 * the tables of sin, cos and others. No program can name these data, and nothing writes them.
 */
bool gt_patch_is_literal(const char *name)
{
	static const char *const prefixes[] = {"$str", "_$_str",     "__unnamed_",     ".str",
					       "_str", "__const_$_", "switch_$_table", "__cudart_"};

	for (size_t i = 0; i < gt_countof(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool is_literal(const struct gt_ptx_variable *variable)
{
	return variable->linkage == GT_PTX_LINKAGE_NONE && variable->initializer &&
	       gt_patch_is_literal(variable->name);
}

/*
 * Why a variable that the kernels use keeps them in their module, or NULL. Without read_only, no
 * static variable of a function is known to be only loaded from.
 */
static const char *shared_state(const struct gt_ptx_variable *variable, const bool *read_only)
{
	if (gt_ptx_type_info(variable->type)->class == GT_PTX_CLASS_OPAQUE ||
	    variable->space == GT_PTX_SPACE_TEX)
		return "it uses a texture, sampler or surface reference";
	if (variable->space == GT_PTX_SPACE_SHARED || variable->space == GT_PTX_SPACE_LOCAL)
		return NULL;
	if (is_literal(variable) || (read_only && read_only[variable->number]))
		return NULL;
	return "it uses a variable of the module";
}

static const struct gt_patch_reach *kept_of(const struct gt_patcher *patcher)
{
	return &patcher->set->kept.items[patcher->index];
}

/* The first reason among the variables that the kernels use; NULL: none. */
static const char *find_shared_variable(const struct gt_patcher *patcher, const bool *read_only,
					bool *ret_is_static)
{
	const struct gt_patch_reach *kept = kept_of(patcher);

	gt_ptx_each_variable (variable, patcher->module) {
		const char *reason = kept->variables[variable->number]
					     ? shared_state(variable, read_only)
					     : NULL;

		*ret_is_static = reason && gt_patch_is_static(variable);
		if (reason)
			return reason;
	}
	return NULL;
}

static int find_shared_state(const struct gt_patcher *patcher, const char **ret_reason)
{
	gt_autofree bool *read_only = NULL;
	bool is_static = false;
	int error;

	*ret_reason = find_shared_variable(patcher, NULL, &is_static);
	if (!is_static)
		return 0;
	/* It takes a pass over the module. */
	error = gt_patch_find_read_only(patcher->module, &read_only);
	if (!error)
		*ret_reason = find_shared_variable(patcher, read_only, &is_static);
	return error;
}

/* The names of the variables in shared memory that modules define for others. 0 or -ENOMEM. */
static int add_shared_names(const struct gt_ptx_module *module, struct gt_hash *names)
{
	int error = 0;

	gt_ptx_each_variable (variable, module)
		if (!error && variable->space == GT_PTX_SPACE_SHARED &&
		    variable->linkage != GT_PTX_LINKAGE_NONE && variable->definition)
			error = gt_hash_set_str(names, variable->name, names);
	return error;
}

/* Whether the kernels use shared memory that another module defines. */
static bool uses_foreign_shared(const struct gt_patcher *patcher, const struct gt_hash *names)
{
	gt_ptx_each_variable (variable, patcher->module)
		if (kept_of(patcher)->variables[variable->number] &&
		    variable->space == GT_PTX_SPACE_SHARED && !variable->definition &&
		    gt_hash_get_str(names, variable->name))
			return true;
	return false;
}

static int find_foreign_shared(const struct gt_patch_set *set, const char **ret_reason)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	int error = names ? 0 : -ENOMEM;

	gt_patch_each (patcher, set)
		error = error ? error : add_shared_names(patcher->module, names);
	gt_patch_each (patcher, set)
		if (!error && !*ret_reason && uses_foreign_shared(patcher, names))
			*ret_reason = "it uses shared memory of another module";
	return error;
}

static bool has_debug_target(const struct gt_ptx_module *module)
{
	for (uint32_t i = 0; i < module->target_count; i++)
		if (!strcmp(module->targets[i], "debug"))
			return true;
	return false;
}

static bool every_kernel_matches(const struct gt_patch_set *set)
{
	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (function->is_entry && function->body &&
			    !patcher->functions[function->number].programs)
				return false;
	return true;
}

/* Whether a program of a function runs for kernels of the machine code, too. */
static bool code_runs_programs(const struct gt_patch_set *set)
{
	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (!function->is_entry && patcher->functions[function->number].matched &&
			    gt_patch_reached(&set->called, patcher, function))
				return true;
	return false;
}

/* Reasons that do not depend on what the kernels use. */
static const char *find_module_reason(const struct gt_patch_set *set)
{
	if (set->patchers->options->whole)
		return "the original cannot be loaded beside it";
	gt_patch_each (patcher, set)
		if (has_debug_target(patcher->module))
			return "it has debug information";
	if (code_runs_programs(set))
		return "machine code that it is linked with calls a matched function";
	return every_kernel_matches(set) ? "every kernel matches" : NULL;
}

/* Launches of the kernels that are not part of a side module. */
static const char *find_launches(const struct gt_patch_set *set)
{
	gt_patch_each (patcher, set) {
		if (gt_patch_reach_is_shared(patcher->graph, kept_of(patcher)))
			return "another function of the module launches it";
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (function->is_entry && patcher->functions[function->number].programs &&
			    patcher->functions[function->number].called_by_code)
				return "machine code that it is linked with launches it";
	}
	return NULL;
}

/* ---- machine code ----------------------------------------------------------------------- */

/* Add what the machine code calls. */
static int add_called(struct gt_patch_set *set)
{
	int error = 0;

	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (!error && patcher->functions[function->number].called_by_code)
				error = gt_patch_reach_add(patcher->graph, function,
							   &set->kept.items[patcher->index]);
	return error ? error : gt_patch_reaches_follow(set, &set->kept);
}

/* Add what machine code needs, if the kernels call it. */
static int add_code(struct gt_patch_set *set, const char **ret_reason)
{
	bool exists = set->code && set->code->functions;
	bool calls = gt_patch_calls_code(set, &set->kept);

	*ret_reason = NULL;
	if (exists && set->code->is_incomplete)
		*ret_reason = "it is linked with something that could not be read";
	else if (calls && !exists)
		*ret_reason = "it calls a function of another module";
	else if (calls && set->code->has_variables)
		*ret_reason = "it calls machine code, which has variables";
	if (*ret_reason || !calls)
		return 0;
	gt_patch_each (patcher, set)
		patcher->result->calls_code = true;
	return add_called(set);
}

/* ---- the plan --------------------------------------------------------------------------- */

/* What the kernels in which programs run reach. */
static int reach_kept(struct gt_patch_set *set)
{
	int error = gt_patch_reaches_new(set, &set->kept);

	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (!error && function->is_entry &&
			    patcher->functions[function->number].programs)
				error = gt_patch_reach_add(patcher->graph, function,
							   &set->kept.items[patcher->index]);
	return error ? error : gt_patch_reaches_follow(set, &set->kept);
}

/* Other modules declare what is kept, too: what they launch by these declarations. */
static void mark_declarations(struct gt_patch_set *set)
{
	gt_vec_each (import, &set->imports)
		set->kept.items[import->from].functions[import->function->number] |=
			set->kept.items[import->to].functions[import->definition->number];
}

int gt_patch_plan_side(struct gt_patch_set *set, const char **ret_reason)
{
	int error = reach_kept(set);

	if (error)
		return error;
	*ret_reason = find_module_reason(set);
	if (!*ret_reason)
		error = add_code(set, ret_reason);
	if (error || *ret_reason)
		return error;
	mark_declarations(set);
	*ret_reason = find_launches(set);
	gt_patch_each (patcher, set)
		if (!error && !*ret_reason)
			error = find_shared_state(patcher, ret_reason);
	if (!error && !*ret_reason && set->count > 1)
		error = find_foreign_shared(set, ret_reason);
	return error;
}

/* ---- items ------------------------------------------------------------------------------ */

static bool keeps_variables(const struct gt_patcher *patcher,
			    const struct gt_ptx_variable *variable)
{
	for (; variable; variable = variable->next) {
		const struct gt_ptx_variable *definition =
			variable->definition ? variable->definition : variable;

		if (kept_of(patcher)->variables[definition->number])
			return true;
	}
	return false;
}

static bool keeps_function(const struct gt_patcher *patcher, const struct gt_ptx_function *function)
{
	return gt_patch_reached(&patcher->set->kept, patcher, function) ||
	       gt_patch_reached(&patcher->set->kept, patcher, gt_patch_referred(function));
}

bool gt_patch_keeps(const struct gt_patcher *patcher, const struct gt_ptx_item *item)
{
	if (patcher->result->scope == GT_PATCH_WHOLE)
		return true;
	switch (item->kind) {
	case GT_PTX_ITEM_VARIABLES:
		return keeps_variables(patcher, item->variables);
	case GT_PTX_ITEM_FUNCTION:
		return keeps_function(patcher, item->function);
	case GT_PTX_ITEM_ALIAS:
		return keeps_function(patcher, item->alias->alias);
	case GT_PTX_ITEM_SECTION:
		/* .loc refers to names in this one; others describe functions that are omitted. */
		return !strcmp(item->section->name, ".debug_str");
	default:
		return true;
	}
}
