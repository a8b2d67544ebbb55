/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/report.h"

#include <stdio.h>

#include "device/device.h"
#include "device/errors.h"

void sg_report_fault(const char *text)
{
	if (sg_state.config.verbose)
		fprintf(stderr, "softgpu: %s\n", text);
}

static void report(int error, const char *place, const char *text)
{
	const struct sg_error *row = sg_error_find(error);

	if (sg_state.config.verbose)
		fprintf(stderr, "softgpu: %s (%d): %s%s%s\n",
			row && row->driver_name ? row->driver_name : "error", error, place,
			place[0] ? ": " : "", text);
}

void sg_report_error(int error, const struct gt_diag *diag)
{
	if (gt_diag_is_set(diag))
		report(error, diag->place, diag->text);
}

int sg_unsupported(const char *function)
{
	char text[128];

	snprintf(text, sizeof(text), "%s is not supported", function);
	report(CUDA_ERROR_NOT_SUPPORTED, "", text);
	return CUDA_ERROR_NOT_SUPPORTED;
}
