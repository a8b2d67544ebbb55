/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arithmetic of .f16, .bf16 and their pairs, one lane at a time. */
#pragma once

#include <stdint.h>

#include "exec/ops/ops.h"

/* Computes an operation. flags: enum sg_flag. Pairs are computed half by half. */
uint32_t sg_half_compute(enum sg_half_operation operation, enum sg_half format, uint32_t flags,
			 uint32_t a, uint32_t b, uint32_t c);
/* Returns the minimum or maximum as min and max do. flags: NAN, ABS, XORSIGN. */
double sg_min_max(double a, double b, bool smaller, uint32_t flags);
/* Converts exactly. */
double sg_half_to_double(uint16_t bits, bool is_bfloat);
/* Rounds by flags (without: to nearest even); NaN becomes the format's canonical one. */
uint16_t sg_half_from_double(double value, bool is_bfloat, uint32_t flags);
