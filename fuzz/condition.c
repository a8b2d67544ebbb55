/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any text as a condition of --when: on calls, and on the context of a GPU program. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "gpubpf/filter.h"
#include "session/when.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is parsed can be printed and parsed again, with the same result. */
static void parse_filter(const char *text)
{
	const struct gt_section section = {.kind = GT_KIND_LOAD, .text = "gpu/load"};
	struct gt_bpf_filter filter = {0}, again = {0};
	gt_auto_strbuf printed = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	if (gt_bpf_filter_parse(text, &section, &filter, &diag)) {
		if (!gt_diag_is_set(&diag) || filter.term_count)
			abort();
		return;
	}
	gt_bpf_filter_print(&filter, &printed);
	if (gt_bpf_filter_parse(gt_strbuf_string(&printed), &section, &again, &diag) ||
	    again.term_count != filter.term_count)
		abort();
	for (uint32_t i = 0; i < filter.term_count; i++)
		if (again.terms[i].base != filter.terms[i].base ||
		    again.terms[i].span != filter.terms[i].span)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_event_call call = {.duration = 1000000, .result = 2, .function = UINT32_MAX};
	struct gt_condition conditions[GT_MAX_CONDITIONS] = {0};
	gt_autofree char *text = strndup((const char *)data, size);
	gt_auto(names) struct gt_names *names = gt_names_new();
	gt_auto(when) struct gt_when *when = NULL;
	struct gt_diag diag = {0};
	__u32 count = 0;
	int error;

	if (!text || !names)
		abort();
	error = gt_when_parse(text, &when, &diag);
	if (error ? !gt_diag_is_set(&diag) || when : !when)
		abort();
	if (when) {
		gt_when_kernel_part(when, conditions, &count);
		if (count > GT_MAX_CONDITIONS)
			abort();
		gt_when_holds(when, names, &call);
	}
	parse_filter(text);
	return 0;
}
