/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/gpu.h"

#include <string.h>

const void *gt_gpu_report_values(const struct gt_inject *inject, const struct gt_bpf_object *object,
				 const char *name, size_t value_size, uint32_t *ret_count)
{
	for (uint32_t i = 0; i < object->map_count; i++) {
		const struct gt_bpf_map *map = &object->maps[i];
		struct gt_bpf_map_view view;

		if (strcmp(map->name, name) != 0 || map->value_size != value_size ||
		    !gt_inject_has_map(inject, i))
			continue;
		view = gt_inject_view(inject, i);
		*ret_count = map->max_entries * view.copies;
		return view.memory;
	}
	return NULL;
}
