/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matrices that are distributed over the lanes of a warp (PTX ISA 9.0, 9.7.14). Values are computed
 * as doubles, which represent the products of every type exactly.
 */
#pragma once

#include "exec/decode/decode.h"

enum {
	SG_MATRIX_ROWS = 32,    /* maximum, of any matrix */
	SG_MATRIX_COLUMNS = 32, /* maximum, of B, C and D */
	SG_MATRIX_INNER = 256,  /* maximum columns of A */
};

enum sg_matrix_role {
	SG_MATRIX_A,
	SG_MATRIX_B,
	SG_MATRIX_C, /* and D */
};

/* The registers that hold a lane's part of a matrix. */
struct sg_fragment {
	uint8_t role; /* enum sg_matrix_role */
	uint8_t type; /* enum gt_ptx_type, of an element */
	uint8_t registers;
	uint8_t linear; /* of wmma: an order that is not specified to programs */
	uint16_t rows, columns;
	uint32_t slots[8];
};

/* The operands of a matrix instruction; its `list` points to one. */
struct sg_matrix_plan {
	struct sg_fragment d, a, b, c;
	uint8_t multiply; /* enum sg_multiply */
	bool saturates;   /* .satfinite */
	bool by_column;   /* load and store: .col */
	bool is_shared;   /* the address is in shared memory */
	bool is_narrow;   /* and has 32 bits */
	bool transposes;  /* ldmatrix, stmatrix: .trans */
};

enum sg_multiply {
	SG_MULTIPLY,
	SG_MULTIPLY_XOR, /* of single bits */
	SG_MULTIPLY_AND,
};

/* Returns the bits of an element in a register or in memory. */
uint32_t sg_element_bits(enum gt_ptx_type type);
/* Returns the elements in one register, of 32 bits, or 64 for .f64. */
uint32_t sg_register_elements(enum gt_ptx_type type);

static inline const struct sg_matrix_plan *sg_matrix_plan_of(const struct sg_instruction *at)
{
	return (const struct sg_matrix_plan *)(const void *)at->list;
}

/*
 * All lanes must be active: otherwise the result is undefined on hardware. False: the turn is over,
 * by a fault, or to wait for lanes that have been overtaken.
 */
bool sg_matrix_is_whole(struct sg_warp *warp, const struct sg_instruction *at);
/* Returns the number of elements that one lane holds. */
uint32_t sg_matrix_elements(const struct sg_fragment *fragment);
/* Returns the row and column of element `index` of a lane. */
void sg_matrix_position(const struct sg_fragment *fragment, uint32_t lane, uint32_t index,
			uint32_t *ret_row, uint32_t *ret_column);
/* Returns element `index` of a lane in the low bits; the others are undefined. */
uint64_t sg_matrix_read(const struct sg_warp *warp, const struct sg_fragment *fragment,
			uint32_t lane, uint32_t index);
void sg_matrix_write(struct sg_warp *warp, const struct sg_fragment *fragment, uint32_t lane,
		     uint32_t index, uint64_t value);

/* ---- decoding -------------------------------------------------------------------------- */

struct sg_matrix_shape {
	enum gt_ptx_modifier_id id;
	uint16_t m, n, k;
};

/* Returns the shape among the modifiers, or NULL. */
const struct sg_matrix_shape *sg_decode_matrix_shape(const struct sg_decoder *decoder);
/* Allocates an empty plan that lives as long as the function; NULL: out of memory. */
struct sg_matrix_plan *sg_decode_matrix_plan(struct sg_decoder *decoder);
/* Reads the registers of operand `index`, a lane's part of a matrix of that shape. */
int sg_decode_fragment(struct sg_decoder *decoder, uint32_t index, bool is_written,
		       enum sg_matrix_role role, enum gt_ptx_type type,
		       const struct sg_matrix_shape *shape, struct sg_fragment *ret_fragment);
