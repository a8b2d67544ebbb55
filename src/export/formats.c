/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/export.h"

const char *const gt_export_weight_names[] = {
	[GT_WEIGHT_CALL_TIME] = "call-time", [GT_WEIGHT_LAUNCHES] = "launches",
	[GT_WEIGHT_BYTES] = "bytes",         [GT_WEIGHT_GPU_TIME] = "gpu-time",
	[GT_EXPORT_WEIGHTS] = NULL,
};

#define FORMAT_OF(identifier) &gt_export_##identifier,
const struct gt_export_format *const gt_export_formats[] = {GT_EXPORT_FORMATS(FORMAT_OF) NULL};

#define NAME_OF(identifier) #identifier,
const char *const gt_export_format_names[] = {GT_EXPORT_FORMATS(NAME_OF) NULL};
