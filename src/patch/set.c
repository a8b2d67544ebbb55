/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What can be reached in modules that are linked with each other, and with machine code. */
#include "base/hash.h"
#include "patch/private.h"

/* ---- imports --------------------------------------------------------------------------- */

/* Where a function is that other modules can name: one with a body, or an alias. */
struct set_definition {
	uint32_t module;
	const struct gt_ptx_function *function;
};

struct set_definitions {
	GT_VEC(struct set_definition) items;
	struct gt_hash *by_name; /* name -> index + 1, of the last one */
};

/* The body's function. */
static const struct gt_ptx_function *definition_of(const struct gt_ptx_function *function)
{
	return function->definition ? function->definition : function;
}

static const struct set_definition *find_definition(const struct set_definitions *definitions,
						    const char *name)
{
	uintptr_t index = (uintptr_t)gt_hash_get_str(definitions->by_name, name);

	return index ? &definitions->items.items[index - 1] : NULL;
}

static int add_import(struct gt_patch_set *set, const struct set_definition *from,
		      const struct set_definition *to)
{
	struct gt_patch_function *known =
		&set->patchers[from->module].functions[from->function->number];
	struct gt_patch_import import = {
		.from = from->module,
		.to = to->module,
		.function = from->function,
		.definition = to->function,
		.next = known->import,
	};

	known->import = (uint32_t)set->imports.count + 1;
	return gt_vec_push(&set->imports, import);
}

static int add_definition(struct set_definitions *definitions, uint32_t module,
			  const struct gt_ptx_function *function)
{
	if (gt_vec_push(&definitions->items, (struct set_definition){module, function}))
		return -ENOMEM;
	return gt_hash_set_str(definitions->by_name, function->name,
			       (void *)definitions->items.count);
}

static int add_definitions(struct set_definitions *definitions, const struct gt_patcher *patcher)
{
	int error = 0;

	for (const struct gt_ptx_item *item = patcher->module->items; item && !error;
	     item = item->next) {
		if (item->kind == GT_PTX_ITEM_ALIAS)
			error = add_definition(definitions, patcher->index, item->alias->alias);
		else if (item->kind == GT_PTX_ITEM_FUNCTION && item->function->body &&
			 item->function->linkage != GT_PTX_LINKAGE_NONE)
			error = add_definition(definitions, patcher->index, item->function);
	}
	return error;
}

/*
 * Kernels of one name, as of a template in several modules, are one kernel. The definition has an
 * import of the one before.
 */
static void mark_repeated(const struct gt_patch_set *set, const struct set_definition *definition)
{
	if (definition->function->is_entry)
		set->patchers[definition->module].functions[definition->function->number].repeated =
			true;
}

/* From each definition to the one before it of the same name, and from the first to the last. */
static int join_definitions(struct gt_patch_set *set, const struct set_definitions *definitions)
{
	gt_auto(hash) struct gt_hash *before = gt_hash_new();
	int error = before ? 0 : -ENOMEM;

	gt_vec_each (definition, &definitions->items) {
		const char *name = definition->function->name;
		const struct set_definition *previous =
			error ? NULL : gt_hash_get_str(before, name);

		if (previous && previous->module != definition->module)
			mark_repeated(set, definition);
		else if (!previous)
			previous = find_definition(definitions, name);
		if (!error && previous && previous->module != definition->module)
			error = add_import(set, definition, previous);
		if (!error)
			error = gt_hash_set_str(before, name, definition);
	}
	return error;
}

static int add_imports(struct gt_patch_set *set, const struct set_definitions *definitions,
		       const struct gt_patcher *patcher)
{
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		struct set_definition here = {patcher->index, function};
		const struct set_definition *found = find_definition(definitions, function->name);

		if (!function->body && !function->definition && !function->is_prototype && found &&
		    found->module != here.module)
			error = add_import(set, &here, found);
	}
	return error;
}

static int find_imports(struct gt_patch_set *set)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	struct set_definitions definitions = {.by_name = names};
	int error = names ? 0 : -ENOMEM;

	gt_patch_each (patcher, set)
		error = error ? error : add_definitions(&definitions, patcher);
	if (!error)
		error = join_definitions(set, &definitions);
	gt_patch_each (patcher, set)
		error = error ? error : add_imports(set, &definitions, patcher);
	gt_vec_free(&definitions.items);
	return error;
}

/* ---- machine code ----------------------------------------------------------------------- */

/* What the machine code has to do with a function that it can name. */
static uintptr_t code_function(const struct gt_patch_code *code,
			       const struct gt_ptx_function *function)
{
	bool is_linkable = function->linkage != GT_PTX_LINKAGE_NONE ||
			   definition_of(function)->linkage != GT_PTX_LINKAGE_NONE;

	if (!is_linkable || !definition_of(function)->body)
		return 0;
	if (code->is_incomplete)
		return GT_PATCH_CODE_DEFINES;
	return (uintptr_t)gt_hash_get_str(code->functions, function->name);
}

static bool may_call_addresses(const struct gt_patch_code *code)
{
	return code->has_others || code->is_incomplete;
}

/* The functions of a module that the machine code calls, but not the kernels that it launches. */
static int find_called(struct gt_patch_set *set, const struct gt_patcher *patcher)
{
	struct gt_patch_reach *called = &set->called.items[patcher->index];
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		const struct gt_ptx_function *referred = gt_patch_referred(function);
		struct gt_patch_function *known = &patcher->functions[referred->number];
		uintptr_t kind = code_function(set->code, function);

		/* It launches its own kernel of that name. */
		known->called_by_code |=
			kind && !(referred->is_entry && kind == GT_PATCH_CODE_DEFINES);
		known->defined_by_code |= kind == GT_PATCH_CODE_DEFINES;
		if (kind && !referred->is_entry)
			error = gt_patch_reach_add(patcher->graph, referred, called);
	}
	/* It may have their addresses from variables or arguments. */
	if (!error && may_call_addresses(set->code))
		error = gt_patch_reach_add_taken(patcher->graph, called);
	return error;
}

int gt_patch_link(struct gt_patch_set *set)
{
	int error = set->count > 1 ? find_imports(set) : 0;

	if (!error)
		error = gt_patch_reaches_new(set, &set->called);
	if (!error)
		error = gt_patch_reaches_new(set, &set->from_kernel);
	if (!set->code || !set->code->functions)
		return error;
	gt_patch_each (patcher, set)
		error = error ? error : find_called(set, patcher);
	return error ? error : gt_patch_reaches_follow(set, &set->called);
}

static bool is_foreign(const struct gt_patcher *patcher, const struct gt_ptx_function *function)
{
	const struct gt_patch_function *known = &patcher->functions[function->number];

	if (known->defined_by_code)
		return true;
	return !function->body && !function->definition && !function->is_prototype &&
	       !known->import && !gt_patch_is_system_call(function->name);
}

bool gt_patch_calls_code(const struct gt_patch_set *set, const struct gt_patch_reaches *reaches)
{
	bool has_addresses = set->code && may_call_addresses(set->code);

	gt_patch_each (patcher, set) {
		/* By an address, which may be of a function of the machine code. */
		if (has_addresses && reaches->items[patcher->index].calls_indirectly)
			return true;
		gt_vec_each (function, &reaches->items[patcher->index].list)
			if (is_foreign(patcher, *function))
				return true;
	}
	return false;
}

/* ---- reaches --------------------------------------------------------------------------- */

int gt_patch_reaches_new(const struct gt_patch_set *set, struct gt_patch_reaches *ret_reaches)
{
	int error = 0;

	ret_reaches->items = calloc(set->count, sizeof(*ret_reaches->items));
	if (!ret_reaches->items)
		return -ENOMEM;
	gt_patch_each (patcher, set)
		error = error ? error
			      : gt_patch_reach_new(patcher->graph,
						   &ret_reaches->items[patcher->index]);
	return error;
}

void gt_patch_reaches_clear(const struct gt_patch_set *set, struct gt_patch_reaches *reaches)
{
	for (uint32_t i = 0; reaches->items && i < set->count; i++)
		gt_patch_reach_clear(&reaches->items[i]);
	free(reaches->items);
	*reaches = (struct gt_patch_reaches){0};
}

/* Add the definitions of what was reached in a module since the last time. */
static int follow_imports(const struct gt_patch_set *set, const struct gt_patcher *patcher,
			  struct gt_patch_reaches *reaches, bool *ret_added)
{
	struct gt_patch_reach *from = &reaches->items[patcher->index];
	int error = 0;

	while (from->followed < from->list.count && !error) {
		const struct gt_ptx_function *function = from->list.items[from->followed++];
		uint32_t number = patcher->functions[function->number].import;

		while (number && !error) {
			const struct gt_patch_import *import = &set->imports.items[number - 1];

			error = gt_patch_reach_add(set->patchers[import->to].graph,
						   import->definition, &reaches->items[import->to]);
			*ret_added = true;
			number = import->next;
		}
	}
	return error;
}

/* A call through a register may reach every function whose address is taken in the program. */
static int follow_addresses(const struct gt_patch_set *set, struct gt_patch_reaches *reaches,
			    bool *ret_added)
{
	bool calls_indirectly = false;
	int error = 0;

	gt_patch_each (patcher, set)
		calls_indirectly |= reaches->items[patcher->index].calls_indirectly;
	gt_patch_each (patcher, set) {
		struct gt_patch_reach *reach = &reaches->items[patcher->index];

		if (!calls_indirectly || reach->calls_indirectly || error)
			continue;
		reach->calls_indirectly = true;
		error = gt_patch_reach_add_taken(patcher->graph, reach);
		*ret_added = true;
	}
	return error;
}

int gt_patch_reaches_follow(const struct gt_patch_set *set, struct gt_patch_reaches *reaches)
{
	bool added = set->count > 1;
	int error = 0;

	while (added && !error) {
		added = false;
		gt_patch_each (patcher, set)
			error = error ? error : follow_imports(set, patcher, reaches, &added);
		if (!error)
			error = follow_addresses(set, reaches, &added);
	}
	return error;
}

int gt_patch_reaches_add(const struct gt_patch_set *set, const struct gt_patcher *patcher,
			 const struct gt_ptx_function *function, struct gt_patch_reaches *reaches)
{
	int error = gt_patch_reach_add(patcher->graph, function, &reaches->items[patcher->index]);

	return error ? error : gt_patch_reaches_follow(set, reaches);
}

int gt_patch_reach_kernel(const struct gt_patch_set *set, const struct gt_patcher *patcher,
			  const struct gt_ptx_function *kernel)
{
	struct gt_patch_reaches reaches = set->from_kernel;

	gt_patch_each (other, set)
		gt_patch_reach_reset(&reaches.items[other->index]);
	return gt_patch_reaches_add(set, patcher, kernel, &reaches);
}

uint64_t gt_patch_programs_in(const struct gt_patch_set *set,
			      const struct gt_patch_reaches *reaches,
			      const struct gt_ptx_function *kernel)
{
	uint64_t programs = 0;

	gt_patch_each (patcher, set)
		gt_vec_each (function, &reaches->items[patcher->index].list)
			if (!(*function)->is_entry || *function == kernel)
				programs |= patcher->functions[(*function)->number].programs;
	return programs;
}
