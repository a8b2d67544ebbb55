/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The dimensions of copies: make_cudaExtent and the like. */
#pragma once

#include "driver_types.h"

static __inline__ struct cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch,
							    size_t width, size_t height)
{
	struct cudaPitchedPtr pitched = {pointer, pitch, width, height};

	return pitched;
}

static __inline__ struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
	struct cudaPos position = {x, y, z};

	return position;
}

static __inline__ struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
	struct cudaExtent extent = {width, height, depth};

	return extent;
}
