/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of modules: where one is created, a patched form is created beside it. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/level_zero/private.h"
#include "agent/pairs.h"
#include "agent/protocol.h"
#include "agent/units.h"

static struct gt_agent_pairs replacements = GT_AGENT_PAIRS_INIT; /* by original module */

void gt_ze_modules_forked(void)
{
	gt_agent_pairs_forked(&replacements);
}

const struct gt_ze_replacement *gt_ze_replacement_of(void *module)
{
	return gt_agent_pairs_find(&replacements, module);
}

static void free_replacement(struct gt_ze_replacement *replacement)
{
	if (replacement)
		ZE1(zeModuleDestroy, replacement->module);
	free(replacement);
}

/* The driver returned this handle: whatever was known of an earlier module is over. */
static void forget_module(void *module)
{
	free(gt_agent_pairs_release(&replacements, module));
}

static void keep_replacement(void *module, struct gt_ze_replacement *replacement)
{
	void *earlier = NULL;

	if (!gt_agent_pairs_put(&replacements, module, replacement, 1, &earlier))
		earlier = replacement;
	free_replacement(earlier);
}

/* ---- asking the collector ---- */

/* What a module is to be patched for, or why it is not. */
static uint32_t form_of(const struct gt_ze_module_desc *desc, void *module)
{
	struct gt_ze_module_properties properties = {
		.head = {.type = GT_ZE_TYPE_MODULE_PROPERTIES},
	};
	const struct gt_ze_head *next = desc->head.next;

	for (; next; next = next->next)
		if (next->type == GT_ZE_TYPE_MODULE_PROGRAM)
			return GT_AGENT_FORM_SEVERAL;
	if (gt_ze.zeModuleGetProperties && !ZE2(zeModuleGetProperties, module, &properties) &&
	    properties.flags & GT_ZE_MODULE_IMPORTS)
		return GT_AGENT_FORM_IMPORTS;
	return GT_AGENT_FORM_SPIRV;
}

/* The list of GT_AGENT_NAMES, which has room for it. Its size. */
static size_t write_list(const char *const *names, uint32_t count, char *list, size_t room)
{
	size_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);

		if (length + 2 > room - size)
			return 0;
		list[size++] = 'e';
		memcpy(list + size, names[i], length + 1);
		size += length + 1;
	}
	return size;
}

/* Whether programs may match the kernels of a module; also in doubt. */
static bool may_match(void *module)
{
	uint32_t count = 0;
	const char **names = NULL;
	char *list = NULL;
	size_t size = 0;
	bool may = true;

	if (!gt_ze.zeModuleGetKernelNames || ZE3(zeModuleGetKernelNames, module, &count, 0) ||
	    !count)
		return true;
	names = calloc(count, sizeof(*names));
	list = malloc(GT_AGENT_MAX_LIST);
	if (names && list && !ZE3(zeModuleGetKernelNames, module, &count, names))
		size = write_list(names, count, list, GT_AGENT_MAX_LIST);
	if (size)
		may = gt_agent_ask_names(list, size);
	free(names);
	free(list);
	return may;
}

static void add_device(struct gt_agent_units *units, void *device)
{
	struct gt_ze_device_properties properties = {
		.head = {.type = GT_ZE_TYPE_DEVICE_PROPERTIES},
	};

	if (gt_ze.zeDeviceGetProperties && !ZE2(zeDeviceGetProperties, device, &properties))
		gt_agent_units_add(units, GT_AGENT_CHUNK_DEVICE_NAME, properties.name,
				   strnlen(properties.name, sizeof(properties.name)));
}

/* Ask for the patched form of a module. */
static void ask(void *device, const struct gt_ze_module_desc *desc, uint32_t form,
		struct gt_agent_exchange *ret_exchange)
{
	struct gt_agent_units units = {0};

	add_device(&units, device);
	/* Of several modules the descriptor itself has none. */
	gt_agent_units_add_binary(&units, desc->input,
				  form == GT_AGENT_FORM_SEVERAL ? 0 : desc->size);
	*ret_exchange = (struct gt_agent_exchange){.socket = -1};
	if (!units.failed)
		gt_agent_ask_program(units.bytes, units.size, form, ret_exchange);
	gt_agent_units_clear(&units);
}

/* ---- creating modules ---- */

/* The arguments of a call of zeModuleCreate. */
struct module_call {
	void *context, *device;
	const struct gt_ze_module_desc *desc;
};

/* Create what the collector has patched. 0, gt_agent_error or the driver's error. */
static int create_patched(const struct module_call *call, const struct gt_agent_exchange *exchange,
			  struct gt_ze_replacement **ret_replacement)
{
	struct gt_ze_module_desc desc = *call->desc;
	struct gt_ze_replacement *replacement;
	enum gt_ze_access access = gt_ze_access_maps(call->context, call->device);
	int error;

	if (access == GT_ZE_NO_ACCESS)
		return GT_AGENT_NO_MAPS;
	replacement = calloc(1, sizeof(*replacement));
	if (!replacement)
		return GT_AGENT_NO_MEMORY;
	desc.input = exchange->patched;
	desc.size = exchange->image_size;
	replacement->access = access;
	error = ZE5(zeModuleCreate, call->context, call->device, &desc, &replacement->module, 0);
	if (error) {
		free(replacement);
		return error;
	}
	*ret_replacement = replacement;
	return 0;
}

static void instrument(const struct module_call *call, void *module)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	struct gt_ze_replacement *replacement = NULL;
	struct gt_agent_exchange exchange;
	int error = 0;

	if (gt_agent_map_on_host(&error) && may_match(module)) {
		ask(call->device, call->desc, form_of(call->desc, module), &exchange);
		if (exchange.patched && !error)
			error = create_patched(call, &exchange, &replacement);
		gt_agent_finish(&exchange, error, false);
	}
	if (replacement)
		keep_replacement(module, replacement);
	gt_agent_restore_caller(&caller);
}

int zeModuleCreate(void *context, void *device, const struct gt_ze_module_desc *desc,
		   void **ret_module, void **ret_log)
{
	const struct module_call call = {.context = context, .device = device, .desc = desc};
	int error;

	ZE_NEED(zeModuleCreate);
	error = gt_ze.zeModuleCreate(context, device, desc, ret_module, ret_log);
	if (error || !gt_ze_is_active())
		return error;
	forget_module(*ret_module);
	instrument(&call, *ret_module);
	return 0;
}

int zeModuleDestroy(void *module)
{
	ZE_NEED(zeModuleDestroy);
	free_replacement(gt_agent_pairs_release(&replacements, module));
	return gt_ze.zeModuleDestroy(module);
}

/* ---- variables and functions, which are those of the kernels ---- */

int zeModuleGetGlobalPointer(void *module, const char *name, size_t *size, void **address)
{
	const struct gt_ze_replacement *replacement;

	ZE_NEED(zeModuleGetGlobalPointer);
	replacement = gt_ze_replacement_of(module);
	return gt_ze.zeModuleGetGlobalPointer(replacement ? replacement->module : module, name,
					      size, address);
}

int zeModuleGetFunctionPointer(void *module, const char *name, void **function)
{
	const struct gt_ze_replacement *replacement;

	ZE_NEED(zeModuleGetFunctionPointer);
	replacement = gt_ze_replacement_of(module);
	return gt_ze.zeModuleGetFunctionPointer(replacement ? replacement->module : module, name,
						function);
}
