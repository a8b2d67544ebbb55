/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a module of SPIR-V: what is read is written as it was, and read again. */
#include <stdlib.h>
#include <string.h>

#include "spirv/builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(spirv_module) struct gt_spirv_module *module = NULL, *again = NULL;
	gt_auto_strbuf binary = GT_STRBUF_INIT;
	struct gt_spirv_builder builder;

	if (gt_spirv_parse(data, size, &module, NULL))
		return 0;
	gt_vec_each (entry, &module->entries)
		if (!gt_spirv_function(module, entry->function) ||
		    strlen(entry->name) > GT_SPIRV_MAX_SIZE)
			abort();
	gt_spirv_init_from(&builder, module);
	gt_spirv_type_int(&builder, 64);
	if (!gt_spirv_finish(&builder, &binary) &&
	    gt_spirv_parse(binary.data, binary.length, &again, NULL))
		abort();
	gt_spirv_clear(&builder);
	return 0;
}
