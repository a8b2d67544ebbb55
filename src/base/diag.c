/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

int gt_diag(struct gt_diag *diag, int error, const char *stage, const char *place,
	    const char *format, ...)
{
	va_list arguments;

	if (!diag || gt_diag_is_set(diag))
		return error;
	snprintf(diag->stage, sizeof(diag->stage), "%s", stage);
	snprintf(diag->place, sizeof(diag->place), "%s", place ? place : "");
	va_start(arguments, format);
	vsnprintf(diag->text, sizeof(diag->text), format, arguments);
	va_end(arguments);
	return error;
}
