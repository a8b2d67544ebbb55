/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/gpu.h"

#include <string.h>

#include "base/text.h"

static bool find_map(const struct gt_gpu_run *run, const char *name, uint32_t *ret_number)
{
	for (uint32_t i = 0; i < run->object->map_count; i++) {
		if (strcmp(run->object->maps[i].name, name) != 0 ||
		    !gt_inject_has_map(run->inject, i))
			continue;
		*ret_number = i;
		return true;
	}
	return false;
}

static bool find_view(const struct gt_gpu_run *run, const char *name, size_t value_size,
		      struct gt_bpf_map_view *ret_view)
{
	uint32_t number;

	if (!find_map(run, name, &number) || run->object->maps[number].value_size != value_size)
		return false;
	*ret_view = gt_inject_view(run->inject, number);
	return true;
}

const void *gt_gpu_report_values(const struct gt_gpu_run *run, const char *name, size_t value_size,
				 uint32_t *ret_count)
{
	struct gt_bpf_map_view view;

	if (!find_view(run, name, value_size, &view))
		return NULL;
	*ret_count = view.map->max_entries * view.copies;
	return view.memory;
}

uint64_t gt_gpu_report_outside(const struct gt_gpu_run *run, const char *name, size_t value_size)
{
	struct gt_bpf_map_view view;

	return find_view(run, name, value_size, &view) ? gt_bpf_map_losses(&view).outside : 0;
}

int gt_gpu_report_next_record(const struct gt_gpu_run *run, const char *ring,
			      const void **ret_record, uint32_t *ret_size)
{
	uint32_t number;

	return find_map(run, ring, &number)
		       ? gt_inject_next_record(run->inject, number, ret_record, ret_size)
		       : 0;
}

uint64_t gt_gpu_report_lost(const struct gt_gpu_run *run, const char *ring)
{
	struct gt_bpf_map_view view;

	return find_view(run, ring, 0, &view) ? gt_bpf_map_losses(&view).lost : 0;
}

const char *gt_gpu_report_kernel(const struct gt_gpu_run *run, uint32_t kernel)
{
	const char *name = gt_inject_kernel(run->inject, kernel);

	return name ? name : "?";
}

void gt_gpu_report_put_name(const struct gt_gpu_run *run, const char *mangled,
			    struct gt_strbuf *text)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (run->names)
		gt_short_names_put(run->names, mangled, &name);
	else
		gt_demangle_short(mangled, &name);
	gt_put_printable(text, gt_strbuf_string(&name));
}

void gt_gpu_report_json_index(struct gt_json *json, const char *key, const uint32_t index[3])
{
	gt_json_array_begin(json, key);
	for (int i = 0; i < 3; i++)
		gt_json_u64(json, NULL, index[i]);
	gt_json_array_end(json);
}
