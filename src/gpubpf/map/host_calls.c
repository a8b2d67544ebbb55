/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/map/host_calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- layout ---------------------------------------------------------------------------- */

static bool needs_calls(const struct gt_bpf_map *map)
{
	return !map->host_only && gt_bpf_map_is_on_host(map);
}

struct gt_host_call_layout gt_host_call_layout_of(const struct gt_bpf_object *object)
{
	struct gt_host_call_layout layout = {.slots = sizeof(struct gt_host_call_area),
					     .key = sizeof(struct gt_host_call_slot)};
	size_t key = 0, value = 0;

	for (uint32_t i = 0; object && i < object->map_count; i++) {
		const struct gt_bpf_map *map = &object->maps[i];

		if (!needs_calls(map))
			continue;
		key = gt_bpf_map_stride(map->key_size) > key ? gt_bpf_map_stride(map->key_size)
							     : key;
		value = gt_bpf_map_stride(map->value_size) > value
				? gt_bpf_map_stride(map->value_size)
				: value;
	}
	layout.slots = (layout.slots + 63) & ~(size_t)63;
	layout.value = layout.key + key;
	layout.slot_bytes = (layout.value + value + 63) & ~(size_t)63;
	layout.bytes = key ? layout.slots + GT_HOST_CALL_SLOTS * layout.slot_bytes : 0;
	return layout;
}

int gt_host_calls_open(const struct gt_bpf_object *object, void *const *memory, const int *kernel,
		       void *area, struct gt_host_calls *ret_calls)
{
	struct gt_host_calls calls = {
		.object = object,
		.memory = memory,
		.kernel = kernel,
		.layout = gt_host_call_layout_of(object),
		.area = area,
	};

	calls.key = calloc(1, calls.layout.slot_bytes);
	calls.value = calloc(1, calls.layout.slot_bytes);
	calls.seen = calloc(GT_HOST_CALL_SLOTS, sizeof(*calls.seen));
	if (!calls.key || !calls.value || !calls.seen) {
		gt_host_calls_close(&calls);
		return -ENOMEM;
	}
	*ret_calls = calls;
	return 0;
}

void gt_host_calls_close(struct gt_host_calls *calls)
{
	free(calls->key);
	free(calls->value);
	free(calls->seen);
	*calls = (struct gt_host_calls){0};
}

static struct gt_host_call_area *area_of(const struct gt_host_calls *calls)
{
	return (struct gt_host_call_area *)calls->area;
}

static struct gt_host_call_slot *slot_at(const struct gt_host_calls *calls, unsigned number)
{
	return (struct gt_host_call_slot *)(calls->area + calls->layout.slots +
					    number * calls->layout.slot_bytes);
}

/* ---- operations ------------------------------------------------------------------------ */

/* A request, copied. */
struct call_request {
	uint32_t map;
	enum gt_host_call_operation operation;
	uint64_t number;
	int descriptor; /* of the kernel's map, or -1 */
};

int64_t gt_host_call_kernel(int descriptor, enum gt_host_call_operation operation, const void *key,
			    void *value, uint64_t flags)
{
	int error;

	switch (operation) {
	case GT_HOST_CALL_LOOKUP:
		error = bpf_map_lookup_elem(descriptor, key, value);
		break;
	case GT_HOST_CALL_UPDATE:
		error = bpf_map_update_elem(descriptor, key, value, flags);
		break;
	case GT_HOST_CALL_DELETE:
		error = bpf_map_delete_elem(descriptor, key);
		break;
	default:
		return -EINVAL;
	}
	return error ? -errno : 0;
}

static int64_t execute_here(struct gt_host_calls *calls, const struct call_request *request)
{
	const struct gt_bpf_map *map = &calls->object->maps[request->map];
	void *memory = calls->memory[request->map];
	int64_t offset;

	switch (request->operation) {
	case GT_HOST_CALL_LOOKUP:
		offset = gt_bpf_map_lookup(map, memory, 0, calls->key);
		if (offset < 0)
			return -ENOENT;
		memcpy(calls->value, (const uint8_t *)memory + offset, map->value_size);
		return 0;
	case GT_HOST_CALL_UPDATE:
		return gt_bpf_map_update(map, memory, 0, calls->key, calls->value, request->number);
	case GT_HOST_CALL_DELETE:
		return gt_bpf_map_delete(map, memory, calls->key);
	case GT_HOST_CALL_ADD:
		return gt_bpf_map_add(map, memory, 0, calls->key, request->number);
	default:
		return -EINVAL;
	}
}

/* Copy a request from the slot; false: it is none. */
static bool read_request(struct gt_host_calls *calls, const struct gt_host_call_slot *slot,
			 struct call_request *ret_request)
{
	uint64_t word = __atomic_load_n(&slot->request, __ATOMIC_RELAXED);
	const uint8_t *bytes = (const uint8_t *)slot;
	const struct gt_bpf_map *map;
	int descriptor;

	if (word >> 8 >= calls->object->map_count)
		return false;
	map = &calls->object->maps[word >> 8];
	if (!needs_calls(map))
		return false;
	descriptor = calls->kernel && map->with_host ? calls->kernel[word >> 8] : -1;
	if (descriptor < 0 && !calls->memory[word >> 8])
		return false;
	*ret_request = (struct call_request){
		.map = (uint32_t)(word >> 8),
		.operation = (enum gt_host_call_operation)(word & 0xff),
		.number = __atomic_load_n(&slot->number, __ATOMIC_RELAXED),
		.descriptor = descriptor,
	};
	memcpy(calls->key, bytes + calls->layout.key, map->key_size);
	if (ret_request->operation == GT_HOST_CALL_UPDATE)
		memcpy(calls->value, bytes + calls->layout.value, map->value_size);
	return true;
}

/* ---- slots ----------------------------------------------------------------------------- */

static enum gt_host_call_phase phase_of(uint64_t state)
{
	return (enum gt_host_call_phase)(state % GT_HOST_CALL_PHASES);
}

static bool change_state(struct gt_host_call_slot *slot, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&slot->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void free_slot(struct gt_host_call_slot *slot, uint64_t state)
{
	change_state(slot, state,
		     state - state % GT_HOST_CALL_PHASES + GT_HOST_CALL_PHASES + GT_HOST_CALL_FREE);
}

static bool serve_slot(struct gt_host_calls *calls, struct gt_host_call_slot *slot)
{
	uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE), now;
	struct call_request request;
	int64_t result = -EINVAL;

	if (phase_of(state) == GT_HOST_CALL_ABANDONED)
		free_slot(slot, state);
	if (phase_of(state) != GT_HOST_CALL_REQUEST)
		return false;
	if (read_request(calls, slot, &request)) {
		result = request.descriptor >= 0
				 ? gt_host_call_kernel(request.descriptor, request.operation,
						       calls->key, calls->value, request.number)
				 : execute_here(calls, &request);
		if (!result && request.operation == GT_HOST_CALL_LOOKUP)
			memcpy((uint8_t *)slot + calls->layout.value, calls->value,
			       calls->object->maps[request.map].value_size);
	}
	__atomic_store_n(&slot->result, result, __ATOMIC_RELAXED);
	if (change_state(slot, state, state - GT_HOST_CALL_REQUEST + GT_HOST_CALL_DONE))
		return true;
	now = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
	if (phase_of(now) == GT_HOST_CALL_ABANDONED)
		free_slot(slot, now);
	return true;
}

unsigned gt_host_calls_serve(struct gt_host_calls *calls)
{
	struct gt_host_call_area *area = area_of(calls);
	unsigned served = 0;

	__atomic_store_n(&area->alive, 1, __ATOMIC_RELAXED);
	for (unsigned word = 0; word < gt_countof(area->bells); word++) {
		uint64_t bells = __atomic_load_n(&area->bells[word], __ATOMIC_RELAXED);

		if (bells)
			bells = __atomic_exchange_n(&area->bells[word], 0, __ATOMIC_ACQUIRE);
		for (; bells; bells &= bells - 1)
			served += serve_slot(
				calls,
				slot_at(calls, word * 64 + (unsigned)__builtin_ctzll(bells)));
	}
	return served;
}

void gt_host_calls_reclaim(struct gt_host_calls *calls)
{
	for (unsigned i = 0; i < GT_HOST_CALL_SLOTS; i++) {
		struct gt_host_call_slot *slot = slot_at(calls, i);
		uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

		if (phase_of(state) != GT_HOST_CALL_FREE && state == calls->seen[i])
			free_slot(slot, state);
		calls->seen[i] = state;
	}
}

void gt_host_calls_end(struct gt_host_calls *calls)
{
	__atomic_store_n(&area_of(calls)->alive, 0, __ATOMIC_RELAXED);
}

uint64_t gt_host_calls_lost(const struct gt_host_calls *calls)
{
	return calls->area ? __atomic_load_n(&area_of(calls)->lost, __ATOMIC_RELAXED) : 0;
}
