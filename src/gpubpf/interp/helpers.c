/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The helpers in the interpreter: gt_interp_<implementation> of each row of helpers.def. They
 * return 0, 1 at the program's end, or -Exxx.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clean.h"
#include "base/clock.h"
#include "gpubpf/helpers.h"
#include "gpubpf/interp/private.h"
#include "gpubpf/map/host_calls.h"
#include "gpubpf/map/map.h"
#include "gpubpf/map/printk.h"

/* The number of the map in r<argument>, or -EINVAL. */
static int64_t map_of(struct gt_interp_machine *machine, unsigned argument)
{
	const struct gt_interp_options *options = machine->options;
	uint32_t count = options->object ? options->object->map_count : 0;

	for (uint32_t i = 0; i < count; i++)
		if (machine->registers[argument] ==
		    gt_region_address(options, GT_REGION_HANDLES + i, 0))
			return i;
	return gt_interp_fail(machine, -EINVAL, "r%u is not a map", argument);
}

/* The operands of a helper on a map: the map, its memory, the copy and the key. */
struct map_access {
	unsigned number;
	const struct gt_bpf_map *map;
	void *memory, *key;
	uint32_t copy;
	bool outside; /* the copy does not exist */
};

static int find_access(struct gt_interp_machine *machine, bool with_key,
		       struct map_access *ret_access)
{
	const struct gt_interp_options *options = machine->options;
	const struct gt_interp_thread *thread = &machine->thread;
	int64_t number = map_of(machine, 1);
	uint32_t copies;
	uint64_t copy = 0;

	if (number < 0)
		return -EINVAL;
	*ret_access = (struct map_access){
		.number = (unsigned)number,
		.map = &options->object->maps[number],
		.memory = options->map_memory[number],
	};
	if (with_key) {
		ret_access->key = gt_interp_memory(machine, machine->registers[2],
						   ret_access->map->key_size, false);
		if (!ret_access->key)
			return -EFAULT;
	}
	if (gt_bpf_map_kind(ret_access->map->type)->shape != GT_BPF_MAP_ARRAY)
		return 0;
	switch (gt_bpf_map_kind(ret_access->map->type)->copies) {
	case GT_COPY_ONE:
		return 0;
	case GT_COPY_SM:
		copy = thread->sm;
		break;
	case GT_COPY_WARP:
		copy = gt_interp_flat_warp(thread);
		break;
	case GT_COPY_THREAD:
		copy = gt_interp_flat_thread(thread);
		break;
	}
	copies = options->map_copies ? options->map_copies[number] : 1;
	ret_access->copy = (uint32_t)copy;
	ret_access->outside = copy >= copies;
	if (ret_access->outside)
		gt_bpf_map_count_outside(ret_access->map, ret_access->memory, copies);
	return 0;
}

/* The copy of the lookup that is executed. As on a GPU there is one for each in the program. */
static struct gt_interp_copy *find_copy(struct gt_interp_machine *machine, uint32_t size)
{
	struct gt_interp_copy *copy = machine->copies;
	uint8_t *data;

	while (copy && copy->insn != machine->at)
		copy = copy->next;
	if (!copy) {
		copy = calloc(1, sizeof(*copy));
		if (!copy)
			return NULL;
		copy->insn = machine->at;
		copy->next = machine->copies;
		machine->copies = copy;
	}
	/* The call may be one with several maps. */
	data = realloc(copy->data, size);
	if (!data)
		return NULL;
	copy->data = data;
	copy->size = size;
	return copy;
}

/* r0: a copy of a value of a map on the host. */
static int return_copy(struct gt_interp_machine *machine, const struct map_access *access,
		       int64_t offset)
{
	struct gt_interp_copy *copy = find_copy(machine, access->map->value_size);

	if (!copy)
		return gt_interp_fail(machine, -ENOMEM, "out of memory");
	memcpy(copy->data, (const uint8_t *)access->memory + offset, copy->size);
	machine->registers[0] =
		gt_region_address(machine->options, GT_REGION_COPIES + copy->insn, 0);
	return 0;
}

/* The descriptor of the kernel's map, or -1: gputap has the memory. */
static int kernel_map(const struct gt_interp_machine *machine, const struct map_access *access)
{
	bool is_kernels = access->map->with_host && gt_bpf_map_is_on_host(access->map);

	return is_kernels && machine->options->kernel_maps
		       ? machine->options->kernel_maps[access->number]
		       : -1;
}

static int lookup_in_kernel(struct gt_interp_machine *machine, int descriptor,
			    struct map_access *access)
{
	gt_autofree void *value = calloc(1, access->map->value_size);
	struct map_access here = *access;

	machine->registers[0] = 0;
	if (!value)
		return gt_interp_fail(machine, -ENOMEM, "out of memory");
	if (gt_host_call_kernel(descriptor, GT_HOST_CALL_LOOKUP, access->key, value, 0))
		return 0;
	here.memory = value;
	return return_copy(machine, &here, 0);
}

static int gt_interp_map_lookup(struct gt_interp_machine *machine)
{
	struct map_access access;
	int64_t offset = -ENOENT;
	int error = find_access(machine, true, &access);

	if (error)
		return error;
	if (kernel_map(machine, &access) >= 0)
		return lookup_in_kernel(machine, kernel_map(machine, &access), &access);
	if (!access.outside)
		offset = gt_bpf_map_lookup(access.map, access.memory, access.copy, access.key);
	if (offset >= 0 && gt_bpf_map_is_on_host(access.map))
		return return_copy(machine, &access, offset);
	machine->registers[0] =
		offset < 0 ? 0
			   : gt_region_address(machine->options, GT_REGION_MAPS + access.number,
					       (uint64_t)offset);
	return 0;
}

static int gt_interp_map_update(struct gt_interp_machine *machine)
{
	struct map_access access;
	int error = find_access(machine, true, &access), result = -ENOENT;
	const void *value;

	if (error)
		return error;
	value = gt_interp_memory(machine, machine->registers[3], access.map->value_size, false);
	if (!value)
		return -EFAULT;
	if (kernel_map(machine, &access) >= 0)
		result = (int)gt_host_call_kernel(kernel_map(machine, &access), GT_HOST_CALL_UPDATE,
						  access.key, (void *)value, machine->registers[4]);
	else if (!access.outside)
		result = gt_bpf_map_update(access.map, access.memory, access.copy, access.key,
					   value, machine->registers[4]);
	machine->registers[0] = (uint64_t)(int64_t)result;
	return 0;
}

static int gt_interp_map_delete(struct gt_interp_machine *machine)
{
	struct map_access access;
	int error = find_access(machine, true, &access);

	if (error)
		return error;
	machine->registers[0] =
		(uint64_t)(kernel_map(machine, &access) >= 0
				   ? gt_host_call_kernel(kernel_map(machine, &access),
							 GT_HOST_CALL_DELETE, access.key, NULL, 0)
				   : gt_bpf_map_delete(access.map, access.memory, access.key));
	return 0;
}

static int gt_interp_map_add(struct gt_interp_machine *machine)
{
	struct map_access access;
	int error = find_access(machine, true, &access), result = -ENOENT;

	if (error)
		return error;
	if (!access.outside)
		result = gt_bpf_map_add(access.map, access.memory, access.copy, access.key,
					machine->registers[3]);
	machine->registers[0] = (uint64_t)(int64_t)result;
	return 0;
}

static int gt_interp_hist_add(struct gt_interp_machine *machine)
{
	struct map_access access;
	int error = find_access(machine, false, &access), result = -ENOENT;

	if (error)
		return error;
	if (!access.outside)
		result = gt_bpf_map_count_power(access.map, access.memory, access.copy,
						machine->registers[2]);
	machine->registers[0] = (uint64_t)(int64_t)result;
	return 0;
}

static int ring_output(struct gt_interp_machine *machine, unsigned ring, unsigned data)
{
	int64_t number = map_of(machine, ring), offset;
	uint64_t size = machine->registers[data + 1];
	const void *bytes;
	uint8_t *memory;

	if (number < 0)
		return -EINVAL;
	bytes = gt_interp_memory(machine, machine->registers[data], size, false);
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

static int gt_interp_ring_output(struct gt_interp_machine *machine)
{
	return ring_output(machine, 1, 2);
}

static int gt_interp_perf_output(struct gt_interp_machine *machine)
{
	return ring_output(machine, 2, 4);
}

static int gt_interp_ring_reserve(struct gt_interp_machine *machine)
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
	machine->registers[0] = gt_region_address(
		machine->options, GT_REGION_MAPS + (unsigned)number, (uint64_t)offset);
	machine->records[machine->record_count].address = machine->registers[0];
	machine->records[machine->record_count].offset = (uint64_t)offset;
	machine->records[machine->record_count].ring = (unsigned)number;
	machine->records[machine->record_count++].size = machine->registers[2];
	return 0;
}

static int ring_finish(struct gt_interp_machine *machine, enum gt_ring_state state)
{
	for (unsigned i = 0; i < machine->record_count; i++) {
		if (machine->records[i].address != machine->registers[1])
			continue;
		gt_ring_finish(machine->options->map_memory[machine->records[i].ring],
			       machine->records[i].offset, state);
		machine->records[i] = machine->records[--machine->record_count];
		machine->registers[0] = 0;
		return 0;
	}
	return gt_interp_fail(machine, -EINVAL, "r1 is not a reserved record");
}

static int gt_interp_ring_submit(struct gt_interp_machine *machine)
{
	return ring_finish(machine, GT_RING_READY);
}

static int gt_interp_ring_discard(struct gt_interp_machine *machine)
{
	return ring_finish(machine, GT_RING_DISCARDED);
}

/* The string at r1, at most `limit` bytes of it. */
static int read_string(struct gt_interp_machine *machine, uint64_t limit, struct gt_strbuf *text)
{
	for (uint64_t length = 0; length < limit; length++) {
		const char *byte =
			gt_interp_memory(machine, machine->registers[1] + length, 1, false);

		if (!byte)
			return -EFAULT;
		if (!*byte)
			break;
		gt_strbuf_putc(text, *byte);
	}
	return text->failed ? gt_interp_fail(machine, -ENOMEM, "out of memory") : 0;
}

/* trace_printk, which has arguments, and puts. */
static int print_line(struct gt_interp_machine *machine, uint64_t limit, const uint64_t *arguments)
{
	struct gt_strbuf *output = machine->options->output;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	int error = read_string(machine, limit, &text);

	if (error)
		return error;
	if (output && arguments)
		gt_print_format(output, gt_strbuf_string(&text), text.length, arguments);
	else if (output)
		gt_strbuf_add(output, gt_strbuf_string(&text), text.length);
	if (output)
		gt_print_line_end(output);
	machine->registers[0] = 0;
	return 0;
}

static int gt_interp_trace_printk(struct gt_interp_machine *machine)
{
	return print_line(machine, machine->registers[2], &machine->registers[3]);
}

static int gt_interp_puts(struct gt_interp_machine *machine)
{
	return print_line(machine, UINT32_MAX, NULL);
}

static uint64_t next_random(struct gt_interp_machine *machine)
{
	machine->random ^= machine->random << 13;
	machine->random ^= machine->random >> 7;
	machine->random ^= machine->random << 17;
	return (uint32_t)machine->random;
}

static int set_result(struct gt_interp_machine *machine, uint64_t value)
{
	machine->registers[0] = value;
	return 0;
}

static int gt_interp_global_timer(struct gt_interp_machine *machine)
{
	return set_result(machine, gt_clock_monotonic());
}

static int gt_interp_clock_64(struct gt_interp_machine *machine)
{
	return set_result(machine, gt_clock_monotonic());
}

static int gt_interp_prandom_u32(struct gt_interp_machine *machine)
{
	return set_result(machine, next_random(machine));
}

static int gt_interp_pid_tgid(struct gt_interp_machine *machine)
{
	return set_result(machine, machine->options->pid_tgid);
}

static int gt_interp_membar(struct gt_interp_machine *machine)
{
	atomic_thread_fence(memory_order_seq_cst);
	return set_result(machine, 0);
}

static int gt_interp_leave(struct gt_interp_machine *machine)
{
	set_result(machine, 0);
	return 1;
}

/* There is no cache. */
static int gt_interp_prefetch(struct gt_interp_machine *machine)
{
	return set_result(machine, 0);
}

static int gt_interp_flat_thread_id(struct gt_interp_machine *machine)
{
	return set_result(machine, gt_interp_flat_thread(&machine->thread));
}

static int gt_interp_flat_block_id(struct gt_interp_machine *machine)
{
	return set_result(machine,
			  gt_interp_flatten(machine->thread.block, machine->thread.grid_size));
}

static int gt_interp_flat_warp_id(struct gt_interp_machine *machine)
{
	return set_result(machine, gt_interp_flat_warp(&machine->thread));
}

/* A field of a lane of the warp; 0 for lanes that are not in the group. */
static int gt_interp_warp_lane_value(struct gt_interp_machine *machine)
{
	uint64_t field = machine->registers[1], lane = machine->registers[2];
	struct gt_interp_thread other = machine->thread;
	uint64_t number = gt_interp_in_block(&other) / 32 * 32 + lane;
	enum gt_context_source source;

	if (lane > 31 || !(other.mask >> lane & 1) || !machine->grid || !machine->grid->section ||
	    gt_lane_source(machine->grid->section, field, &source))
		return set_result(machine, 0);
	gt_interp_set_thread(&other, number);
	return set_result(machine, gt_interp_source(machine, source, 0, &other));
}

static int gt_interp_read_source(struct gt_interp_machine *machine)
{
	return set_result(machine, gt_interp_source(machine, machine->source, 0, &machine->thread));
}

/* The interpreter is the only device. */
static int gt_interp_get_device(struct gt_interp_machine *machine)
{
	return set_result(machine, 0);
}

/* There is no kernel whose registers could be read. */
static int gt_interp_get_register(struct gt_interp_machine *machine)
{
	return set_result(machine, 0);
}

/* Store the source and the next two where r1 to r3 point to. */
static int gt_interp_store_sources(struct gt_interp_machine *machine)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t value =
			gt_interp_source(machine, machine->source + i, 0, &machine->thread);
		void *memory = gt_interp_memory(machine, machine->registers[1 + i], 8, true);

		if (!memory)
			return -EFAULT;
		memcpy(memory, &value, 8);
	}
	return set_result(machine, 0);
}

/* Collective helpers: gt_interp_resume_group runs them when all lanes wait. */
static int wait_for_group(struct gt_interp_machine *machine, uint32_t number)
{
	machine->state = GT_INTERP_WAITING;
	machine->waits_for = number;
	return 0;
}

static int gt_interp_warp_active_mask(struct gt_interp_machine *machine)
{
	return wait_for_group(machine, GT_HELPER_warp_active_mask);
}

static int gt_interp_warp_ballot(struct gt_interp_machine *machine)
{
	return wait_for_group(machine, GT_HELPER_warp_ballot);
}

static int gt_interp_warp_shuffle(struct gt_interp_machine *machine)
{
	return wait_for_group(machine, GT_HELPER_warp_shuffle);
}

static int gt_interp_warp_sum(struct gt_interp_machine *machine)
{
	return wait_for_group(machine, GT_HELPER_warp_sum);
}

static const struct {
	uint32_t number;
	int (*call)(struct gt_interp_machine *machine);
	enum gt_context_source source;
} rows[] = {
#define HELPER(number, name, implementation, source, ...)                                          \
	{(number), gt_interp_##implementation, GT_SOURCE_##source},
#include "gpubpf/helpers.def"
#undef HELPER
};

int gt_interp_call(struct gt_interp_machine *machine, uint32_t number)
{
	for (size_t i = 0; i < gt_countof(rows); i++) {
		int status;

		if (rows[i].number != number)
			continue;
		machine->source = rows[i].source;
		status = rows[i].call(machine);
		if (machine->state != GT_INTERP_WAITING && number != GT_HELPER_loop)
			gt_interp_drop_arguments(machine);
		return status;
	}
	return gt_interp_fail(machine, -EINVAL, "no helper %u", number);
}
