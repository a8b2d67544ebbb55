/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What GPU programs collected, for the commands that insert them. */
#include <ctype.h>

#include "cli/coverage.h"
#include "cli/host_map.h"
#include "cli/injection.h"

bool gt_cli_injection_shows(const struct gt_cli_injection *self, uint32_t map)
{
	return gt_inject_has_map(self->inject, map) && !self->object->maps[map].constant &&
	       !(self->own && gt_bpf_part_map(self->own, map) != UINT32_MAX);
}

/* Maps that only host programs use; records of rings are printed as they come. */
static bool is_of_host(const struct gt_cli_injection *self, uint32_t map)
{
	uint32_t number;
	const struct gt_host_programs *owner =
		self->host_programs ? gt_host_group_owner(self->host_programs, map, &number) : NULL;

	return owner && !gt_host_programs_is_ring(owner, number) &&
	       !self->object->maps[map].constant;
}

static void put_host_map(const struct gt_cli_injection *self, uint32_t map, struct gt_strbuf *text,
			 struct gt_json *json)
{
	uint32_t number;
	const struct gt_host_programs *owner =
		gt_host_group_owner(self->host_programs, map, &number);

	gt_cli_put_host_map(owner, number, &self->object->maps[map], text, json);
}

bool gt_cli_injection_is_ring(const struct gt_cli_injection *self, uint32_t map)
{
	return gt_bpf_map_kind(self->object->maps[map].type)->shape == GT_BPF_MAP_RING;
}

void gt_cli_injection_put_maps(const struct gt_cli_injection *self, struct gt_strbuf *text)
{
	for (uint32_t i = 0; i < self->object->map_count; i++) {
		struct gt_bpf_map_view view;

		if (!gt_cli_injection_shows(self, i))
			continue;
		view = gt_inject_view(self->inject, i);
		gt_bpf_map_print(&view, text);
	}
	for (uint32_t i = 0; i < self->object->map_count; i++)
		if (is_of_host(self, i))
			put_host_map(self, i, text, NULL);
}

void gt_cli_injection_json_maps(const struct gt_cli_injection *self, struct gt_json *json)
{
	gt_json_array_begin(json, "maps");
	for (uint32_t i = 0; i < self->object->map_count; i++) {
		struct gt_bpf_map_view view;

		if (!gt_cli_injection_shows(self, i))
			continue;
		view = gt_inject_view(self->inject, i);
		gt_bpf_map_print_json(&view, json, NULL);
	}
	gt_json_array_end(json);
	if (!self->host_programs)
		return;
	gt_json_array_begin(json, "linux");
	for (uint32_t i = 0; i < self->object->map_count; i++)
		if (is_of_host(self, i))
			put_host_map(self, i, NULL, json);
	gt_json_array_end(json);
}

void gt_cli_injection_json_end(const struct gt_cli_injection *self, struct gt_json *json)
{
	gt_cli_injection_json_maps(self, json);
	gt_cli_coverage_put_numbers(self, json);
	gt_cli_coverage_put_json(self, json);
	gt_json_u64(json, "calls_lost", gt_inject_calls_lost(self->inject));
	gt_json_u64(json, "skipped", gt_cli_coverage_skipped(self));
	if (gt_inject_map_remark(self->inject))
		gt_json_string(json, "map_remark", gt_inject_map_remark(self->inject));
	if (gt_inject_save_remark(self->inject))
		gt_json_string(json, "save_remark", gt_inject_save_remark(self->inject));
	gt_json_u64(json, "lines_lost", self->lines_lost);
}

void gt_cli_injection_json_command(const struct gt_cli_injection *self, int status,
				   struct gt_json *json)
{
	gt_json_u64(json, "still_running", gt_inject_still_running(self->inject));
	gt_json_u64(json, "status", (uint64_t)status);
}

/* The command's process can write to this memory, too. */
void gt_cli_injection_take_lines(struct gt_cli_injection *self, struct gt_strbuf *lines)
{
	gt_inject_print(self->inject, lines, &self->lines_lost);
	for (size_t i = 0; i < lines->length; i++)
		if (iscntrl((unsigned char)lines->data[i]) && lines->data[i] != '\n' &&
		    lines->data[i] != '\t')
			lines->data[i] = '?';
}
