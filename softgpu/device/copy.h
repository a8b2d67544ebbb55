/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copying and setting memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "device/stream.h"
#include "device/work.h"

/* Whether the program said where the source and the target are, or leaves it to the addresses. */
enum sg_direction {
	SG_COPY_ANY, /* from the addresses: CU_MEMORYTYPE_UNIFIED, cuMemcpy */
	SG_COPY_HOST_TO_DEVICE,
	SG_COPY_DEVICE_TO_HOST,
	SG_COPY_DEVICE_TO_DEVICE,
};

/*
 * Checks a plain copy and makes it a work. CUDA_ERROR_INVALID_VALUE: what should be memory of
 * the device is not, or the copy runs over its end.
 */
CUresult sg_copy_prepare(uint64_t target, uint64_t source, uint64_t size,
			 enum sg_direction direction, struct sg_work *ret_work);
/* The same for CUDA's general form; arrays too. */
CUresult sg_copy_prepare_3d(const CUDA_MEMCPY3D *parameters, struct sg_work *ret_work);

/*
 * Submits a copy. A synchronous one waits, unless only the device sees its memory. An asynchronous
 * one that reads pageable host memory returns when that was read; one that writes pageable host
 * memory returns when it is done.
 */
CUresult sg_copy_submit(CUstream stream, struct sg_work *work, bool synchronous);

/* Sets memory of the device: width elements of 1, 2 or 4 bytes, height rows. */
CUresult sg_set_prepare(uint64_t address, uint64_t pitch, uint32_t value, uint32_t element_size,
			uint64_t width, uint64_t height, struct sg_work *ret_work);

/* For sg_work_run. */
CUresult sg_copy_run(struct sg_copy_work *copy, struct sg_record *record);
CUresult sg_set_run(const struct sg_set_work *set, struct sg_record *record);
CUresult sg_value_run(const struct sg_value_work *value, CUcontext context,
		      struct sg_record *record);
