/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a patched module of an earlier run. What is read can be written and read again. */
#include <stdlib.h>
#include <string.h>

#include "run/inject_record.h"

enum {
	PROGRAMS = 2,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_strbuf first = GT_STRBUF_INIT, second = GT_STRBUF_INIT;
	struct gt_inject_stored stored, again;

	if (!gt_inject_stored_parse(data, size, PROGRAMS, &stored)) {
		if (gt_inject_stored_print(&stored, &first) ||
		    gt_inject_stored_parse(first.data, first.length, PROGRAMS, &again) ||
		    gt_inject_stored_print(&again, &second) || first.length != second.length ||
		    memcmp(first.data, second.data, first.length) != 0)
			abort();
		gt_inject_stored_clear(&again);
	}
	gt_inject_stored_clear(&stored);
	return 0;
}
