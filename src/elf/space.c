/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/space.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* Sorted by address, without overlaps. */
struct space_process {
	GT_VEC(struct gt_space_mapping) mappings;
};

struct gt_space {
	struct gt_hash *processes; /* id -> struct space_process */
	struct gt_hash *files;     /* inode and path -> struct gt_space_file */
};

static void free_process(void *value)
{
	struct space_process *process = value;

	gt_vec_free(&process->mappings);
	free(process);
}

struct gt_space *gt_space_new(void)
{
	gt_auto(space) struct gt_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->processes = gt_hash_new();
	space->files = gt_hash_new();
	if (!space->processes || !space->files)
		return NULL;
	return gt_take(space);
}

void gt_space_free(struct gt_space *space)
{
	if (!space)
		return;
	if (space->processes)
		gt_hash_free_with(space->processes, free_process);
	if (space->files)
		gt_hash_free_with(space->files, free);
	free(space);
}

static struct space_process *find_process(struct gt_space *space, uint32_t id, bool make)
{
	struct space_process *process = gt_hash_get_u64(space->processes, id);

	if (process || !make)
		return process;
	process = calloc(1, sizeof(*process));
	if (process && gt_hash_set_u64(space->processes, id, process)) {
		free(process);
		return NULL;
	}
	return process;
}

static const struct gt_space_file *find_file(struct gt_space *space, uint64_t inode,
					     const char *path, size_t length)
{
	struct gt_space_file *file;
	gt_autofree char *key = malloc(sizeof(inode) + length);

	if (!key)
		return NULL;
	memcpy(key, &inode, sizeof(inode));
	memcpy(key + sizeof(inode), path, length);
	file = gt_hash_get(space->files, key, sizeof(inode) + length);
	if (file)
		return file;
	file = calloc(1, sizeof(*file) + length + 1);
	if (!file)
		return NULL;
	memcpy(file + 1, path, length);
	*file = (struct gt_space_file){
		.path = (char *)(file + 1),
		.inode = inode,
		.is_file = length && path[0] == '/',
		.number = (uint32_t)gt_hash_count(space->files),
	};
	if (gt_hash_set(space->files, key, sizeof(inode) + length, file)) {
		free(file);
		return NULL;
	}
	return file;
}

/* Returns the index of the first mapping that ends above an address, or the count. */
static size_t first_above(const struct space_process *process, uint64_t address)
{
	size_t low = 0, high = process->mappings.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->mappings.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Replaces everything that a mapping covers; the parts of other mappings before and after it are
 * kept. Memory for two more mappings is reserved.
 */
static void replace(struct space_process *process, const struct gt_space_mapping *mapping)
{
	struct gt_space_mapping *items = process->mappings.items, pieces[3];
	size_t first = first_above(process, mapping->start), last = first, count = 0;

	while (last < process->mappings.count && items[last].start < mapping->end)
		last++;
	if (first < last && items[first].start < mapping->start) {
		pieces[count] = items[first];
		pieces[count++].end = mapping->start;
	}
	pieces[count++] = *mapping;
	if (first < last && items[last - 1].end > mapping->end) {
		pieces[count] = items[last - 1];
		pieces[count].offset += mapping->end - pieces[count].start;
		pieces[count++].start = mapping->end;
	}
	memmove(items + first + count, items + last,
		(process->mappings.count - last) * sizeof(*items));
	memcpy(items + first, pieces, count * sizeof(*items));
	process->mappings.count += count - (last - first);
}

int gt_space_map(struct gt_space *space, uint32_t id, const struct gt_space_request *request)
{
	struct gt_space_mapping mapping = {
		.start = request->start, .end = request->end, .offset = request->offset};
	struct space_process *process;

	if (request->start >= request->end)
		return -EINVAL;
	process = find_process(space, id, true);
	if (!process)
		return -ENOMEM;
	if (process->mappings.count + 2 > GT_SPACE_MAX_MAPPINGS)
		return -E2BIG;
	mapping.file = find_file(space, request->inode, request->path,
				 strnlen(request->path, request->length));
	if (!mapping.file)
		return -ENOMEM;
	while (process->mappings.capacity < process->mappings.count + 2)
		if (gt_vec_grow((void **)&process->mappings.items, &process->mappings.capacity,
				process->mappings.capacity, sizeof(mapping)))
			return -ENOMEM;
	replace(process, &mapping);
	return 0;
}

int gt_space_fork(struct gt_space *space, uint32_t parent, uint32_t child)
{
	const struct space_process *from = find_process(space, parent, false);
	struct space_process *copy;

	if (!from || parent == child)
		return 0;
	gt_space_forget(space, child);
	copy = find_process(space, child, true);
	if (!copy)
		return -ENOMEM;
	gt_vec_each (mapping, &from->mappings)
		if (gt_vec_push(&copy->mappings, *mapping))
			return -ENOMEM;
	return 0;
}

void gt_space_forget(struct gt_space *space, uint32_t id)
{
	struct space_process *process = gt_hash_remove_u64(space->processes, id);

	if (process)
		free_process(process);
}

const struct gt_space_mapping *gt_space_at(const struct gt_space *space, uint32_t id,
					   uint64_t address)
{
	const struct space_process *process = gt_hash_get_u64(space->processes, id);
	size_t at;

	if (!process)
		return NULL;
	at = first_above(process, address);
	if (at == process->mappings.count || process->mappings.items[at].start > address)
		return NULL;
	return &process->mappings.items[at];
}
