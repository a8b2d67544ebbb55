/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Surface instructions: suld, sust and sured (PTX ISA 9.0, 9.7.11). */
#include <errno.h>
#include <string.h>

#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"
#include "exec/ops/texture.h"

enum {
	MAX_ELEMENTS = 4,
	MAX_BYTES = 16, /* of one access */
};

/* What happens to an access outside of the surface. */
enum surface_bounds {
	BOUNDS_TRAP,
	BOUNDS_CLAMP,
	BOUNDS_ZERO, /* loads are 0, stores have no effect */
};

struct surface_plan {
	uint32_t handle;
	uint32_t x, y, z, layer; /* x: bytes, or elements with is_formatted */
	struct sg_geometry geometry;
	uint8_t bounds;
	bool is_atomic;
	bool is_formatted;          /* .p: converted from 32 bits to the surface's format */
	uint8_t size, count, width; /* of an element in memory and in a register; bytes */
	uint32_t values[MAX_ELEMENTS];
};

/* ---- the memory of an access ----------------------------------------------------------- */

static int64_t read_coordinate(const struct sg_warp *warp, uint32_t slot, uint32_t lane)
{
	return (int32_t)sg_read_lane(warp, slot, 4, lane);
}

/* Checks or clamps a coordinate; false: it is outside. */
static bool bound_coordinate(int64_t *coordinate, int64_t last, bool clamps)
{
	if (*coordinate >= 0 && *coordinate <= last)
		return true;
	if (!clamps || last < 0)
		return false;
	*coordinate = *coordinate < 0 ? 0 : last;
	return true;
}

/* Returns the slice that a lane accesses; a negative one is outside. */
static int64_t find_slice(const struct sg_warp *warp, const struct surface_plan *plan,
			  uint32_t lane)
{
	if (plan->geometry.is_layered)
		return read_coordinate(warp, plan->layer, lane);
	return plan->geometry.dimensions == 3 ? read_coordinate(warp, plan->z, lane) : 0;
}

enum surface_result {
	SURFACE_INSIDE,
	SURFACE_OUTSIDE, /* no effect */
	SURFACE_FAULT,
};

/* Finds the memory of `bytes` at the coordinates of a lane. */
static enum surface_result find_memory(struct sg_warp *warp, const struct sg_instruction *at,
				       const struct sg_texture *surface, uint32_t lane,
				       uint32_t bytes, char **ret_memory)
{
	const struct surface_plan *plan = (const struct surface_plan *)(const void *)at->list;
	const struct sg_texture_level *level = &surface->image.levels[0];
	bool clamps = plan->bounds == BOUNDS_CLAMP;
	int64_t x = read_coordinate(warp, plan->x, lane), y = 0;
	int64_t z = find_slice(warp, plan, lane);

	if (plan->geometry.dimensions > 1)
		y = read_coordinate(warp, plan->y, lane);
	x *= plan->is_formatted ? surface->image.element : 1;
	if (!bound_coordinate(&x, (int64_t)level->width * surface->image.element - bytes, clamps) ||
	    !bound_coordinate(&y, (int64_t)level->height - 1, clamps) ||
	    !bound_coordinate(&z, (int64_t)level->slices - 1, clamps)) {
		if (plan->bounds != BOUNDS_TRAP)
			return SURFACE_OUTSIDE;
		sg_warp_fault(warp, at, SG_FAULT_SURFACE_BOUNDS, lane, 0);
		return SURFACE_FAULT;
	}
	*ret_memory = (char *)(uintptr_t)(level->address + (uint64_t)z * level->slice_pitch +
					  (uint64_t)y * level->pitch + (uint64_t)x);
	/* The rows are aligned as the elements of the surface are, which suffices but for atomics.
	 */
	if (x % bytes || (plan->is_atomic && (uintptr_t)*ret_memory % plan->size)) {
		sg_warp_fault(warp, at, SG_FAULT_MISALIGNED, lane, (uintptr_t)*ret_memory);
		return SURFACE_FAULT;
	}
	return SURFACE_INSIDE;
}

/* Formatted stores write an element of the surface. */
static uint32_t bytes_of(const struct surface_plan *plan, const struct sg_texture *surface)
{
	if (plan->is_formatted && !plan->is_atomic)
		return surface->image.element;
	return (uint32_t)plan->size * plan->count;
}

/* Runs `access` for each active lane; memory is NULL where an access has no effect. */
typedef void surface_access(struct sg_warp *warp, const struct sg_instruction *at,
			    const struct sg_texture *surface, uint32_t lane, char *memory);

static const struct sg_instruction *
access_lanes(struct sg_warp *warp, const struct sg_instruction *at, surface_access *access)
{
	const struct surface_plan *plan = (const struct surface_plan *)(const void *)at->list;
	const struct sg_texture *surface = NULL;
	uint64_t known = 0;

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t handle = sg_read_lane(warp, plan->handle, 8, lane);
		char *memory = NULL;

		if (!surface || handle != known)
			surface = sg_find_texture(warp, at, lane, handle, true);
		known = handle;
		if (!surface || find_memory(warp, at, surface, lane, bytes_of(plan, surface),
					    &memory) == SURFACE_FAULT)
			return NULL;
		access(warp, at, surface, lane, memory);
	}
	return at + 1;
}

/* ---- loads and stores ------------------------------------------------------------------ */

static void load_lane(struct sg_warp *warp, const struct sg_instruction *at,
		      const struct sg_texture *surface, uint32_t lane, char *memory)
{
	const struct surface_plan *plan = (const struct surface_plan *)(const void *)at->list;

	(void)surface;
	for (uint32_t i = 0; i < plan->count; i++) {
		uint64_t value = 0;

		if (memory)
			memcpy(&value, memory + i * plan->size, plan->size);
		memcpy(warp->frame + plan->values[i] + lane * plan->width, &value, plan->width);
	}
}

static void store_lane(struct sg_warp *warp, const struct sg_instruction *at,
		       const struct sg_texture *surface, uint32_t lane, char *memory)
{
	const struct surface_plan *plan = (const struct surface_plan *)(const void *)at->list;

	(void)surface;
	for (uint32_t i = 0; i < plan->count && memory; i++) {
		uint64_t value = sg_read_lane(warp, plan->values[i], plan->width, lane);

		memcpy(memory + i * plan->size, &value, plan->size);
	}
}

/* Converts 32 bits of a register to a channel; integers are truncated. */
static uint32_t format_channel(enum sg_channel channel, uint32_t bits)
{
	if (channel == SG_CHANNEL_HALF)
		return sg_half_from_double(sg_float_f32(bits), false, 0);
	return bits;
}

static void store_formatted(struct sg_warp *warp, const struct sg_instruction *at,
			    const struct sg_texture *surface, uint32_t lane, char *memory)
{
	const struct surface_plan *plan = (const struct surface_plan *)(const void *)at->list;
	uint32_t size = surface->image.element / surface->image.channels;

	for (uint32_t i = 0; i < surface->image.channels && memory; i++) {
		uint32_t bits = i < plan->count
					? (uint32_t)sg_read_lane(warp, plan->values[i], 4, lane)
					: 0;

		bits = format_channel((enum sg_channel)surface->image.channel, bits);
		memcpy(memory + i * size, &bits, size);
	}
}

static void reduce_lane(struct sg_warp *warp, const struct sg_instruction *at,
			const struct sg_texture *surface, uint32_t lane, char *memory)
{
	const struct surface_plan *plan = (const struct surface_plan *)(const void *)at->list;
	struct sg_instruction change = *at;

	/* sured.p takes the sign from the surface. */
	if (plan->is_formatted && surface->image.channel == SG_CHANNEL_SINT32)
		change.space = GT_PTX_TYPE_S32;
	if (memory)
		sg_atomic_change(&change, memory, false,
				 sg_read_lane(warp, plan->values[0], plan->width, lane), 0);
}

static const struct sg_instruction *run_load(struct sg_warp *warp, const struct sg_instruction *at)
{
	return access_lanes(warp, at, load_lane);
}

static const struct sg_instruction *run_store(struct sg_warp *warp, const struct sg_instruction *at)
{
	return access_lanes(warp, at, store_lane);
}

static const struct sg_instruction *run_format(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	return access_lanes(warp, at, store_formatted);
}

static const struct sg_instruction *run_reduce(struct sg_warp *warp,
					       const struct sg_instruction *at)
{
	return access_lanes(warp, at, reduce_lane);
}

/* ---- decoding -------------------------------------------------------------------------- */

static bool find_bounds(const struct gt_ptx_form *form, struct surface_plan *plan)
{
	if (gt_ptx_form_has(form, GT_PTX_MOD_TRAP))
		plan->bounds = BOUNDS_TRAP;
	else if (gt_ptx_form_has(form, GT_PTX_MOD_CLAMP))
		plan->bounds = BOUNDS_CLAMP;
	else if (gt_ptx_form_has(form, GT_PTX_MOD_ZERO))
		plan->bounds = BOUNDS_ZERO;
	else
		return false;
	return true;
}

/* [surface, coordinates] */
static int decode_place(struct sg_decoder *decoder, uint32_t index, struct surface_plan *plan)
{
	const struct gt_ptx_operand *operand = sg_decode_operand(decoder, index);
	uint32_t skip = plan->geometry.is_layered, count = plan->geometry.dimensions;
	uint32_t coordinates[3] = {0};
	int error;

	if (!operand || operand->kind != GT_PTX_OPERAND_ADDRESS || operand->count != 2)
		return sg_decode_bad_operand(decoder, index);
	error = sg_decode_handle(decoder, operand, index, &plan->handle);
	if (!error && skip)
		error = sg_decode_values(decoder, &operand->items[1], index, GT_PTX_TYPE_U32, 0, 1,
					 &plan->layer);
	if (!error)
		error = sg_decode_values(decoder, &operand->items[1], index, GT_PTX_TYPE_S32, skip,
					 count, coordinates);
	plan->x = coordinates[0];
	plan->y = coordinates[1];
	plan->z = coordinates[2];
	return error;
}

static int decode_elements(struct sg_decoder *decoder, uint32_t index, bool is_load,
			   struct surface_plan *plan)
{
	enum gt_ptx_type type = sg_decode_type(decoder);
	const struct gt_ptx_operand *items[SG_MAX_ELEMENTS];
	uint32_t count, width;
	int error = sg_decode_elements(decoder, index, items, &count);

	if (!error && count != plan->count)
		error = sg_decode_bad_operand(decoder, index);
	plan->width = 0;
	for (uint32_t i = 0; i < plan->count && !error; i++) {
		error = is_load ? sg_decode_destination_operand(decoder, items[i], index, type,
								true, &plan->values[i], &width)
				: sg_decode_source_operand(decoder, items[i], index, type, true,
							   &plan->values[i], &width);
		if (!error && items[i]->kind == GT_PTX_OPERAND_SINK)
			continue;
		if (!error && (width > 8 || (plan->width && plan->width != width)))
			error = sg_decode_bad_operand(decoder, index);
		plan->width = (uint8_t)width;
	}
	if (!plan->width)
		plan->width = (uint8_t)sg_type_width(type);
	return error;
}

/* Finds how a reduction changes memory. */
static bool find_reduction(const struct gt_ptx_form *form, bool is_formatted,
			   struct sg_instruction *step)
{
	enum gt_ptx_type type = form->types[0];
	enum sg_atomic operation;

	if (!sg_find_atomic(form, &operation) || form->vector > 1)
		return false;
	if (is_formatted && type == GT_PTX_TYPE_B32)
		type = GT_PTX_TYPE_U32;
	step->selector = (uint8_t)operation;
	step->space = (uint8_t)type;
	step->size = (uint8_t)(gt_ptx_type_info(type)->bits / 8);
	return sg_has_atomic(operation, type) &&
	       (step->size == sizeof(uint32_t) || step->size == sizeof(uint64_t));
}

int sg_decode_surface(struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	struct surface_plan *plan = sg_decode_plan(decoder, sizeof(*plan));
	bool is_load = form->opcode == GT_PTX_OP_SULD;
	bool is_reduction = form->opcode == GT_PTX_OP_SURED;
	struct sg_instruction step = {.list = (const uint32_t *)(const void *)plan};
	uint32_t bits;
	int error;

	if (!plan)
		return -ENOMEM;
	bits = form->type_count == 1 ? gt_ptx_type_info(form->types[0])->bits : 0;
	plan->is_formatted = gt_ptx_form_has(form, GT_PTX_MOD_P);
	plan->is_atomic = is_reduction;
	if (bits < 8 || bits > 64 || form->vector * bits / 8 > MAX_BYTES ||
	    form->vector > MAX_ELEMENTS || !find_bounds(form, plan) ||
	    !sg_find_geometry(form, &plan->geometry) || plan->geometry.is_cube ||
	    plan->is_formatted == gt_ptx_form_has(form, GT_PTX_MOD_B) ||
	    (plan->is_formatted && (is_load || bits != 32)) ||
	    (is_reduction && !find_reduction(form, plan->is_formatted, &step)))
		return sg_decode_bad_form(decoder);
	plan->size = (uint8_t)(bits / 8);
	plan->count = (uint8_t)form->vector;
	error = decode_place(decoder, is_load, plan);
	if (!error)
		error = decode_elements(decoder, !is_load, is_load, plan);
	if (error)
		return error;
	return sg_decode_emit_step(decoder,
				   is_load              ? run_load
				   : is_reduction       ? run_reduce
				   : plan->is_formatted ? run_format
							: run_store,
				   &step);
}
