/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The PTX in the images that programs load. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

#include "base/diag.h"
#include "base/vec.h"

struct sg_image_text {
	char *text; /* owned; NUL-terminated */
	size_t length;
};

struct sg_image {
	GT_VEC(struct sg_image_text) texts;
	bool is_newer;          /* the PTX is for an architecture above this device's */
	uint32_t max_registers; /* the lowest -maxrregcount that it was compiled with; 0: none */
};

/* Note one more limit of registers. 0: none. */
static inline void sg_image_limit_registers(struct sg_image *image, uint32_t limit)
{
	if (limit && (!image->max_registers || limit < image->max_registers))
		image->max_registers = limit;
}

/*
 * Finds the PTX in an image: PTX text, a fatbin, a fatbin's wrapper (version 2: the fatbins that it
 * lists). size 0: unknown. Of each fatbin the PTX for the highest architecture that this device
 * runs is taken; where there is none, the PTX that cubins with line information carry; else that
 * for the next architecture, if there is a cubin for this device. CUDA_ERROR_NO_BINARY_FOR_GPU:
 * there is none; CUDA_ERROR_INVALID_IMAGE: it is malformed, or no device code.
 */
CUresult sg_image_read(const void *image, size_t size, struct sg_image *ret_image,
		       struct gt_diag *diag);
void sg_image_free(struct sg_image *image);
