/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loading host programs, and the maps that they use. */
#include <errno.h>
#include <string.h>

#include "gpubpf/object/object.h"
#include "probe/api/multi_link.h"
#include "probe/load.h"
#include "run/host_private.h"

enum {
	LOG_SIZE = 1 << 20,   /* bytes of the kernel verifier's log */
	FIRST_FOREIGN = 1500, /* map types from here on do not exist in Linux */
};

/* ---- maps ------------------------------------------------------------------------------- */

static void add_used_maps(struct gt_host_programs *programs, const struct gt_bpf_program *program)
{
	for (uint32_t at = 0; at < program->count; at++) {
		const struct bpf_insn *insn = &program->insns[at];

		if (!gt_bpf_is_wide(insn))
			continue;
		if (insn->src_reg && (uint32_t)insn->imm < programs->object->map_count)
			programs->uses[insn->imm] = true;
		at++;
	}
}

/* Find the maps that host programs use, by relocating them as GPU programs are. */
static int find_used_maps(struct gt_host_programs *programs, struct gt_diag *diag)
{
	gt_auto(bpf_object) struct gt_bpf_object *all = NULL;
	int error = gt_bpf_object_open_all(programs->object, &all, diag);

	if (error)
		return error;
	for (uint32_t i = 0; i < all->program_count; i++) {
		const struct gt_bpf_program *program = &all->programs[i];
		const struct bpf_program *source =
			bpf_object__find_program_by_name(programs->source, program->name);

		if (source && gt_host_is_wanted(source))
			add_used_maps(programs, program);
	}
	return 0;
}

/* Why host and GPU programs cannot share a map, or NULL. */
static const char *why_not_shared(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	if (gt_host_is_per_cpu(kind))
		return "in Linux it has a value for each CPU";
	if (gt_bpf_map_is_hashed(kind->shape))
		return NULL;
	if (kind->shape == GT_BPF_MAP_RING)
		return "a ring takes records from one side only";
	if (kind->copies != GT_COPY_ONE)
		return "Linux has no threads of a grid";
	return NULL;
}

/* Share a map that host programs use, if GPU programs use it, too. */
static int share_map(struct gt_bpf_map *map, struct gt_diag *diag)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	const char *reason;

	/* Constants are not shared: each side has its own copy. */
	if (!map->host_only && !map->constant) {
		reason = why_not_shared(map);
		if (reason)
			return gt_diag(diag, -EOPNOTSUPP, "linux", map->name,
				       "GPU programs and host programs use this map, and %s: "
				       "make it an array, or use one map for each side",
				       reason);
		map->with_host = true;
		if (!gt_bpf_map_is_on_host(map))
			map->flags |= BPF_F_MMAPABLE;
	}
	if (map->type >= FIRST_FOREIGN && (!kind || !kind->host_type))
		return gt_diag(diag, -EOPNOTSUPP, "linux", map->name,
			       "a host program uses this map, and Linux has no maps of type %u%s%s",
			       map->type, kind ? " " : "", kind ? kind->name : "");
	return 0;
}

/* Set which maps libbpf creates, and their types. */
static int configure_maps(struct gt_host_programs *programs, bool pins, struct gt_diag *diag)
{
	struct bpf_map *source;
	uint32_t number = 0;

	bpf_object__for_each_map (source, programs->source) {
		const struct gt_bpf_map *map = &programs->object->maps[number];
		const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
		int error = pins ? 0 : bpf_map__set_pin_path(source, NULL);

		if (!programs->uses[number++]) {
			if (!map->host_only || map->type >= FIRST_FOREIGN)
				error = bpf_map__set_autocreate(source, false);
		} else if (kind && kind->host_type != map->type) {
			error = bpf_map__set_type(source, kind->host_type);
		}
		/* Linux has no sizes of records. */
		if (!error && kind && kind->shape == GT_BPF_MAP_RING && programs->uses[number - 1])
			error = bpf_map__set_value_size(source, 0);
		if (!error && map->with_host)
			error = bpf_map__set_map_flags(source, map->flags);
		if (error)
			return gt_diag(diag, error, "linux", map->name, "libbpf: %s",
				       strerror(-error));
	}
	return 0;
}

/* ---- programs --------------------------------------------------------------------------- */

/* Programs that libbpf does not load, in sections that begin with '?', stay unloaded. */
static int configure_programs(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_program *program;
	unsigned count = 0;

	bpf_object__for_each_program (program, programs->source) {
		if (gt_bpf_is_for_gpu(program))
			bpf_program__set_autoload(program, false);
		count += gt_host_is_wanted(program);
		if (gt_host_is_wanted(program))
			bpf_program__set_log_buf(program, programs->log, LOG_SIZE);
	}
	return count ? 0
		     : gt_diag(diag, -ENOENT, "linux", programs->object->path,
			       "no host programs, such as of uprobe/… or tracepoint/…");
}

static int open_source(struct gt_host_programs *programs, struct gt_diag *diag)
{
	programs->source = gt_bpf_object_open_libbpf(programs->object);
	if (!programs->source)
		return gt_diag(diag, -errno, "linux", programs->object->path,
			       "libbpf cannot open it: %s", strerror(errno));
	return configure_programs(programs, diag);
}

int gt_host_programs_open(struct gt_bpf_object *object, bool pins,
			  struct gt_host_programs **ret_programs, struct gt_diag *diag)
{
	gt_auto(host_programs) struct gt_host_programs *programs = calloc(1, sizeof(*programs));
	uint32_t count = object->map_count;
	int error;

	if (!programs)
		return gt_host_no_memory(diag);
	programs->printer = libbpf_set_print(NULL);
	programs->object = object;
	programs->log = calloc(1, LOG_SIZE);
	programs->uses = calloc(count + 1u, sizeof(*programs->uses));
	programs->arrays = calloc(count + 1u, sizeof(*programs->arrays));
	if (!programs->log || !programs->uses || !programs->arrays)
		return gt_host_no_memory(diag);
	error = open_source(programs, diag);
	if (!error)
		error = find_used_maps(programs, diag);
	for (uint32_t i = 0; !error && i < count; i++) {
		programs->arrays[i] = -1;
		if (programs->uses[i])
			error = share_map(&object->maps[i], diag);
	}
	if (!error)
		error = configure_maps(programs, pins, diag);
	if (!error)
		*ret_programs = gt_take(programs);
	return error;
}

void gt_host_programs_close(struct gt_host_programs *programs)
{
	if (!programs)
		return;
	gt_host_programs_detach(programs);
	gt_host_uprobes_close(programs->uprobes);
	gt_host_rings_close(programs);
	bpf_object__close(programs->source);
	libbpf_set_print(programs->printer);
	free(programs->arrays);
	free(programs->uses);
	free(programs->log);
	free(programs);
}

/* ---- the kernel ------------------------------------------------------------------------- */

/* The line of the verifier's log with the reason: the last one except for statistics. */
static const char *last_reason(char *log)
{
	const char *reason = NULL;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17) &&
		    strncmp(line, "stack depth", 11))
			reason = line;
	return reason;
}

bool gt_host_programs_have(const struct gt_host_programs *programs, const char *name)
{
	return bpf_object__find_program_by_name(programs->source, name);
}

int gt_host_programs_share(struct gt_host_programs *programs, uint32_t map,
			   const struct gt_host_programs *other, uint32_t other_map,
			   struct gt_diag *diag)
{
	int error = 0;

	if (programs->uses[map] && other->uses[other_map])
		error = bpf_map__reuse_fd(gt_host_find_map(programs, map),
					  bpf_map__fd(gt_host_find_map(other, other_map)));
	return error ? gt_diag(diag, error, "linux", programs->object->maps[map].name,
			       "cannot share the map: %s", strerror(-error))
		     : 0;
}

int gt_host_programs_load(struct gt_host_programs *programs, struct gt_diag *diag)
{
	int error = bpf_object__load(programs->source);
	struct bpf_map *source;
	const char *reason;
	uint32_t number = 0;

	if (error == -EPERM)
		return gt_load_failed(error, "linux", diag);
	if (error) {
		reason = last_reason(programs->log);
		return gt_diag(diag, error, "linux", programs->object->path, "%s: %s",
			       reason ? "the kernel rejects its host programs"
				      : "its host programs cannot be loaded",
			       reason ? reason : strerror(-error));
	}
	bpf_object__for_each_map (source, programs->source) {
		if (programs->object->maps[number].with_host)
			programs->arrays[number] = bpf_map__fd(source);
		number++;
	}
	return 0;
}

/* Whether it is a program of uprobes that the dispatcher of host_uprobes.h can call. */
static bool is_of_uprobes(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);
	size_t length = strcspn(section, "/");

	return (length == 6 && !strncmp(section, "uprobe", length)) ||
	       (length == 9 && !strncmp(section, "uretprobe", length));
}

int gt_host_programs_load_for_command(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_program *program;

	/* A program calls only programs that are prepared as it is. */
	programs->multi = !gt_multi_link_check(GT_MULTI_ENTRY);
	bpf_object__for_each_program (program, programs->source)
		if (programs->multi && gt_host_is_wanted(program) && is_of_uprobes(program))
			gt_multi_link_prepare(program, GT_MULTI_ENTRY);
	return gt_host_programs_load(programs, diag);
}

const int *gt_host_programs_arrays(const struct gt_host_programs *programs)
{
	return programs->arrays;
}
