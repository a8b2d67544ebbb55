/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The helpers of the interpreter: one function a helper, on a GPU of one lane. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "gpubpf/helpers.h"
#include "gpubpf/interp_private.h"
#include "gpubpf/maps.h"

static const struct gt_interp_thread only_thread = {
	.block_size = {1, 1, 1},
	.grid_size = {1, 1, 1},
};

static const struct gt_interp_thread *thread_of(const struct gt_machine *machine)
{
	return machine->options->thread ? machine->options->thread : &only_thread;
}

/* The number of the map that r<argument> is, or -EINVAL. */
static int64_t map_of(struct gt_machine *machine, unsigned argument)
{
	uint64_t handle = machine->registers[argument] >> GT_INTERP_REGION_SHIFT;
	uint32_t count = machine->options->object ? machine->options->object->map_count : 0;

	if (handle < GT_REGION_HANDLES || handle - GT_REGION_HANDLES >= count)
		return gt_machine_fail(machine, -EINVAL, "r%u is no map", argument);
	return (int64_t)(handle - GT_REGION_HANDLES);
}

static int map_lookup(struct gt_machine *machine)
{
	int64_t number = map_of(machine, 1), offset;
	const struct gt_bpf_map *map;
	void *key;

	if (number < 0)
		return -EINVAL;
	map = &machine->options->object->maps[number];
	key = gt_machine_memory(machine, machine->registers[2], map->key_size, false);
	if (!key)
		return -EFAULT;
	offset = gt_map_lookup(map, machine->options->map_memory[number], 0, key);
	machine->registers[0] =
		offset < 0 ? 0
			   : gt_region_address(GT_REGION_MAPS + (unsigned)number, (uint64_t)offset);
	return 0;
}

static int map_update(struct gt_machine *machine)
{
	int64_t number = map_of(machine, 1);
	const struct gt_bpf_map *map;
	void *key, *value;

	if (number < 0)
		return -EINVAL;
	map = &machine->options->object->maps[number];
	key = gt_machine_memory(machine, machine->registers[2], map->key_size, false);
	value = gt_machine_memory(machine, machine->registers[3], map->value_size, false);
	if (!key || !value)
		return -EFAULT;
	machine->registers[0] = (uint64_t)gt_map_update(map, machine->options->map_memory[number],
							0, key, value, machine->registers[4]);
	return 0;
}

static int map_delete(struct gt_machine *machine)
{
	int64_t number = map_of(machine, 1);
	const struct gt_bpf_map *map;
	void *key;

	if (number < 0)
		return -EINVAL;
	map = &machine->options->object->maps[number];
	key = gt_machine_memory(machine, machine->registers[2], map->key_size, false);
	if (!key)
		return -EFAULT;
	machine->registers[0] =
		(uint64_t)gt_map_delete(map, machine->options->map_memory[number], key);
	return 0;
}

static int ring_output(struct gt_machine *machine, unsigned ring, unsigned data)
{
	int64_t number = map_of(machine, ring), offset;
	uint64_t size = machine->registers[data + 1];
	const void *bytes;
	uint8_t *memory;

	if (number < 0)
		return -EINVAL;
	bytes = gt_machine_memory(machine, machine->registers[data], size, false);
	if (!bytes)
		return -EFAULT;
	memory = machine->options->map_memory[number];
	offset = gt_ring_reserve(&machine->options->object->maps[number], memory, size);
	if (offset >= 0) {
		memcpy(memory + offset, bytes, size);
		gt_ring_finish(memory, (uint64_t)offset, GT_RING_READY);
	}
	machine->registers[0] = offset < 0 ? (uint64_t)offset : 0;
	return 0;
}

static int ring_reserve(struct gt_machine *machine)
{
	int64_t number = map_of(machine, 1), offset = -EAGAIN;

	if (number < 0)
		return -EINVAL;
	if (machine->record_count < GT_INTERP_MAX_RECORDS)
		offset = gt_ring_reserve(&machine->options->object->maps[number],
					 machine->options->map_memory[number],
					 machine->registers[2]);
	machine->registers[0] = 0;
	if (offset < 0)
		return 0;
	machine->registers[0] =
		gt_region_address(GT_REGION_MAPS + (unsigned)number, (uint64_t)offset);
	machine->records[machine->record_count].address = machine->registers[0];
	machine->records[machine->record_count++].size = machine->registers[2];
	return 0;
}

static int ring_finish(struct gt_machine *machine, enum gt_ring_state state)
{
	uint64_t address = machine->registers[1];
	uint64_t number = (address >> GT_INTERP_REGION_SHIFT) - GT_REGION_MAPS;

	for (unsigned i = 0; i < machine->record_count; i++) {
		if (machine->records[i].address != address)
			continue;
		machine->records[i] = machine->records[--machine->record_count];
		gt_ring_finish(machine->options->map_memory[number],
			       address & ((1ull << GT_INTERP_REGION_SHIFT) - 1), state);
		machine->registers[0] = 0;
		return 0;
	}
	return gt_machine_fail(machine, -EINVAL, "r1 is no reserved record");
}

static int print(struct gt_machine *machine, uint64_t limit)
{
	uint64_t length = 0;
	const char *byte;

	while (length < limit) {
		byte = gt_machine_memory(machine, machine->registers[1] + length, 1, false);
		if (!byte)
			return -EFAULT;
		if (!*byte)
			break;
		if (machine->options->output)
			gt_strbuf_putc(machine->options->output, *byte);
		length++;
	}
	machine->registers[0] = length;
	return 0;
}

static int store_indices(struct gt_machine *machine, const uint32_t *indices)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t value = indices[i];
		void *memory = gt_machine_memory(machine, machine->registers[1 + i], 8, true);

		if (!memory)
			return -EFAULT;
		memcpy(memory, &value, 8);
	}
	machine->registers[0] = 0;
	return 0;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t flatten(const uint32_t *index, const uint32_t *size)
{
	return index[0] + (uint64_t)size[0] * (index[1] + (uint64_t)size[1] * index[2]);
}

static uint64_t next_random(struct gt_machine *machine)
{
	machine->random ^= machine->random << 13;
	machine->random ^= machine->random >> 7;
	machine->random ^= machine->random << 17;
	return (uint32_t)machine->random;
}

/* Helpers that only give a number. */
static int give_number(struct gt_machine *machine, uint32_t number)
{
	const struct gt_interp_thread *thread = thread_of(machine);
	uint64_t in_block = flatten(thread->thread, thread->block_size), value = 0;
	uint64_t block = flatten(thread->block, thread->grid_size);
	uint64_t threads =
		(uint64_t)thread->block_size[0] * thread->block_size[1] * thread->block_size[2];

	switch (number) {
	case GT_HELPER_ktime_get_ns:
	case GT_HELPER_get_globaltimer:
	case GT_HELPER_clock64:
		value = now();
		break;
	case GT_HELPER_get_prandom_u32:
		value = next_random(machine);
		break;
	case GT_HELPER_get_warp_id:
		value = in_block / 32;
		break;
	case GT_HELPER_get_lane_id:
		value = in_block % 32;
		break;
	case GT_HELPER_warp_active_mask:
		value = 1ull << in_block % 32;
		break;
	case GT_HELPER_warp_ballot:
		value = machine->registers[1] ? 1ull << in_block % 32 : 0;
		break;
	case GT_HELPER_warp_shuffle:
	case GT_HELPER_warp_sum:
		value = machine->registers[1];
		break;
	case GT_HELPER_launch_id:
		value = thread->launch;
		break;
	case GT_HELPER_flat_thread_id:
		value = block * threads + in_block;
		break;
	case GT_HELPER_flat_block_id:
		value = block;
		break;
	case GT_HELPER_flat_warp_id:
		value = block * ((threads + 31) / 32) + in_block / 32;
		break;
	case GT_HELPER_get_smp_processor_id:
	case GT_HELPER_get_sm_id:
	case GT_HELPER_get_current_pid_tgid:
	case GT_HELPER_membar:
		break;
	default:
		return gt_machine_fail(machine, -EINVAL, "there is no helper %u here", number);
	}
	machine->registers[0] = value;
	return 0;
}

int gt_machine_call(struct gt_machine *machine, uint32_t number)
{
	switch (number) {
	case GT_HELPER_map_lookup_elem:
		return map_lookup(machine);
	case GT_HELPER_map_update_elem:
		return map_update(machine);
	case GT_HELPER_map_delete_elem:
		return map_delete(machine);
	case GT_HELPER_perf_event_output:
		return ring_output(machine, 2, 4);
	case GT_HELPER_ringbuf_output:
		return ring_output(machine, 1, 2);
	case GT_HELPER_ringbuf_reserve:
		return ring_reserve(machine);
	case GT_HELPER_ringbuf_submit:
		return ring_finish(machine, GT_RING_READY);
	case GT_HELPER_ringbuf_discard:
		return ring_finish(machine, GT_RING_DISCARDED);
	case GT_HELPER_trace_printk:
		return print(machine, machine->registers[2]);
	case GT_HELPER_puts:
		return print(machine, UINT32_MAX);
	case GT_HELPER_get_block_idx:
		return store_indices(machine, thread_of(machine)->block);
	case GT_HELPER_get_block_dim:
		return store_indices(machine, thread_of(machine)->block_size);
	case GT_HELPER_get_thread_idx:
		return store_indices(machine, thread_of(machine)->thread);
	case GT_HELPER_get_grid_dim:
		return store_indices(machine, thread_of(machine)->grid_size);
	default:
		return give_number(machine, number);
	}
}
