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
	LOG_SIZE = 1 << 20,   /* bytes of the kernel verifier's log */
	FIRST_FOREIGN = 1500, /* map types from here on do not exist in Linux */
	MAX_ROUND = 1 << 16,  /* records of a ring that are read at once */
};

struct host_ring {
	uint32_t map;
	struct ring_buffer *buffer;
	struct host_ring_reader *reader;
};

/* Whom the records of a ring are for. */
struct host_ring_reader {
	uint32_t map;
	unsigned count; /* of records in this round */
	void (*record)(void *context, uint32_t map, const void *data, uint32_t size);
	void *context;
};

struct gt_host_programs {
	struct gt_bpf_object *object;
	struct bpf_object *source;
	libbpf_print_fn_t printer; /* libbpf's previous one; it has one per process */
	bool *uses;                /* per map: host programs use it */
	int *arrays;               /* per map: descriptor, or -1 */
	char *log;                 /* of the kernel's verifier */
	GT_VEC(struct bpf_link *) links;
	struct gt_host_uprobes *uprobes; /* beside a command */
	struct gt_diag late;             /* the first error of a late attachment */
	GT_VEC(struct host_ring) rings; /* that only host programs use; open after the first read */
	bool rings_are_open;
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

		if (source && is_wanted(source))
			add_used_maps(programs, program);
	}
	return 0;
}

static bool is_per_cpu(const struct gt_bpf_map_kind *kind)
{
	return kind->host_type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       kind->host_type == BPF_MAP_TYPE_PERCPU_HASH ||
	       kind->host_type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

/* Why host and GPU programs cannot share a map, or NULL. */
static const char *why_not_shared(const struct gt_bpf_map *map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	if (is_per_cpu(kind))
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
static int configure_maps(struct gt_host_programs *programs, struct gt_diag *diag)
{
	struct bpf_map *source;
	uint32_t number = 0;

	bpf_object__for_each_map (source, programs->source) {
		const struct gt_bpf_map *map = &programs->object->maps[number];
		const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
		int error = 0;

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
		count += is_wanted(program);
		if (is_wanted(program))
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

int gt_host_programs_open(struct gt_bpf_object *object, struct gt_host_programs **ret_programs,
			  struct gt_diag *diag)
{
	gt_auto(host_programs) struct gt_host_programs *programs = calloc(1, sizeof(*programs));
	uint32_t count = object->map_count;
	int error;

	if (!programs)
		return no_memory(diag);
	programs->printer = libbpf_set_print(NULL);
	programs->object = object;
	programs->log = calloc(1, LOG_SIZE);
	programs->uses = calloc(count + 1u, sizeof(*programs->uses));
	programs->arrays = calloc(count + 1u, sizeof(*programs->arrays));
	if (!programs->log || !programs->uses || !programs->arrays)
		return no_memory(diag);
	error = open_source(programs, diag);
	if (!error)
		error = find_used_maps(programs, diag);
	for (uint32_t i = 0; !error && i < count; i++) {
		programs->arrays[i] = -1;
		if (programs->uses[i])
			error = share_map(&object->maps[i], diag);
	}
	if (!error)
		error = configure_maps(programs, diag);
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
	gt_vec_each (ring, &programs->rings) {
		ring_buffer__free(ring->buffer);
		free(ring->reader);
	}
	gt_vec_free(&programs->rings);
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

const int *gt_host_programs_arrays(const struct gt_host_programs *programs)
{
	return programs->arrays;
}

/* What to do about a program that cannot be attached. */
static const char *attach_advice(const char *section, int error)
{
	bool traces = !strncmp(section, "tracepoint/", 11) || !strncmp(section, "tp/", 3);

	if (error == -EOPNOTSUPP || error == -ESRCH)
		return "; name the target in its section, as uprobe/PATH:FUNCTION or "
		       "raw_tp/NAME, or exclude the program with SEC(\"?…\")";
	if (traces && access("/sys/kernel/tracing/events", F_OK) &&
	    access("/sys/kernel/debug/tracing/events", F_OK))
		return "; tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing, or "
		       "use raw_tp/NAME";
	return "";
}

static int attach_program(struct gt_host_programs *programs, struct bpf_program *program,
			  struct gt_diag *diag)
{
	struct bpf_link *link = bpf_program__attach(program);
	int error = link ? 0 : -errno;

	if (error)
		return gt_diag(diag, error, "linux", bpf_program__name(program),
			       "cannot attach this host program (%s): %s%s",
			       bpf_program__section_name(program), strerror(-error),
			       attach_advice(bpf_program__section_name(program), error));
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
			error = attach_program(programs, program, diag);
	if (error)
		gt_host_programs_detach(programs);
	return error;
}

/* The target that the command line gives a program, or NULL. */
static const char *given_target(const struct gt_host_command *command,
				const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);
	size_t length = strlen(name);

	for (size_t i = 0; i < command->target_count; i++)
		if (!strncmp(command->targets[i], name, length) &&
		    command->targets[i][length] == '=')
			return command->targets[i] + length + 1;
	return NULL;
}

/* Whether a program is attached to a function of a file. */
static bool read_uprobe(const struct gt_host_command *command, const struct bpf_program *program,
			struct gt_uprobe_section *ret_section)
{
	const char *section = bpf_program__section_name(program);
	const char *target = given_target(command, program);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!target)
		return gt_uprobe_section_read(section, ret_section);
	gt_strbuf_printf(&text, "%.*s/%s", (int)strcspn(section, "/"), section, target);
	return gt_uprobe_section_read(gt_strbuf_string(&text), ret_section);
}

/* Check what the command line says of programs. */
static int check_targets(const struct gt_host_programs *programs,
			 const struct gt_host_command *command, struct gt_diag *diag)
{
	for (size_t i = 0; i < command->target_count; i++) {
		const char *target = command->targets[i];
		gt_autofree char *name = strndup(target, strcspn(target, "="));
		struct gt_uprobe_section section;
		struct bpf_program *program;

		if (!name)
			return no_memory(diag);
		program = bpf_object__find_program_by_name(programs->source, name);
		if (!program || !is_wanted(program))
			return gt_diag(diag, -ENOENT, "linux", programs->object->path,
				       "no host program '%s' to attach ('gputap verify' lists the "
				       "programs)",
				       name);
		if (!read_uprobe(command, program, &section))
			return gt_diag(diag, -EINVAL, "linux", name,
				       "cannot attach a program of section %s to '%s' (only uprobe "
				       "and uretprobe, to FILE:FUNCTION)",
				       bpf_program__section_name(program),
				       target + strlen(name) + (target[strlen(name)] == '='));
	}
	return 0;
}

static int open_uprobes(struct gt_host_programs *programs, const struct gt_host_command *command,
			struct gt_diag *diag)
{
	GT_VEC(struct gt_uprobe_program) uprobes = {0};
	struct gt_uprobe_program uprobe;
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, programs->source) {
		uprobe.program = program;
		if (!error && is_wanted(program) && read_uprobe(command, program, &uprobe.section))
			error = gt_vec_push(&uprobes, uprobe);
	}
	if (error)
		error = no_memory(diag);
	else if (uprobes.count)
		error = gt_host_uprobes_open(uprobes.items, uprobes.count, &programs->uprobes,
					     diag);
	gt_vec_free(&uprobes);
	return error;
}

/* Whether the section names a target; a loader that knows it attaches programs that have none. */
static bool has_target(const struct bpf_program *program)
{
	static const char *const bare[] = {"uprobe",      "uretprobe",  "uprobe.s",
					   "uretprobe.s", "kprobe",     "kretprobe",
					   "usdt",        "tracepoint", "tp"};

	for (size_t i = 0; i < gt_countof(bare); i++)
		if (!strcmp(bpf_program__section_name(program), bare[i]))
			return false;
	return true;
}

static void put_programs_without_target(const struct gt_host_programs *programs,
					struct gt_strbuf *text)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, programs->source)
		if (is_wanted(program) && !has_target(program) &&
		    !(programs->uprobes && gt_host_uprobes_have(programs->uprobes, program)))
			gt_strbuf_printf(text,
					 "the host program %s was not attached: its section (%s) "
					 "names no target; use --attach %s=FILE:FUNCTION\n",
					 bpf_program__name(program),
					 bpf_program__section_name(program),
					 bpf_program__name(program));
}

int gt_host_programs_attach_command(struct gt_host_programs *programs,
				    const struct gt_host_command *command, struct gt_diag *diag)
{
	struct bpf_program *program;
	struct gt_uprobe_section section;
	int error = check_targets(programs, command, diag);

	if (!error)
		error = open_uprobes(programs, command, diag);
	if (!error && programs->uprobes)
		error = gt_host_uprobes_attach(programs->uprobes, command, diag);
	bpf_object__for_each_program (program, programs->source)
		if (!error && is_wanted(program) && has_target(program) &&
		    !read_uprobe(command, program, &section))
			error = attach_program(programs, program, diag);
	if (error)
		gt_host_programs_detach(programs);
	return error;
}

void gt_host_programs_attach_process(struct gt_host_programs *programs, pid_t pid)
{
	struct gt_diag diag = {0};

	if (programs->uprobes && gt_host_uprobes_attach_process(programs->uprobes, pid, &diag) &&
	    !programs->late.text[0])
		programs->late = diag;
}

void gt_host_programs_account(const struct gt_host_programs *programs, bool targets_are_optional,
			      struct gt_strbuf *text)
{
	const char *name;
	uint64_t lost;

	if (programs->late.text[0])
		gt_strbuf_printf(text, "%s: %s\n", programs->late.place, programs->late.text);
	put_programs_without_target(programs, text);
	if (!programs->uprobes)
		return;
	for (size_t i = 0;
	     !targets_are_optional && (name = gt_host_uprobes_unattached(programs->uprobes, i));
	     i++)
		gt_strbuf_printf(text,
				 "the host program %s was not attached: no process of the command "
				 "loaded a file of this name with this function\n",
				 name);
	lost = gt_host_uprobes_lost(programs->uprobes);
	if (lost)
		gt_strbuf_printf(text,
				 "%llu threads were not followed by uprobes (out of memory)\n",
				 (unsigned long long)lost);
}

void gt_host_programs_detach(struct gt_host_programs *programs)
{
	if (programs->uprobes)
		gt_host_uprobes_detach(programs->uprobes);
	gt_vec_each (link, &programs->links)
		bpf_link__destroy(*link);
	gt_vec_free(&programs->links);
}

/* ---- maps of host programs only ----------------------------------------------------------------
 */

bool gt_host_programs_own(const struct gt_host_programs *programs, uint32_t map)
{
	/* Maps that were added to the object later are internal ones. */
	return !programs->object->maps[map].internal && programs->uses[map] &&
	       (programs->object->maps[map].host_only ||
		(programs->object->maps[map].with_host &&
		 gt_bpf_map_is_on_host(&programs->object->maps[map])));
}

static int map_descriptor(const struct gt_host_programs *programs, uint32_t map)
{
	struct bpf_map *source = NULL;

	for (uint32_t i = 0; i <= map; i++)
		source = bpf_object__next_map(programs->source, source);
	return bpf_map__fd(source);
}

/* Copy an entry of a kernel map into memory in the layout of our maps. */
static int copy_entry(int fd, const struct gt_bpf_map_view *view, void *memory, const void *key,
		      void *values)
{
	size_t stride = gt_bpf_map_stride(view->map->value_size);
	int error = bpf_map_lookup_elem(fd, key, values);

	for (uint32_t copy = 0; !error && copy < view->copies; copy++)
		error = gt_bpf_map_update(view->map, memory, copy, key,
					  (uint8_t *)values + copy * stride, BPF_ANY);
	return error == -ENOENT ? 0 : error; /* deleted meanwhile */
}

static int copy_entries(int fd, const struct gt_bpf_map_view *view, void *memory)
{
	size_t stride = gt_bpf_map_stride(view->map->value_size);
	gt_autofree void *values = calloc(view->copies, stride);
	gt_autofree uint8_t *keys = calloc(2, view->map->key_size);
	void *last = NULL, *next = keys;
	int error = values && keys ? 0 : -ENOMEM;

	/* Bounded, since others may change the map meanwhile. */
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

	if (!kind || kind->shape == GT_BPF_MAP_RING ||
	    (is_per_cpu(kind) && gt_bpf_map_is_hashed(kind->shape)) ||
	    gt_bpf_map_check(declared, NULL))
		return gt_diag(diag, -EOPNOTSUPP, "linux", declared->name,
			       "maps of type %u cannot be shown", declared->type);
	if (kind->copies == GT_COPY_SM) {
		view.copies = (uint32_t)libbpf_num_possible_cpus();
		view.copies_are = "CPUs";
	}
	bytes = gt_bpf_map_bytes(declared, view.copies);
	memory = bytes ? calloc(1, bytes) : NULL;
	if (!memory)
		return no_memory(diag);
	error = copy_entries(map_descriptor(programs, map), &view, memory);
	if (error)
		return gt_diag(diag, error, "linux", declared->name, "cannot read the map: %s",
			       strerror(-error));
	view.memory = gt_take(memory);
	*ret_view = view;
	return 0;
}

/* ---- rings of host programs only ------------------------------------------------------- */

/* A ring may be filled as fast as it is read: a round ends. */
static int take_record(void *context, void *data, size_t size)
{
	struct host_ring_reader *reader = context;

	reader->record(reader->context, reader->map, data, (uint32_t)size);
	return ++reader->count == MAX_ROUND ? -EAGAIN : 0;
}

static int open_ring(struct gt_host_programs *programs, uint32_t map)
{
	struct host_ring ring = {.map = map, .reader = calloc(1, sizeof(*ring.reader))};
	int error = ring.reader ? 0 : -ENOMEM;

	if (!error) {
		ring.reader->map = map;
		ring.buffer = ring_buffer__new(map_descriptor(programs, map), take_record,
					       ring.reader, NULL);
		error = ring.buffer ? 0 : -errno;
	}
	if (!error)
		error = gt_vec_push(&programs->rings, ring);
	if (error) {
		ring_buffer__free(ring.buffer);
		free(ring.reader);
	}
	return error;
}

static int open_rings(struct gt_host_programs *programs)
{
	int error = 0;

	programs->rings_are_open = true;
	for (uint32_t i = 0; i < programs->object->map_count && !error; i++)
		if (gt_host_programs_own(programs, i) && gt_host_programs_is_ring(programs, i))
			error = open_ring(programs, i);
	return error;
}

bool gt_host_programs_is_ring(const struct gt_host_programs *programs, uint32_t map)
{
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(programs->object->maps[map].type);

	return kind && kind->host_type == BPF_MAP_TYPE_RINGBUF;
}

int gt_host_programs_read_rings(struct gt_host_programs *programs,
				void (*record)(void *context, uint32_t map, const void *data,
					       uint32_t size),
				void *context)
{
	int error = programs->rings_are_open ? 0 : open_rings(programs), count;

	gt_vec_each (ring, &programs->rings) {
		ring->reader->record = record;
		ring->reader->context = context;
		ring->reader->count = 0;
		count = ring_buffer__consume(ring->buffer);
		if (count < 0 && count != -EAGAIN && !error)
			error = count;
	}
	return error;
}
