/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conversions between numeric types by cvt (PTX ISA 9.0, 9.7.9.21). */
#pragma once

#include <stdint.h>

#include "ptx/ptx.h"

enum {
	SG_CONVERT_WHOLE = 1,  /* .rni .rzi .rmi .rpi: round to an integral value */
	SG_CONVERT_FINITE = 2, /* .satfinite */
};

/* Converts a value of at most 8 bits; type: the pair of which it is one half, e.g. .e4m3x2. */
double sg_small_to_double(uint32_t bits, enum gt_ptx_type type);
/*
 * Converts a value. flags: enum sg_flag (rounding, .ftz, .sat, .relu); special: SG_CONVERT_…. The
 * result is in the low bits.
 */
uint64_t sg_convert(uint64_t bits, enum gt_ptx_type from, enum gt_ptx_type to, uint32_t flags,
		    uint32_t special);
