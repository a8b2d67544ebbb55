/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Side modules. Kernels that share no state with the rest of their module can be loaded from a
 * second module, and the original keeps its machine code. State is shared by variables at module
 * scope: the host finds them by their names in the original, and other kernels write to them.
 */
#include <string.h>

#include "base/clean.h"
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
static bool is_literal(const struct gt_ptx_variable *variable)
{
	static const char *const prefixes[] = {"$str", "_$_str",     "__unnamed_",     ".str",
					       "_str", "__const_$_", "switch_$_table", "__cudart_"};

	if (variable->linkage != GT_PTX_LINKAGE_NONE || !variable->initializer)
		return false;
	for (size_t i = 0; i < gt_countof(prefixes); i++)
		if (!strncmp(variable->name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
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

/* The first reason among the variables that the kernels use; NULL: none. */
static const char *find_shared_variable(const struct gt_patcher *patcher, const bool *read_only,
					bool *ret_is_static)
{
	for (const struct gt_ptx_item *item = patcher->module->items; item; item = item->next) {
		if (item->kind != GT_PTX_ITEM_VARIABLES)
			continue;
		for (const struct gt_ptx_variable *variable = item->variables; variable;
		     variable = variable->next) {
			const char *reason = patcher->kept.variables[variable->number]
						     ? shared_state(variable, read_only)
						     : NULL;

			*ret_is_static = reason && gt_patch_is_static(variable);
			if (reason)
				return reason;
		}
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

static const char *find_foreign_function(const struct gt_patcher *patcher)
{
	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next)
		if (patcher->kept.functions[function->number] && !function->body &&
		    !function->definition && !gt_patch_is_system_call(function->name))
			return "it calls a function of another module";
	return NULL;
}

static bool has_debug_target(const struct gt_ptx_module *module)
{
	for (uint32_t i = 0; i < module->target_count; i++)
		if (!strcmp(module->targets[i], "debug"))
			return true;
	return false;
}

/* Reasons that do not depend on what the kernels use. */
static const char *find_module_reason(const struct gt_patcher *patcher)
{
	bool all = true;

	if (patcher->options->whole)
		return "it was requested";
	if (has_debug_target(patcher->module))
		return "it has debug information";
	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next) {
		const struct gt_patch_function *known = &patcher->functions[function->number];

		if (function->is_entry && function->body)
			all = all && known->programs;
		else if (known->matched && !patcher->kept.functions[function->number])
			return "a matched device function is used by other modules";
	}
	return all ? "every kernel matches" : NULL;
}

int gt_patch_plan_side(struct gt_patcher *patcher, const char **ret_reason)
{
	int error = gt_patch_reach_new(patcher->graph, &patcher->kept);

	for (const struct gt_ptx_function *function = patcher->module->functions; function;
	     function = function->next)
		if (!error && function->is_entry && patcher->functions[function->number].programs)
			error = gt_patch_reach_add(patcher->graph, function, &patcher->kept);
	if (error)
		return error;
	*ret_reason = find_module_reason(patcher);
	if (!*ret_reason && gt_patch_reach_is_shared(patcher->graph, &patcher->kept))
		*ret_reason = "another function of the module launches it";
	if (!*ret_reason)
		*ret_reason = find_foreign_function(patcher);
	return *ret_reason ? 0 : find_shared_state(patcher, ret_reason);
}

static bool keeps_variables(const struct gt_patcher *patcher,
			    const struct gt_ptx_variable *variable)
{
	for (; variable; variable = variable->next) {
		const struct gt_ptx_variable *definition =
			variable->definition ? variable->definition : variable;

		if (patcher->kept.variables[definition->number])
			return true;
	}
	return false;
}

static bool keeps_function(const struct gt_patcher *patcher, const struct gt_ptx_function *function)
{
	const struct gt_ptx_function *definition =
		function->definition ? function->definition : function;

	return patcher->kept.functions[function->number] ||
	       patcher->kept.functions[definition->number];
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
