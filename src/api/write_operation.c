/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a call does, under the same keys for every function. */
#include "api/call.h"

static void write_dimensions(struct gt_json *json, const char *key, const uint32_t dimensions[3])
{
	gt_json_array_begin(json, key);
	for (int i = 0; i < 3; i++)
		gt_json_u64(json, NULL, dimensions[i]);
	gt_json_array_end(json);
}

static void write_launch(struct gt_json *json, const struct gt_call *call)
{
	struct gt_call_launch launch;

	if (!gt_call_launch(call, &launch))
		return;
	write_dimensions(json, "grid", launch.grid);
	write_dimensions(json, "block", launch.block);
	gt_json_u64(json, "shared", launch.shared);
}

static void write_freed(struct gt_json *json, const struct gt_call *call)
{
	int argument = gt_api_freed_argument(call->function);
	uint64_t address;

	if (argument >= 0 && gt_call_number(call, (unsigned)argument, &address))
		gt_json_hex(json, "address", address);
}

static void write_allocated(struct gt_json *json, const struct gt_call *call)
{
	uint64_t number;

	if (gt_call_allocated(call, &number))
		gt_json_hex(json, "address", number);
	if (gt_call_allocated_bytes(call, &number))
		gt_json_u64(json, "bytes", number);
}

static void write_copy(struct gt_json *json, const struct gt_call *call)
{
	struct gt_copy_ends ends;
	uint64_t bytes;

	if (gt_call_copy_ends(call, &ends)) {
		gt_json_hex(json, "destination", ends.target.address);
		gt_json_hex(json, "source", ends.source.address);
	}
	if (gt_call_bytes(call, &bytes))
		gt_json_u64(json, "bytes", bytes);
}

static void write_stream(struct gt_json *json, const struct gt_call *call, uint64_t stream)
{
	const char *label = gt_call_stream_label(call, stream);

	if (label)
		gt_json_string(json, "stream", label);
	else
		gt_json_hex(json, "stream", stream);
}

static bool has_operation(enum gt_api_category category)
{
	return category >= GT_CATEGORY_ALLOC && category <= GT_CATEGORY_LAUNCH;
}

void gt_call_json_operation(struct gt_json *json, const struct gt_call *call)
{
	uint64_t number;

	if (!has_operation(call->function->category))
		return;
	gt_json_string(json, "operation", gt_api_category_name(call->function->category));
	switch (call->function->category) {
	case GT_CATEGORY_LAUNCH:
		write_launch(json, call);
		break;
	case GT_CATEGORY_ALLOC:
		write_allocated(json, call);
		break;
	case GT_CATEGORY_FREE:
		write_freed(json, call);
		break;
	case GT_CATEGORY_COPY:
		write_copy(json, call);
		break;
	case GT_CATEGORY_SET:
		if (gt_call_bytes(call, &number))
			gt_json_u64(json, "bytes", number);
		break;
	default:
		break;
	}
	if (gt_call_stream(call, &number))
		write_stream(json, call, number);
}
