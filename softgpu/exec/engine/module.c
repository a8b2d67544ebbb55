/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules: loading, freeing, queries. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/device_library.h"

void sg_function_free(struct sg_function *function)
{
	if (!function)
		return;
	while (function->calls) {
		struct sg_call *next = function->calls->next;

		free(function->calls->arguments);
		free(function->calls->returns);
		free(function->calls);
		function->calls = next;
	}
	while (function->tables) {
		struct sg_jump_table *next = function->tables->next;

		free(function->tables->targets);
		free(function->tables);
		function->tables = next;
	}
	while (function->lists) {
		struct sg_lists *next = function->lists->next;

		free(function->lists);
		function->lists = next;
	}
	gt_vec_free(&function->fills);
	gt_vec_free(&function->slots);
	gt_vec_free(&function->callees);
	gt_vec_free(&function->shared_used);
	free(function->name);
	free(function->code);
	free(function->parameters);
	free(function->returns);
	free(function->reachable);
	free(function->frame_offsets);
	free(function->shared_offsets);
	free(function);
}

/* Links the modules, with the device library where they use it. */
static int link_with_library(struct sg_module *module, const struct gt_ptx_module *const *parsed,
			     size_t count, struct sg_managed *managed, struct gt_diag *diag)
{
	gt_auto(ptx) struct gt_ptx_module *library = NULL;
	gt_autofree const struct gt_ptx_module **all = NULL;
	bool is_used = false;
	int error;

	for (size_t i = 0; i < count && !is_used; i++)
		is_used = sg_device_library_is_used(parsed[i]);
	if (!is_used)
		return sg_module_link(module, parsed, count, managed, diag);
	error = sg_device_library_parse(&library, diag);
	if (error)
		return error;
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	/* First: the version of a module is that of its last text. */
	all[0] = library;
	for (size_t i = 0; i < count; i++)
		all[i + 1] = parsed[i];
	return sg_module_link(module, all, count + 1, managed, diag);
}

int sg_module_load(struct sg_machine *machine, const struct gt_ptx_module *const *parsed,
		   size_t count, struct sg_managed *managed, struct sg_module **ret_module,
		   struct gt_diag *diag)
{
	gt_auto(sg_module) struct sg_module *module = calloc(1, sizeof(*module));
	int error = -ENOMEM;

	if (!module)
		return -ENOMEM;
	module->machine = machine;
	module->kernel_names = gt_hash_new();
	module->variable_names = gt_hash_new();
	if (module->kernel_names && module->variable_names)
		error = link_with_library(module, parsed, count, managed, diag);
	if (error)
		return gt_diag(diag, error, "load", NULL, "%s",
			       error == -ENOMEM ? "no memory for the module" : strerror(-error));
	*ret_module = gt_take(module);
	return 0;
}

int sg_module_load_text(struct sg_machine *machine, const char *text, size_t length,
			struct sg_module **ret_module, struct gt_diag *diag)
{
	gt_auto(ptx) struct gt_ptx_module *parsed = NULL;
	const struct gt_ptx_module *list[1];
	int error = gt_ptx_parse(text, length, &parsed, diag);

	if (error)
		return error;
	list[0] = parsed;
	return sg_module_load(machine, list, 1, NULL, ret_module, diag);
}

void sg_module_free(struct sg_module *module)
{
	if (!module)
		return;
	if (module->memory_size && module->machine->host.release)
		module->machine->host.release(module->machine->host.user, module->memory_address,
					      module->memory_size);
	for (size_t i = 0; i < module->functions.count; i++)
		sg_function_free(module->functions.items[i]);
	gt_vec_each (variable, &module->variables)
		free(variable->name);
	gt_vec_each (reference, &module->references) {
		sg_texture_remove(module->machine, reference->handle);
		free(reference->name);
	}
	gt_vec_free(&module->references);
	gt_vec_free(&module->functions);
	gt_vec_free(&module->variables);
	gt_vec_free(&module->shared);
	gt_hash_free(module->kernel_names);
	gt_hash_free(module->variable_names);
	free(module);
}

/* ---- queries --------------------------------------------------------------------------- */

bool sg_module_is_const(const struct sg_module *module, uint64_t address)
{
	for (size_t i = 0; i < module->variables.count; i++) {
		const struct sg_module_variable_entry *variable = &module->variables.items[i];

		if (variable->is_const && address - variable->address < variable->size)
			return true;
	}
	return false;
}

const struct sg_function *sg_module_function(const struct sg_module *module, const char *name)
{
	return gt_hash_get_str(module->kernel_names, name);
}

const struct sg_function *sg_module_function_at(const struct sg_module *module, size_t index)
{
	if (index >= module->functions.count - module->first_kernel)
		return NULL;
	return module->functions.items[module->first_kernel + index];
}

int sg_module_variable_at(const struct sg_module *module, size_t index,
			  struct sg_variable_info *ret_info)
{
	const struct sg_module_variable_entry *variable;

	if (index >= module->variables.count)
		return -ENOENT;
	variable = &module->variables.items[index];
	*ret_info = (struct sg_variable_info){.name = variable->name,
					      .address = variable->address,
					      .size = variable->size,
					      .is_const = variable->is_const,
					      .is_managed = variable->is_managed};
	return 0;
}

int sg_module_variable(const struct sg_module *module, const char *name,
		       struct sg_variable_info *ret_info)
{
	void *known = gt_hash_get_str(module->variable_names, name);

	return known ? sg_module_variable_at(module, (size_t)(uintptr_t)known - 1, ret_info)
		     : -ENOENT;
}

int sg_module_reference(const struct sg_module *module, const char *name, bool is_surface,
			uint64_t *ret_handle)
{
	for (size_t i = 0; i < module->references.count; i++) {
		const struct sg_reference *reference = &module->references.items[i];

		if (reference->is_surface != is_surface || strcmp(reference->name, name) != 0)
			continue;
		*ret_handle = reference->handle;
		return 0;
	}
	return -ENOENT;
}

struct sg_module *sg_function_module(const struct sg_function *function)
{
	return function->module;
}

void sg_function_describe(const struct sg_function *function, struct sg_function_info *ret_info)
{
	*ret_info = (struct sg_function_info){
		.name = function->name,
		.parameter_count = function->parameter_count,
		.parameter_size = function->parameter_size,
		.static_shared = function->shared_static,
		.local_size = (uint32_t)(function->stack_need - SG_CALL_COST),
		.const_size = function->module->const_size,
		.registers = function->register_words,
		.max_threads = function->max_threads,
		.instructions = function->instructions,
		.ptx_version = function->module->ptx_version,
		.target = function->module->target,
	};
	memcpy(ret_info->required_block, function->required_block,
	       sizeof(ret_info->required_block));
	memcpy(ret_info->required_cluster, function->required_cluster,
	       sizeof(ret_info->required_cluster));
}

int sg_function_parameter(const struct sg_function *function, uint32_t index,
			  struct sg_parameter_info *ret_info)
{
	const struct sg_formal *formal;

	if (index >= function->parameter_count)
		return -ENOENT;
	formal = &function->parameters[index];
	*ret_info = (struct sg_parameter_info){.offset = formal->offset,
					       .size = formal->size,
					       .alignment = formal->alignment,
					       .is_pointer = formal->is_pointer};
	return 0;
}
