/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The targets of translators. */
#include "gpubpf/translate.h"

#include <string.h>

#include "spirv/builder.h"

static const struct gt_code_target *const targets[] = {
#define TARGET(name) &gt_target_##name,
#include "gpubpf/targets.def"
#undef TARGET
};

const struct gt_code_target *gt_code_target_find(const char *name)
{
	for (size_t i = 0; i < gt_countof(targets); i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}

void gt_translation_clear(struct gt_translation *translation)
{
	gt_strbuf_free(&translation->declarations);
	gt_strbuf_free(&translation->text);
	for (size_t i = 0; i < translation->declared.count; i++)
		free(translation->declared.items[i]);
	gt_vec_free(&translation->declared);
	if (translation->spirv)
		gt_spirv_clear(translation->spirv);
	free(translation->spirv);
	translation->spirv = NULL;
}
