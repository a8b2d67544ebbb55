/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any text as a condition of --when. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "probe/api/condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_event_call call = {.duration = 1000000, .result = 2};
	struct gt_condition conditions[GT_MAX_CONDITIONS] = {0};
	gt_autofree char *text = strndup((const char *)data, size);
	struct gt_diag diag = {0};
	__u32 count = 0;
	int error;

	if (!text)
		abort();
	error = gt_conditions_parse(text, conditions, &count, &diag);
	if (error ? !gt_diag_is_set(&diag) || count : !count || count > GT_MAX_CONDITIONS)
		abort();
	gt_conditions_hold(conditions, count, &call);
	return 0;
}
