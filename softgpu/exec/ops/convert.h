/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conversions between numbers as cvt makes them, PTX ISA 9.0, 9.7.9.21. */
#pragma once

#include <stdint.h>

#include "ptx/ptx.h"

enum {
	SG_CONVERT_WHOLE = 1,  /* .rni .rzi .rmi .rpi: to a whole number */
	SG_CONVERT_FINITE = 2, /* .satfinite */
};

/* A number of 8 bits or fewer; type: .e4m3x2 and the like, of which it is one half. */
double sg_small_to_double(uint32_t bits, enum gt_ptx_type type);
/*
 * flags: enum sg_flag, with rounding, .ftz, .sat and .relu. The bits of the result are those of
 * the type, in the low bits.
 */
uint64_t sg_convert(uint64_t bits, enum gt_ptx_type from, enum gt_ptx_type to, uint32_t flags,
		    uint32_t special);
