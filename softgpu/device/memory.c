/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/memory.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "device/context.h"
#include "device/device.h"
#include "device/limits.h"
#include "device/pool.h"

/*
 * The arena of a device is larger than the memory that it reports, so that fragmentation does not
 * exhaust it early, and so that every allocation can be followed by a granule that is never
 * allocated: an access just past its end is a fault and does not reach a neighbour's data.
 */
struct arena_hole {
	uint64_t start, end;
};

static struct {
	pthread_rwlock_t lock;
	GT_VEC(struct sg_allocation *) known;            /* by ascending address */
	GT_VEC(struct arena_hole) holes[SG_MAX_DEVICES]; /* free parts of the arenas, ascending */
	bool holes_ready[SG_MAX_DEVICES];
	uint64_t used[SG_MAX_DEVICES]; /* bytes */
	struct sg_graph_account graphs[SG_MAX_DEVICES];
	uint64_t last_id;
} memory = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* Freed memory of at least this size is returned to the system. */
static const uint64_t min_trimmed_size = UINT64_C(16) << 20;

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) / alignment * alignment;
}

static bool in_arena(const struct sg_allocation *allocation)
{
	return allocation->address >= sg_state.arena &&
	       allocation->address - sg_state.arena < sg_state.arena_size;
}

/* The index of the first known allocation that begins after the address. */
static size_t index_after(uint64_t address)
{
	size_t low = 0, high = memory.known.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (memory.known.items[middle]->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct sg_allocation *find_allocation_locked(uint64_t address)
{
	size_t index = index_after(address);
	struct sg_allocation *found = index ? memory.known.items[index - 1] : NULL;

	return found && address - found->address < found->size ? found : NULL;
}

static bool insert_locked(const struct sg_allocation *allocation)
{
	struct sg_allocation *copy = malloc(sizeof(*copy));
	size_t index;

	if (!copy || gt_vec_push(&memory.known, copy)) {
		free(copy);
		return false;
	}
	*copy = *allocation;
	copy->id = ++memory.last_id;
	memory.known.count--;
	index = index_after(copy->address);
	memmove(&memory.known.items[index + 1], &memory.known.items[index],
		(memory.known.count - index) * sizeof(memory.known.items[0]));
	memory.known.items[index] = copy;
	memory.known.count++;
	return true;
}

static void remove_locked(size_t index)
{
	free(memory.known.items[index]);
	memory.known.count--;
	memmove(&memory.known.items[index], &memory.known.items[index + 1],
		(memory.known.count - index) * sizeof(memory.known.items[0]));
}

/* ---- the arena ------------------------------------------------------------------------- */

static bool prepare_holes(int device)
{
	struct sg_device *owner = &sg_state.devices[device];

	if (!memory.holes_ready[device]) {
		struct arena_hole all = {owner->arena, owner->arena + owner->arena_size};

		memory.holes_ready[device] = !gt_vec_push(&memory.holes[device], all);
	}
	return memory.holes_ready[device];
}

/* Take `size` bytes from the first hole that is large enough. */
static bool take_hole(int device, uint64_t size, uint64_t alignment, uint64_t *ret_address)
{
	__typeof__(memory.holes[0]) *holes = &memory.holes[device];

	for (size_t i = 0; i < holes->count; i++) {
		struct arena_hole hole = holes->items[i];
		uint64_t start = round_up(hole.start, alignment);
		struct arena_hole rest = {start + size, hole.end};

		if (start < hole.start || start > hole.end || hole.end - start < size)
			continue;
		if (start > hole.start) {
			if (gt_vec_push(holes, rest))
				return false;
			memmove(&holes->items[i + 2], &holes->items[i + 1],
				(holes->count - i - 2) * sizeof(rest));
			holes->items[i].end = start;
			holes->items[i + 1] = rest;
		} else {
			holes->items[i] = rest;
		}
		*ret_address = start;
		return true;
	}
	return false;
}

static void add_hole(int device, uint64_t start, uint64_t end)
{
	__typeof__(memory.holes[0]) *holes = &memory.holes[device];
	struct arena_hole hole = {start, end};
	size_t i = 0;

	while (i < holes->count && holes->items[i].start < start)
		i++;
	if (i && holes->items[i - 1].end == start) {
		holes->items[i - 1].end = end;
		if (i < holes->count && holes->items[i].start == end) {
			holes->items[i - 1].end = holes->items[i].end;
			holes->count--;
			memmove(&holes->items[i], &holes->items[i + 1],
				(holes->count - i) * sizeof(hole));
		}
	} else if (i < holes->count && holes->items[i].start == end) {
		holes->items[i].start = start;
	} else if (!gt_vec_push(holes, hole)) {
		memmove(&holes->items[i + 1], &holes->items[i],
			(holes->count - 1 - i) * sizeof(hole));
		holes->items[i] = hole;
	}
}

/* Count graph memory that begins (true) or ends; `used`: its lifetime, else its address. */
static void account_locked(const struct sg_allocation *allocation, bool used, bool came)
{
	struct sg_graph_account *account = &memory.graphs[allocation->device];
	uint64_t *now = used ? &account->used : &account->reserved;
	uint64_t *high = used ? &account->used_high : &account->reserved_high;

	if (allocation->kind != SG_MEMORY_GRAPH)
		return;
	*now = came ? *now + allocation->size : *now - allocation->size;
	if (*now > *high)
		*high = *now;
}

/* Whether kernels must not access it (yet). */
static bool is_hidden(enum sg_memory_kind kind)
{
	return kind == SG_MEMORY_PHYSICAL || kind == SG_MEMORY_GRAPH;
}

/* Return the bytes of the device's reported memory that an allocation takes. */
static uint64_t charge_device(const struct sg_allocation *allocation)
{
	return round_up(allocation->size, SG_GRANULE);
}

CUresult sg_memory_allocate(const struct sg_allocation *wanted, uint64_t alignment,
			    uint64_t *ret_address)
{
	struct sg_allocation allocation = *wanted;
	int device = wanted->device;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	/* Textures may begin at any allocation. */
	if (alignment < LIMIT_TEXTURE_ALIGNMENT)
		alignment = LIMIT_TEXTURE_ALIGNMENT;
	if (wanted->size > sg_state.config.memory || alignment > sg_state.config.memory)
		return result;
	pthread_rwlock_wrlock(&memory.lock);
	if (charge_device(wanted) <= sg_state.config.memory - memory.used[device] &&
	    prepare_holes(device) &&
	    take_hole(device, charge_device(wanted) + SG_GRANULE, alignment, &allocation.address)) {
		if (insert_locked(&allocation)) {
			memory.used[device] += charge_device(wanted);
			account_locked(&allocation, false, true);
			result = CUDA_SUCCESS;
		} else {
			add_hole(device, allocation.address,
				 allocation.address + charge_device(wanted) + SG_GRANULE);
		}
	}
	pthread_rwlock_unlock(&memory.lock);
	if (result)
		return result;
	if (!is_hidden(wanted->kind) &&
	    sg_memory_allow(sg_state.machine, allocation.address, charge_device(wanted))) {
		if (allocation.pool)
			sg_pool_add(allocation.pool, allocation.size);
		sg_memory_free(allocation.address, 1u << wanted->kind, NULL);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (allocation.pool)
		sg_pool_add(allocation.pool, allocation.size);
	*ret_address = allocation.address;
	return CUDA_SUCCESS;
}

/* ---- other memory ---------------------------------------------------------------------- */

CUresult sg_memory_adopt(const struct sg_allocation *allocation)
{
	uint64_t end = allocation->address + allocation->size;
	CUresult result = CUDA_SUCCESS;
	size_t next;

	pthread_rwlock_wrlock(&memory.lock);
	next = index_after(allocation->address);
	if (find_allocation_locked(allocation->address) ||
	    (next < memory.known.count && memory.known.items[next]->address < end))
		result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	else if (!insert_locked(allocation))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_rwlock_unlock(&memory.lock);
	if (result)
		return result;
	if (sg_memory_allow(sg_state.machine, allocation->address, allocation->size)) {
		pthread_rwlock_wrlock(&memory.lock);
		remove_locked(index_after(allocation->address) - 1);
		pthread_rwlock_unlock(&memory.lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult sg_memory_allocate_host(const struct sg_allocation *wanted, uint64_t *ret_address)
{
	struct sg_allocation allocation = *wanted;
	CUresult result;
	void *mapping;

	allocation.mapping_size = round_up(wanted->size, 4096);
	if (allocation.mapping_size < wanted->size)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mapping = mmap(NULL, allocation.mapping_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation.address = allocation.mapping = (uintptr_t)mapping;
	result = sg_memory_adopt(&allocation);
	if (result) {
		munmap(mapping, allocation.mapping_size);
		return result;
	}
	*ret_address = allocation.address;
	return CUDA_SUCCESS;
}

/* ---- the end --------------------------------------------------------------------------- */

/* Release the memory of an allocation that is in no table any more. */
static void release_memory(const struct sg_allocation *freed)
{
	if (freed->pool)
		sg_pool_subtract(freed->pool, freed->size);
	if (freed->kind == SG_MEMORY_PHYSICAL)
		return;
	sg_memory_deny(sg_state.machine, freed->address,
		       in_arena(freed) ? charge_device(freed) : freed->size);
	if (freed->mapping)
		munmap((void *)(uintptr_t)freed->mapping, freed->mapping_size);
}

static void free_in_arena(const struct sg_allocation *freed)
{
	uint64_t page = 4096;
	uint64_t start = round_up(freed->address, page);
	uint64_t end = (freed->address + freed->size) / page * page;

	if (freed->size >= min_trimmed_size && end > start)
		madvise((void *)(uintptr_t)start, end - start, MADV_REMOVE);
	pthread_rwlock_wrlock(&memory.lock);
	memory.used[freed->device] -= charge_device(freed);
	if (freed->is_live)
		account_locked(freed, true, false);
	account_locked(freed, false, false);
	add_hole(freed->device, freed->address, freed->address + charge_device(freed) + SG_GRANULE);
	pthread_rwlock_unlock(&memory.lock);
}

static void free_removed(const struct sg_allocation *freed)
{
	release_memory(freed);
	if (in_arena(freed))
		free_in_arena(freed);
}

CUresult sg_memory_free(uint64_t address, unsigned int kinds, struct sg_allocation *ret_freed)
{
	struct sg_allocation freed = {0};
	bool found = false;
	size_t index;

	pthread_rwlock_wrlock(&memory.lock);
	index = index_after(address);
	if (index) {
		freed = *memory.known.items[index - 1];
		found = freed.address == address && (kinds & (1u << freed.kind));
		if (found)
			remove_locked(index - 1);
	}
	pthread_rwlock_unlock(&memory.lock);
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	free_removed(&freed);
	if (ret_freed)
		*ret_freed = freed;
	return CUDA_SUCCESS;
}

void sg_memory_free_context(struct CUctx_st *context)
{
	const unsigned int kinds = ~(1u << SG_MEMORY_MODULE | 1u << SG_MEMORY_VARIABLES);

	for (;;) {
		uint64_t address = 0;

		pthread_rwlock_rdlock(&memory.lock);
		gt_vec_each (known, &memory.known) {
			if ((*known)->context == context && (kinds & (1u << (*known)->kind)))
				address = (*known)->address;
		}
		pthread_rwlock_unlock(&memory.lock);
		if (!address || sg_memory_free(address, kinds, NULL))
			return;
	}
}

bool sg_memory_find(uint64_t address, struct sg_allocation *ret_allocation)
{
	struct sg_allocation *found;

	pthread_rwlock_rdlock(&memory.lock);
	found = find_allocation_locked(address);
	if (found)
		*ret_allocation = *found;
	pthread_rwlock_unlock(&memory.lock);
	return found != NULL;
}

/* Return the end of adjacent mappings, from this one on. */
static uint64_t end_of_mappings_locked(const struct sg_allocation *first)
{
	uint64_t end = first->address + first->size;

	for (size_t i = index_after(first->address); i < memory.known.count; i++) {
		const struct sg_allocation *next = memory.known.items[i];

		if (next->address != end || next->kind != SG_MEMORY_MAPPED)
			break;
		end += next->size;
	}
	return end;
}

bool sg_memory_find_range(uint64_t address, uint64_t size, struct sg_allocation *ret_allocation)
{
	struct sg_allocation *found;
	bool fits = false;
	uint64_t end;

	pthread_rwlock_rdlock(&memory.lock);
	found = find_allocation_locked(address);
	if (found) {
		end = found->kind == SG_MEMORY_MAPPED ? end_of_mappings_locked(found)
						      : found->address + found->size;
		fits = size <= end - address;
	}
	if (fits)
		*ret_allocation = *found;
	pthread_rwlock_unlock(&memory.lock);
	return fits;
}

CUresult sg_memory_begin_free(uint64_t address, unsigned int kinds)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct sg_allocation *found;

	pthread_rwlock_wrlock(&memory.lock);
	found = find_allocation_locked(address);
	if (found && found->address == address && (kinds & (1u << found->kind)) && !found->going) {
		found->going = true;
		result = CUDA_SUCCESS;
	}
	pthread_rwlock_unlock(&memory.lock);
	return result;
}

/* Set the mark; return whether it changed. */
static bool mark_live_locked(struct sg_allocation *found, bool live)
{
	if (found->is_live == live)
		return false;
	found->is_live = live;
	found->going = false;
	account_locked(found, true, live);
	return true;
}

CUresult sg_memory_set_live(uint64_t address, bool live, struct sg_allocation *ret_allocation)
{
	struct sg_allocation *found;
	bool changed = false;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_rwlock_wrlock(&memory.lock);
	found = find_allocation_locked(address);
	if (found && found->address == address && found->kind == SG_MEMORY_GRAPH) {
		changed = mark_live_locked(found, live);
		if (changed || live)
			result = CUDA_SUCCESS;
		if (!result && ret_allocation)
			*ret_allocation = *found;
	}
	if (changed && live && sg_memory_allow(sg_state.machine, address, charge_device(found))) {
		mark_live_locked(found, false);
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (changed && !live) {
		sg_memory_deny(sg_state.machine, address, charge_device(found));
	}
	pthread_rwlock_unlock(&memory.lock);
	return result;
}

void sg_memory_graph_account(int device, struct sg_graph_account *ret_account)
{
	pthread_rwlock_rdlock(&memory.lock);
	*ret_account = memory.graphs[device];
	pthread_rwlock_unlock(&memory.lock);
}

void sg_memory_reset_used_high(int device)
{
	pthread_rwlock_wrlock(&memory.lock);
	memory.graphs[device].used_high = memory.graphs[device].used;
	pthread_rwlock_unlock(&memory.lock);
}

void sg_memory_reset_reserved_high(int device)
{
	pthread_rwlock_wrlock(&memory.lock);
	memory.graphs[device].reserved_high = memory.graphs[device].reserved;
	pthread_rwlock_unlock(&memory.lock);
}

void sg_memory_advise(uint64_t address, const struct sg_advice *advice)
{
	struct sg_allocation *found;

	pthread_rwlock_wrlock(&memory.lock);
	found = find_allocation_locked(address);
	if (found)
		found->advice = *advice;
	pthread_rwlock_unlock(&memory.lock);
}

bool sg_memory_charge(int device, uint64_t bytes)
{
	bool charged;

	pthread_rwlock_wrlock(&memory.lock);
	charged = bytes <= sg_state.config.memory - memory.used[device];
	if (charged)
		memory.used[device] += bytes;
	pthread_rwlock_unlock(&memory.lock);
	return charged;
}

void sg_memory_uncharge(int device, uint64_t bytes)
{
	pthread_rwlock_wrlock(&memory.lock);
	memory.used[device] -= bytes;
	pthread_rwlock_unlock(&memory.lock);
}

uint64_t sg_memory_used(int device)
{
	uint64_t used;

	pthread_rwlock_rdlock(&memory.lock);
	used = memory.used[device];
	pthread_rwlock_unlock(&memory.lock);
	return used;
}

/* ---- for the machine ------------------------------------------------------------------- */

static int allocate_variables(enum sg_memory_kind kind, uint64_t size, uint64_t alignment,
			      uint64_t *ret_address)
{
	struct sg_allocation wanted = {.kind = kind, .size = size ? size : 1};
	struct sg_thread *self = sg_thread_self();

	/* Modules are loaded by the thread in which their context is current. */
	if (self && self->contexts.count)
		wanted.device = sg_thread_device();
	return sg_memory_allocate(&wanted, alignment, ret_address) ? -ENOMEM : 0;
}

int sg_memory_host_allocate(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address)
{
	return allocate_variables(SG_MEMORY_MODULE, size, alignment, ret_address);
}

int sg_memory_host_allocate_managed(void *user, uint64_t size, uint64_t alignment,
				    uint64_t *ret_address)
{
	return allocate_variables(SG_MEMORY_VARIABLES, size, alignment, ret_address);
}

void sg_memory_host_release(void *user, uint64_t address, uint64_t size)
{
	sg_memory_free(address, 1u << SG_MEMORY_MODULE | 1u << SG_MEMORY_VARIABLES, NULL);
}
