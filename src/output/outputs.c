/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "output/output.h"

static const struct gt_output *const outputs[] = {
	&gt_output_lines,   &gt_output_one_line, &gt_output_json,
	&gt_output_capture, &gt_output_counts,
};

const struct gt_output *const *gt_outputs(size_t *ret_count)
{
	*ret_count = gt_countof(outputs);
	return outputs;
}

const struct gt_output *gt_output_find(const char *name)
{
	for (size_t i = 0; i < gt_countof(outputs); i++)
		if (!strcmp(outputs[i]->name, name))
			return outputs[i];
	return NULL;
}
