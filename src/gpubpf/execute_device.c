/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Running programs by themselves on a device: translate.h says what the host has to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/execute_private.h"
#include "gpubpf/ring.h"
#include "gpubpf/translate.h"

static const struct gt_bpf_map output_map = {
	.name = "output",
	.type = BPF_MAP_TYPE_RINGBUF,
	.max_entries = GT_OUTPUT_BYTES,
};

/* What is on the device for a run. */
struct run {
	struct gt_execution *execution;
	struct gt_device *device;
	struct gt_module *module;
	struct gt_device_memory *maps; /* those that the program does not use have no size */
	struct gt_device_memory output, memory, results;
	struct gt_diag *diag;
};

static int translate(struct gt_execution *execution, unsigned sm, struct gt_diag *diag)
{
	struct gt_translate_options options = {.form = GT_FORM_KERNEL, .sm = sm};
	struct gt_translate_job job = {
		.program = execution->program,
		.facts = execution->facts,
		.name = "run",
		.section = execution->section,
		.memory_size = execution->memory_size,
	};
	struct gt_translation translation = {0};
	int error = gt_target_ptx.translate(&options, execution->object, &job, &translation, diag);

	if (!error)
		error = gt_target_ptx.finish(&options, &translation, &execution->text, diag);
	gt_translation_clear(&translation);
	if (!error && execution->text.failed)
		error = gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	return error;
}

static int write_symbol(struct run *run, uint64_t address, size_t size, uint64_t memory,
			uint64_t copies)
{
	uint64_t words[2] = {memory, copies};

	if (size != sizeof(words))
		return gt_diag(run->diag, -EINVAL, "run", NULL,
			       "a symbol of the translation has %zu bytes", size);
	return gt_device_write(run->device, address, words, sizeof(words), run->diag);
}

/* Puts a map's memory where the device reaches it, and its address into its symbol. */
static int place_map(struct run *run, const char *symbol, enum gt_device_memory_kind kind,
		     const void *bytes, size_t size, uint64_t copies,
		     struct gt_device_memory *ret_memory)
{
	uint64_t address;
	size_t symbol_size;
	int error = gt_module_symbol(run->module, symbol, &address, &symbol_size, NULL);

	if (error == -ENOENT)
		return 0;
	if (!error)
		error = gt_device_allocate(run->device, kind, size, ret_memory, run->diag);
	if (error)
		return error;
	if (kind == GT_ON_HOST)
		memcpy(ret_memory->host, bytes, size);
	else
		error = gt_device_write(run->device, ret_memory->address, bytes, size, run->diag);
	return error ? error : write_symbol(run, address, symbol_size, ret_memory->address, copies);
}

static int place_maps(struct run *run)
{
	struct gt_execution *execution = run->execution;

	run->maps = calloc(execution->map_count + 1u, sizeof(*run->maps));
	if (!run->maps)
		return gt_diag(run->diag, -ENOMEM, "run", NULL, "out of memory");
	for (uint32_t i = 0; i < execution->map_count; i++) {
		const struct gt_bpf_map *map = &execution->object->maps[i];
		char symbol[32];
		int error;

		if (map->host_only)
			continue;
		snprintf(symbol, sizeof(symbol), "gputap_map_%u", i);
		error = place_map(
			run, symbol, gt_map_place(map) == GT_MAP_SHARED ? GT_ON_HOST : GT_ON_DEVICE,
			execution->map_memory[i], gt_map_bytes(map, execution->map_copies[i]),
			execution->map_copies[i], &run->maps[i]);
		if (error)
			return error;
	}
	return 0;
}

static int place_output(struct run *run)
{
	size_t size = gt_map_bytes(&output_map, 1);
	gt_autofree void *fresh = calloc(size, 1);

	if (!fresh)
		return gt_diag(run->diag, -ENOMEM, "run", NULL, "out of memory");
	gt_map_initialise(&output_map, 1, fresh);
	return place_map(run, "gputap_output", GT_ON_HOST, fresh, size, 1, &run->output);
}

/* The kernel is launched by this thread. */
static int place_thread(struct run *run)
{
	uint64_t thread = gt_execution_thread(), address;
	size_t size;
	int error = gt_module_symbol(run->module, "gputap_pid_tgid", &address, &size, NULL);

	if (error)
		return error == -ENOENT ? 0 : error;
	return gt_device_write(run->device, address, &thread, sizeof(thread), run->diag);
}

static int place_memory(struct run *run)
{
	struct gt_execution *execution = run->execution;
	int error = gt_device_allocate(run->device, GT_ON_DEVICE,
				       ((size_t)execution->memory_size + 7) & ~(size_t)7,
				       &run->memory, run->diag);

	if (!error)
		error = gt_device_write(run->device, run->memory.address, execution->memory,
					execution->memory_size, run->diag);
	if (!error)
		error = gt_device_allocate(run->device, GT_ON_DEVICE,
					   execution->result_count * sizeof(uint64_t),
					   &run->results, run->diag);
	return error;
}

static int launch(struct run *run)
{
	struct gt_execution *execution = run->execution;
	uint64_t memory_size = execution->memory_size;
	/* The parameter `context`: nothing is around the program, and so nothing is in it. */
	uint64_t context[GT_CONTEXT_SIZE / sizeof(uint64_t)] = {0};
	void *arguments[] = {&run->memory.address, &memory_size, &run->results.address, context};
	struct gt_launch kernel = {.kernel = "gputap_run", .arguments = arguments};
	int error;

	memcpy(kernel.grid, execution->grid, sizeof(kernel.grid));
	memcpy(kernel.block, execution->block, sizeof(kernel.block));
	error = gt_module_launch(run->module, &kernel, run->diag);
	return error ? error : gt_device_wait(run->device, execution->time_limit, run->diag);
}

static int read_map(struct run *run, uint32_t number)
{
	struct gt_execution *execution = run->execution;
	const struct gt_device_memory *memory = &run->maps[number];

	if (memory->kind == GT_ON_HOST && memory->size)
		memcpy(execution->map_memory[number], memory->host, memory->size);
	else
		return gt_device_read(run->device, memory->address, execution->map_memory[number],
				      memory->size, run->diag);
	return 0;
}

static int read_back(struct run *run)
{
	struct gt_execution *execution = run->execution;
	int error = gt_device_read(run->device, run->results.address, execution->results,
				   run->results.size, run->diag);

	if (!error)
		error = gt_device_read(run->device, run->memory.address, execution->memory,
				       execution->memory_size, run->diag);
	for (uint32_t i = 0; !error && i < execution->map_count; i++)
		error = execution->object->maps[i].host_only ? 0 : read_map(run, i);
	return error;
}

/* What was printed. The device is done, so all that is there is ready. */
static int read_output(struct run *run)
{
	struct gt_ring_reader reader;
	int error = gt_ring_reader_open(&output_map, run->output.host, &reader);

	if (!error) {
		error = gt_ring_reader_print(&reader, &run->execution->output);
		run->execution->output_lost = gt_ring_reader_lost(&reader);
		gt_ring_reader_close(&reader);
	}
	return error ? gt_diag(run->diag, error, "run", NULL, "what was printed cannot be read: %s",
			       strerror(-error))
		     : 0;
}

static int run_on_device(struct run *run)
{
	int error = gt_module_load(run->device, gt_strbuf_string(&run->execution->text),
				   &run->module, &run->execution->log, run->diag);

	if (!error)
		error = place_maps(run);
	if (!error)
		error = place_output(run);
	if (!error)
		error = place_thread(run);
	if (!error)
		error = place_memory(run);
	if (!error)
		error = launch(run);
	if (error == -ETIME)
		gt_device_abandon(run->device);
	if (!error)
		error = read_back(run);
	if (!error && run->output.host)
		error = read_output(run);
	return error;
}

static void clear(struct run *run)
{
	for (uint32_t i = 0; run->maps && i < run->execution->map_count; i++)
		gt_device_free(run->device, &run->maps[i]);
	free(run->maps);
	gt_device_free(run->device, &run->output);
	gt_device_free(run->device, &run->memory);
	gt_device_free(run->device, &run->results);
	gt_module_free(run->module);
}

int gt_execute_on_device(struct gt_execution *execution, struct gt_device *device,
			 struct gt_diag *diag)
{
	const struct gt_device_info *info = gt_device_info(device);
	struct run run = {.execution = execution, .device = device, .diag = diag};
	int error;

	error = gt_execution_prepare(execution, info->multiprocessors, diag);
	if (!error)
		error = translate(execution, info->sm, diag);
	if (!error)
		error = run_on_device(&run);
	clear(&run);
	return error;
}
