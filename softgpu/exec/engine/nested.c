/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA's device runtime: launches by kernels (dynamic parallelism), values of conditional nodes.
 * Names and parameters of the functions are those of the PTX that nvcc 13 generates.
 *
 * A grid's launches begin when all its blocks have ended, in the order of the launches, each after
 * the launches of its predecessor; those of the tail stream come last. Every program must allow
 * for this order, since a kernel cannot wait for a grid that it launched.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/heap.h"
#include "exec/engine/nested.h"
#include "exec/ops/ops.h"

enum {
	MAX_DEPTH = 24,         /* of launches within launches, as on hardware */
	MAX_LAUNCHES = 1 << 20, /* of one grid */
	TAIL_STREAM = 3,        /* cudaStreamTailLaunch */
	SOME_HANDLE =
		16, /* of streams and events, which have no effect: all work is in one order */
};

static const struct sg_instruction *run_lanes(struct sg_warp *warp, const struct sg_instruction *at,
					      sg_run_nested *run)
{
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t address = 0;

		if (!run(warp, at, lane, &address))
			return sg_warp_fault(warp, at, SG_FAULT_ILLEGAL_ADDRESS, lane, address);
	}
	return at + 1;
}

bool sg_nested_store(struct sg_warp *warp, uint32_t lane, uint64_t address, const void *value,
		     size_t size, uint64_t *ret_address)
{
	uint64_t pointer = sg_warp_pointer(warp, lane, address, size);

	*ret_address = address;
	if (pointer)
		memcpy((void *)(uintptr_t)pointer, value, size);
	return pointer != 0;
}

/* All threads of a grid share the last error. */
static void set_error(struct sg_grid *grid, uint32_t error)
{
	if (error)
		__atomic_store_n(&grid->launch_error, error, __ATOMIC_RELAXED);
}

void sg_nested_return(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		      enum sg_nested_error error)
{
	set_error(warp->grid, error);
	sg_call_return(warp, at, lane, error);
}

/* ---- launches -------------------------------------------------------------------------- */

const struct sg_function *sg_nested_kernel_at(const struct sg_warp *warp, uint64_t address)
{
	const struct sg_module *module = warp->function->module;
	uint64_t offset = address - warp->machine->windows.code;
	uint64_t number = offset / SG_CODE_STRIDE - module->first_address_number;

	if (offset % SG_CODE_STRIDE || number < module->first_kernel ||
	    number >= module->functions.count)
		return NULL;
	return module->functions.items[number];
}

void sg_nested_free(struct sg_nested *nested)
{
	while (nested) {
		struct sg_nested *next = nested->next;

		free(nested->parameters);
		free(nested);
		nested = next;
	}
}

/* Reads a dim3 argument; false: it is invalid. */
static bool read_shape(const struct sg_warp *warp, const struct sg_instruction *at, uint32_t index,
		       uint32_t lane, uint32_t ret_shape[3])
{
	if (index >= at->call->argument_count || at->call->arguments[index].size != 12)
		return false;
	sg_call_read(warp, &at->call->arguments[index], lane, ret_shape, 12);
	return ret_shape[0] && ret_shape[1] && ret_shape[2];
}

static bool count_launch(struct sg_grid *grid)
{
	return __atomic_fetch_add(&grid->nested_count, 1, __ATOMIC_RELAXED) < MAX_LAUNCHES;
}

static uint32_t prepare(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			uint64_t *ret_buffer)
{
	struct sg_grid *grid = warp->grid;
	struct sg_nested nested = {
		.function = sg_nested_kernel_at(warp, sg_call_argument(warp, at, 0, lane))};
	struct sg_nested *kept;

	if (!nested.function)
		return SG_NESTED_INVALID_FUNCTION;
	if (!read_shape(warp, at, 1, lane, nested.shape.grid) ||
	    !read_shape(warp, at, 2, lane, nested.shape.block))
		return SG_NESTED_INVALID_CONFIGURATION;
	if (grid->depth >= MAX_DEPTH)
		return SG_NESTED_MAX_DEPTH_EXCEEDED;
	if (!count_launch(grid))
		return SG_NESTED_PENDING_COUNT_EXCEEDED;
	nested.shape.dynamic_shared = (uint32_t)sg_call_argument(warp, at, 3, lane);
	nested.buffer = sg_heap_allocate(warp->machine->heap, &warp->machine->host,
					 nested.function->parameter_size + 1);
	kept = nested.buffer ? malloc(sizeof(*kept)) : NULL;
	if (!kept) {
		if (nested.buffer)
			sg_heap_release(warp->machine->heap, nested.buffer);
		return SG_NESTED_OUT_OF_MEMORY;
	}
	*kept = nested;
	pthread_mutex_lock(&grid->lock);
	kept->next = grid->prepared;
	grid->prepared = kept;
	pthread_mutex_unlock(&grid->lock);
	*ret_buffer = nested.buffer;
	return SG_NESTED_NO_ERROR;
}

/* cudaGetParameterBufferV2(kernel, grid, block, shared): a buffer for the arguments */
static bool run_prepare(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			uint64_t *ret_address)
{
	uint64_t buffer = 0;

	set_error(warp->grid, prepare(warp, at, lane, &buffer));
	sg_call_return(warp, at, lane, buffer);
	return true;
}

static struct sg_nested *take_prepared(struct sg_grid *grid, uint64_t buffer)
{
	struct sg_nested **link = &grid->prepared, *found;

	pthread_mutex_lock(&grid->lock);
	while (*link && (*link)->buffer != buffer)
		link = &(*link)->next;
	found = *link;
	if (found) {
		*link = found->next;
		found->next = NULL;
	}
	pthread_mutex_unlock(&grid->lock);
	return found;
}

/* Appends to the launches of a grid: those in the tail stream come last. */
static void append_launch(struct sg_grid *grid, struct sg_nested *nested, uint64_t stream)
{
	struct sg_nested_list *list =
		stream == TAIL_STREAM ? &grid->tail_launches : &grid->launches;

	pthread_mutex_lock(&grid->lock);
	if (list->last)
		list->last->next = nested;
	else
		list->first = nested;
	list->last = nested;
	pthread_mutex_unlock(&grid->lock);
}

enum sg_nested_error sg_nested_submit(struct sg_grid *grid,
				      const struct sg_nested_transfer *transfer, uint64_t stream)
{
	struct sg_nested *nested;

	if (!count_launch(grid))
		return SG_NESTED_PENDING_COUNT_EXCEEDED;
	nested = calloc(1, sizeof(*nested));
	if (!nested)
		return SG_NESTED_OUT_OF_MEMORY;
	nested->transfer = *transfer;
	append_launch(grid, nested, stream);
	return SG_NESTED_NO_ERROR;
}

static enum sg_nested_error launch(struct sg_grid *grid, uint64_t buffer, uint64_t stream)
{
	struct sg_nested *nested = take_prepared(grid, buffer);

	if (!nested)
		return SG_NESTED_INVALID_VALUE;
	nested->parameters = malloc(nested->function->parameter_size + 1);
	if (nested->parameters)
		memcpy(nested->parameters, (const void *)(uintptr_t)buffer,
		       nested->function->parameter_size);
	sg_heap_release(grid->machine->heap, buffer);
	if (!nested->parameters) {
		sg_nested_free(nested);
		return SG_NESTED_OUT_OF_MEMORY;
	}
	append_launch(grid, nested, stream);
	return SG_NESTED_NO_ERROR;
}

/* cudaLaunchDeviceV2(buffer, stream) */
static bool run_launch(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	sg_nested_return(warp, at, lane,
			 launch(warp->grid, sg_call_argument(warp, at, 0, lane),
				sg_call_argument(warp, at, 1, lane)));
	return true;
}

struct sg_nested *sg_nested_take(struct sg_grid *grid)
{
	struct sg_nested *first = grid->launches.first;

	/* Buffers without a launch. */
	for (struct sg_nested *left = grid->prepared; left; left = left->next)
		sg_heap_release(grid->machine->heap, left->buffer);
	sg_nested_free(grid->prepared);
	grid->prepared = NULL;
	if (grid->launches.last)
		grid->launches.last->next = grid->tail_launches.first;
	else
		first = grid->tail_launches.first;
	grid->launches = grid->tail_launches = (struct sg_nested_list){0};
	return first;
}

/* ---- other functions of the runtime ---------------------------------------------------- */

static bool run_take_error(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			   uint64_t *ret_address)
{
	sg_call_return(warp, at, lane,
		       __atomic_exchange_n(&warp->grid->launch_error, SG_NESTED_NO_ERROR,
					   __ATOMIC_RELAXED));
	return true;
}

static bool run_peek_error(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			   uint64_t *ret_address)
{
	sg_call_return(warp, at, lane,
		       __atomic_load_n(&warp->grid->launch_error, __ATOMIC_RELAXED));
	return true;
}

/* cudaStreamCreateWithFlags(stream, flags), cudaEventCreateWithFlags(event, flags) */
static bool run_create(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	const uint64_t handle = SOME_HANDLE;

	sg_call_return(warp, at, lane, SG_NESTED_NO_ERROR);
	return sg_nested_store(warp, lane, sg_call_argument(warp, at, 0, lane), &handle,
			       sizeof(handle), ret_address);
}

/* Destroying and recording them, and waiting: no effect, since all work is in one order. */
static bool run_nothing(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			uint64_t *ret_address)
{
	sg_call_return(warp, at, lane, SG_NESTED_NO_ERROR);
	return true;
}

/* cudaGetDevice(device) */
static bool run_device(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	const uint32_t device = warp->grid->launch.device;

	sg_call_return(warp, at, lane, SG_NESTED_NO_ERROR);
	return sg_nested_store(warp, lane, sg_call_argument(warp, at, 0, lane), &device,
			       sizeof(device), ret_address);
}

/* cudaMalloc(pointer, size) */
static bool run_malloc(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	uint64_t memory = sg_heap_allocate(warp->machine->heap, &warp->machine->host,
					   sg_call_argument(warp, at, 1, lane));

	sg_call_return(warp, at, lane, memory ? SG_NESTED_NO_ERROR : SG_NESTED_OUT_OF_MEMORY);
	return sg_nested_store(warp, lane, sg_call_argument(warp, at, 0, lane), &memory,
			       sizeof(memory), ret_address);
}

static bool run_free(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		     uint64_t *ret_address)
{
	uint64_t memory = sg_call_argument(warp, at, 0, lane);
	bool good = !memory || sg_heap_release(warp->machine->heap, memory);

	sg_call_return(warp, at, lane, good ? SG_NESTED_NO_ERROR : SG_NESTED_INVALID_VALUE);
	return true;
}

/* cudaGraphSetConditional(handle, value) */
static bool run_set_condition(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			      uint64_t *ret_address)
{
	const struct sg_host *host = &warp->machine->host;

	*ret_address = sg_call_argument(warp, at, 0, lane);
	return host->set_condition &&
	       host->set_condition(host->user, *ret_address,
				   (uint32_t)sg_call_argument(warp, at, 1, lane));
}

/* Decoded instructions need a function of type sg_run for each name. */
#define SG_NESTED(name, run)                                                                       \
	static const struct sg_instruction *step_##name(struct sg_warp *warp,                      \
							const struct sg_instruction *at)           \
	{                                                                                          \
		return run_lanes(warp, at, run);                                                   \
	}
#include "exec/engine/nested.def"
#undef SG_NESTED

static const struct {
	const char *name;
	sg_run *run;
} functions[] = {
#define SG_NESTED(name, run) {#name, step_##name},
#include "exec/engine/nested.def"
#undef SG_NESTED
};

sg_run *sg_nested_find(const char *name)
{
	char renamed[64];

	for (size_t i = 0; i < gt_countof(functions); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].run;
	/* Compilers other than nvcc use the names of the API. */
	if (strncmp(name, "cuda", 4) != 0 || strlen(name) > sizeof(renamed) - 16)
		return NULL;
	snprintf(renamed, sizeof(renamed), "__cudaCDP2%s", name + 4);
	return sg_nested_find(renamed);
}
