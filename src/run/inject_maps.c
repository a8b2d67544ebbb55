/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the maps hold. A map in the device area is on each GPU that executes patched code, and
 * possibly in the file. Views are of all together: each began as the same memory, so that what was
 * added to it is added up. A value that programs set is that of the last area in which it was set.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "run/inject_private.h"

static bool is_in_device_area(const struct gt_inject *inject, uint32_t map)
{
	return inject->memory.offsets[map] >= inject->memory.host_size;
}

static bool has_file(const struct gt_inject *inject)
{
	return inject->memory.device_in_file || !inject->devices.copies.count;
}

static void close_merged(struct gt_inject_merged *merged)
{
	if (!merged->memory)
		return;
	munmap(merged->memory, merged->size);
	close(merged->fd);
	*merged = (struct gt_inject_merged){0};
}

void gt_inject_maps_close(struct gt_inject *inject)
{
	for (uint32_t i = 0; inject->memory.merged && i <= inject->map_count; i++)
		close_merged(&inject->memory.merged[i]);
}

/* ---- switches and filters -------------------------------------------------------------- */

void gt_inject_switch(struct gt_inject *inject, uint32_t program, bool on)
{
	size_t offset = inject->memory.switches + program * sizeof(uint32_t);
	uint32_t *word = (uint32_t *)(void *)(inject->memory.data + offset);

	inject->programs[program].off = !on;
	__atomic_store_n(word, on, __ATOMIC_RELEASE);
	gt_inject_copies_write(inject, offset, sizeof(*word));
}

struct gt_bpf_filter *gt_inject_filter(const struct gt_inject *inject, uint32_t program)
{
	struct gt_bpf_filter *filter =
		inject->options.filters ? &inject->options.filters[program] : NULL;

	return filter && (filter->term_count || filter->period) ? filter : NULL;
}

int gt_inject_change_filter(struct gt_inject *inject, uint32_t program, const char *when,
			    uint32_t period, struct gt_diag *diag)
{
	const struct gt_section *section = &inject->options.programs[program].section;
	struct gt_bpf_filter *filter = gt_inject_filter(inject, program);
	struct gt_bpf_filter wanted = {.period = period};
	size_t offset;
	int error = 0;

	if (!filter)
		return gt_diag(diag, -EPERM, "probe", NULL,
			       "it was started without --when and --sample: one of them is "
			       "needed from the start, such as --sample 1/1");
	if (when)
		error = gt_bpf_filter_parse(when, section, &wanted, diag);
	offset = inject->memory.offsets[filter->map];
	if (!error)
		error = gt_bpf_filter_change(filter, &wanted, when, inject->memory.data + offset,
					     diag);
	if (!error)
		gt_inject_copies_write(inject, offset, gt_bpf_filter_parameter_bytes(filter));
	return error;
}

uint64_t gt_inject_skipped(struct gt_inject *inject, uint32_t program)
{
	const struct gt_bpf_filter *filter = gt_inject_filter(inject, program);
	size_t offset = filter ? inject->memory.offsets[filter->map] : 0;
	uint64_t skipped;

	if (!filter)
		return 0;
	skipped = gt_bpf_filter_skipped(filter, inject->memory.data + offset);
	gt_vec_each (copy, &inject->devices.copies) {
		size_t size = gt_bpf_map_bytes(gt_inject_map(inject, filter->map), 1);

		skipped += gt_bpf_filter_skipped(filter,
						 gt_inject_copy_read(inject, copy, offset, size));
	}
	return skipped;
}

/* ---- several areas --------------------------------------------------------------------- */

/* Areas that a view is of. */
struct map_sources {
	const struct gt_bpf_map *map;
	size_t bytes;
	uint8_t *result;        /* as it was initially; then of all */
	const uint8_t *initial; /* NULL: zeros */
	bool is_sum;
};

/* A map in one of the areas: its memory, and where it is in the file that is mapped there. */
struct map_area {
	const uint8_t *memory;
	int fd;
	size_t offset;
};

/* Merge the words from `first` to `end`. initial: what the memory was; NULL: zeros. */
static void merge_words(const struct map_sources *sources, const uint8_t *initial,
			const uint8_t *memory, size_t first, size_t end)
{
	uint64_t *result = (uint64_t *)(void *)sources->result;

	for (size_t i = first; i < end; i++) {
		uint64_t now, before = 0;

		memcpy(&now, memory + i * sizeof(now), sizeof(now));
		if (initial)
			memcpy(&before, initial + i * sizeof(before), sizeof(before));
		if (sources->is_sum)
			result[i] += now - before;
		else if (now != before)
			result[i] = now;
	}
}

/* The holes of the file are as they were initially: zeros. */
static void merge_array(const struct map_sources *sources, const uint8_t *initial,
			const struct map_area *area, size_t stripe)
{
	size_t start = area->offset + stripe, end = start + sources->bytes;
	struct gt_file_part part = {.end = start};

	while (gt_file_find_data(area->fd, part.end, end, &part))
		merge_words(sources, initial, area->memory + stripe,
			    (part.from - start) / sizeof(uint64_t),
			    (part.end - start) / sizeof(uint64_t));
}

static void merge_hash(const struct map_sources *sources, const uint8_t *memory)
{
	const struct gt_bpf_map *map = sources->map;
	const struct gt_bpf_map_view view = {.map = map, .memory = memory, .copies = 1};
	struct gt_bpf_hash_counters *counters =
		(void *)(sources->result + gt_bpf_map_hash_counters(map));
	struct gt_bpf_map_entry entry = {0};

	while (gt_bpf_map_read(&view, &entry))
		if (!sources->is_sum || !gt_bpf_map_has_numbers(map))
			gt_bpf_map_update(map, sources->result, 0, entry.key, entry.value, 0);
		else
			gt_bpf_map_add(map, sources->result, 0, entry.key,
				       gt_bpf_map_number(map, entry.value));
	counters->rejected += gt_bpf_map_losses(&view).rejected;
}

static void merge_ring(const struct map_sources *sources, const uint8_t *memory)
{
	struct gt_ring_header *header = (void *)sources->result;

	header->lost += ((const struct gt_ring_header *)(const void *)memory)->lost;
}

static void merge_stripes(const struct map_sources *sources, const struct map_area *area)
{
	merge_array(sources, sources->initial, area, 0);
	for (uint32_t i = 1; i < sources->map->stripes; i++)
		merge_array(sources, NULL, area, i * gt_bpf_map_stripe_bytes(sources->map));
}

static void merge(const struct map_sources *sources, const struct map_area *area)
{
	switch (gt_bpf_map_kind(sources->map->type)->shape) {
	case GT_BPF_MAP_ARRAY:
		merge_stripes(sources, area);
		break;
	case GT_BPF_MAP_HASH:
		merge_hash(sources, area->memory);
		break;
	case GT_BPF_MAP_RING:
		merge_ring(sources, area->memory);
		break;
	default:
		break;
	}
}

static size_t striped_bytes(const struct gt_inject *inject, uint32_t map)
{
	return gt_bpf_map_striped_bytes(gt_inject_map(inject, map), inject->memory.copies[map]);
}

/* A map of a copy as it is now. Rings are read as far as their reader is. */
static const uint8_t *read_copy(struct gt_inject *inject, struct gt_inject_copy *copy, uint32_t map)
{
	struct gt_ring_reader *reader = &copy->rings[map].reader;

	return reader->memory ? reader->memory
			      : gt_inject_copy_read(inject, copy, inject->memory.offsets[map],
						    striped_bytes(inject, map));
}

/* A file with a map as it was initially. */
static bool open_merged(const struct gt_bpf_map *map, uint32_t copies,
			struct gt_inject_merged *ret_merged)
{
	struct gt_inject_merged merged = {.size = gt_bpf_map_bytes(map, copies)};
	void *memory = MAP_FAILED;

	merged.fd = memfd_create("gputap-merged", MFD_CLOEXEC);
	if (merged.fd >= 0 && !ftruncate(merged.fd, (off_t)merged.size))
		memory = mmap(NULL, merged.size, PROT_READ | PROT_WRITE, MAP_SHARED, merged.fd, 0);
	if (memory == MAP_FAILED) {
		gt_cleanup_close(&merged.fd);
		return false;
	}
	merged.memory = memory;
	gt_bpf_map_initialise(map, copies, merged.memory);
	*ret_merged = merged;
	return true;
}

static void merge_file(struct gt_inject *inject, const struct map_sources *sources, uint32_t map)
{
	size_t offset = inject->memory.offsets[map];
	const struct map_area area = {inject->memory.data + offset, inject->memory.fd, offset};

	merge(sources, &area);
}

static void merge_copy(struct gt_inject *inject, const struct map_sources *sources,
		       struct gt_inject_copy *copy, uint32_t map)
{
	const struct map_area area = {
		.memory = read_copy(inject, copy, map),
		.fd = copy->mirror_fd,
		.offset = inject->memory.offsets[map] - inject->memory.host_size,
	};

	merge(sources, &area);
}

/* A map as it is in the file. */
static void use_file(const struct gt_inject *inject, uint32_t map, struct gt_sparse *ret_memory)
{
	size_t offset = inject->memory.offsets[map];
	int array = gt_inject_array_of(inject, map);

	*ret_memory = (struct gt_sparse){
		.memory = inject->memory.data + offset,
		.size = striped_bytes(inject, map),
		.fd = array < 0 ? inject->memory.fd : array,
		.offset = array < 0 ? offset : 0,
	};
}

/* A map as it is in a copy. */
static void use_copy(struct gt_inject *inject, struct gt_inject_copy *copy, uint32_t map,
		     struct gt_sparse *ret_memory)
{
	*ret_memory = (struct gt_sparse){
		.memory = read_copy(inject, copy, map),
		.size = striped_bytes(inject, map),
		.fd = copy->mirror_fd,
		.offset = inject->memory.offsets[map] - inject->memory.host_size,
	};
}

static void merge_areas(struct gt_inject *inject, uint32_t map, struct gt_sparse *ret_memory)
{
	const struct gt_bpf_map *known = gt_inject_map(inject, map);
	uint32_t copies = inject->memory.copies[map];
	bool begins_as_zeros = !known->initial && !known->preset_count;
	struct gt_inject_merged *merged = &inject->memory.merged[map], initial = {0};
	struct map_sources sources = {
		.map = known,
		.bytes = gt_bpf_map_bytes(known, copies),
		.is_sum = gt_inject_is_sum(&inject->options, map),
	};

	close_merged(merged);
	if (!open_merged(known, copies, merged) ||
	    (!begins_as_zeros && !open_merged(known, copies, &initial))) {
		gt_inject_maps_failed(inject, GT_INJECT_NOT_READ, "out of memory");
		use_file(inject, map, ret_memory);
		return;
	}
	sources.result = merged->memory;
	sources.initial = initial.memory;
	if (has_file(inject))
		merge_file(inject, &sources, map);
	gt_vec_each (copy, &inject->devices.copies)
		merge_copy(inject, &sources, copy, map);
	close_merged(&initial);
	*ret_memory = (struct gt_sparse){
		.memory = merged->memory, .size = merged->size, .fd = merged->fd};
}

/* The memory of a map as it is now. */
static struct gt_sparse *memory_of(struct gt_inject *inject, uint32_t map)
{
	struct gt_sparse *memory = &inject->memory.sparse[map];
	size_t copies = inject->devices.copies.count;

	if (is_in_device_area(inject, map) &&
	    (gt_inject_map(inject, map)->stripes || copies + has_file(inject) > 1))
		merge_areas(inject, map, memory);
	else if (!is_in_device_area(inject, map) || !copies)
		use_file(inject, map, memory);
	else
		use_copy(inject, inject->devices.copies.items, map, memory);
	return memory;
}

/* ---- shapes of launches ---------------------------------------------------------------- */

static struct gt_patch_shape shape_of(struct gt_inject *inject, uint32_t map)
{
	size_t offset = inject->memory.shapes + map * sizeof(struct gt_patch_shape);
	struct gt_patch_shape shape, other;

	memcpy(&shape, inject->memory.data + offset, sizeof(shape));
	gt_vec_each (copy, &inject->devices.copies) {
		memcpy(&other, gt_inject_copy_read(inject, copy, offset, sizeof(other)),
		       sizeof(other));
		gt_patch_shape_add(&shape, &other);
	}
	return shape;
}

/* ---- views ----------------------------------------------------------------------------- */

bool gt_inject_has_map(const struct gt_inject *inject, uint32_t map)
{
	return (inject->memory.offsets[map] != SIZE_MAX && !gt_inject_map(inject, map)->internal) ||
	       (inject->host_calls.maps && inject->host_calls.maps[map]);
}

struct gt_bpf_map_view gt_inject_view(struct gt_inject *inject, uint32_t map)
{
	bool on_host = gt_bpf_map_is_on_host(gt_inject_map(inject, map));
	struct gt_bpf_map_grid *grid = &inject->memory.grids[map];
	struct gt_patch_shape launches = shape_of(inject, map);
	int shape = gt_patch_shape_read(&launches, grid->grid, grid->block);
	struct gt_sparse *sparse = on_host ? NULL : memory_of(inject, map);

	return (struct gt_bpf_map_view){
		.map = gt_inject_map(inject, map),
		.memory = sparse ? sparse->memory : gt_inject_calls_read(inject, map),
		.sparse = sparse,
		.copies = inject->memory.copies[map],
		.grid = shape ? NULL : grid,
		.shapes_differ = shape == -EEXIST,
	};
}

int gt_inject_next_record(struct gt_inject *inject, uint32_t map, const void **ret_record,
			  uint32_t *ret_size)
{
	gt_vec_each (copy, &inject->devices.copies) {
		int ready = gt_inject_copy_next(inject, copy, map, ret_record, ret_size);

		if (ready)
			return ready;
	}
	return gt_ring_reader_next(&inject->readers[map], ret_record, ret_size);
}

/* Append the lines of the output ring of one area. */
static int print_records(struct gt_inject *inject, struct gt_inject_copy *copy,
			 struct gt_strbuf *text)
{
	const void *record;
	uint32_t size;
	int ready;

	while ((ready = gt_inject_copy_next(inject, copy, inject->map_count, &record, &size)) > 0)
		if (gt_print_record(text, record, size))
			copy->rings[inject->map_count].reader.corruptions++;
	return ready;
}

int gt_inject_print(struct gt_inject *inject, struct gt_strbuf *text, uint64_t *ret_lost)
{
	struct gt_ring_reader *reader = &inject->readers[inject->map_count];
	int error = gt_ring_reader_print(reader, text);

	*ret_lost = gt_ring_reader_lost(reader);
	gt_vec_each (copy, &inject->devices.copies) {
		int failed = print_records(inject, copy, text);

		error = error ? error : failed;
		*ret_lost += gt_ring_reader_lost(&copy->rings[inject->map_count].reader);
	}
	return error;
}
