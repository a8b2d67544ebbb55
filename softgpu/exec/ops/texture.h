/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding of instructions on textures and surfaces. */
#pragma once

#include "exec/decode/decode.h"
#include "exec/engine/texture.h"

/* .1d, .a1d … */
struct sg_geometry {
	uint8_t dimensions; /* of the coordinates: 1 to 3, 3 of a cube */
	bool is_cube;
	bool is_layered;
};

/* Read the geometry of a form. False: none, or of several samples. */
bool sg_find_geometry(const struct gt_ptx_form *form, struct sg_geometry *ret_geometry);
/*
 * Decode the texture or surface in `operand`, an address of one item or, with coordinates, of two:
 * the slot of its handle.
 */
int sg_decode_handle(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t index, uint32_t *ret_slot);
/*
 * Decode the first `count` elements of a vector, or a single value, as sources of a type.
 * `operand` may have more elements; `skip`: elements to ignore before them.
 */
int sg_decode_values(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t index, enum gt_ptx_type type, uint32_t skip, uint32_t count,
		     uint32_t *slots);
/* Find the entry of a handle that a lane passes; NULL after a fault. */
const struct sg_texture *sg_find_texture(struct sg_warp *warp, const struct sg_instruction *at,
					 uint32_t lane, uint64_t handle, bool is_surface);
/* Allocate `size` bytes, cleared, that live as long as the function. */
void *sg_decode_plan(struct sg_decoder *decoder, size_t size);
