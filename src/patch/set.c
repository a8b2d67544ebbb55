/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What can be reached in modules that are linked with each other, and with machine code. */
#include "base/hash.h"
#include "patch/private.h"

/* ---- imports --------------------------------------------------------------------------- */

/* Where a function is that other modules can name. */
struct set_definition {
	uint32_t module;
	const struct gt_ptx_function *function;
};

struct set_definitions {
	GT_VEC(struct set_definition) items;
	struct gt_hash *by_name; /* name -> index + 1 */
};

/* Of several weak ones the linker takes any. */
static int add_definition(struct set_definitions *definitions, uint32_t module,
			  const struct gt_ptx_function *function)
{
	if (gt_hash_get_str(definitions->by_name, function->name))
		return 0;
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

static int add_imports(struct gt_patch_set *set, const struct set_definitions *definitions,
		       struct gt_patcher *patcher)
{
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		const struct set_definition *found;
		uintptr_t index;

		if (function->body || function->definition || function->is_prototype)
			continue;
		index = (uintptr_t)gt_hash_get_str(definitions->by_name, function->name);
		found = index ? &definitions->items.items[index - 1] : NULL;
		if (!found || found->module == patcher->index)
			continue;
		patcher->functions[function->number].imported = true;
		error = gt_vec_push(&set->imports,
				    (struct gt_patch_import){.from = patcher->index,
							     .to = found->module,
							     .declaration = function,
							     .definition = found->function});
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
	gt_patch_each (patcher, set)
		error = error ? error : add_imports(set, &definitions, patcher);
	gt_vec_free(&definitions.items);
	return error;
}

/* The functions that the machine code calls, and the kernels that it launches. */
static int find_called(struct gt_patch_set *set)
{
	int error = gt_patch_reaches_new(set, &set->called);

	if (!set->code || !set->code->calls)
		return error;
	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions;
		     function && !error; function = function->next) {
			if (!function->body || function->linkage == GT_PTX_LINKAGE_NONE ||
			    !gt_hash_get_str(set->code->calls, function->name))
				continue;
			patcher->functions[function->number].called_by_code = true;
			if (!function->is_entry)
				error = gt_patch_reaches_add(set, patcher, function, &set->called);
		}
	return error;
}

int gt_patch_link(struct gt_patch_set *set)
{
	int error = set->count > 1 ? find_imports(set) : 0;

	return error ? error : find_called(set);
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

/* Add the definitions of declarations that were reached. */
static int follow_imports(const struct gt_patch_set *set, struct gt_patch_reaches *reaches,
			  bool *ret_added)
{
	int error = 0;

	gt_vec_each (import, &set->imports) {
		struct gt_patch_reach *to = &reaches->items[import->to];

		if (error || !reaches->items[import->from].functions[import->declaration->number] ||
		    to->functions[import->definition->number])
			continue;
		error = gt_patch_reach_add(set->patchers[import->to].graph, import->definition, to);
		*ret_added = true;
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
		error = follow_imports(set, reaches, &added);
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

uint64_t gt_patch_programs_in(const struct gt_patch_set *set,
			      const struct gt_patch_reaches *reaches,
			      const struct gt_ptx_function *kernel)
{
	uint64_t programs = 0;

	gt_patch_each (patcher, set)
		for (const struct gt_ptx_function *function = patcher->module->functions; function;
		     function = function->next)
			if (gt_patch_reached(reaches, patcher, function) &&
			    (!kernel || !function->is_entry || function == kernel))
				programs |= patcher->functions[function->number].programs;
	return programs;
}
