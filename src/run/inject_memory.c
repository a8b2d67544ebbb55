/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of the maps, which the traced processes map, too. */
#include "run/inject_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/protocol.h"
#include "base/file_limit.h"
#include "run/host_group.h"
#include "run/inject_opencl.h"

enum {
	MULTIPROCESSORS = 256, /* copies of maps that have one per multiprocessor */
	BLOCK = 1024,
	PAGE = 4096,
	MAX_COPIES = 1 << 30, /* bytes of a map with copies for threads */
};

static const struct gt_bpf_map output_map = {
	.name = "output",
	.type = BPF_MAP_TYPE_RINGBUF,
	.max_entries = GT_OUTPUT_BYTES,
};

const struct gt_bpf_map *gt_inject_map(const struct gt_inject *inject, uint32_t number)
{
	return number < inject->map_count ? &inject->options.object->maps[number] : &output_map;
}

uint64_t gt_inject_address(const struct gt_inject *inject, size_t offset)
{
	size_t host = inject->memory.host_size;

	return offset < host ? GT_INJECT_HOST_ADDRESS + offset
			     : GT_INJECT_DEVICE_ADDRESS + (offset - host);
}

/* ---- layout ---------------------------------------------------------------------------- */

int gt_inject_array_of(const struct gt_inject *inject, uint32_t number)
{
	return inject->options.host_programs && number < inject->map_count &&
			       !gt_inject_map(inject, number)->internal &&
			       !gt_bpf_map_is_on_host(gt_inject_map(inject, number))
		       ? gt_host_group_arrays(inject->options.host_programs)[number]
		       : -1;
}

/* Whether a map is in the host area: others than GPU programs and gputap access it. */
static bool is_host_map(const struct gt_inject *inject, uint32_t number)
{
	const struct gt_bpf_map *map = gt_inject_map(inject, number);
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);

	return gt_inject_array_of(inject, number) >= 0 ||
	       (kind && !map->internal && kind->shape != GT_BPF_MAP_RING &&
		gt_bpf_map_place(map) == GT_BPF_MAP_SHARED);
}

/* Add an area of whole pages. -ENOMEM: too much. */
static int add_pages(struct gt_inject_memory *memory, size_t bytes, size_t *ret_offset)
{
	if (bytes > GT_AGENT_MAX_AREA || bytes > GT_AGENT_MAX_AREA - memory->size)
		return -ENOMEM;
	*ret_offset = memory->size;
	memory->size += (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	return 0;
}

/* The copies that a map needs. A map on the host has no memory that is shared. */
static int count_copies(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = gt_inject_map(inject, number);
	struct gt_inject_memory *memory = &inject->memory;
	const struct gt_bpf_map_grid grid = {
		.multiprocessors = MULTIPROCESSORS,
		.grid = {(inject->options.threads + BLOCK - 1) / BLOCK, 1, 1},
		.block = {BLOCK, 1, 1},
	};
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
	return 0;
}

static int plan_map(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = gt_inject_map(inject, number);
	struct gt_inject_memory *memory = &inject->memory;
	uint32_t copies = memory->copies[number];
	size_t bytes = copies ? gt_bpf_map_striped_bytes(map, copies) : 0;

	if (map->host_only || gt_bpf_map_is_on_host(map))
		return 0;
	if (gt_bpf_map_kind(map->type)->copies != GT_COPY_ONE && (!bytes || bytes > MAX_COPIES))
		return gt_diag(diag, -ENOMEM, "run", map->name,
			       "the map has %u copies, which need more than 1 GiB: lower --threads",
			       copies);
	if (!bytes || add_pages(memory, bytes, &memory->offsets[number]))
		return gt_diag(diag, -ENOMEM, "run", map->name,
			       "the map needs more than 16 GiB with the other maps");
	return 0;
}

static int plan_maps(struct gt_inject *inject, bool on_host, struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; i <= inject->map_count && !error; i++)
		if (is_host_map(inject, i) == on_host)
			error = plan_map(inject, i, diag);
	return error;
}

static int plan_areas(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_memory *memory = &inject->memory;
	size_t calls = gt_host_call_layout_of(inject->options.object).bytes, rest;
	int error = 0;

	for (uint32_t i = 0; i <= inject->map_count && !error; i++)
		error = count_copies(inject, i, diag);
	if (!error)
		error = plan_maps(inject, true, diag);
	/* The area is not empty. */
	if (!error && add_pages(memory, calls ? calls : PAGE, &inject->host_calls.offset))
		error = -ENOMEM;
	if (!error && inject->opencl &&
	    add_pages(memory, GT_INJECT_MAX_OPENCL * sizeof(struct gt_cycle_clock),
		      &memory->clocks))
		error = -ENOMEM;
	memory->host_size = memory->size;
	if (!error && add_pages(memory, PAGE, &memory->switches))
		error = -ENOMEM;
	if (!error)
		error = plan_maps(inject, false, diag);
	if (!error &&
	    add_pages(memory, inject->map_count * sizeof(struct gt_patch_shape), &memory->shapes))
		error = -ENOMEM;
	rest = (memory->size - memory->host_size) % GT_DEVICE_SHARED_UNIT;
	if (!error && rest && add_pages(memory, GT_DEVICE_SHARED_UNIT - rest, &rest))
		error = -ENOMEM;
	if (error)
		return gt_diag(diag, error, "run", NULL, "the maps need more than 16 GiB");
	for (uint32_t i = 0; i <= inject->map_count; i++) {
		if (memory->offsets[i] == SIZE_MAX)
			continue;
		memory->words[i][0] = gt_inject_address(inject, memory->offsets[i]);
		memory->words[i][1] = memory->copies[i];
	}
	return 0;
}

/* ---- the file -------------------------------------------------------------------------- */

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

static size_t page_bytes(const struct gt_inject *inject, uint32_t number)
{
	size_t bytes =
		gt_bpf_map_bytes(gt_inject_map(inject, number), inject->memory.copies[number]);

	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Map the kernel's array over the pages of a map. */
static int map_array(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	void *data = inject->memory.data + inject->memory.offsets[number];

	if (mmap(data, page_bytes(inject, number), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 gt_inject_array_of(inject, number), 0) == MAP_FAILED)
		return gt_diag(diag, -errno, "run", gt_inject_map(inject, number)->name,
			       "cannot map the kernel's array: %s", strerror(errno));
	return 0;
}

static uint32_t count_arrays(const struct gt_inject *inject)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < inject->map_count; i++)
		count += gt_inject_has_map(inject, i) && gt_inject_array_of(inject, i) >= 0;
	return count;
}

bool gt_inject_memory_send(const struct gt_inject *inject, int socket)
{
	const struct gt_inject_memory *memory = &inject->memory;
	struct gt_agent_reply reply = {
		.magic = GT_AGENT_MAGIC,
		.verdict = GT_AGENT_MEMORY,
		.size = memory->host_size,
		.address = GT_INJECT_HOST_ADDRESS,
		.arrays = count_arrays(inject),
	};
	bool sent = gt_agent_send(socket, &reply, sizeof(reply), memory->fd, MSG_DONTWAIT);

	reply.verdict = GT_AGENT_ARRAY;
	reply.arrays = 0;
	for (uint32_t i = 0; sent && i < inject->map_count; i++) {
		if (!gt_inject_has_map(inject, i) || gt_inject_array_of(inject, i) < 0)
			continue;
		reply.size = page_bytes(inject, i);
		reply.address = memory->words[i][0];
		sent = gt_agent_send(socket, &reply, sizeof(reply), gt_inject_array_of(inject, i),
				     MSG_DONTWAIT);
	}
	return sent;
}

bool gt_inject_memory_send_device(struct gt_inject *inject, const struct gt_agent_request *request,
				  int socket)
{
	struct gt_inject_memory *memory = &inject->memory;
	const struct gt_inject_copy *copy =
		request->capability ? gt_inject_copy_on(inject, request->device) : NULL;
	const struct gt_agent_reply reply = {
		.magic = GT_AGENT_MAGIC,
		.verdict = copy ? GT_AGENT_HANDLE : GT_AGENT_MEMORY,
		.size = memory->size - memory->host_size,
		.address = GT_INJECT_DEVICE_ADDRESS,
		.offset = copy ? 0 : memory->host_size,
	};

	memory->device_in_file |= !copy;
	if (!request->capability && inject->devices.copies.count)
		gt_inject_maps_failed(inject, GT_INJECT_ON_HOST,
				      "a process could not map the memory of its GPU");
	return gt_agent_send(socket, &reply, sizeof(reply), copy ? copy->fd : memory->fd,
			     MSG_DONTWAIT);
}

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

int gt_inject_memory_take(struct gt_inject *inject, const struct gt_inject_module *module,
			  struct gt_diag *diag)
{
	struct gt_inject_memory *memory = &inject->memory;

	if (memory->copied_by && memory->copied_by != module->pid && has_ended(memory->copied_by))
		memory->copied_by = 0;
	if (memory->copied_by && (!module->copied || memory->copied_by != module->pid))
		return gt_diag(diag, -EBUSY, "run", NULL,
			       "the maps are copied to an OpenCL device, which needs them alone");
	if (module->copied && memory->is_accessed)
		return gt_diag(diag, -EBUSY, "run", NULL,
			       "the device needs copies of the maps, and others access them");
	if (module->copied)
		memory->copied_by = module->pid;
	else
		memory->is_accessed = true;
	return 0;
}

void gt_inject_memory_initialise(const struct gt_inject *inject, uint8_t *area)
{
	const struct gt_inject_memory *memory = &inject->memory;
	size_t start = memory->host_size;
	uint32_t *switches = (uint32_t *)(void *)(area + (memory->switches - start));
	void *shapes = area + (memory->shapes - start);

	for (uint32_t i = 0; i < inject->options.program_count; i++)
		switches[i] = !inject->programs[i].off;
	for (uint32_t i = 0; i <= inject->map_count; i++)
		if (memory->offsets[i] != SIZE_MAX && memory->offsets[i] >= start)
			gt_bpf_map_initialise(gt_inject_map(inject, i), memory->copies[i],
					      area + (memory->offsets[i] - start));
	for (uint32_t i = 0; i < inject->options.program_count; i++) {
		const struct gt_bpf_filter *filter = gt_inject_filter(inject, i);

		if (filter)
			gt_bpf_filter_write(filter, area + (memory->offsets[filter->map] - start));
	}
	for (uint32_t i = 0; i < inject->map_count; i++)
		gt_patch_shape_clear((struct gt_patch_shape *)shapes + i);
}

static int open_map(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = gt_inject_map(inject, number);
	const struct gt_bpf_map_kind *kind = gt_bpf_map_kind(map->type);
	uint8_t *data = inject->memory.data + inject->memory.offsets[number];

	if (inject->memory.offsets[number] == SIZE_MAX)
		return 0;
	if (gt_inject_array_of(inject, number) >= 0) {
		int error = map_array(inject, number, diag);

		if (!error)
			gt_bpf_map_set_presets(map, 1, data);
		return error;
	}
	if (inject->memory.offsets[number] < inject->memory.host_size)
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
	memory->offsets = calloc(count, sizeof(*memory->offsets));
	memory->copies = calloc(count, sizeof(*memory->copies));
	memory->words = calloc(count, sizeof(*memory->words));
	memory->grids = calloc(count, sizeof(*memory->grids));
	memory->merged = calloc(count, sizeof(*memory->merged));
	memory->sparse = calloc(count, sizeof(*memory->sparse));
	inject->readers = calloc(count, sizeof(*inject->readers));
	if (!memory->offsets || !memory->copies || !memory->words || !memory->grids ||
	    !memory->merged || !memory->sparse || !inject->readers)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	error = plan_areas(inject, diag);
	if (!error && count_arrays(inject) > GT_AGENT_MAX_ARRAYS)
		error = gt_diag(diag, -E2BIG, "run", NULL,
				"more than %d maps are shared with host programs",
				GT_AGENT_MAX_ARRAYS);
	if (!error)
		error = map_memory(inject, diag);
	for (uint32_t i = 0; i < inject->options.program_count; i++)
		inject->programs[i].off = inject->options.switched_off;
	if (!error)
		gt_inject_memory_initialise(inject, memory->data + memory->host_size);
	for (uint32_t i = 0; i < count && !error; i++)
		error = open_map(inject, i, diag);
	return error ? error : gt_inject_calls_start(inject, diag);
}

void gt_inject_memory_close(struct gt_inject *inject)
{
	gt_inject_calls_stop(inject);
	gt_inject_devices_close(inject);
	gt_inject_maps_close(inject);
	for (uint32_t i = 0; inject->readers && i <= inject->map_count; i++)
		gt_ring_reader_close(&inject->readers[i]);
	if (inject->memory.data)
		munmap(inject->memory.data, inject->memory.size);
	gt_cleanup_close(&inject->memory.fd);
	free(inject->memory.offsets);
	free(inject->memory.copies);
	free(inject->memory.words);
	free(inject->memory.grids);
	free(inject->memory.merged);
	free(inject->memory.sparse);
	free(inject->readers);
}
