/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of the maps, which the traced processes map, too: layout, views, rings. */
#include "run/inject_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/protocol.h"
#include "base/file_limit.h"
#include "run/host_group.h"

enum {
	MULTIPROCESSORS = 256, /* copies of maps that have one per multiprocessor */
	BLOCK = 1024,
	PAGE = 4096,
};

static const struct gt_bpf_map output_map = {
	.name = "output",
	.type = BPF_MAP_TYPE_RINGBUF,
	.max_entries = GT_OUTPUT_BYTES,
};

static const struct gt_bpf_map *map_of(const struct gt_inject *inject, uint32_t number)
{
	return number < inject->map_count ? &inject->options.object->maps[number] : &output_map;
}

static int plan_map(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = map_of(inject, number);
	struct gt_inject_memory *memory = &inject->memory;
	const struct gt_bpf_map_grid grid = {
		.multiprocessors = MULTIPROCESSORS,
		.grid = {(inject->options.threads + BLOCK - 1) / BLOCK, 1, 1},
		.block = {BLOCK, 1, 1},
	};
	size_t bytes;
	int error;

	memory->offsets[number] = SIZE_MAX;
	if (map->host_only)
		return 0;
	error = gt_bpf_map_check(map, diag);
	if (error)
		return error;
	if (gt_bpf_map_is_on_host(map)) {
		memory->copies[number] = 1;
		return gt_inject_calls_plan(inject, number, diag);
	}
	memory->copies[number] = gt_bpf_map_copies_for(map, &grid);
	bytes = memory->copies[number] ? gt_bpf_map_bytes(map, memory->copies[number]) : 0;
	if (!bytes || bytes > GT_AGENT_MAX_IMAGE - memory->size)
		return gt_diag(diag, -ENOMEM, "run", map->name,
			       "the map has %u copies, which need more than 1 GiB with the other "
			       "maps: lower --threads",
			       memory->copies[number]);
	memory->offsets[number] = memory->size;
	memory->words[number][0] = GT_INJECT_MAP_ADDRESS + memory->size;
	memory->words[number][1] = memory->copies[number];
	memory->size += (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	return 0;
}

/* After the maps. */
static int plan_calls(struct gt_inject *inject, struct gt_diag *diag)
{
	size_t bytes = gt_host_call_layout_of(inject->options.object).bytes;

	if (bytes > GT_AGENT_MAX_IMAGE - inject->memory.size)
		return gt_diag(diag, -ENOMEM, "run", NULL,
			       "the maps need more than 1 GiB: lower --threads");
	inject->host_calls.offset = inject->memory.size;
	inject->memory.size += (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	return 0;
}

/* After the calls. */
static int plan_shapes(struct gt_inject *inject, struct gt_diag *diag)
{
	size_t bytes = inject->map_count * sizeof(struct gt_patch_shape);

	if (bytes > GT_AGENT_MAX_IMAGE - inject->memory.size)
		return gt_diag(diag, -ENOMEM, "run", NULL,
			       "the maps need more than 1 GiB: lower --threads");
	inject->memory.shapes = inject->memory.size;
	inject->memory.size += (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	return 0;
}

static struct gt_patch_shape *shape_of(const struct gt_inject *inject, uint32_t map)
{
	return (struct gt_patch_shape *)(inject->memory.data + inject->memory.shapes) + map;
}

static int map_memory(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_memory *memory = &inject->memory;
	void *data = MAP_FAILED;

	if (!gt_may_write(memory->size))
		return gt_diag(diag, -EFBIG, "run", NULL,
			       "the maps need a file of %zu bytes, more than the limit of file "
			       "sizes; raise it with 'ulimit -f'",
			       memory->size);
	memory->fd = memfd_create("gputap-maps", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory->fd >= 0 && !ftruncate(memory->fd, (off_t)memory->size) &&
	    !fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		data = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
	if (data == MAP_FAILED)
		return gt_diag(diag, -errno, "run", NULL, "cannot allocate the maps: %s",
			       strerror(errno));
	memory->data = data;
	return 0;
}

/* The kernel's array of a map, or -1. */
static int array_of(const struct gt_inject *inject, uint32_t number)
{
	return inject->options.host_programs && number < inject->map_count &&
			       !map_of(inject, number)->internal &&
			       !gt_bpf_map_is_on_host(map_of(inject, number))
		       ? gt_host_group_arrays(inject->options.host_programs)[number]
		       : -1;
}

static size_t page_bytes(const struct gt_inject *inject, uint32_t number)
{
	size_t bytes = gt_bpf_map_bytes(map_of(inject, number), inject->memory.copies[number]);

	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Map the kernel's array over the pages of a map. */
static int map_array(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	void *data = inject->memory.data + inject->memory.offsets[number];

	if (mmap(data, page_bytes(inject, number), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 array_of(inject, number), 0) == MAP_FAILED)
		return gt_diag(diag, -errno, "run", map_of(inject, number)->name,
			       "cannot map the kernel's array: %s", strerror(errno));
	return 0;
}

static uint32_t count_arrays(const struct gt_inject *inject)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < inject->map_count; i++)
		count += gt_inject_has_map(inject, i) && array_of(inject, i) >= 0;
	return count;
}

bool gt_inject_memory_send(const struct gt_inject *inject, int socket)
{
	const struct gt_inject_memory *memory = &inject->memory;
	struct gt_agent_reply reply = {
		.magic = GT_AGENT_MAGIC,
		.verdict = GT_AGENT_MEMORY,
		.size = memory->size,
		.address = GT_INJECT_MAP_ADDRESS,
		.arrays = count_arrays(inject),
	};
	bool sent = gt_agent_send(socket, &reply, sizeof(reply), memory->fd, MSG_DONTWAIT);

	reply.verdict = GT_AGENT_ARRAY;
	reply.arrays = 0;
	for (uint32_t i = 0; sent && i < inject->map_count; i++) {
		if (!gt_inject_has_map(inject, i) || array_of(inject, i) < 0)
			continue;
		reply.size = page_bytes(inject, i);
		reply.address = memory->words[i][0];
		sent = gt_agent_send(socket, &reply, sizeof(reply), array_of(inject, i),
				     MSG_DONTWAIT);
	}
	return sent;
}

static int open_map(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = map_of(inject, number);
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint8_t *data = inject->memory.data + inject->memory.offsets[number];

	if (inject->memory.offsets[number] == SIZE_MAX)
		return 0;
	if (array_of(inject, number) >= 0) {
		int error = map_array(inject, number, diag);

		if (!error)
			gt_bpf_map_set_presets(map, 1, data);
		return error;
	}
	gt_bpf_map_initialise(map, inject->memory.copies[number], data);
	return kind->shape == GT_BPF_MAP_RING
		       ? gt_ring_reader_open(map, data, &inject->readers[number])
		       : 0;
}

int gt_inject_memory_open(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_memory *memory = &inject->memory;
	uint32_t count = inject->map_count + 1;
	int error = 0;

	_Static_assert(GT_PATCH_MAX_PROGRAMS * sizeof(uint32_t) <= PAGE, "switches in one page");
	memory->size = PAGE;
	memory->offsets = calloc(count, sizeof(*memory->offsets));
	memory->copies = calloc(count, sizeof(*memory->copies));
	memory->words = calloc(count, sizeof(*memory->words));
	memory->grids = calloc(count, sizeof(*memory->grids));
	inject->readers = calloc(count, sizeof(*inject->readers));
	if (!memory->offsets || !memory->copies || !memory->words || !memory->grids ||
	    !inject->readers)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	for (uint32_t i = 0; i < count && !error; i++)
		error = plan_map(inject, i, diag);
	if (!error && count_arrays(inject) > GT_AGENT_MAX_ARRAYS)
		error = gt_diag(diag, -E2BIG, "run", NULL,
				"more than %d maps are shared with host programs",
				GT_AGENT_MAX_ARRAYS);
	if (!error)
		error = plan_calls(inject, diag);
	if (!error)
		error = plan_shapes(inject, diag);
	if (!error)
		error = map_memory(inject, diag);
	for (uint32_t i = 0; i < inject->options.program_count && !error; i++)
		gt_inject_switch(inject, i, !inject->options.switched_off);
	for (uint32_t i = 0; i < count && !error; i++)
		error = open_map(inject, i, diag);
	for (uint32_t i = 0; i < inject->map_count && !error; i++)
		gt_patch_shape_clear(shape_of(inject, i));
	return error ? error : gt_inject_calls_start(inject, diag);
}

void gt_inject_memory_close(struct gt_inject *inject)
{
	gt_inject_calls_stop(inject);
	for (uint32_t i = 0; inject->readers && i <= inject->map_count; i++)
		gt_ring_reader_close(&inject->readers[i]);
	if (inject->memory.data)
		munmap(inject->memory.data, inject->memory.size);
	gt_cleanup_close(&inject->memory.fd);
	free(inject->memory.offsets);
	free(inject->memory.copies);
	free(inject->memory.words);
	free(inject->memory.grids);
	free(inject->readers);
}

void gt_inject_switch(struct gt_inject *inject, uint32_t program, bool on)
{
	uint32_t *switches = (uint32_t *)inject->memory.data;

	inject->programs[program].off = !on;
	__atomic_store_n(&switches[program], on, __ATOMIC_RELEASE);
}

static void *filter_memory(const struct gt_inject *inject, const struct gt_bpf_filter *filter)
{
	return inject->memory.data + inject->memory.offsets[filter->map];
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
	int error = 0;

	if (!filter)
		return gt_diag(diag, -EPERM, "probe", NULL,
			       "it was started without --when and --sample");
	if (when)
		error = gt_bpf_filter_parse(when, section, &wanted, diag);
	return error ? error
		     : gt_bpf_filter_change(filter, &wanted, when, filter_memory(inject, filter),
					    diag);
}

uint64_t gt_inject_skipped(const struct gt_inject *inject, uint32_t program)
{
	const struct gt_bpf_filter *filter = gt_inject_filter(inject, program);

	return filter ? gt_bpf_filter_skipped(filter, filter_memory(inject, filter)) : 0;
}

bool gt_inject_has_map(const struct gt_inject *inject, uint32_t map)
{
	return (inject->memory.offsets[map] != SIZE_MAX && !map_of(inject, map)->internal) ||
	       (inject->host_calls.maps && inject->host_calls.maps[map]);
}

struct gt_bpf_map_view gt_inject_view(struct gt_inject *inject, uint32_t map)
{
	bool on_host = gt_bpf_map_is_on_host(map_of(inject, map));
	struct gt_bpf_map_grid *grid = &inject->memory.grids[map];
	int shape = gt_patch_shape_read(shape_of(inject, map), grid->grid, grid->block);

	return (struct gt_bpf_map_view){
		.map = map_of(inject, map),
		.memory = on_host ? gt_inject_calls_read(inject, map)
				  : inject->memory.data + inject->memory.offsets[map],
		.copies = inject->memory.copies[map],
		.grid = shape ? NULL : grid,
		.shapes_differ = shape == -EEXIST,
	};
}

int gt_inject_next_record(struct gt_inject *inject, uint32_t map, const void **ret_record,
			  uint32_t *ret_size)
{
	return gt_ring_reader_next(&inject->readers[map], ret_record, ret_size);
}

int gt_inject_print(struct gt_inject *inject, struct gt_strbuf *text, uint64_t *ret_lost)
{
	struct gt_ring_reader *reader = &inject->readers[inject->map_count];
	int error = gt_ring_reader_print(reader, text);

	*ret_lost = gt_ring_reader_lost(reader);
	return error;
}
