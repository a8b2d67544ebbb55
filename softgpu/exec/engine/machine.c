/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The machine: its windows, its worker threads, its settings; faults. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "exec/engine/engine.h"
#include "exec/engine/heap.h"
#include "exec/lanes/lanes.h"

uint64_t sg_machine_clock(const struct sg_machine *machine)
{
	if (machine->host.clock)
		return machine->host.clock(machine->host.user);
	return gt_clock_ns(CLOCK_REALTIME);
}

/* Reserves the windows' addresses without mapping memory. */
static int reserve_windows(struct sg_windows *windows)
{
	uint64_t size = 4 * (uint64_t)SG_WINDOW_SIZE;
	void *start =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		return -ENOMEM;
	windows->shared = (uint64_t)(uintptr_t)start;
	windows->local = windows->shared + SG_WINDOW_SIZE;
	windows->parameter = windows->local + SG_WINDOW_SIZE;
	windows->code = windows->parameter + SG_WINDOW_SIZE;
	windows->end = windows->code + SG_WINDOW_SIZE;
	return 0;
}

static int start_workers(struct sg_machine *machine, uint32_t count)
{
	machine->workers = calloc(count, sizeof(*machine->workers));
	if (!machine->workers)
		return -ENOMEM;
	for (; machine->worker_count < count; machine->worker_count++) {
		int error = pthread_create(&machine->workers[machine->worker_count], NULL,
					   sg_worker_run, machine);

		if (error)
			return -error;
	}
	return 0;
}

static uint32_t online_cpus(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 ? 1 : (uint32_t)count;
}

static int set_up(struct sg_machine *machine, const struct sg_machine_options *options)
{
	int error;

	machine->host = options->host;
	machine->timeout_ns = options->timeout_ns;
	machine->stack_size = SG_DEFAULT_STACK_SIZE;
	machine->lanes = sg_lanes_select();
	machine->multiprocessors =
		options->multiprocessors ? options->multiprocessors : SG_DEFAULT_MULTIPROCESSORS;
	machine->clocks = calloc(machine->multiprocessors, sizeof(*machine->clocks));
	machine->heap = sg_heap_new();
	if (!machine->clocks || !machine->heap)
		return -ENOMEM;
	error = reserve_windows(&machine->windows);
	if (!error)
		error = sg_memory_open(&machine->memory, options->arena_address,
				       options->arena_size);
	if (!error)
		error = sg_textures_open(&machine->textures);
	if (!error)
		error = start_workers(machine, options->workers ? options->workers : online_cpus());
	return error;
}

int sg_machine_new(const struct sg_machine_options *options, struct sg_machine **ret_machine,
		   struct gt_diag *diag)
{
	struct sg_machine *machine = calloc(1, sizeof(*machine));
	int error;

	if (!machine)
		return gt_diag(diag, -ENOMEM, "device", NULL, "no memory for the software device");
	pthread_mutex_init(&machine->lock, NULL);
	pthread_cond_init(&machine->work, NULL);
	error = set_up(machine, options);
	if (error) {
		sg_machine_free(machine);
		return gt_diag(diag, error, "device", NULL, "the software device cannot start: %s",
			       strerror(-error));
	}
	*ret_machine = machine;
	return 0;
}

void sg_machine_free(struct sg_machine *machine)
{
	if (!machine)
		return;
	pthread_mutex_lock(&machine->lock);
	machine->ends = true;
	pthread_cond_broadcast(&machine->work);
	pthread_mutex_unlock(&machine->lock);
	for (uint32_t i = 0; i < machine->worker_count; i++)
		pthread_join(machine->workers[i], NULL);
	free(machine->workers);
	sg_block_free_cache(machine);
	sg_heap_free(machine->heap, &machine->host);
	sg_textures_close(&machine->textures);
	sg_memory_close(&machine->memory);
	if (machine->windows.shared)
		munmap((void *)(uintptr_t)machine->windows.shared,
		       machine->windows.end - machine->windows.shared);
	free(machine->clocks);
	pthread_cond_destroy(&machine->work);
	pthread_mutex_destroy(&machine->lock);
	free(machine);
}

void sg_machine_set_timeout(struct sg_machine *machine, uint64_t timeout_ns)
{
	__atomic_store_n(&machine->timeout_ns, timeout_ns, __ATOMIC_RELAXED);
}

void sg_machine_set_stack_size(struct sg_machine *machine, uint64_t bytes)
{
	__atomic_store_n(&machine->stack_size,
			 bytes > SG_MAX_LOCAL_SIZE ? SG_MAX_LOCAL_SIZE : bytes, __ATOMIC_RELAXED);
}

int sg_machine_set_heap_size(struct sg_machine *machine, uint64_t bytes)
{
	return sg_heap_set_size(machine->heap, bytes);
}

void sg_machine_interrupt(struct sg_machine *machine, bool interrupted)
{
	__atomic_store_n(&machine->interrupted, interrupted, __ATOMIC_RELAXED);
}

/* ---- faults ---------------------------------------------------------------------------- */

static const struct {
	int code;
	const char *text;
} faults[SG_FAULT_COUNT] = {
#define SG_FAULT(id, number, words) [SG_FAULT_##id] = {number, words},
#include "exec/faults.def"
#undef SG_FAULT
};

int sg_fault_code(enum sg_fault_kind kind)
{
	return faults[kind].code;
}

const char *sg_fault_text(enum sg_fault_kind kind)
{
	return faults[kind].text;
}

static void describe(struct sg_fault *fault, const char *words, const struct sg_function *kernel,
		     const struct sg_instruction *at)
{
	size_t used = (size_t)snprintf(fault->text, sizeof(fault->text), "%s", words);
	char *text = fault->text;
	size_t size = sizeof(fault->text);

	used = used < size ? used : size - 1;
	if (fault->kind == SG_FAULT_ILLEGAL_ADDRESS || fault->kind == SG_FAULT_MISALIGNED ||
	    fault->kind == SG_FAULT_INVALID_PC || fault->kind == SG_FAULT_INVALID_TEXTURE)
		used += (size_t)snprintf(text + used, size - used, " at 0x%llx",
					 (unsigned long long)fault->address);
	used = used < size ? used : size - 1;
	used += (size_t)snprintf(text + used, size - used,
				 " in kernel %.100s, block (%u,%u,%u), thread (%u,%u,%u)",
				 kernel->name, fault->block[0], fault->block[1], fault->block[2],
				 fault->thread[0], fault->thread[1], fault->thread[2]);
	used = used < size ? used : size - 1;
	if (at)
		used += (size_t)snprintf(text + used, size - used, ", line %u", fault->line);
	used = used < size ? used : size - 1;
	if (at && strcmp(fault->function, kernel->name) != 0)
		snprintf(text + used, size - used, " in function %.100s", fault->function);
}

const struct sg_instruction *sg_warp_fault_text(struct sg_warp *warp,
						const struct sg_instruction *at,
						enum sg_fault_kind kind, uint32_t lane,
						uint64_t address, const char *text)
{
	struct sg_grid *grid = warp->grid;
	const uint32_t *block = grid->launch.shape.block;
	uint32_t thread = warp->number * SG_WARP_SIZE + lane;
	struct sg_fault fault = {
		.kind = kind,
		.line = at->line,
		.thread = {thread % block[0], thread / block[0] % block[1],
			   thread / block[0] / block[1]},
		.address = address,
	};

	memcpy(fault.block, warp->block->index, sizeof(fault.block));
	snprintf(fault.function, sizeof(fault.function), "%.127s", warp->function->name);
	describe(&fault, text, grid->kernel, at);
	pthread_mutex_lock(&grid->lock);
	if (grid->fault.kind == SG_FAULT_NONE)
		grid->fault = fault;
	pthread_mutex_unlock(&grid->lock);
	__atomic_store_n(&grid->stop, 1, __ATOMIC_RELEASE);
	warp->stop = SG_STOP_FAULT;
	return NULL;
}

const struct sg_instruction *sg_warp_fault(struct sg_warp *warp, const struct sg_instruction *at,
					   enum sg_fault_kind kind, uint32_t lane, uint64_t address)
{
	return sg_warp_fault_text(warp, at, kind, lane, address, faults[kind].text);
}

bool sg_grid_must_stop(struct sg_grid *grid)
{
	bool late;

	if (__atomic_load_n(&grid->stop, __ATOMIC_RELAXED))
		return true;
	late = (grid->deadline && gt_clock_monotonic() >= grid->deadline) ||
	       __atomic_load_n(&grid->machine->interrupted, __ATOMIC_RELAXED);
	if (!late)
		return false;
	pthread_mutex_lock(&grid->lock);
	if (grid->fault.kind == SG_FAULT_NONE) {
		grid->fault.kind = SG_FAULT_TIMEOUT;
		snprintf(grid->fault.function, sizeof(grid->fault.function), "%.127s",
			 grid->kernel->name);
		snprintf(grid->fault.text, sizeof(grid->fault.text), "%s in kernel %.100s",
			 faults[SG_FAULT_TIMEOUT].text, grid->kernel->name);
	}
	pthread_mutex_unlock(&grid->lock);
	__atomic_store_n(&grid->stop, 1, __ATOMIC_RELEASE);
	return true;
}
