/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/map/instance.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/translate.h"

enum {
	MAX_SYMBOL = GT_MAX_PREFIX + 32,
};

static const struct gt_bpf_map output_map = {
	.name = "output",
	.type = BPF_MAP_TYPE_RINGBUF,
	.max_entries = GT_OUTPUT_BYTES,
};

static uint32_t map_count(const struct gt_instance *instance)
{
	return instance->object ? instance->object->map_count : 0;
}

/* ---- memory on the host ---------------------------------------------------------------- */

static int report_no_memory(const struct gt_bpf_map *map, uint32_t copies, struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "run", map->name,
		       "cannot allocate %u %s of this map: out of memory", copies,
		       copies == 1 ? "copy" : "copies");
}

/* Allocate a map of this context: shared with the host, the host's own, or its copy of device
 * memory. */
static int allocate_map(struct gt_instance *instance, uint32_t number, size_t bytes)
{
	const struct gt_bpf_map *map = &instance->object->maps[number];
	struct gt_instance_map *part = &instance->maps[number];

	if (gt_bpf_map_place(map) != GT_BPF_MAP_SHARED) {
		instance->memory[number] = calloc(bytes, 1);
		return instance->memory[number] ? 0 : -ENOMEM;
	}
	if (gt_shared_add(instance->shared, bytes, &part->region, NULL))
		return -ENOMEM;
	instance->memory[number] = part->region->memory;
	return 0;
}

static int open_map(struct gt_instance *instance, uint32_t number,
		    const struct gt_bpf_map_grid *grid, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = &instance->object->maps[number];
	uint32_t copies = 1;
	size_t bytes;
	int error = gt_bpf_map_check(map, diag);

	if (error)
		return error;
	if (gt_bpf_map_is_common(map)) {
		instance->maps[number].region = gt_shared_map(instance->shared, number);
		instance->memory[number] = instance->maps[number].region->memory;
	} else {
		copies = gt_bpf_map_copies_for(map, grid);
		bytes = copies ? gt_bpf_map_bytes(map, copies) : 0;
		if (!bytes || allocate_map(instance, number, bytes))
			return report_no_memory(map, copies, diag);
		gt_bpf_map_initialise(map, copies, instance->memory[number]);
	}
	instance->copies[number] = copies;
	return 0;
}

int gt_instance_open(const struct gt_bpf_object *object, struct gt_shared *shared,
		     struct gt_device *device, const struct gt_bpf_map_grid *grid,
		     struct gt_instance **ret_instance, struct gt_diag *diag)
{
	gt_auto(instance) struct gt_instance *instance = calloc(1, sizeof(*instance));
	int error = 0;

	if (!instance)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	*instance = (struct gt_instance){
		.object = object, .shared = shared, .device = device, .grid = *grid};
	instance->memory = calloc(map_count(instance) + 1u, sizeof(void *));
	instance->copies = calloc(map_count(instance) + 1u, sizeof(uint32_t));
	instance->maps = calloc(map_count(instance) + 1u, sizeof(struct gt_instance_map));
	if (!instance->memory || !instance->copies || !instance->maps)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	for (uint32_t i = 0; !error && i < map_count(instance); i++)
		if (!object->maps[i].host_only)
			error = open_map(instance, i, grid, diag);
	if (!error)
		*ret_instance = gt_take(instance);
	return error;
}

static void close_map(struct gt_instance *instance, uint32_t number)
{
	struct gt_instance_map *part = &instance->maps[number];

	if (instance->device)
		gt_device_free(instance->device, &part->on_device);
	if (!part->region)
		free(instance->memory[number]);
	else if (part->region != gt_shared_map(instance->shared, number))
		gt_shared_remove(instance->shared, part->region);
}

void gt_instance_close(struct gt_instance *instance)
{
	if (!instance)
		return;
	if (instance->maps && instance->memory)
		for (uint32_t i = 0; i < map_count(instance); i++)
			close_map(instance, i);
	gt_shared_remove(instance->shared, instance->output);
	gt_host_calls_close(&instance->calls);
	gt_shared_remove(instance->shared, instance->call_area);
	free(instance->maps);
	free(instance->copies);
	free(instance->memory);
	free(instance);
}

/* ---- on the device --------------------------------------------------------------------- */

/* Find a symbol of the module. -ENOENT: the module does not use it. */
static int find_symbol(struct gt_module *module, const char *prefix, const char *name, size_t size,
		       uint64_t *ret_address, struct gt_diag *diag)
{
	struct gt_diag reason = {0};
	char symbol[MAX_SYMBOL];
	size_t found;
	int error;

	snprintf(symbol, sizeof(symbol), "%s%s", prefix, name);
	error = gt_module_symbol(module, symbol, ret_address, &found, &reason);
	if (error && error != -ENOENT)
		gt_diag(diag, error, reason.stage, reason.place, "%s", reason.text);
	if (!error && found != size)
		error = gt_diag(diag, -EINVAL, "run", symbol,
				"the symbol has %zu bytes instead of %zu", found, size);
	return error;
}

static int write_address(struct gt_instance *instance, uint64_t symbol, uint64_t address,
			 uint64_t copies, struct gt_diag *diag)
{
	uint64_t words[2] = {address, copies};

	return gt_device_write(instance->device, symbol, words, sizeof(words), diag);
}

/* Copy a map to device memory, unless it is there. */
static int copy_to_device(struct gt_instance *instance, uint32_t number, struct gt_diag *diag)
{
	struct gt_device_memory *memory = &instance->maps[number].on_device;
	size_t bytes = gt_bpf_map_bytes(&instance->object->maps[number], instance->copies[number]);
	int error;

	if (memory->size)
		return 0;
	error = gt_device_allocate(instance->device, bytes, memory, diag);
	return error ? error
		     : gt_device_write(instance->device, memory->address, instance->memory[number],
				       bytes, diag);
}

static int bind_map(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		    uint32_t number, struct gt_diag *diag)
{
	struct gt_instance_map *part = &instance->maps[number];
	uint64_t symbol, address;
	char name[16];
	int error;

	snprintf(name, sizeof(name), "map_%u", number);
	error = find_symbol(module, prefix, name, 2 * sizeof(uint64_t), &symbol, diag);
	if (error)
		return error == -ENOENT ? 0 : error;
	if (part->region) {
		error = gt_shared_address(part->region, instance->device, &address, diag);
	} else {
		error = copy_to_device(instance, number, diag);
		address = part->on_device.address;
	}
	return error ? error
		     : write_address(instance, symbol, address, instance->copies[number], diag);
}

static int open_output(struct gt_instance *instance, struct gt_diag *diag)
{
	int error;

	if (instance->output)
		return 0;
	error = gt_shared_add(instance->shared, gt_bpf_map_bytes(&output_map, 1), &instance->output,
			      diag);
	if (!error)
		gt_bpf_map_initialise(&output_map, 1, instance->output->memory);
	return error;
}

static int bind_output(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		       struct gt_diag *diag)
{
	uint64_t symbol, address;
	int error = find_symbol(module, prefix, "output", 2 * sizeof(uint64_t), &symbol, diag);

	if (error)
		return error == -ENOENT ? 0 : error;
	error = open_output(instance, diag);
	if (!error)
		error = gt_shared_address(instance->output, instance->device, &address, diag);
	return error ? error : write_address(instance, symbol, address, 1, diag);
}

static int open_calls(struct gt_instance *instance, struct gt_diag *diag)
{
	size_t bytes = gt_host_call_layout_of(instance->object).bytes;
	int error = gt_shared_add(instance->shared, bytes, &instance->call_area, diag);

	if (error)
		return error;
	error = gt_host_calls_open(instance->object, instance->memory,
				   gt_shared_arrays(instance->shared), instance->call_area->memory,
				   &instance->calls);
	return error ? gt_diag(diag, error, "run", NULL, "out of memory") : 0;
}

static int bind_calls(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		      struct gt_diag *diag)
{
	uint64_t symbol, address;
	int error = find_symbol(module, prefix, "calls", 2 * sizeof(uint64_t), &symbol, diag);

	if (error)
		return error == -ENOENT ? 0 : error;
	if (!instance->call_area)
		error = open_calls(instance, diag);
	if (!error)
		error = gt_shared_address(instance->call_area, instance->device, &address, diag);
	return error ? error : write_address(instance, symbol, address, 1, diag);
}

/* Write a symbol of one word. */
static int bind_word(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		     const char *name, uint64_t word, struct gt_diag *diag)
{
	uint64_t symbol;
	int error = find_symbol(module, prefix, name, sizeof(word), &symbol, diag);

	if (error)
		return error == -ENOENT ? 0 : error;
	return gt_device_write(instance->device, symbol, &word, sizeof(word), diag);
}

int gt_instance_bind(struct gt_instance *instance, struct gt_module *module, const char *prefix,
		     uint64_t pid_tgid, struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < map_count(instance); i++)
		if (instance->memory[i] && !gt_bpf_map_is_on_host(&instance->object->maps[i]))
			error = bind_map(instance, module, prefix, i, diag);
	if (!error)
		error = bind_output(instance, module, prefix, diag);
	if (!error)
		error = bind_calls(instance, module, prefix, diag);
	if (!error)
		error = bind_word(instance, module, prefix, "pid_tgid", pid_tgid, diag);
	if (!error)
		error = bind_word(instance, module, prefix, "device",
				  gt_device_info(instance->device)->number, diag);
	return error;
}

/* ---- in this process ------------------------------------------------------------------- */

static bool has_maps_of_host(const struct gt_instance *instance)
{
	for (uint32_t i = 0; i < map_count(instance); i++)
		if (!instance->object->maps[i].host_only &&
		    gt_bpf_map_is_on_host(&instance->object->maps[i]))
			return true;
	return false;
}

int gt_instance_symbols(struct gt_instance *instance, struct gt_symbol_values *symbols,
			uint64_t (**ret_maps)[2], struct gt_diag *diag)
{
	uint64_t(*maps)[2] = calloc(map_count(instance) + 1u, sizeof(*maps));
	int error;

	*ret_maps = maps;
	if (!maps)
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	for (uint32_t i = 0; i < map_count(instance); i++) {
		maps[i][0] = (uintptr_t)instance->memory[i];
		maps[i][1] = instance->copies[i];
	}
	symbols->maps = (const uint64_t(*)[2])maps;
	error = open_output(instance, diag);
	if (!error && has_maps_of_host(instance) && !instance->call_area)
		error = open_calls(instance, diag);
	if (error)
		return error;
	symbols->output[0] = (uintptr_t)instance->output->memory;
	symbols->output[1] = 1;
	symbols->calls[0] = instance->call_area ? (uintptr_t)instance->call_area->memory : 0;
	symbols->calls[1] = 1;
	return 0;
}

/* ---- reading back ---------------------------------------------------------------------- */

int gt_instance_fetch(struct gt_instance *instance, struct gt_diag *diag)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < map_count(instance); i++) {
		const struct gt_device_memory *memory = &instance->maps[i].on_device;

		error = gt_device_read(instance->device, memory->address, instance->memory[i],
				       memory->size, diag);
	}
	return error;
}

bool gt_instance_owns(const struct gt_instance *instance, uint32_t map)
{
	return instance->memory[map] && !gt_bpf_map_is_common(&instance->object->maps[map]);
}

struct gt_bpf_map_view gt_instance_view(const struct gt_instance *instance, uint32_t map)
{
	return (struct gt_bpf_map_view){
		.map = &instance->object->maps[map],
		.memory = instance->memory[map],
		.copies = instance->copies[map],
		.grid = &instance->grid,
	};
}

int gt_instance_print(struct gt_instance *instance, struct gt_strbuf *text, uint64_t *ret_lost,
		      struct gt_diag *diag)
{
	struct gt_ring_reader reader;
	int error;

	if (!instance->output)
		return 0;
	error = gt_ring_reader_open(&output_map, instance->output->memory, &reader);
	if (!error) {
		error = gt_ring_reader_print(&reader, text);
		*ret_lost = gt_ring_reader_lost(&reader);
		gt_ring_reader_close(&reader);
	}
	return error ? gt_diag(diag, error, "run", NULL,
			       "cannot read the output of the program: %s", strerror(-error))
		     : 0;
}
