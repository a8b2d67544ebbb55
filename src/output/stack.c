/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/stack.h"

/* Called for each frame of a caller: one, or those that were inlined there, too. */
typedef void (*frame_taker)(void *context, const struct gt_location *location,
			    const struct gt_frame *frame, __u64 address);

static void each_frame(const struct gt_names *names, __u32 process, __u64 stack, frame_taker take,
		       void *context)
{
	size_t count = 0;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);

	for (size_t i = 0; addresses && i < count; i++) {
		struct gt_location location;

		gt_names_location(names, process, addresses[i], true, &location);
		if (!location.frame_count)
			take(context, &location, NULL, addresses[i]);
		for (size_t frame = 0; frame < location.frame_count; frame++)
			take(context, &location, &location.frames[frame], addresses[i]);
	}
}

struct lines {
	struct gt_strbuf *text;
	int column;
};

static void put_frame(void *context, const struct gt_location *location,
		      const struct gt_frame *frame, __u64 address)
{
	struct lines *lines = context;

	gt_strbuf_printf(lines->text, "%*sat ", lines->column, "");
	gt_put_frame(lines->text, location, frame, address);
	gt_strbuf_putc(lines->text, '\n');
}

void gt_put_stack(struct gt_strbuf *text, const struct gt_names *names, __u32 process, __u64 stack,
		  int column)
{
	each_frame(names, process, stack, put_frame, &(struct lines){text, column});
	if (gt_names_stack_is_cut(names, process, stack))
		gt_strbuf_printf(text, "%*s… called from further out\n", column, "");
}

static void json_frame(void *context, const struct gt_location *location,
		       const struct gt_frame *frame, __u64 address)
{
	struct gt_json *json = context;

	gt_json_object_begin(json, NULL);
	gt_json_hex(json, "address", address);
	if (location->path)
		gt_json_string(json, "module", location->path);
	if (frame && frame->function)
		gt_json_string(json, "function", frame->function);
	if (frame && frame->file) {
		gt_json_string(json, "file", frame->file);
		gt_json_u64(json, "line", frame->line);
	}
	if (frame && frame->inlined)
		gt_json_bool(json, "inlined", true);
	gt_json_object_end(json);
}

void gt_json_stack(struct gt_json *json, const char *key, const struct gt_names *names,
		   __u32 process, __u64 stack)
{
	if (!stack) {
		gt_json_null(json, key);
		return;
	}
	gt_json_object_begin(json, key);
	gt_json_hex(json, "id", stack);
	gt_json_array_begin(json, "frames");
	each_frame(names, process, stack, json_frame, json);
	gt_json_array_end(json);
	if (gt_names_stack_is_cut(names, process, stack))
		gt_json_bool(json, "cut", true);
	gt_json_object_end(json);
}
