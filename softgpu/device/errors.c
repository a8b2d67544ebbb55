/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/errors.h"

#include <stdlib.h>

#include "base/clean.h"

/* In ascending order, as in the table. */
static const struct sg_error errors[] = {
#define SG_ERROR(value, driver, runtime, text) {value, #driver, #runtime, text},
#define SG_DRIVER_ERROR(value, driver, text) {value, #driver, NULL, text},
#define SG_RUNTIME_ERROR(value, runtime, text) {value, NULL, #runtime, text},
#include "softgpu/errors.def"
};

static int compare(const void *key, const void *entry)
{
	int value = *(const int *)key;
	int other = ((const struct sg_error *)entry)->value;

	return (value > other) - (value < other);
}

const struct sg_error *sg_error_find(int value)
{
	return bsearch(&value, errors, gt_countof(errors), sizeof(errors[0]), compare);
}
