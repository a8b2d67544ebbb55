/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Grids that kernels launch. */
#pragma once

#include "exec/engine/engine.h"

/* A copy or memset of rows of bytes; pitch: bytes from row to row, slice: from layer to layer. */
struct sg_nested_transfer {
	uint64_t to, to_pitch, to_slice;
	uint64_t from, from_pitch, from_slice; /* of a copy */
	uint64_t width, height, depth;         /* bytes, rows, layers */
	bool is_set;
	uint8_t value; /* of a memset */
};

/* A launch that a kernel prepared or has made, or a transfer. */
struct sg_nested {
	struct sg_nested *next;
	const struct sg_function *function; /* NULL: a transfer */
	struct sg_nested_transfer transfer;
	struct sg_launch_shape shape;
	uint32_t depth;      /* of the grid; launches by the host's grid have 1 */
	uint64_t buffer;     /* in the heap: the arguments, written by the kernel */
	uint8_t *parameters; /* copied at the launch */
};

/* Of cudaError_t. */
enum sg_nested_error {
	SG_NESTED_NO_ERROR = 0,
	SG_NESTED_INVALID_VALUE = 1,
	SG_NESTED_OUT_OF_MEMORY = 2,
	SG_NESTED_INVALID_CONFIGURATION = 9,
	SG_NESTED_INVALID_DIRECTION = 21,
	SG_NESTED_MAX_DEPTH_EXCEEDED = 65,
	SG_NESTED_PENDING_COUNT_EXCEEDED = 69,
	SG_NESTED_INVALID_FUNCTION = 98,
	SG_NESTED_INVALID_DEVICE = 101,
	SG_NESTED_UNSUPPORTED_LIMIT = 215,
};

/*
 * Executes a call of the device runtime for one lane. False: invalid access at *ret_address. The
 * rows of nested.def.
 */
typedef bool sg_run_nested(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			   uint64_t *ret_address);
sg_run_nested sg_nested_copy, sg_nested_copy_2d, sg_nested_copy_3d;
sg_run_nested sg_nested_set, sg_nested_set_2d, sg_nested_set_3d;
sg_run_nested sg_nested_attribute, sg_nested_limit, sg_nested_device_count, sg_nested_version;
sg_run_nested sg_nested_zero, sg_nested_function_attributes, sg_nested_occupancy;
sg_run_nested sg_nested_error_text, sg_nested_error_name;

/* Returns the kernel at an address of the code window, or NULL. */
const struct sg_function *sg_nested_kernel_at(const struct sg_warp *warp, uint64_t address);
/* Stores a value of a lane, as the calls do that have a result in memory; false: cannot. */
bool sg_nested_store(struct sg_warp *warp, uint32_t lane, uint64_t address, const void *value,
		     size_t size, uint64_t *ret_address);
/* Records an error, which all threads of a grid share, and returns it to the lane. */
void sg_nested_return(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		      enum sg_nested_error error);
/* Appends a transfer to the launches of a grid, in a stream of the device runtime. */
enum sg_nested_error sg_nested_submit(struct sg_grid *grid,
				      const struct sg_nested_transfer *transfer, uint64_t stream);
/* Executes a transfer. False: invalid access at *ret_address. */
bool sg_nested_execute(const struct sg_machine *machine, const struct sg_nested_transfer *transfer,
		       uint64_t *ret_address);

/* Frees a list of them; takes NULL. */
void sg_nested_free(struct sg_nested *nested);
/* Returns the launches of a grid that has ended, in the order in which they run. */
struct sg_nested *sg_nested_take(struct sg_grid *grid);
/* Returns the implementation of a function of the device runtime, or NULL. */
sg_run *sg_nested_find(const char *name);
