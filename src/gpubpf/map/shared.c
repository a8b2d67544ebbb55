/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/map/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"

struct gt_shared {
	const struct gt_bpf_object *object;
	GT_VEC(struct gt_region *) regions; /* all of them */
	struct gt_region **maps;            /* per map of the object, or NULL */
	const int *arrays;
	bool abandoned;
};

static int no_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "map", NULL, "out of memory");
}

static void free_region(struct gt_region *region, bool abandoned)
{
	if (!region)
		return;
	if (region->registered_by && !abandoned)
		gt_device_unregister(region->registered_by, region->memory);
	if (region->memory && !abandoned)
		munmap(region->memory, region->size);
	if (region->fd >= 0)
		close(region->fd);
	free(region);
}

/* Owns the descriptor, also on errors. */
static int map_region(struct gt_shared *shared, int fd, size_t size, struct gt_region **ret_region,
		      struct gt_diag *diag)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct gt_region *region = calloc(1, sizeof(*region));
	int error = 0;

	if (!region) {
		close(fd);
		return no_memory(diag);
	}
	*region = (struct gt_region){.size = (size + page - 1) & ~(page - 1), .fd = fd};
	region->memory = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region->memory == MAP_FAILED) {
		error = gt_diag(diag, -errno, "map", NULL, "cannot map %zu bytes: %s", region->size,
				strerror(errno));
		region->memory = NULL;
	}
	if (!error && gt_vec_push(&shared->regions, region))
		error = no_memory(diag);
	if (error)
		free_region(region, false);
	else
		*ret_region = region;
	return error;
}

int gt_shared_add(struct gt_shared *shared, size_t size, struct gt_region **ret_region,
		  struct gt_diag *diag)
{
	int fd = memfd_create("gputap-map", MFD_CLOEXEC), error;

	if (fd < 0)
		return gt_diag(diag, -errno, "map", NULL, "memfd_create: %s", strerror(errno));
	if (size > INT64_MAX || ftruncate(fd, (off_t)size)) {
		error = size > INT64_MAX ? -ENOMEM : -errno;
		close(fd);
		return gt_diag(diag, error, "map", NULL, "cannot allocate %zu bytes: %s", size,
			       strerror(-error));
	}
	return map_region(shared, fd, size, ret_region, diag);
}

void gt_shared_remove(struct gt_shared *shared, struct gt_region *region)
{
	for (size_t i = 0; region && i < shared->regions.count; i++) {
		if (shared->regions.items[i] != region)
			continue;
		shared->regions.items[i] = shared->regions.items[--shared->regions.count];
		free_region(region, shared->abandoned);
		return;
	}
}

/* Allocate a map, or map the kernel's array. */
static int open_common_map(struct gt_shared *shared, uint32_t number, int array,
			   struct gt_diag *diag)
{
	const struct gt_bpf_map *map = &shared->object->maps[number];
	size_t size = gt_bpf_map_bytes(map, 1);
	struct gt_diag reason = {0};
	int error = gt_bpf_map_check(map, diag);

	if (error)
		return error;
	if (array >= 0) {
		int fd = fcntl(array, F_DUPFD_CLOEXEC, 0);

		error = fd < 0 ? gt_diag(&reason, -errno, "map", NULL, "%s", strerror(errno))
			       : map_region(shared, fd, size, &shared->maps[number], &reason);
		if (!error)
			gt_bpf_map_set_presets(map, 1, shared->maps[number]->memory);
	} else {
		error = gt_shared_add(shared, size, &shared->maps[number], &reason);
		if (!error)
			gt_bpf_map_initialise(map, 1, shared->maps[number]->memory);
	}
	return error ? gt_diag(diag, error, "map", map->name, "%s", reason.text) : 0;
}

int gt_shared_open(const struct gt_bpf_object *object, const int *arrays,
		   struct gt_shared **ret_shared, struct gt_diag *diag)
{
	gt_auto(shared) struct gt_shared *shared = calloc(1, sizeof(*shared));
	uint32_t count = object ? object->map_count : 0;
	int error = 0;

	if (!shared)
		return no_memory(diag);
	shared->object = object;
	shared->arrays = arrays;
	shared->maps = calloc(count + 1u, sizeof(struct gt_region *));
	if (!shared->maps)
		return no_memory(diag);
	for (uint32_t i = 0; !error && i < count; i++)
		if (!object->maps[i].host_only && gt_bpf_map_is_common(&object->maps[i]))
			error = open_common_map(shared, i, arrays ? arrays[i] : -1, diag);
	if (!error)
		*ret_shared = gt_take(shared);
	return error;
}

void gt_shared_close(struct gt_shared *shared)
{
	if (!shared)
		return;
	gt_vec_each (region, &shared->regions)
		free_region(*region, shared->abandoned);
	gt_vec_free(&shared->regions);
	free(shared->maps);
	free(shared);
}

const int *gt_shared_arrays(const struct gt_shared *shared)
{
	return shared->arrays;
}

struct gt_region *gt_shared_map(const struct gt_shared *shared, uint32_t map)
{
	return shared->maps[map];
}

struct gt_sparse *gt_shared_sparse(struct gt_region *region)
{
	region->sparse = (struct gt_sparse){
		.memory = region->memory, .size = region->size, .fd = region->fd};
	return &region->sparse;
}

struct gt_bpf_map_view gt_shared_view(const struct gt_shared *shared, uint32_t map)
{
	return (struct gt_bpf_map_view){
		.map = &shared->object->maps[map],
		.memory = shared->maps[map]->memory,
		.copies = 1,
		.sparse = gt_shared_sparse(shared->maps[map]),
	};
}

int gt_shared_address(struct gt_region *region, struct gt_device *device, uint64_t *ret_address,
		      struct gt_diag *diag)
{
	int error = 0;

	if (!region->registered_by)
		error = gt_device_register(device, region->memory, region->size, diag);
	if (error)
		return error;
	if (!region->registered_by)
		region->registered_by = device;
	return gt_device_address(device, region->memory, ret_address, diag);
}

void gt_shared_abandon(struct gt_shared *shared)
{
	shared->abandoned = true;
}
