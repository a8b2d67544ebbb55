/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The symbols that are added to modules. Those of modules that are linked are one symbol, so that
 * all have them in the same space: constant memory, of which the linked program has one bank.
 */
#include <inttypes.h>

#include "patch/private.h"

/* ---- the constant bank ------------------------------------------------------------------ */

/* The bytes of a module's own variables in the constant bank that are part of what is loaded. */
static uint64_t count_variable_bytes(const struct gt_patcher *patcher)
{
	uint64_t bytes = 0;

	for (const struct gt_ptx_item *item = patcher->module->items; item; item = item->next) {
		if (item->kind != GT_PTX_ITEM_VARIABLES || !gt_patch_keeps(patcher, item))
			continue;
		for (const struct gt_ptx_variable *variable = item->variables; variable;
		     variable = variable->next)
			if (variable->space == GT_PTX_SPACE_CONST &&
			    variable->linkage != GT_PTX_LINKAGE_EXTERN)
				bytes += gt_ptx_variable_size(variable);
	}
	return bytes;
}

static bool const_bank_is_full(const struct gt_patch_set *set)
{
	enum { CONST_BANK = 65536, PER_SYMBOL = 16 };
	const struct gt_bpf_object *object = set->patchers->options->object;
	uint64_t bytes = (uint64_t)PER_SYMBOL * ((object ? object->map_count : 0) + 3);
	bool runs_code = false, private_arrays = false;

	gt_patch_each (patcher, set) {
		if (patcher->result->scope != GT_PATCH_NONE)
			bytes += count_variable_bytes(patcher);
		runs_code |= gt_patch_runs_code(patcher);
		private_arrays |= patcher->private_arrays;
	}
	if (set->code && runs_code)
		bytes += set->code->constant_bytes;
	return bytes + (private_arrays ? GT_OFFSET_TABLE_BYTES : 0) > CONST_BANK;
}

void gt_patch_choose_symbol_space(struct gt_patch_set *set)
{
	gt_patch_each (patcher, set)
		patcher->private_arrays = gt_patch_programs_with_sites(patcher) &&
					  patcher->module->sm < GT_OFFSET_TABLE_END &&
					  gt_ptx_has_private_arrays(patcher->module);
	set->symbols_global = set->patchers->options->symbols_global || const_bank_is_full(set);
}

const char *gt_patch_symbol_space(const struct gt_patcher *patcher)
{
	return patcher->set->symbols_global ? "global" : "const";
}

/* ---- declarations ----------------------------------------------------------------------- */

/* A symbol with the device address of memory shared with the host. */
static void declare_address(const struct gt_patcher *patcher, const char *name, uint64_t address,
			    struct gt_strbuf *buffer)
{
	gt_strbuf_printf(buffer, ".weak .%s .align 8 .b64 %s%s[1] = {0x%" PRIx64 "};\n",
			 gt_patch_symbol_space(patcher), patcher->result->prefix, name, address);
}

void gt_patch_declare_symbols(void *context, struct gt_strbuf *buffer)
{
	struct gt_patcher *patcher = context;

	gt_strbuf_puts(buffer, gt_strbuf_string(&patcher->translation.declarations));
	if (patcher->options->switchable)
		declare_address(patcher, "switches", patcher->options->switches, buffer);
	if (gt_patch_records_shapes(patcher))
		declare_address(patcher, "shapes", patcher->options->shapes, buffer);
	gt_patch_declare_exit_counters(patcher, buffer);
	gt_patch_put_functions(patcher, buffer);
}
