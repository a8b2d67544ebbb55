/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/host_programs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "gpubpf/object/object.h"
#include "probe/load.h"

enum {
	LOG_SIZE = 1 << 20,   /* of what the kernel's verifier says */
	FIRST_FOREIGN = 1500, /* types of maps from here on are not the kernel's */
};

struct gt_host_programs {
	const char *path;
	const struct gt_bpf_object *object;
	struct bpf_object *source;
	libbpf_print_fn_t printer; /* libbpf's before; it has one for the process */
	bool *uses;                /* one a map: programs for Linux use it */
	int *arrays;               /* one a map */
	char *log;                 /* what the kernel says of the program that it loads */
	GT_VEC(struct bpf_link *) links;
};

static int no_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "linux", NULL, "out of memory");
}

static bool is_wanted(const struct bpf_program *program)
{
	return bpf_program__autoload(program);
}

/* ---- maps ------------------------------------------------------------------------------- */

static void find_uses(struct gt_host_programs *programs, const struct gt_bpf_program *program)
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

/* What programs for Linux use, once they are relocated as those for the GPU are. */
static int find_all_uses(struct gt_host_programs *programs, struct gt_diag *diag)
{
	gt_auto(bpf_object) struct gt_bpf_object *all = NULL;
	int error = gt_bpf_object_open(programs->path, true, &all, diag);

	if (error)
		return error;
	for (uint32_t i = 0; i < all->program_count; i++) {
		const struct gt_bpf_program *program = &all->programs[i];
		const struct bpf_program *source =
			bpf_object__find_program_by_name(programs->source, program->name);

		if (source && is_wanted(source))
			find_uses(programs, program);
	}
	return 0;
}

/* Why a map cannot be one for both, or NULL. */
static const char *why_apart(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	if (kind->shape == GT_BPF_MAP_HASH)
		return "GPUs cannot reach the kernel's hashes";
	if (kind->shape == GT_BPF_MAP_RING)
		return "the records of a ring come from one side";
	if (kind->copies == GT_COPY_SM)
		return "the kernel's has a value for each CPU";
	if (kind->copies != GT_COPY_ONE)
		return "the kernel knows no threads of a grid";
	if (kind->place != GT_BPF_MAP_SHARED && !(map->flags & BPF_F_MMAPABLE))
		return "without BPF_F_MMAPABLE each would have its own memory";
	return NULL;
}

/* A map that programs for Linux use: whether that is possible, and what it is for the GPU. */
static int join_map(struct gt_bpf_map *map, struct gt_diag *diag)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	const char *reason;

	/* Constants are the same for both; each has them where it reads them best. */
	if (!map->host_only && !map->constant) {
		reason = why_apart(map);
		if (reason)
			return gt_diag(diag, -EOPNOTSUPP, "linux", map->name,
				       "programs for the GPU and for Linux use this map, and %s: "
				       "make it a GPUTAP_SHARED_ARRAY (an array with "
				       "BPF_F_MMAPABLE), or have a map for each side",
				       reason);
		map->with_host = true;
		map->flags |= BPF_F_MMAPABLE;
	}
	if (map->type >= FIRST_FOREIGN && (!kind || !kind->host_type))
		return gt_diag(
			diag, -EOPNOTSUPP, "linux", map->name,
			"a program for Linux uses this map, and Linux has none of type %u%s%s",
			map->type, kind ? " " : "", kind ? kind->name : "");
	return 0;
}

/* Says what libbpf has to create, and as what. */
static int plan_maps(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_map *source;
	uint32_t number = 0;

	bpf_object__for_each_map (source, programs->source) {
		const struct gt_bpf_map *map = &programs->object->maps[number];
		const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
		int error = 0;

		if (number == programs->object->map_count ||
		    strcmp(map->name, bpf_map__name(source)))
			return gt_diag(diag, -EINVAL, "linux", programs->path,
				       "the file changed while it was read");
		if (!programs->uses[number++]) {
			if (!map->host_only || map->type >= FIRST_FOREIGN)
				error = bpf_map__set_autocreate(source, false);
		} else if (kind && kind->host_type != map->type) {
			error = bpf_map__set_type(source, kind->host_type);
		}
		if (!error && map->with_host)
			error = bpf_map__set_map_flags(source, map->flags);
		if (error)
			return gt_diag(diag, error, "linux", map->name, "libbpf: %s",
				       strerror(-error));
	}
	return 0;
}

/* ---- programs --------------------------------------------------------------------------- */

/* Those that libbpf leaves out, in sections that begin with '?', stay out. */
static int plan_programs(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_program *program;
	unsigned count = 0;

	bpf_object__for_each_program (program, programs->source) {
		if (gt_bpf_is_for_gpu(bpf_program__section_name(program),
				      bpf_program__name(program)))
			bpf_program__set_autoload(program, false);
		count += is_wanted(program);
		if (is_wanted(program))
			bpf_program__set_log_buf(program, programs->log, LOG_SIZE);
	}
	return count ? 0
		     : gt_diag(diag, -ENOENT, "linux", programs->path,
			       "there is no program for Linux, as of uprobe/… or tracepoint/…");
}

static int open_source(struct gt_host_programs *programs, struct gt_diag *diag)
{
	programs->source = bpf_object__open_file(programs->path, NULL);
	if (!programs->source)
		return gt_diag(diag, -errno, "linux", programs->path, "libbpf cannot open it: %s",
			       strerror(errno));
	return plan_programs(programs, diag);
}

int gt_host_programs_open(const char *path, struct gt_bpf_object *object,
			  struct gt_host_programs **ret_programs, struct gt_diag *diag)
{
	gt_auto(host_programs) struct gt_host_programs *programs = calloc(1, sizeof(*programs));
	uint32_t count = object->map_count;
	int error;

	if (!programs)
		return no_memory(diag);
	programs->printer = libbpf_set_print(NULL);
	programs->path = path;
	programs->object = object;
	programs->log = calloc(1, LOG_SIZE);
	programs->uses = calloc(count + 1u, sizeof(*programs->uses));
	programs->arrays = calloc(count + 1u, sizeof(*programs->arrays));
	if (!programs->log || !programs->uses || !programs->arrays)
		return no_memory(diag);
	error = open_source(programs, diag);
	if (!error)
		error = find_all_uses(programs, diag);
	for (uint32_t i = 0; !error && i < count; i++) {
		programs->arrays[i] = -1;
		if (programs->uses[i])
			error = join_map(&object->maps[i], diag);
	}
	if (!error)
		error = plan_maps(programs, diag);
	if (!error)
		*ret_programs = gt_take(programs);
	return error;
}

void gt_host_programs_close(struct gt_host_programs *programs)
{
	if (!programs)
		return;
	gt_host_programs_detach(programs);
	bpf_object__close(programs->source);
	libbpf_set_print(programs->printer);
	free(programs->arrays);
	free(programs->uses);
	free(programs->log);
	free(programs);
}

/* ---- the kernel ------------------------------------------------------------------------- */

/* The line of the verifier's log that says why: the last but for what it counts. */
static const char *last_reason(char *log)
{
	const char *reason = NULL;

	for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17) &&
		    strncmp(line, "stack depth", 11))
			reason = line;
	return reason;
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
		return gt_diag(diag, error, "linux", programs->path, "%s: %s",
			       reason ? "the kernel refuses its programs for Linux"
				      : "its programs for Linux cannot be loaded",
			       reason ? reason : strerror(-error));
	}
	bpf_object__for_each_map (source, programs->source) {
		if (programs->object->maps[number].with_host)
			programs->arrays[number] = bpf_map__fd(source);
		number++;
	}
	return 0;
}

const int *gt_host_programs_arrays(const struct gt_host_programs *programs)
{
	return programs->arrays;
}

/* What to do about a program that was not attached. */
static const char *advice(const char *section, int error)
{
	bool traces = !strncmp(section, "tracepoint/", 11) || !strncmp(section, "tp/", 3);

	if (error == -EOPNOTSUPP || error == -ESRCH)
		return "; its section must say where, as uprobe/PATH:FUNCTION or raw_tp/NAME; "
		       "SEC(\"?…\") leaves a program out";
	if (traces && access("/sys/kernel/tracing/events", F_OK) &&
	    access("/sys/kernel/debug/tracing/events", F_OK))
		return "; tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing, or "
		       "use raw_tp/NAME";
	return "";
}

static int attach(struct gt_host_programs *programs, struct bpf_program *program,
		  struct gt_diag *diag)
{
	struct bpf_link *link = bpf_program__attach(program);
	int error = link ? 0 : -errno;

	if (error)
		return gt_diag(diag, error, "linux", bpf_program__name(program),
			       "this program for Linux (%s) cannot be attached: %s%s",
			       bpf_program__section_name(program), strerror(-error),
			       advice(bpf_program__section_name(program), error));
	if (!gt_vec_push(&programs->links, link))
		return 0;
	bpf_link__destroy(link);
	return no_memory(diag);
}

int gt_host_programs_attach(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, programs->source)
		if (!error && is_wanted(program))
			error = attach(programs, program, diag);
	if (error)
		gt_host_programs_detach(programs);
	return error;
}

void gt_host_programs_detach(struct gt_host_programs *programs)
{
	gt_vec_each (link, &programs->links)
		bpf_link__destroy(*link);
	gt_vec_free(&programs->links);
}

/* ---- maps of Linux alone ---------------------------------------------------------------- */

bool gt_host_programs_own(const struct gt_host_programs *programs, uint32_t map)
{
	return programs->uses[map] && programs->object->maps[map].host_only;
}

static int descriptor_of(const struct gt_host_programs *programs, uint32_t map)
{
	struct bpf_map *source = NULL;

	for (uint32_t i = 0; i <= map; i++)
		source = bpf_object__next_map(programs->source, source);
	return bpf_map__fd(source);
}

/* Puts one of the kernel's entries into memory of our own form. */
static int copy_entry(int fd, const struct gt_bpf_map_view *view, void *memory, const void *key,
		      void *values)
{
	size_t stride = gt_bpf_map_stride(view->map->value_size);
	int error = bpf_map_lookup_elem(fd, key, values);

	for (uint32_t copy = 0; !error && copy < view->copies; copy++)
		error = gt_bpf_map_update(view->map, memory, copy, key,
					  (uint8_t *)values + copy * stride, BPF_ANY);
	return error == -ENOENT ? 0 : error; /* it is gone meanwhile */
}

static int copy_entries(int fd, const struct gt_bpf_map_view *view, void *memory)
{
	size_t stride = gt_bpf_map_stride(view->map->value_size);
	gt_autofree void *values = calloc(view->copies, stride);
	gt_autofree uint8_t *keys = calloc(2, view->map->key_size);
	void *last = NULL, *next = keys;
	int error = values && keys ? 0 : -ENOMEM;

	/* No more than there can be, should others change the map meanwhile. */
	for (uint32_t i = 0; !error && i < view->map->max_entries; i++) {
		error = bpf_map_get_next_key(fd, last, next);
		if (error)
			return error == -ENOENT ? 0 : error;
		error = copy_entry(fd, view, memory, next, values);
		last = next;
		next = next == keys ? keys + view->map->key_size : keys;
	}
	return error;
}

int gt_host_programs_read(const struct gt_host_programs *programs, uint32_t map,
			  struct gt_bpf_map_view *ret_view, struct gt_diag *diag)
{
	const struct gt_bpf_map *declared = &programs->object->maps[map];
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(declared->type);
	struct gt_bpf_map_view view = {.map = declared, .copies = 1};
	gt_autofree void *memory = NULL;
	size_t bytes;
	int error;

	if (!kind || kind->shape == GT_BPF_MAP_RING || gt_bpf_map_check(declared, NULL))
		return gt_diag(diag, -EOPNOTSUPP, "linux", declared->name,
			       "maps of type %u are not read here", declared->type);
	if (kind->copies == GT_COPY_SM) {
		view.copies = (uint32_t)libbpf_num_possible_cpus();
		view.copies_are = "CPUs";
	}
	bytes = gt_bpf_map_bytes(declared, view.copies);
	memory = bytes ? calloc(1, bytes) : NULL;
	if (!memory)
		return no_memory(diag);
	error = copy_entries(descriptor_of(programs, map), &view, memory);
	if (error)
		return gt_diag(diag, error, "linux", declared->name, "it cannot be read: %s",
			       strerror(-error));
	view.memory = gt_take(memory);
	*ret_view = view;
	return 0;
}
