/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/flame.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"
#include "output/stack.h"

#define MAX_CALLERS 500 /* less than GT_FLAME_MAX_DEPTH, with room for process, call and kernel */

const char *gt_flame_unit(enum gt_export_weight weight)
{
	switch (weight) {
	case GT_WEIGHT_LAUNCHES:
		return "count";
	case GT_WEIGHT_BYTES:
		return "bytes";
	default:
		return "nanoseconds";
	}
}

static void free_flame(struct gt_flame *flame)
{
	gt_vec_each (frame, &flame->frames) {
		free(frame->name);
		free(frame->file);
	}
	gt_vec_free(&flame->frames);
	gt_vec_free(&flame->nodes);
	gt_hash_free(flame->frame_numbers);
	gt_hash_free(flame->node_numbers);
	gt_hash_free(flame->stacks);
	gt_hash_free(flame->operations);
	gt_timeline_free(flame->timeline);
	gt_demangler_free(flame->demangler);
	gt_call_row_free(&flame->row);
	gt_strbuf_free(&flame->text);
	gt_strbuf_free(&flame->incomplete);
	free(flame);
}

/* ---- the tree ----------------------------------------------------------------------------- */

/* The number of a frame, from 0. -ENOMEM: no memory. */
static int64_t find_frame(struct gt_flame *flame, const char *name, const char *file, uint32_t line,
			  bool is_gpu)
{
	struct gt_flame_frame frame = {.line = line, .is_gpu = is_gpu};
	gt_auto_strbuf key = GT_STRBUF_INIT;
	uintptr_t number;

	gt_strbuf_putc(&key, is_gpu ? 'g' : 'h');
	gt_strbuf_add(&key, name, strlen(name) + 1);
	gt_strbuf_add(&key, file, strlen(file) + 1);
	gt_strbuf_u64(&key, line);
	number = (uintptr_t)gt_hash_get(flame->frame_numbers, gt_strbuf_string(&key), key.length);
	if (number)
		return (int64_t)number - 1;
	frame.name = strdup(name);
	frame.file = strdup(file);
	number = flame->frames.count + 1;
	if (!frame.name || !frame.file || key.failed ||
	    gt_hash_set(flame->frame_numbers, key.data, key.length, (void *)number) || // NOLINT
	    gt_vec_push(&flame->frames, frame)) {
		free(frame.name);
		free(frame.file);
		return -ENOMEM;
	}
	return (int64_t)number - 1;
}

/* The node below a parent. A parent or frame below 0 is an error, which is returned. */
static int64_t find_node(struct gt_flame *flame, int64_t parent, int64_t frame)
{
	uintptr_t number;
	uint64_t key;

	if (parent < 0 || frame < 0)
		return -ENOMEM;
	key = (uint64_t)parent << 32 | (uint64_t)frame;
	number = (uintptr_t)gt_hash_get_u64(flame->node_numbers, key);
	if (number)
		return (int64_t)number;
	number = flame->nodes.count;
	if (gt_hash_set_u64(flame->node_numbers, key, (void *)number) || // NOLINT
	    gt_vec_push(&flame->nodes, (struct gt_flame_node){.parent = (uint32_t)parent,
							      .frame = (uint32_t)frame}))
		return -ENOMEM;
	return (int64_t)number;
}

struct flame_callers {
	struct gt_flame *flame;
	int64_t frames[MAX_CALLERS]; /* the innermost first */
	unsigned count;
};

static void take_frame(void *context, const struct gt_stack_frame *frame)
{
	const struct gt_source_frame *named = frame->named;
	struct flame_callers *callers = context;
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (frame->wrapper || callers->count == MAX_CALLERS)
		return;
	if (named && named->function)
		gt_strbuf_puts(&name, named->function);
	else
		gt_put_frame(&name, frame->location, named, frame->address);
	callers->frames[callers->count++] =
		find_frame(callers->flame, gt_strbuf_string(&name),
			   named && named->file ? named->file : "", named ? named->line : 0, false);
}

struct flame_stack_key {
	uint64_t process, stack;
};

/* The node of the innermost caller of a call; without a stack that of the process. */
static int64_t find_caller(struct gt_flame *flame, const struct gt_names *names, uint32_t process,
			   uint64_t stack)
{
	const struct flame_stack_key key = {process, stack};
	struct flame_callers callers = {.flame = flame};
	gt_auto_strbuf name = GT_STRBUF_INIT;
	int64_t node = (int64_t)(uintptr_t)gt_hash_get(flame->stacks, &key, sizeof(key));

	if (node)
		return node;
	if (stack)
		gt_stack_each_frame(names, process, stack, take_frame, &callers);
	gt_strbuf_puts(&name, gt_names_process(names, process));
	gt_put_rank(&name, names, process);
	node = find_node(flame, 0, find_frame(flame, gt_strbuf_string(&name), "", 0, false));
	for (unsigned i = callers.count; i--;)
		node = find_node(flame, node, callers.frames[i]);
	if (node > 0 &&
	    gt_hash_set(flame->stacks, &key, sizeof(key), (void *)(uintptr_t)node)) // NOLINT
		return -ENOMEM;
	return node;
}

static int64_t find_call(struct gt_flame *flame, const struct gt_names *names,
			 const struct gt_event_call *call)
{
	int64_t caller = find_caller(flame, names, call->head.process, call->stack);

	return find_node(flame, caller,
			 find_frame(flame, gt_names_function(names, call->function), "", 0, false));
}

unsigned gt_flame_path(const struct gt_flame *flame, size_t node,
		       uint32_t ret_frames[GT_FLAME_MAX_DEPTH])
{
	unsigned depth = 0, count = 0;

	for (size_t at = node; at && depth < GT_FLAME_MAX_DEPTH; at = flame->nodes.items[at].parent)
		depth++;
	for (size_t at = node; count < depth; at = flame->nodes.items[at].parent)
		ret_frames[depth - ++count] = flame->nodes.items[at].frame;
	return depth;
}

/* ---- weights ------------------------------------------------------------------------------ */

static int add_weight(struct gt_flame *flame, int64_t node, enum gt_export_weight weight,
		      uint64_t value)
{
	if (node < 0)
		return (int)node;
	flame->nodes.items[node].weights[weight] += value;
	return 0;
}

static int take_call(struct gt_flame *flame, const struct gt_names *names,
		     const struct gt_event_call *event)
{
	struct gt_call_row *row = &flame->row;
	const struct gt_api_function *function;
	int64_t node = find_call(flame, names, event), leaf = node;
	int error = 0;

	gt_call_row_fill(row, names, flame->demangler, event);
	function = row->call.function;
	if (!event->depth)
		error = add_weight(flame, node, GT_WEIGHT_CALL_TIME, event->duration);
	if (error || !function || row->call.failed || !row->has_result)
		return error;
	if (function->category == GT_CATEGORY_LAUNCH) {
		if (row->kernel)
			leaf = find_node(flame, node, find_frame(flame, row->kernel, "", 0, true));
		error = add_weight(flame, leaf, GT_WEIGHT_LAUNCHES, 1);
	}
	if (!error && row->has_bytes)
		error = add_weight(flame, node, GT_WEIGHT_BYTES, row->bytes);
	return error;
}

/* Remember the node of the call for the operations that it submitted. */
static int take_host(void *opaque, const struct gt_names *names,
		     const struct gt_host_interval *interval)
{
	struct gt_flame *flame = opaque;
	int64_t node;
	int error = 0;

	if (!interval->operations)
		return 0;
	node = find_call(flame, names, (const void *)interval->event);
	if (node < 0)
		return (int)node;
	for (uint64_t i = 0; i < interval->operations && !error; i++)
		error = gt_hash_set_u64(flame->operations, interval->first_operation + i,
					(void *)(uintptr_t)node); // NOLINT
	return error;
}

/* Operations that share an interval share its time, too. */
static int take_operation(void *opaque, const struct gt_names *names,
			  const struct gt_gpu_interval *interval)
{
	struct gt_flame *flame = opaque;
	int64_t node = (int64_t)(uintptr_t)gt_hash_remove_u64(flame->operations, interval->number);

	if (!node)
		node = find_node(flame, find_caller(flame, names, interval->process, 0),
				 find_frame(flame, "(the call was not seen)", "", 0, false));
	gt_strbuf_clear(&flame->text);
	gt_put_gpu_operation(&flame->text, flame->demangler, interval);
	node = find_node(flame, node,
			 find_frame(flame, gt_strbuf_string(&flame->text), "", 0, true));
	return add_weight(flame, node, GT_WEIGHT_GPU_TIME,
			  (interval->end - interval->start) /
				  (interval->shares ? interval->shares : 1));
}

/* ---- the file ----------------------------------------------------------------------------- */

int gt_flame_open(const struct gt_export_options *options, void **ret_state, struct gt_diag *diag)
{
	struct gt_flame *flame = calloc(1, sizeof(*flame));
	const struct gt_timeline_sink sink = {
		.host = take_host, .gpu = take_operation, .context = flame};
	int error = -ENOMEM;

	if (flame) {
		flame->capture = options->capture;
		flame->weight = options->weight;
		flame->comments = options->comments;
		flame->frame_numbers = gt_hash_new();
		flame->node_numbers = gt_hash_new();
		flame->stacks = gt_hash_new();
		flame->operations = gt_hash_new();
		flame->timeline = gt_timeline_new(&sink);
		flame->demangler = gt_demangler_new();
		if (flame->frame_numbers && flame->node_numbers && flame->stacks &&
		    flame->operations && flame->timeline && flame->demangler)
			error = gt_vec_push(&flame->nodes, (struct gt_flame_node){0});
	}
	if (error)
		gt_diag(diag, error, "export", NULL, "out of memory");
	else
		error = gt_sink_open(&flame->sink, &options->output, diag);
	if (!error)
		*ret_state = flame;
	else if (flame)
		free_flame(flame);
	return error;
}

int gt_flame_event(void *state, const struct gt_names *names, const struct gt_event *event)
{
	struct gt_flame *flame = state;
	int error = gt_timeline_take(flame->timeline, names, event);

	if (!error && event->kind == GT_EVENT_call)
		error = take_call(flame, names, (const void *)event);
	if (event->clock == GT_CLOCK_MONOTONIC && event->time > flame->end)
		flame->end = event->time;
	return error;
}

int gt_flame_close(void *state, const struct gt_names *names, struct gt_diag *diag,
		   int (*put)(struct gt_flame *flame))
{
	struct gt_flame *flame = state;
	int error = names ? gt_timeline_finish(flame->timeline, names) : 0, closed;

	if (names) {
		flame->start = gt_names_start_time(names);
		flame->start_realtime = gt_names_wall_time(names, flame->start);
		gt_put_incomplete(&flame->incomplete, names);
	}
	if (!error)
		error = put(flame);
	if (error == -ENOMEM)
		gt_diag(diag, error, "export", NULL, "out of memory");
	closed = gt_sink_close(&flame->sink, diag);
	free_flame(flame);
	return error ? error : closed;
}
