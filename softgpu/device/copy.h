/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copying and setting memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "device/stream.h"
#include "device/work.h"

/* Whether the program declares where source and target are, or the addresses decide. */
enum sg_direction {
	SG_COPY_ANY, /* from the addresses: CU_MEMORYTYPE_UNIFIED, cuMemcpy */
	SG_COPY_HOST_TO_DEVICE,
	SG_COPY_DEVICE_TO_HOST,
	SG_COPY_DEVICE_TO_DEVICE,
};

/*
 * Check a linear copy and prepare its work. CUDA_ERROR_INVALID_VALUE: an address that should be
 * device memory is not, or the copy exceeds the allocation.
 */
CUresult sg_copy_prepare(uint64_t target, uint64_t source, uint64_t size,
			 enum sg_direction direction, struct sg_work *ret_work);
/* The same for CUDA_MEMCPY3D, including arrays. */
CUresult sg_copy_prepare_3d(const CUDA_MEMCPY3D *parameters, struct sg_work *ret_work);

/*
 * Submit a copy. A synchronous one waits, unless only the device accesses its memory. An
 * asynchronous one that reads pageable host memory returns when the memory has been read; one that
 * writes pageable host memory returns when it is done.
 */
CUresult sg_copy_submit(CUstream stream, struct sg_work *work, bool synchronous);

/* Prepare setting device memory: `width` elements of 1, 2 or 4 bytes, `height` rows. */
CUresult sg_set_prepare(uint64_t address, uint64_t pitch, uint32_t value, uint32_t element_size,
			uint64_t width, uint64_t height, struct sg_work *ret_work);

/* For sg_work_run. */
CUresult sg_copy_run(struct sg_copy_work *copy, struct sg_record *record);
CUresult sg_set_run(const struct sg_set_work *set, struct sg_record *record);
CUresult sg_value_run(const struct sg_value_work *value, CUcontext context,
		      struct sg_record *record);
