/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "event/kinds.h"
#include "names/private.h"
#include "probe/python/python.h"

/* User space has no addresses in the upper half. The rest is an index into `frames`. */
#define PYTHON_FRAME_TAG (0xf9ull << 56)

struct python_code_name {
	char *function, *file;
	uint32_t first_line;
	unsigned minor;
	size_t size;
	uint8_t table[];
};

/* A frame that occurs in a stack. */
struct python_frame_name {
	struct gt_source_frame source;
};

/* The Python frames of a stack. */
struct python_stack {
	size_t count;
	struct {
		uint64_t address; /* with the tag */
		bool entry;       /* a native call entered the interpreter with it */
	} frames[];
};

struct gt_python_names {
	struct gt_hash *codes;  /* number -> struct python_code_name */
	struct gt_hash *stacks; /* struct names_key -> struct python_stack */
	struct gt_hash *known;  /* {code, offset} -> index + 1 in `frames` */
	GT_VEC(struct python_frame_name *) frames;
};

static void free_code(void *opaque)
{
	struct python_code_name *code = opaque;

	if (!code)
		return;
	free(code->function);
	free(code->file);
	free(code);
}

struct gt_python_names *gt_python_names_new(void)
{
	gt_auto(python_names) struct gt_python_names *python = calloc(1, sizeof(*python));

	if (!python)
		return NULL;
	python->codes = gt_hash_new();
	python->stacks = gt_hash_new();
	python->known = gt_hash_new();
	return python->codes && python->stacks && python->known ? gt_take(python) : NULL;
}

void gt_python_names_free(struct gt_python_names *python)
{
	if (!python)
		return;
	if (python->codes)
		gt_hash_free_with(python->codes, free_code);
	if (python->stacks)
		gt_hash_free_with(python->stacks, free);
	if (python->known)
		gt_hash_free(python->known);
	gt_vec_each (frame, &python->frames)
		free(*frame);
	gt_vec_free(&python->frames);
	free(python);
}

static void put_utf8(struct gt_strbuf *text, uint32_t character)
{
	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		character = 0xfffd;
	if (character < 0x80) {
		gt_strbuf_putc(text, (char)character);
		return;
	}
	if (character < 0x800) {
		gt_strbuf_putc(text, (char)(0xc0 | character >> 6));
	} else {
		if (character < 0x10000) {
			gt_strbuf_putc(text, (char)(0xe0 | character >> 12));
		} else {
			gt_strbuf_putc(text, (char)(0xf0 | character >> 18));
			gt_strbuf_putc(text, (char)(0x80 | (character >> 12 & 0x3f)));
		}
		gt_strbuf_putc(text, (char)(0x80 | (character >> 6 & 0x3f)));
	}
	gt_strbuf_putc(text, (char)(0x80 | (character & 0x3f)));
}

/* Characters of `width` bytes as a string, which the caller frees; NULL: no memory. */
static char *decode_text(const uint8_t *bytes, size_t size, unsigned width)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	for (size_t i = 0; width && i + width <= size; i += width) {
		uint32_t character = 0;

		memcpy(&character, bytes + i, width);
		if (character)
			put_utf8(&text, character);
	}
	return text.failed ? NULL : strdup(text.length ? gt_strbuf_string(&text) : "?");
}

static int learn_code(struct gt_python_names *python, const struct gt_event_code *event)
{
	size_t tail = gt_event_tail_size(&event->head), head = GT_PYTHON_NAME + GT_PYTHON_FILE;
	size_t size = event->table_size;
	struct python_code_name *code;
	int error;

	/* Frames refer to the names of a code object: they stay. Corrupt captures cost names. */
	if (gt_hash_get_u64(python->codes, event->number))
		return 0;
	if (event->name_size > GT_PYTHON_NAME || event->file_size > GT_PYTHON_FILE || tail < head ||
	    size > tail - head || event->name_width > 4 || event->file_width > 4)
		return 0;
	code = calloc(1, sizeof(*code) + size);
	if (!code)
		return -ENOMEM;
	code->function = decode_text(event->bytes, event->name_size, event->name_width);
	code->file =
		decode_text(event->bytes + GT_PYTHON_NAME, event->file_size, event->file_width);
	code->first_line = event->first_line;
	code->minor = event->minor;
	code->size = size;
	memcpy(code->table, event->bytes + head, size);
	error = code->function && code->file ? gt_hash_set_u64(python->codes, event->number, code)
					     : -ENOMEM;
	if (error)
		free_code(code);
	return error;
}

static struct python_frame_name *name_frame(const struct python_code_name *code, uint64_t offset)
{
	struct python_frame_name *frame = calloc(1, sizeof(*frame));

	if (!frame || !code)
		return frame;
	frame->source = (struct gt_source_frame){
		.function = code->function,
		.file = code->file,
		.line = gt_python_line(code->minor, code->first_line, code->table, code->size,
				       (int32_t)offset),
	};
	return frame;
}

/* The address that stands for an instruction of a code object; 0: out of memory. */
static uint64_t address_of(struct gt_python_names *python, uint64_t code, uint64_t offset)
{
	struct names_key key = {code, offset};
	uintptr_t number = (uintptr_t)gt_hash_get(python->known, &key, sizeof(key));
	struct python_frame_name *frame;

	if (number)
		return PYTHON_FRAME_TAG | (number - 1);
	frame = name_frame(gt_hash_get_u64(python->codes, code), offset);
	if (!frame || gt_vec_push(&python->frames, frame)) {
		free(frame);
		return 0;
	}
	number = python->frames.count;
	gt_hash_set(python->known, &key, sizeof(key), (void *)number);
	return PYTHON_FRAME_TAG | (number - 1);
}

static int learn_frames(struct gt_python_names *python, const struct gt_event_python *event)
{
	struct names_key key = {event->head.process, event->number};
	size_t count = gt_event_tail_size(&event->head) / (2 * sizeof(__u64));
	struct python_stack *stack = malloc(sizeof(*stack) + count * sizeof(stack->frames[0]));

	if (!stack)
		return -ENOMEM;
	stack->count = count;
	for (size_t i = 0; i < count; i++) {
		uint64_t code = event->frames[2 * i], offset = event->frames[2 * i + 1];

		stack->frames[i].entry = offset & GT_PYTHON_ENTRY;
		stack->frames[i].address = address_of(python, code, offset & ~GT_PYTHON_ENTRY);
		if (!stack->frames[i].address) {
			free(stack);
			return -ENOMEM;
		}
	}
	return gt_names_replace(python->stacks, &key, sizeof(key), stack);
}

int gt_python_names_take(struct gt_python_names *python, const struct gt_event *event)
{
	return event->kind == GT_EVENT_code ? learn_code(python, (const void *)event)
					    : learn_frames(python, (const void *)event);
}

bool gt_python_is_frame(uint64_t address)
{
	return address >> 56 == PYTHON_FRAME_TAG >> 56;
}

void gt_python_location(const struct gt_python_names *python, uint64_t address,
			struct gt_location *ret_location)
{
	uint64_t index = address & ~PYTHON_FRAME_TAG;

	*ret_location = (struct gt_location){.path = "[python]"};
	/* The event of its code was lost. */
	if (index >= python->frames.count || !python->frames.items[index]->source.file)
		return;
	ret_location->path = python->frames.items[index]->source.file;
	ret_location->frames = &python->frames.items[index]->source;
	ret_location->frame_count = 1;
}

/* Files whose frames are between a Python function and what it calls. */
static const char *const interpreter_files[] = {"libpython3.", "python", "_ctypes.", "libffi.so"};

static bool has_symbol(const struct gt_location *location, const char *prefix)
{
	for (size_t i = 0; i < location->frame_count; i++)
		if (location->frames[i].symbol &&
		    !strncmp(location->frames[i].symbol, prefix, strlen(prefix)))
			return true;
	return false;
}

enum gt_python_relation gt_python_relation_of(const struct gt_location *location)
{
	const char *slash = location->path ? strrchr(location->path, '/') : NULL;
	const char *name = slash ? slash + 1 : location->path;

	if (!name)
		return GT_PYTHON_UNKNOWN;
	if (has_symbol(location, "__libc_start_"))
		return GT_PYTHON_START;
	for (size_t i = 0; i < gt_countof(interpreter_files); i++) {
		if (strncmp(name, interpreter_files[i], strlen(interpreter_files[i])))
			continue;
		return has_symbol(location, "_PyEval_EvalFrameDefault") ? GT_PYTHON_EVAL
									: GT_PYTHON_INTERNAL;
	}
	return GT_PYTHON_FOREIGN;
}

bool gt_python_has_frames(const struct gt_python_names *python, uint32_t process, uint64_t stack)
{
	struct names_key key = {process, stack};

	return gt_hash_get(python->stacks, &key, sizeof(key));
}

struct stack_merge {
	const struct python_stack *stack;
	size_t next; /* Python frame */
	uint64_t *merged;
	size_t count;
};

/* Take the frames that one native call of the interpreter executes: up to the one it entered by. */
static void take_run(struct stack_merge *merge)
{
	while (merge->next < merge->stack->count) {
		size_t frame = merge->next++;

		merge->merged[merge->count++] = merge->stack->frames[frame].address;
		if (merge->stack->frames[frame].entry)
			break;
	}
}

static void take_rest(struct stack_merge *merge)
{
	while (merge->next < merge->stack->count)
		take_run(merge);
}

/* The index after the outermost frame of the interpreter; if there is none, after all callers. */
static size_t end_of_interpreter(const enum gt_python_relation *relations, size_t count)
{
	size_t end = 0, i;

	/* Beyond, _start is in the interpreter's file, too. */
	for (i = 0; i < count && relations[i] != GT_PYTHON_START; i++)
		if (relations[i] == GT_PYTHON_EVAL || relations[i] == GT_PYTHON_INTERNAL)
			end = i + 1;
	return end ? end : i;
}

uint64_t *gt_python_merge(const struct gt_python_names *python, uint32_t process, uint64_t stack,
			  const __u64 *addresses, const enum gt_python_relation *relations,
			  size_t count, size_t *ret_count)
{
	struct names_key key = {process, stack};
	struct stack_merge merge = {.stack = gt_hash_get(python->stacks, &key, sizeof(key))};
	size_t end = end_of_interpreter(relations, count);

	if (!merge.stack || !merge.stack->count)
		return NULL;
	merge.merged = calloc(merge.stack->count + count, sizeof(*merge.merged));
	if (!merge.merged)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (relations[i] == GT_PYTHON_EVAL)
			take_run(&merge);
		else if (relations[i] == GT_PYTHON_FOREIGN || relations[i] == GT_PYTHON_START)
			merge.merged[merge.count++] = addresses[i];
		/* The compiler may have moved a part of the function that executes frames. */
		if (i + 1 == end)
			take_rest(&merge);
	}
	take_rest(&merge);
	*ret_count = merge.count;
	return merge.merged;
}
