/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/object/merge.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/object/object.h"

static int no_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "object", NULL, "out of memory");
}

uint32_t gt_bpf_part_map(const struct gt_bpf_part *part, uint32_t map)
{
	for (uint32_t i = 0; i < part->object->map_count; i++)
		if (part->maps[i] == map)
			return i;
	return UINT32_MAX;
}

/* ---- parts ------------------------------------------------------------------------------ */

/* The file name up to its first '.', with a number if an earlier part has that name, too. */
static char *name_part(const struct gt_bpf_parts *parts, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strcspn(base, ".");
	gt_auto_strbuf name = GT_STRBUF_INIT;
	uint32_t same = 1;

	for (uint32_t i = 0; i < parts->count; i++) {
		const char *other = parts->parts[i].name;

		same += !strncmp(other, base, length) && (!other[length] || other[length] == '.');
	}
	gt_strbuf_add(&name, base, length);
	if (same > 1)
		gt_strbuf_printf(&name, ".%u", same);
	return gt_strbuf_steal(&name);
}

static bool is_declared_alike(const struct gt_bpf_map *one, const struct gt_bpf_map *other)
{
	return one->type == other->type && one->key_size == other->key_size &&
	       one->value_size == other->value_size && one->max_entries == other->max_entries &&
	       one->flags == other->flags;
}

/* Find the map of an earlier part that a map of `part` is. */
static const struct gt_bpf_map *find_shared(const struct gt_bpf_parts *parts,
					    const struct gt_bpf_part *part,
					    const struct gt_bpf_map *map, uint32_t *ret_number)
{
	for (const struct gt_bpf_part *other = parts->parts; map->pinned && other < part; other++)
		for (uint32_t i = 0; i < other->object->map_count; i++) {
			const struct gt_bpf_map *candidate = &other->object->maps[i];

			if (!candidate->pinned || strcmp(candidate->name, map->name) != 0)
				continue;
			*ret_number = other->maps[i];
			return candidate;
		}
	return NULL;
}

/* Give the maps of a part, the last one so far, their numbers in the whole. */
static int number_maps(struct gt_bpf_parts *parts, struct gt_bpf_part *part, struct gt_diag *diag)
{
	struct gt_bpf_object *object = part->object;

	part->maps = calloc(object->map_count + 1u, sizeof(*part->maps));
	if (!part->maps)
		return no_memory(diag);
	for (uint32_t i = 0; i < object->map_count; i++) {
		const struct gt_bpf_map *map = &object->maps[i];
		const struct gt_bpf_map *shared = find_shared(parts, part, map, &part->maps[i]);

		if (!shared)
			part->maps[i] = parts->map_count++;
		else if (!is_declared_alike(shared, map))
			return gt_diag(diag, -EINVAL, "object", object->path,
				       "the map '%s' is shared (LIBBPF_PIN_BY_NAME), and another "
				       "object declares it with another type, size or flags",
				       map->name);
	}
	return 0;
}

static int open_part(struct gt_bpf_parts *parts, const char *path, struct gt_diag *diag)
{
	struct gt_bpf_part *part = &parts->parts[parts->count];
	int error = gt_bpf_object_open(path, false, &part->object, diag);

	if (error)
		return error;
	part->name = name_part(parts, path);
	parts->count++;
	return part->name ? number_maps(parts, part, diag) : no_memory(diag);
}

/* A map is for the GPU if a GPU program of any part uses it. */
static int claim_maps(const struct gt_bpf_parts *parts, struct gt_diag *diag)
{
	bool *claimed = calloc(parts->map_count + 1u, sizeof(*claimed));

	if (!claimed)
		return no_memory(diag);
	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t map = 0; map < parts->parts[i].object->map_count; map++)
			claimed[parts->parts[i].maps[map]] |=
				!parts->parts[i].object->maps[map].host_only;
	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t map = 0; map < parts->parts[i].object->map_count; map++)
			if (claimed[parts->parts[i].maps[map]])
				parts->parts[i].object->maps[map].host_only = false;
	free(claimed);
	return 0;
}

/* Whether another map of the parts has this name. */
static bool is_map_ambiguous(const struct gt_bpf_parts *parts, const char *name, uint32_t number)
{
	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t map = 0; map < parts->parts[i].object->map_count; map++)
			if (parts->parts[i].maps[map] != number &&
			    !strcmp(parts->parts[i].object->maps[map].name, name))
				return true;
	return false;
}

/* Put FILE before names that are not unique. */
static int name_maps(const struct gt_bpf_parts *parts, struct gt_diag *diag)
{
	bool *ambiguous =
		parts->count > 1 ? calloc(parts->map_count + 1u, sizeof(*ambiguous)) : NULL;

	if (!ambiguous)
		return parts->count > 1 ? no_memory(diag) : 0;
	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t map = 0; map < parts->parts[i].object->map_count; map++)
			ambiguous[parts->parts[i].maps[map]] |=
				is_map_ambiguous(parts, parts->parts[i].object->maps[map].name,
						 parts->parts[i].maps[map]);
	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t map = 0; map < parts->parts[i].object->map_count; map++) {
			char *name = parts->parts[i].object->maps[map].name, own[64];

			if (!ambiguous[parts->parts[i].maps[map]])
				continue;
			memcpy(own, name, sizeof(own));
			snprintf(name, sizeof(own), "%.20s:%.42s", parts->parts[i].name, own);
		}
	free(ambiguous);
	return 0;
}

int gt_bpf_parts_open(const char *const *paths, uint32_t count, struct gt_bpf_parts *ret_parts,
		      struct gt_diag *diag)
{
	int error = 0;

	*ret_parts = (struct gt_bpf_parts){.parts = calloc(count + 1u, sizeof(struct gt_bpf_part))};
	if (!ret_parts->parts)
		return no_memory(diag);
	for (uint32_t i = 0; i < count && !error; i++)
		error = open_part(ret_parts, paths[i], diag);
	if (!error)
		error = claim_maps(ret_parts, diag);
	return error ? error : name_maps(ret_parts, diag);
}

void gt_bpf_parts_close(struct gt_bpf_parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++) {
		gt_bpf_object_free(parts->parts[i].object);
		free(parts->parts[i].maps);
		free(parts->parts[i].name);
	}
	free(parts->parts);
	*parts = (struct gt_bpf_parts){0};
}

/* ---- the whole -------------------------------------------------------------------------- */

static void *copy_bytes(const void *bytes, size_t size)
{
	void *copy = malloc(size);

	return copy ? memcpy(copy, bytes, size) : NULL;
}

/* Copy a map that the whole does not have yet. */
static bool copy_map(const struct gt_bpf_map *map, struct gt_bpf_map *copy)
{
	*copy = *map;
	copy->initial = NULL;
	copy->presets = NULL;
	copy->problem = map->problem ? strdup(map->problem) : NULL;
	if (map->initial)
		copy->initial = copy_bytes(map->initial, map->value_size);
	return (!map->problem || copy->problem) && (!map->initial || copy->initial);
}

static bool add_maps(const struct gt_bpf_part *part, struct gt_bpf_object *whole)
{
	for (uint32_t i = 0; i < part->object->map_count; i++) {
		const struct gt_bpf_map *map = &part->object->maps[i];
		uint32_t number = part->maps[i];

		if (number < whole->map_count) {
			whole->maps[number].with_host |= map->with_host;
			whole->maps[number].flags |= map->flags;
			whole->maps[number].histogram |= map->histogram;
		} else if (!copy_map(map, &whole->maps[whole->map_count++])) {
			return false;
		}
	}
	return true;
}

/* Replace the part's numbers of maps by those of the whole. */
static void renumber_maps(const struct gt_bpf_part *part, struct gt_bpf_program *program)
{
	for (uint32_t at = 0; at < program->count; at++) {
		struct bpf_insn *insn = &program->insns[at];

		if (!gt_bpf_is_wide(insn))
			continue;
		if ((insn->src_reg == GT_BPF_IMM_MAP_INDEX ||
		     insn->src_reg == GT_BPF_IMM_MAP_INDEX_VALUE) &&
		    (uint32_t)insn->imm < part->object->map_count)
			insn->imm = (int32_t)part->maps[insn->imm];
		at++;
	}
}

/* Whether programs of several parts have this name. */
static bool is_program_ambiguous(const struct gt_bpf_parts *parts, const char *name)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t n = 0; n < parts->parts[i].object->program_count; n++)
			found += !strcmp(parts->parts[i].object->programs[n].name, name);
	return found > 1;
}

static bool copy_program(const struct gt_bpf_parts *parts, const struct gt_bpf_part *part,
			 const struct gt_bpf_program *program, struct gt_bpf_program *copy)
{
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (parts->count > 1 && is_program_ambiguous(parts, program->name))
		gt_strbuf_printf(&name, "%s:", part->name);
	gt_strbuf_puts(&name, program->name);
	*copy = (struct gt_bpf_program){
		.name = gt_strbuf_steal(&name),
		.section = strdup(program->section),
		.insns =
			copy_bytes(program->insns, (program->count + 1u) * sizeof(struct bpf_insn)),
		.count = program->count,
		.problem = program->problem ? strdup(program->problem) : NULL,
		.problem_insn = program->problem_insn,
		.lines = calloc(program->line_count + 1u, sizeof(*copy->lines)),
	};
	if (!copy->name || !copy->section || !copy->insns || !copy->lines ||
	    (program->problem && !copy->problem))
		return false;
	if (program->line_count)
		memcpy(copy->lines, program->lines, program->line_count * sizeof(*copy->lines));
	copy->line_count = program->line_count;
	renumber_maps(part, copy);
	return true;
}

static bool add_programs(const struct gt_bpf_parts *parts, const struct gt_bpf_part *part,
			 struct gt_bpf_object *whole)
{
	const struct gt_bpf_object *object = part->object;

	for (uint32_t i = 0; i < object->program_count; i++)
		if (!copy_program(parts, part, &object->programs[i],
				  &whole->programs[whole->program_count++]))
			return false;
	for (uint32_t i = 0; i < object->host_program_count; i++) {
		struct gt_bpf_host_program *program =
			&whole->host_programs[whole->host_program_count++];

		program->name = strdup(object->host_programs[i].name);
		program->section = strdup(object->host_programs[i].section);
		if (!program->name || !program->section)
			return false;
	}
	return true;
}

/* The paths of all parts, for messages. */
static char *join_paths(const struct gt_bpf_parts *parts)
{
	gt_auto_strbuf paths = GT_STRBUF_INIT;

	for (uint32_t i = 0; i < parts->count; i++) {
		gt_strbuf_puts(&paths, i ? ", " : "");
		gt_strbuf_puts(&paths, parts->parts[i].object->path);
	}
	return gt_strbuf_steal(&paths);
}

int gt_bpf_parts_merge(const struct gt_bpf_parts *parts, struct gt_bpf_object **ret_object,
		       struct gt_diag *diag)
{
	gt_auto(bpf_object) struct gt_bpf_object *whole = calloc(1, sizeof(*whole));
	uint32_t programs = 0, host_programs = 0;

	if (!whole)
		return no_memory(diag);
	for (uint32_t i = 0; i < parts->count; i++) {
		programs += parts->parts[i].object->program_count;
		host_programs += parts->parts[i].object->host_program_count;
	}
	whole->path = join_paths(parts);
	whole->programs = calloc(programs + 1u, sizeof(*whole->programs));
	whole->host_programs = calloc(host_programs + 1u, sizeof(*whole->host_programs));
	whole->maps = calloc(parts->map_count + 1u, sizeof(*whole->maps));
	if (!whole->path || !whole->programs || !whole->host_programs || !whole->maps)
		return no_memory(diag);
	for (uint32_t i = 0; i < parts->count; i++)
		if (!add_maps(&parts->parts[i], whole) ||
		    !add_programs(parts, &parts->parts[i], whole))
			return no_memory(diag);
	*ret_object = gt_take(whole);
	return 0;
}
