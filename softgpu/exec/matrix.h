/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matrices that the lanes of a warp hold together, PTX ISA 9.0, 9.7.14: what a decoded instruction
 * says of them. Values are computed as doubles, which hold the products of every type exactly.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

enum {
	SG_MATRIX_ROWS = 32,    /* most, of any matrix */
	SG_MATRIX_COLUMNS = 32, /* most of B, C and D */
	SG_MATRIX_INNER = 256,  /* most columns of A */
};

enum sg_matrix_role {
	SG_MATRIX_A,
	SG_MATRIX_B,
	SG_MATRIX_C, /* and D */
};

/* The registers of a lane with its part of a matrix. */
struct sg_fragment {
	uint8_t role; /* enum sg_matrix_role */
	uint8_t type; /* enum gt_ptx_type, of an element */
	uint8_t registers;
	uint8_t linear; /* of wmma: in an order of our own, since programs may not know it */
	uint16_t rows, columns;
	uint32_t slots[8];
};

/* list of an instruction points to one; d and c, a, b, as the instruction has them. */
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
	SG_MULTIPLY_XOR, /* of one bit */
	SG_MULTIPLY_AND,
};

/* Bits of an element in a register or in memory. */
uint32_t sg_element_bits(enum gt_ptx_type type);
/* Elements in one register: 32 bits, of .f64 64. */
uint32_t sg_register_elements(enum gt_ptx_type type);
