/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The error codes of both APIs, from softgpu/errors.def. */
#pragma once

struct sg_error {
	int value;
	const char *driver_name;  /* "CUDA_ERROR_OUT_OF_MEMORY"; NULL: the driver API lacks it */
	const char *runtime_name; /* "cudaErrorMemoryAllocation"; NULL: the runtime API lacks it */
	const char *text;         /* "out of memory" */
};

/* Return the error with that value, or NULL. */
const struct sg_error *sg_error_find(int value);
