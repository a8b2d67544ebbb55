/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/host_group.h"

#include <errno.h>
#include <string.h>

#include "run/host_private.h"

struct gt_host_group {
	const struct gt_bpf_parts *parts;
	struct gt_host_programs **programs; /* by part; NULL: it has no host programs */
	int *arrays;                        /* by map of the whole */
};

int gt_host_group_open(const struct gt_bpf_parts *parts, struct gt_host_group **ret_group,
		       struct gt_diag *diag)
{
	gt_auto(host_group) struct gt_host_group *group = calloc(1, sizeof(*group));
	int error = 0;
	bool found = false;

	if (!group)
		return gt_host_no_memory(diag);
	group->parts = parts;
	group->programs = calloc(parts->count + 1u, sizeof(*group->programs));
	group->arrays = calloc(parts->map_count + 1u, sizeof(*group->arrays));
	if (!group->programs || !group->arrays)
		return gt_host_no_memory(diag);
	for (uint32_t i = 0; i < parts->map_count; i++)
		group->arrays[i] = -1;
	for (uint32_t i = 0; i < parts->count; i++) {
		if (!parts->parts[i].object->host_program_count)
			continue;
		error = gt_host_programs_open(parts->parts[i].object, false, &group->programs[i],
					      diag);
		if (error && error != -ENOENT)
			return error;
		found |= !error;
	}
	if (!found)
		return gt_diag(diag, -ENOENT, "linux", NULL, "no host programs");
	*ret_group = gt_take(group);
	return 0;
}

void gt_host_group_close(struct gt_host_group *group)
{
	if (!group)
		return;
	/* In the opposite order: each restores libbpf's printer. */
	for (uint32_t i = group->programs ? group->parts->count : 0; i--;)
		gt_host_programs_close(group->programs[i]);
	free(group->programs);
	free(group->arrays);
	free(group);
}

/* Let a part use the maps that earlier parts have created. */
static int share_maps(struct gt_host_group *group, uint32_t part, struct gt_diag *diag)
{
	const struct gt_bpf_part *parts = group->parts->parts;
	int error = 0;

	for (uint32_t map = 0; map < parts[part].object->map_count && !error; map++)
		for (uint32_t i = 0; i < part && !error; i++) {
			uint32_t other = gt_bpf_part_map(&parts[i], parts[part].maps[map]);

			if (group->programs[i] && other != UINT32_MAX)
				error = gt_host_programs_share(group->programs[part], map,
							       group->programs[i], other, diag);
		}
	return error;
}

static void take_arrays(struct gt_host_group *group, uint32_t part)
{
	const struct gt_bpf_part *own = &group->parts->parts[part];
	const int *arrays = gt_host_programs_arrays(group->programs[part]);

	for (uint32_t map = 0; map < own->object->map_count; map++)
		if (arrays[map] >= 0)
			group->arrays[own->maps[map]] = arrays[map];
}

int gt_host_group_load_for_command(struct gt_host_group *group, struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; i < group->parts->count && !error; i++) {
		if (!group->programs[i])
			continue;
		error = share_maps(group, i, diag);
		if (!error)
			error = gt_host_programs_load_for_command(group->programs[i], diag);
		if (!error)
			take_arrays(group, i);
	}
	return error;
}

const int *gt_host_group_arrays(const struct gt_host_group *group)
{
	return group->arrays;
}

/* Whether a target, NAME=FILE:FUNCTION, is for a part; those of no part are for the first one. */
static bool is_target_of(const struct gt_host_group *group, uint32_t part, const char *target)
{
	gt_autofree char *name = strndup(target, strcspn(target, "="));
	uint32_t first = UINT32_MAX;

	if (!name)
		return true;
	for (uint32_t i = 0; i < group->parts->count; i++) {
		if (!group->programs[i])
			continue;
		if (gt_host_programs_have(group->programs[i], name))
			return i == part || gt_host_programs_have(group->programs[part], name);
		if (first == UINT32_MAX)
			first = i;
	}
	return part == first;
}

static int attach_part(struct gt_host_group *group, uint32_t part,
		       const struct gt_host_command *command, struct gt_diag *diag)
{
	gt_autofree const char **targets = calloc(command->target_count + 1, sizeof(*targets));
	struct gt_host_command own = *command;

	if (!targets)
		return gt_host_no_memory(diag);
	own.targets = targets;
	own.target_count = 0;
	for (size_t i = 0; i < command->target_count; i++)
		if (is_target_of(group, part, command->targets[i]))
			targets[own.target_count++] = command->targets[i];
	return gt_host_programs_attach_command(group->programs[part], &own, diag);
}

int gt_host_group_attach_command(struct gt_host_group *group, const struct gt_host_command *command,
				 struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; i < group->parts->count && !error; i++)
		if (group->programs[i])
			error = attach_part(group, i, command, diag);
	if (error)
		gt_host_group_detach(group);
	return error;
}

void gt_host_group_attach_process(struct gt_host_group *group, pid_t pid)
{
	for (uint32_t i = 0; i < group->parts->count; i++)
		if (group->programs[i])
			gt_host_programs_attach_process(group->programs[i], pid);
}

void gt_host_group_account(const struct gt_host_group *group, bool targets_are_optional,
			   struct gt_strbuf *text)
{
	for (uint32_t i = 0; i < group->parts->count; i++)
		if (group->programs[i])
			gt_host_programs_account(group->programs[i], targets_are_optional, text);
}

void gt_host_group_detach(struct gt_host_group *group)
{
	for (uint32_t i = 0; i < group->parts->count; i++)
		if (group->programs[i])
			gt_host_programs_detach(group->programs[i]);
}

/* A reader of the records of one part. */
struct part_records {
	const struct gt_bpf_part *part;
	void (*record)(void *context, uint32_t map, const void *data, uint32_t size);
	void *context;
};

static void pass_record(void *context, uint32_t map, const void *data, uint32_t size)
{
	const struct part_records *records = context;

	records->record(records->context, records->part->maps[map], data, size);
}

int gt_host_group_read_rings(struct gt_host_group *group,
			     void (*record)(void *context, uint32_t map, const void *data,
					    uint32_t size),
			     void *context)
{
	int error = 0, one;

	for (uint32_t i = 0; i < group->parts->count; i++) {
		struct part_records records = {&group->parts->parts[i], record, context};

		if (!group->programs[i])
			continue;
		one = gt_host_programs_read_rings(group->programs[i], pass_record, &records);
		error = error ? error : one;
	}
	return error;
}

const struct gt_host_programs *gt_host_group_owner(const struct gt_host_group *group, uint32_t map,
						   uint32_t *ret_number)
{
	for (uint32_t i = 0; i < group->parts->count; i++) {
		uint32_t number = gt_bpf_part_map(&group->parts->parts[i], map);

		if (!group->programs[i] || number == UINT32_MAX ||
		    !gt_host_programs_own(group->programs[i], number))
			continue;
		*ret_number = number;
		return group->programs[i];
	}
	return NULL;
}
