/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/stack.h"

#include "analysis/analysis.h"
#include "names/python.h"

void gt_stack_each_frame(const struct gt_names *names, __u32 process, __u64 stack,
			 gt_frame_taker take, void *context)
{
	size_t wrappers = gt_stack_wrappers(names, process, stack);
	size_t count = 0, number = 0;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);

	for (size_t i = 0; addresses && i < count; i++) {
		struct gt_location location;
		struct gt_stack_frame frame = {.location = &location, .address = addresses[i]};

		gt_names_location(names, process, addresses[i], true, &location);
		if (!location.frame_count)
			take(context, &frame);
		for (size_t inlined = 0; inlined < location.frame_count; inlined++) {
			frame.named = &location.frames[inlined];
			frame.wrapper = number++ < wrappers;
			take(context, &frame);
		}
	}
}

struct stack_lines {
	struct gt_strbuf *text;
	int column;
	bool wrappers;
	bool any; /* a line was put */
};

static void put_frame(void *context, const struct gt_stack_frame *frame)
{
	struct stack_lines *lines = context;

	if ((frame->wrapper || (!frame->location->path && lines->any)) && !lines->wrappers)
		return;
	lines->any = true;
	gt_strbuf_printf(lines->text, "%*sat ", lines->column, "");
	gt_put_frame(lines->text, frame->location, frame->named, frame->address);
	gt_strbuf_putc(lines->text, '\n');
}

void gt_put_stack(struct gt_strbuf *text, const struct gt_names *names, __u32 process, __u64 stack,
		  int column, bool wrappers)
{
	gt_stack_each_frame(names, process, stack, put_frame,
			    &(struct stack_lines){text, column, wrappers, false});
	if (gt_names_stack_is_truncated(names, process, stack))
		gt_strbuf_printf(text, "%*s… (truncated)\n", column, "");
}

static void json_frame(void *context, const struct gt_stack_frame *frame)
{
	const struct gt_source_frame *named = frame->named;
	struct gt_json *json = context;

	gt_json_object_begin(json, NULL);
	if (gt_python_is_frame(frame->address))
		gt_json_string(json, "language", "python");
	else
		gt_json_hex(json, "address", frame->address);
	if (frame->location->path && !gt_python_is_frame(frame->address))
		gt_json_string(json, "module", frame->location->path);
	if (named && named->function)
		gt_json_string(json, "function", named->function);
	if (named && named->file) {
		gt_json_string(json, "file", named->file);
		if (named->line)
			gt_json_u64(json, "line", named->line);
	}
	if (named && named->inlined)
		gt_json_bool(json, "inlined", true);
	if (frame->wrapper)
		gt_json_bool(json, "wrapper", true);
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
	gt_stack_each_frame(names, process, stack, json_frame, json);
	gt_json_array_end(json);
	if (gt_names_stack_is_truncated(names, process, stack))
		gt_json_bool(json, "truncated", true);
	gt_json_object_end(json);
}
