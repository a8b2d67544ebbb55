/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Test runs (BPF_PROG_TEST_RUN) of the raw tracepoints of a layer source: nothing is attached, and
 * the events that the programs write are in a ring of the test's own.
 */
#pragma once

#include <stdio.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "event/event.h"
#include "probe/filter.h"
#include "probe/layer.h"
#include "probe/layer_counts.h"
#include "probe/load.h"
#include "probe/source.h"

#define LAYER_RUN_EVENTS 64
#define LAYER_RUN_RING (1 << 20) /* bytes */
#define LAYER_RUN_SIZE 512       /* bytes of an event that are kept */

struct layer_run {
	struct bpf_object *object;
	struct ring_buffer *ring;
	/* What was written since the last layer_run_begin. */
	size_t count;
	uint64_t events[LAYER_RUN_EVENTS][LAYER_RUN_SIZE / 8];
};

static inline int layer_run_take(void *opaque, void *record, size_t size)
{
	struct layer_run *run = opaque;
	const struct gt_event *event = record;

	if (event->kind == GT_EVENT_process)
		return 0;
	if (run->count < LAYER_RUN_EVENTS)
		memcpy(run->events[run->count++], record,
		       size < LAYER_RUN_SIZE ? size : LAYER_RUN_SIZE);
	return 0;
}

/*
 * The programs that a test run can execute: of raw tracepoints. Those of trace events are loaded as
 * such, with the record as their arguments: they must read it with helpers.
 */
static inline void layer_run_select(const struct gt_layer *layer, struct bpf_object *object)
{
	for (size_t i = 0; i < layer->hook_count; i++) {
		const struct gt_hook *hook = &layer->hooks[i];
		struct bpf_program *program =
			bpf_object__find_program_by_name(object, hook->program);

		bpf_program__set_autoload(program, hook->kind == GT_HOOK_TRACEPOINT ||
							   hook->kind == GT_HOOK_TRACE_EVENT);
		if (hook->kind == GT_HOOK_TRACE_EVENT)
			bpf_program__set_type(program, BPF_PROG_TYPE_RAW_TRACEPOINT);
	}
}

/* A member of a structure. */
struct layer_run_member {
	size_t offset; /* bytes; SIZE_MAX: there is none */
	size_t size;   /* bytes */
	unsigned type;
};

/* A type without its qualifiers and other names. */
static inline const struct btf_type *layer_run_type(const struct btf *btf, unsigned id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

/* The member with the first `length` bytes of a name, also in unions and structures without one. */
static inline struct layer_run_member layer_run_find_member(const struct btf *btf, unsigned id,
							    const char *name, size_t length)
{
	const struct btf_type *type = layer_run_type(btf, id);
	struct layer_run_member found = {.offset = SIZE_MAX};

	if (!type || !btf_is_composite(type))
		return found;
	for (unsigned i = 0; found.offset == SIZE_MAX && i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *here = btf__name_by_offset(btf, member->name_off);
		size_t offset = btf_member_bit_offset(type, i) / 8;

		if (strlen(here) == length && !strncmp(here, name, length))
			return (struct layer_run_member){
				.offset = offset,
				.size = (size_t)btf__resolve_size(btf, member->type),
				.type = member->type,
			};
		if (*here)
			continue;
		found = layer_run_find_member(btf, member->type, name, length);
		if (found.offset != SIZE_MAX)
			found.offset += offset;
	}
	return found;
}

/* The member of a structure at a path, "node.start". */
static inline struct layer_run_member layer_run_member(const struct btf *btf, const char *structure,
						       const char *path)
{
	int id = btf ? btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT) : -1;
	struct layer_run_member found = {.type = id < 0 ? 0 : (unsigned)id};
	size_t length = strcspn(path, "."), before = 0;

	for (; id >= 0; path += length + 1, length = strcspn(path, ".")) {
		found = layer_run_find_member(btf, found.type, path, length);
		if (found.offset == SIZE_MAX)
			break;
		before = found.offset += before;
		if (!path[length])
			return found;
	}
	return (struct layer_run_member){.offset = SIZE_MAX};
}

/* The offset of a member of a structure in bytes; SIZE_MAX: there is none. */
static inline size_t layer_run_offset(const struct btf *btf, const char *structure,
				      const char *member)
{
	return layer_run_member(btf, structure, member).offset;
}

/* Hide a type from the search for the types of programs; `unused` is the offset of a name. */
static inline void layer_run_hide(struct btf *btf, unsigned id, int unused)
{
	((struct btf_type *)btf__type_by_id(btf, id))->name_off = (unsigned)unused;
}

/* Add the types of an object that the kernel does not have: those of modules. */
static inline int layer_run_add_types(struct btf *btf, const struct btf *kernel,
				      const struct btf *object)
{
	int first = btf__add_btf(btf, object), unused = btf__add_str(btf, "unused_type");

	if (first < 0 || unused < 0)
		return first < 0 ? first : unused;
	for (unsigned id = (unsigned)first; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (!btf_is_composite(type) || !*name)
			continue;
		if (strstr(name, "___") ||
		    btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT) > 0)
			layer_run_hide(btf, id, unused);
	}
	return 0;
}

/*
 * Write the types of the running kernel to a file, with those of its modules that a layer source
 * reads, in the layout of the source's own headers: its programs can then be loaded where these
 * modules are not. 0 or -Exxx.
 */
static inline int layer_run_write_types(const struct gt_source *source, const char *path)
{
	size_t size;
	const void *elf = source->layer->object(&size);
	struct bpf_object *object = bpf_object__open_mem(elf, size, NULL);
	struct btf *kernel = btf__load_vmlinux_btf(), *btf = NULL;
	const void *data = NULL;
	FILE *file = NULL;
	__u32 bytes = 0;
	int error = -ENOENT;

	if (object && kernel) {
		data = btf__raw_data(kernel, &bytes);
		btf = btf__new(data, bytes);
		error = layer_run_add_types(btf, kernel, bpf_object__btf(object));
	}
	if (!error) {
		data = btf__raw_data(btf, &bytes);
		file = fopen(path, "we");
		if (!data || !file || fwrite(data, bytes, 1, file) != 1)
			error = -EIO;
	}
	if (file && fclose(file))
		error = -EIO;
	btf__free(btf);
	btf__free(kernel);
	bpf_object__close(object);
	return error;
}

/* How the programs of a layer source are loaded. */
struct layer_run_options {
	const char *btf; /* a file with the types of the kernel; NULL: those of the running one */
	const struct gt_filter *filter; /* may be NULL */
	uint8_t preemptible;            /* they behave as where tracepoints are (layer.bpf.h) */
	uint8_t no_storage; /* they behave as where there is no memory for that of a thread */
	const char *full;   /* a map with room for one entry; NULL: none */
};

static inline int layer_run_set_constants(struct bpf_object *object,
					  const struct layer_run_options *how)
{
	struct gt_filter filter = how->filter ? *how->filter : (struct gt_filter){0};
	const uint64_t wakeup_bytes = LAYER_RUN_RING / 2; /* as a session has it: not at each */
	struct gt_diag diag = {0};
	struct stat namespace;
	int error;

	if (!stat("/proc/self/ns/pid", &namespace))
		filter.pid_namespace = namespace.st_ino;
	error = gt_load_set_constant(object, "filter", &filter, sizeof(filter), &diag);
	if (!error)
		error = gt_load_set_constant(object, "wakeup_bytes", &wakeup_bytes,
					     sizeof(wakeup_bytes), &diag);
	if (!error)
		error = gt_load_set_constant(object, "lacks_storage", &how->no_storage,
					     sizeof(how->no_storage), &diag);
	if (error || !how->preemptible)
		return error;
	return gt_load_set_constant(object, "has_preemptible_tracepoints", &how->preemptible,
				    sizeof(how->preemptible), &diag);
}

/* 0, or -Exxx where this kernel loads no programs for us. */
static inline int layer_run_open_as(struct layer_run *run, const struct gt_source *source,
				    const struct layer_run_options *how)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = how->btf);
	const struct gt_layer *layer = source->layer;
	struct bpf_map *events, *full;
	size_t size;
	const void *elf = layer->object(&size);
	int error;

	*run = (struct layer_run){0};
	run->object = bpf_object__open_mem(elf, size, &options);
	if (!run->object)
		return -errno;
	layer_run_select(layer, run->object);
	error = layer_run_set_constants(run->object, how);
	events = bpf_object__find_map_by_name(run->object, "events");
	if (!error)
		error = bpf_map__set_max_entries(events, LAYER_RUN_RING);
	full = how->full ? bpf_object__find_map_by_name(run->object, how->full) : NULL;
	if (!error && how->full)
		error = full ? bpf_map__set_max_entries(full, 1) : -ENOENT;
	if (!error)
		error = bpf_object__load(run->object);
	if (error)
		return error;
	run->ring = ring_buffer__new(bpf_map__fd(events), layer_run_take, run, NULL);
	return run->ring ? 0 : -errno;
}

static inline int layer_run_open(struct layer_run *run, const struct gt_source *source,
				 const char *btf, const struct gt_filter *filter)
{
	return layer_run_open_as(run, source,
				 &(struct layer_run_options){.btf = btf, .filter = filter});
}

/* Run a program with the arguments of its tracepoint; events are added. 0 or -Exxx. */
static inline int layer_run_program(struct layer_run *run, const char *program,
				    const uint64_t *args, size_t count)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = args,
		    .ctx_size_in = (uint32_t)(count * sizeof(*args)));
	int fd = bpf_program__fd(bpf_object__find_program_by_name(run->object, program));
	int error = bpf_prog_test_run_opts(fd, &options);

	ring_buffer__consume(run->ring);
	return error;
}

#define LAYER_RUN(run, program, ...)                                                               \
	layer_run_program(run, program, (const uint64_t[]){__VA_ARGS__},                           \
			  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static inline void layer_run_close(struct layer_run *run)
{
	ring_buffer__free(run->ring);
	bpf_object__close(run->object);
}
