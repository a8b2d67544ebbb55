/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/host_map.h"

#include "base/text.h"

static void put_problem(const struct gt_bpf_map *map, const struct gt_diag *diag,
			struct gt_strbuf *text, struct gt_json *json)
{
	if (json) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", map->name);
		gt_json_string(json, "problem", diag->text);
		gt_json_object_end(json);
	} else {
		gt_put_printable(text, map->name);
		gt_strbuf_printf(text, ": %s\n", diag->text);
	}
}

void gt_cli_put_host_map(const struct gt_host_programs *programs, uint32_t number,
			 const struct gt_bpf_map *map, struct gt_strbuf *text, struct gt_json *json)
{
	gt_autofree void *copied = NULL;
	struct gt_bpf_map_view view;
	struct gt_diag diag = {0};

	if (gt_host_programs_read(programs, number, &view, &diag)) {
		put_problem(map, &diag, text, json);
		return;
	}
	copied = (void *)view.memory;
	if (json)
		gt_bpf_map_print_json(&view, json, NULL);
	else
		gt_bpf_map_print(&view, text);
}
