/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internals: the driver's functions, and their errors. */
#pragma once

#include "cuda/device.h"

/* Values of CUresult. */
enum {
	GT_CUDA_SUCCESS = 0,
	GT_CUDA_ERROR_OUT_OF_MEMORY = 2,
	GT_CUDA_ERROR_NOT_FOUND = 500,
	GT_CUDA_ERROR_NOT_READY = 600,
};

struct gt_driver_functions {
#define FUNCTION(name, exported, parameters) int(*name) parameters;
#include "cuda/driver.def"
#undef FUNCTION
};

struct gt_driver {
	struct gt_driver_functions call;
	void *library;
	unsigned device_count, version;
};

struct gt_device {
	const struct gt_driver *driver;
	struct gt_device_info info;
	int number; /* CUdevice */
	void *context;
	bool abandoned;
};

/*
 * Converts the result of a driver call: 0, or an error with function and reason in the diag.
 * -ENOENT: not found; -ENOMEM; else -EIO.
 */
int gt_driver_check(const struct gt_driver *driver, int result, const char *function,
		    struct gt_diag *diag);
