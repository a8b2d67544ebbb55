/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The PTX in host objects with device code, and in archives of them. */
#pragma once

#include <stdbool.h>

#include "device/image.h"

/* Whether code is the cubin of libcudadevrt: of its own kernels alone. */
bool sg_is_device_runtime(const void *code, size_t size);

/*
 * Appends the PTX of an object (.o) or an archive (.a) to the image's texts; members
 * without device code are skipped, and so is libcudadevrt, whose functions the device has itself.
 * CUDA_ERROR_NO_BINARY_FOR_GPU: a member has only SASS; CUDA_ERROR_INVALID_IMAGE: malformed. *diag
 * has the member's name.
 */
CUresult sg_archive_read(const void *data, size_t size, struct sg_image *image,
			 struct gt_diag *diag);
