/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An exported name, a NUL, then the bytes of a call's record: decoded in every form. */
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/layout.h"
#include "event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const struct gt_api_function *function, const struct gt_event_call *event)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&buffer);
	uint64_t number, sizes[GT_API_MAX_SIZES];
	struct gt_api_layout layout;
	struct gt_call_naming naming;
	struct gt_call call;

	gt_api_lay_out(function, GT_MACHINE_HERE, &layout);
	gt_call_decode(&call, &layout, event);
	gt_call_format_entry(&buffer, &call);
	gt_call_format_return(&buffer, &call);
	gt_call_format_arguments(&buffer, &call);
	gt_call_json_arguments(&json, NULL, &call);
	gt_call_json_operation(&json, &call);
	gt_api_format_result(&buffer, function, event->result, true);
	gt_api_failed(function, event->result);
	gt_call_bytes(&call, &number);
	gt_call_list_sizes(&call, sizes);
	gt_call_direction(&call);
	gt_call_naming(&call, &naming);
	for (unsigned i = 0; i <= function->argument_count; i++)
		gt_call_number(&call, i, &number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	/* Of the size of what is given, so that a read past the end is seen. */
	gt_autofree struct gt_event_call *call = NULL;
	size_t rest;
	int number;

	if (!end)
		return 0;
	number = gt_api_find((const char *)data);
	gt_api_library_of((const char *)data);
	rest = (size_t)(data + size - end - 1) & ~(size_t)7;
	if (number < 0 || rest < sizeof(*call) || rest > GT_EVENT_MAX_SIZE)
		return 0;
	call = malloc(rest);
	if (!call)
		abort();
	memcpy(call, end + 1, rest);
	call->head.size = (__u16)rest;
	decode(gt_api_function((unsigned)number), call);
	return 0;
}
