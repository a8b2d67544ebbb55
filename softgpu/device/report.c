/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/report.h"

#include "base/strbuf.h"
#include "device/device.h"
#include "device/errors.h"
#include "report_line.h"

void sg_report_fault(const char *text)
{
	sg_report_line(sg_state.config.verbose, sg_state.config.reports, text);
}

static void report(int error, const char *place, const char *text)
{
	const struct sg_error *row = sg_error_find(error);
	gt_auto_strbuf line = GT_STRBUF_INIT;

	gt_strbuf_printf(&line, "%s (%d): %s%s%s",
			 row && row->driver_name ? row->driver_name : "error", error, place,
			 place[0] ? ": " : "", text);
	sg_report_fault(gt_strbuf_string(&line));
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
