/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The addresses that kernels may access. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/engine/engine.h"

int sg_memory_open(struct sg_memory *memory, uint64_t arena_address, uint64_t arena_size)
{
	if (arena_address % SG_GRANULE || arena_address + arena_size < arena_address)
		return -EINVAL;
	memory->granules_size = (arena_size + SG_GRANULE - 1) / SG_GRANULE + 8;
	memory->granules = mmap(NULL, memory->granules_size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory->granules == MAP_FAILED) {
		memory->granules = NULL;
		return -ENOMEM;
	}
	memory->ranges = calloc(1, sizeof(*memory->ranges));
	if (!memory->ranges)
		return -ENOMEM;
	memory->arena_address = arena_address;
	memory->arena_size = arena_size;
	pthread_mutex_init(&memory->lock, NULL);
	return 0;
}

static void free_retired(struct sg_memory *memory)
{
	while (memory->retired) {
		struct sg_ranges *next = memory->retired->next;

		free(memory->retired);
		memory->retired = next;
	}
}

void sg_memory_close(struct sg_memory *memory)
{
	if (memory->ranges)
		pthread_mutex_destroy(&memory->lock);
	free_retired(memory);
	free(memory->ranges);
	if (memory->granules)
		munmap(memory->granules, memory->granules_size);
}

void sg_memory_enter(struct sg_memory *memory)
{
	pthread_mutex_lock(&memory->lock);
	memory->readers++;
	pthread_mutex_unlock(&memory->lock);
}

void sg_memory_leave(struct sg_memory *memory)
{
	pthread_mutex_lock(&memory->lock);
	if (--memory->readers == 0)
		free_retired(memory);
	pthread_mutex_unlock(&memory->lock);
}

/* Replaces the ranges; readers may still use the old ones. */
static void publish(struct sg_memory *memory, struct sg_ranges *ranges)
{
	struct sg_ranges *old = memory->ranges;

	__atomic_store_n(&memory->ranges, ranges, __ATOMIC_RELEASE);
	if (!memory->readers) {
		free(old);
		return;
	}
	old->next = memory->retired;
	memory->retired = old;
}

/* Returns the index of the first range that ends after the address. */
static size_t find_range(const struct sg_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct sg_range sg_memory_range(const struct sg_memory *memory, uint64_t address)
{
	const struct sg_ranges *ranges = __atomic_load_n(&memory->ranges, __ATOMIC_ACQUIRE);
	size_t index = find_range(ranges, address);

	if (index < ranges->count && ranges->items[index].address <= address)
		return ranges->items[index];
	return (struct sg_range){0};
}

bool sg_memory_check(const struct sg_memory *memory, uint64_t address, uint64_t size)
{
	uint64_t offset = address - memory->arena_address;
	struct sg_range range;

	if (offset < memory->arena_size) {
		if (!size || size > memory->arena_size - offset)
			return false;
		for (uint64_t i = offset / SG_GRANULE; i <= (offset + size - 1) / SG_GRANULE; i++)
			if (!__atomic_load_n(&memory->granules[i], __ATOMIC_RELAXED))
				return false;
		return true;
	}
	range = sg_memory_range(memory, address);
	return range.end > address && range.end - address >= size;
}

bool sg_memory_is_allowed(const struct sg_machine *machine, uint64_t address, uint64_t size)
{
	return sg_memory_check(&machine->memory, address, size);
}

/* Sets granules, eight at a time where possible. */
static void set_granules(struct sg_memory *memory, uint64_t offset, uint64_t size, uint8_t value)
{
	uint64_t i = offset / SG_GRANULE, end = (offset + size + SG_GRANULE - 1) / SG_GRANULE;

	for (; i < end && i % 8; i++)
		__atomic_store_n(&memory->granules[i], value, __ATOMIC_RELAXED);
	for (; i + 8 <= end; i += 8)
		__atomic_store_n((uint64_t *)(void *)&memory->granules[i],
				 value ? 0x0101010101010101 : 0, __ATOMIC_RELAXED);
	for (; i < end; i++)
		__atomic_store_n(&memory->granules[i], value, __ATOMIC_RELAXED);
}

static bool overlaps(uint64_t address, uint64_t end, uint64_t other, uint64_t other_end)
{
	return address < other_end && other < end;
}

static int add_range(struct sg_memory *memory, uint64_t address, uint64_t end)
{
	const struct sg_ranges *old = memory->ranges;
	size_t index = find_range(old, address);
	struct sg_ranges *ranges;

	if (index < old->count && old->items[index].address < end)
		return -EEXIST;
	ranges = malloc(sizeof(*ranges) + (old->count + 1) * sizeof(ranges->items[0]));
	if (!ranges)
		return -ENOMEM;
	ranges->next = NULL;
	ranges->count = old->count + 1;
	memcpy(ranges->items, old->items, index * sizeof(ranges->items[0]));
	ranges->items[index] = (struct sg_range){address, end};
	memcpy(ranges->items + index + 1, old->items + index,
	       (old->count - index) * sizeof(ranges->items[0]));
	publish(memory, ranges);
	return 0;
}

int sg_memory_allow(struct sg_machine *machine, uint64_t address, uint64_t size)
{
	struct sg_memory *memory = &machine->memory;
	const struct sg_windows *windows = &machine->windows;
	uint64_t end = address + size;
	int error;

	if (!size || end < address || overlaps(address, end, windows->shared, windows->end))
		return -EINVAL;
	if (address - memory->arena_address < memory->arena_size) {
		if (size > memory->arena_size - (address - memory->arena_address))
			return -EINVAL;
		set_granules(memory, address - memory->arena_address, size, 1);
		return 0;
	}
	if (overlaps(address, end, memory->arena_address,
		     memory->arena_address + memory->arena_size))
		return -EINVAL;
	pthread_mutex_lock(&memory->lock);
	error = add_range(memory, address, end);
	pthread_mutex_unlock(&memory->lock);
	return error;
}

static int remove_range(struct sg_memory *memory, uint64_t address)
{
	const struct sg_ranges *old = memory->ranges;
	size_t index = find_range(old, address);
	struct sg_ranges *ranges;

	if (index >= old->count || old->items[index].address != address)
		return -ENOENT;
	ranges = malloc(sizeof(*ranges) + old->count * sizeof(ranges->items[0]));
	if (!ranges)
		return -ENOMEM;
	ranges->next = NULL;
	ranges->count = old->count - 1;
	memcpy(ranges->items, old->items, index * sizeof(ranges->items[0]));
	memcpy(ranges->items + index, old->items + index + 1,
	       (old->count - index - 1) * sizeof(ranges->items[0]));
	publish(memory, ranges);
	return 0;
}

int sg_memory_deny(struct sg_machine *machine, uint64_t address, uint64_t size)
{
	struct sg_memory *memory = &machine->memory;
	uint64_t offset = address - memory->arena_address;
	int error;

	if (offset < memory->arena_size) {
		if (!size || size > memory->arena_size - offset)
			return -EINVAL;
		set_granules(memory, offset, size, 0);
		return 0;
	}
	pthread_mutex_lock(&memory->lock);
	error = remove_range(memory, address);
	pthread_mutex_unlock(&memory->lock);
	return error;
}
