/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/gpu.h"

#include <string.h>

static bool find_view(const struct gt_inject *inject, const struct gt_bpf_object *object,
		      const char *name, size_t value_size, struct gt_bpf_map_view *ret_view)
{
	for (uint32_t i = 0; i < object->map_count; i++) {
		const struct gt_bpf_map *map = &object->maps[i];

		if (strcmp(map->name, name) != 0 || map->value_size != value_size ||
		    !gt_inject_has_map(inject, i))
			continue;
		*ret_view = gt_inject_view(inject, i);
		return true;
	}
	return false;
}

const void *gt_gpu_report_values(const struct gt_inject *inject, const struct gt_bpf_object *object,
				 const char *name, size_t value_size, uint32_t *ret_count)
{
	struct gt_bpf_map_view view;

	if (!find_view(inject, object, name, value_size, &view))
		return NULL;
	*ret_count = view.map->max_entries * view.copies;
	return view.memory;
}

uint64_t gt_gpu_report_outside(const struct gt_inject *inject, const struct gt_bpf_object *object,
			       const char *name, size_t value_size)
{
	struct gt_bpf_map_view view;

	return find_view(inject, object, name, value_size, &view) ? gt_bpf_map_losses(&view).outside
								  : 0;
}
