/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies and memsets by kernels, as of CUDA's device runtime: between device memory only, and in
 * the order of the kernel's launches.
 */
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/memory.h"
#include "exec/engine/nested.h"
#include "exec/ops/ops.h"

/* Of enum cudaMemcpyKind. */
enum { COPY_HOST_TO_DEVICE = 1, COPY_DEVICE_TO_HOST = 2, COPY_KINDS = 5 };

/* struct cudaPitchedPtr, struct cudaExtent and struct cudaPos, struct cudaMemcpy3DParms */
struct device_pitched {
	uint64_t pointer, pitch, width, height;
};

struct device_extent {
	uint64_t x, y, z;
};

struct device_copy_3d {
	uint64_t from_array;
	struct device_extent from_position;
	struct device_pitched from;
	uint64_t to_array;
	struct device_extent to_position;
	struct device_pitched to;
	struct device_extent extent;
	uint32_t kind;
};

/* ---- execution ------------------------------------------------------------------------- */

/* Returns the address of a row. */
static uint64_t row_of(uint64_t base, uint64_t pitch, uint64_t slice, uint64_t y, uint64_t z)
{
	return base + z * slice + y * pitch;
}

static bool execute_row(const struct sg_machine *machine, const struct sg_nested_transfer *transfer,
			uint64_t y, uint64_t z, uint64_t *ret_address)
{
	uint64_t to = row_of(transfer->to, transfer->to_pitch, transfer->to_slice, y, z);
	uint64_t from = row_of(transfer->from, transfer->from_pitch, transfer->from_slice, y, z);

	*ret_address = to;
	if (!sg_memory_check(&machine->memory, to, transfer->width))
		return false;
	if (transfer->is_set) {
		memset((void *)(uintptr_t)to, transfer->value, transfer->width);
		return true;
	}
	*ret_address = from;
	if (!sg_memory_check(&machine->memory, from, transfer->width))
		return false;
	memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, transfer->width);
	return true;
}

bool sg_nested_execute(const struct sg_machine *machine, const struct sg_nested_transfer *transfer,
		       uint64_t *ret_address)
{
	for (uint64_t z = 0; z < transfer->depth; z++)
		for (uint64_t y = 0; y < transfer->height; y++)
			if (!execute_row(machine, transfer, y, z, ret_address))
				return false;
	return true;
}

/* ---- submission ------------------------------------------------------------------------ */

/* The argument `stream` of all of them is the last one. */
static void submit(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		   struct sg_nested_transfer *transfer)
{
	uint64_t stream = sg_call_argument(warp, at, at->call->argument_count - 1, lane);
	enum sg_nested_error error = SG_NESTED_NO_ERROR;

	if (transfer->width && transfer->height && transfer->depth)
		error = sg_nested_submit(warp->grid, transfer, stream);
	sg_nested_return(warp, at, lane, error);
}

static enum sg_nested_error check_kind(uint64_t kind)
{
	return kind == COPY_HOST_TO_DEVICE || kind == COPY_DEVICE_TO_HOST || kind >= COPY_KINDS
		       ? SG_NESTED_INVALID_DIRECTION
		       : SG_NESTED_NO_ERROR;
}

/* Whether a row is longer than the pitch of several rows. */
static bool is_too_wide(const struct sg_nested_transfer *transfer)
{
	bool has_rows = transfer->height > 1 || transfer->depth > 1;

	return has_rows && (transfer->width > transfer->to_pitch ||
			    (!transfer->is_set && transfer->width > transfer->from_pitch));
}

static bool submit_checked(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			   struct sg_nested_transfer *transfer, uint64_t kind)
{
	enum sg_nested_error error = check_kind(kind);

	if (!error && is_too_wide(transfer))
		error = SG_NESTED_INVALID_VALUE;
	if (error)
		sg_nested_return(warp, at, lane, error);
	else
		submit(warp, at, lane, transfer);
	return true;
}

/* cudaMemcpyAsync(to, from, size, kind, stream) */
bool sg_nested_copy(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		    uint64_t *ret_address)
{
	struct sg_nested_transfer copy = {.to = sg_call_argument(warp, at, 0, lane),
					  .from = sg_call_argument(warp, at, 1, lane),
					  .width = sg_call_argument(warp, at, 2, lane),
					  .height = 1,
					  .depth = 1};

	return submit_checked(warp, at, lane, &copy, sg_call_argument(warp, at, 3, lane));
}

/* cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream) */
bool sg_nested_copy_2d(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	struct sg_nested_transfer copy = {.to = sg_call_argument(warp, at, 0, lane),
					  .to_pitch = sg_call_argument(warp, at, 1, lane),
					  .from = sg_call_argument(warp, at, 2, lane),
					  .from_pitch = sg_call_argument(warp, at, 3, lane),
					  .width = sg_call_argument(warp, at, 4, lane),
					  .height = sg_call_argument(warp, at, 5, lane),
					  .depth = 1};

	return submit_checked(warp, at, lane, &copy, sg_call_argument(warp, at, 6, lane));
}

static uint64_t start_of(const struct device_pitched *pitched, const struct device_extent *position)
{
	return row_of(pitched->pointer, pitched->pitch, pitched->pitch * pitched->height,
		      position->y, position->z) +
	       position->x;
}

/* cudaMemcpy3DAsync(parameters, stream) */
bool sg_nested_copy_3d(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	uint64_t address = sg_call_argument(warp, at, 0, lane), pointer;
	struct sg_nested_transfer copy;
	struct device_copy_3d source;

	*ret_address = address;
	pointer = sg_warp_pointer(warp, lane, address, sizeof(source));
	if (!pointer)
		return false;
	memcpy(&source, (const void *)(uintptr_t)pointer, sizeof(source));
	if (source.from_array || source.to_array) {
		sg_nested_return(warp, at, lane, SG_NESTED_INVALID_VALUE);
		return true;
	}
	copy = (struct sg_nested_transfer){
		.to = start_of(&source.to, &source.to_position),
		.to_pitch = source.to.pitch,
		.to_slice = source.to.pitch * source.to.height,
		.from = start_of(&source.from, &source.from_position),
		.from_pitch = source.from.pitch,
		.from_slice = source.from.pitch * source.from.height,
		.width = source.extent.x,
		.height = source.extent.y,
		.depth = source.extent.z,
	};
	return submit_checked(warp, at, lane, &copy, source.kind);
}

/* cudaMemsetAsync(to, value, size, stream) */
bool sg_nested_set(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		   uint64_t *ret_address)
{
	struct sg_nested_transfer set = {.is_set = true,
					 .to = sg_call_argument(warp, at, 0, lane),
					 .value = (uint8_t)sg_call_argument(warp, at, 1, lane),
					 .width = sg_call_argument(warp, at, 2, lane),
					 .height = 1,
					 .depth = 1};

	return submit_checked(warp, at, lane, &set, 0);
}

/* cudaMemset2DAsync(to, pitch, value, width, height, stream) */
bool sg_nested_set_2d(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		      uint64_t *ret_address)
{
	struct sg_nested_transfer set = {.is_set = true,
					 .to = sg_call_argument(warp, at, 0, lane),
					 .to_pitch = sg_call_argument(warp, at, 1, lane),
					 .value = (uint8_t)sg_call_argument(warp, at, 2, lane),
					 .width = sg_call_argument(warp, at, 3, lane),
					 .height = sg_call_argument(warp, at, 4, lane),
					 .depth = 1};

	return submit_checked(warp, at, lane, &set, 0);
}

/* cudaMemset3DAsync(pitched pointer, value, extent, stream) */
bool sg_nested_set_3d(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		      uint64_t *ret_address)
{
	struct device_pitched to = {0};
	struct device_extent extent = {0};
	struct sg_nested_transfer set = {.is_set = true};

	if (at->call->argument_count >= 3) {
		sg_call_read(warp, &at->call->arguments[0], lane, &to, sizeof(to));
		sg_call_read(warp, &at->call->arguments[2], lane, &extent, sizeof(extent));
	}
	set.to = to.pointer;
	set.to_pitch = to.pitch;
	set.to_slice = to.pitch * to.height;
	set.value = (uint8_t)sg_call_argument(warp, at, 1, lane);
	set.width = extent.x;
	set.height = extent.y;
	set.depth = extent.z;
	return submit_checked(warp, at, lane, &set, 0);
}
