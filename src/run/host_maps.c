/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading maps and rings that only host programs use. */
#include <errno.h>
#include <string.h>

#include "run/host_private.h"

enum {
	MAX_ROUND = 1 << 16, /* records of a ring that are read at once */
};

bool gt_host_programs_own(const struct gt_host_programs *programs, uint32_t map)
{
	/* Maps that were added to the object later are internal ones. */
	return !programs->object->maps[map].internal && programs->uses[map] &&
	       (programs->object->maps[map].host_only ||
		(programs->object->maps[map].with_host &&
		 gt_bpf_map_is_on_host(&programs->object->maps[map])));
}

struct bpf_map *gt_host_find_map(const struct gt_host_programs *programs, uint32_t map)
{
	struct bpf_map *source = NULL;

	for (uint32_t i = 0; i <= map; i++)
		source = bpf_object__next_map(programs->source, source);
	return source;
}

static int map_descriptor(const struct gt_host_programs *programs, uint32_t map)
{
	return bpf_map__fd(gt_host_find_map(programs, map));
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
	    (gt_host_is_per_cpu(kind) && gt_bpf_map_is_hashed(kind->shape)) ||
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
		return gt_host_no_memory(diag);
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
	struct gt_host_ring_reader *reader = context;

	reader->record(reader->context, reader->map, data, (uint32_t)size);
	return ++reader->count == MAX_ROUND ? -EAGAIN : 0;
}

static int open_ring(struct gt_host_programs *programs, uint32_t map)
{
	struct gt_host_ring ring = {.map = map, .reader = calloc(1, sizeof(*ring.reader))};
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

void gt_host_rings_close(struct gt_host_programs *programs)
{
	gt_vec_each (ring, &programs->rings) {
		ring_buffer__free(ring->buffer);
		free(ring->reader);
	}
	gt_vec_free(&programs->rings);
}
