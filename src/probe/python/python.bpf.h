/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walks the Python frames of the current thread, from the interpreter's own structures. They are
 * the thread's, and it is stopped in a probe: they do not change meanwhile.
 */
#pragma once

#include "probe/vmlinux_min.h"

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "base/mix.h"
#include "event/event.h"
#include "probe/api/shared.bpf.h"
#include "probe/python/python.h"
#include "probe/task.bpf.h"

#define MAX_PYTHON_FRAMES 64
#define PYTHON_HEAD_WORDS (sizeof(struct gt_event_python) / sizeof(__u64))
/* Of the event that is built; a power of two, since Linux 6.1 wants its indices masked. */
#define PYTHON_RECORD_WORDS 256
#define PYTHON_OBJECT_BYTES 128 /* of a frame or code object that are read; a power of two */

/* A power of two, for the verifier. */
#define PYTHON_LAYOUTS 8
/* clang-format off */
static const struct gt_python_layout python_layouts[PYTHON_LAYOUTS] = {
#define LAYOUT(minor, ...) [(minor) - GT_PYTHON_FIRST_MINOR] = {__VA_ARGS__},
#include "probe/python/layouts.def"
};
/* clang-format on */

/* Offsets of thread-specific data in glibc's struct pthread (2.27 to 2.41 at least). */
#define GLIBC_SPECIFIC 1296 /* pointers to blocks of … */
#define GLIBC_KEYS_PER_BLOCK 32
#define GLIBC_KEY_SIZE 16 /* … {sequence, value} */
#define GLIBC_MAX_KEYS 1024

/* Processes with an interpreter, filled by user space, which sees its file being mapped. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gt_python);
} pythons SEC(".maps");

struct python_code_key {
	__u64 address;
	__u64 process;
};

/* What a code object looked like when its event was written. */
struct python_code {
	__u64 first_line, file, name, line_table;
	__u64 number; /* of its event */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct python_code_key);
	__type(value, struct python_code);
} python_codes SEC(".maps");

/* The state of a walk, and the `python` event that it builds; in the thread's storage. */
struct python_walk {
	struct gt_python python;
	__u64 time; /* of the event that the stack belongs to: set by the caller */
	__u64 count;
	__u64 hash; /* 0: no frame */
	__u64 last; /* index of the last frame's second word in `record` */
	__u64 object[PYTHON_OBJECT_BYTES / sizeof(__u64) + 1];
	__u64 record[PYTHON_RECORD_WORDS];
};

static __always_inline const struct gt_python_layout *python_layout_of(__u32 number)
{
	number &= PYTHON_LAYOUTS - 1;
	barrier_var(number);
	return &python_layouts[number & (PYTHON_LAYOUTS - 1)];
}

/* A pointer or a number in the object that was read last. */
static __always_inline __u64 object_u64(const struct python_walk *walk, __u32 offset)
{
	offset &= PYTHON_OBJECT_BYTES - 8;
	barrier_var(offset);
	return *(const __u64 *)((const char *)walk->object + (offset & (PYTHON_OBJECT_BYTES - 8)));
}

static __always_inline __u32 object_u32(const struct python_walk *walk, __u32 offset)
{
	__u64 word = object_u64(walk, offset);

	return offset & 4 ? word >> 32 : word;
}

static __always_inline __u8 object_u8(const struct python_walk *walk, __u32 offset)
{
	return object_u64(walk, offset) >> (offset & 7) * 8;
}

static __always_inline bool read_pointer(__u64 *to, __u64 address)
{
	return !bpf_probe_read_user(to, sizeof(*to), (void *)address) && *to;
}

static __always_inline __u64 thread_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_x86
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return 0; /* the offsets of thread-specific data are those of x86-64 */
#endif
}

/* The thread's PyThreadState, which names the thread itself; 0: none. */
static __always_inline __u64 python_thread(const struct python_walk *walk,
					   const struct gt_python_layout *layout,
					   struct task_struct *task)
{
	__u64 self = thread_pointer(task), block, state, thread;
	struct {
		__u32 is_initialized;
		__u32 number;
	} key;

	if (!self || bpf_probe_read_user(&key, sizeof(key),
					 (void *)(walk->python.runtime + layout->tss_key)))
		return 0;
	if (!key.is_initialized || key.number >= GLIBC_MAX_KEYS)
		return 0;
	if (!read_pointer(&block, self + GLIBC_SPECIFIC + 8 * (key.number / GLIBC_KEYS_PER_BLOCK)))
		return 0;
	if (!read_pointer(&state, block + GLIBC_KEY_SIZE * (key.number % GLIBC_KEYS_PER_BLOCK) + 8))
		return 0;
	if (!read_pointer(&thread, state + layout->thread_id) || thread != self)
		return 0;
	return state;
}

static __always_inline __u64 innermost_frame(__u64 state, const struct gt_python_layout *layout)
{
	__u64 frame;

	if (!read_pointer(&frame, state + layout->top))
		return 0;
	if (layout->current_frame && !read_pointer(&frame, frame + layout->current_frame - 1))
		return 0;
	return frame;
}

/*
 * Copy a str, at most `room` bytes, a power of two; `to` has twice as many. Returns the bytes, and
 * the bytes of a character.
 */
static __always_inline __u64 copy_text(const struct gt_python_layout *layout, __u64 text, __u8 *to,
				       __u64 room, __u8 *ret_width)
{
	struct {
		__u64 length, hash;
		__u32 state;
	} head;
	__u64 width, bytes;

	*ret_width = 1;
	if (bpf_probe_read_user(&head, sizeof(head), (void *)text + 16))
		return 0;
	width = head.state >> 2 & 7;
	if (!(head.state >> 5 & 1) || (width != 1 && width != 2 && width != 4))
		return 0;
	text += head.state >> 6 & 1 ? layout->ascii : layout->wide;
	bytes = head.length < room ? head.length * width : room;
	if (bytes > room)
		bytes = room;
	barrier_var(bytes);
	bytes &= 2 * room - 1;
	if (bpf_probe_read_user(to, bytes, (void *)text))
		return 0;
	*ret_width = width;
	return bytes;
}

/*
 * Emit a code object, with the time of the stack's event, which user space may sort by time: it
 * comes after. Negative: the ring is full.
 */
static __noinline long put_code(const struct python_code *code, __u32 process, __u32 number,
				__u64 time)
{
	const struct gt_python_layout *layout = python_layout_of(number);
	struct gt_event_code *event;
	__u64 size = 0;

	event = bpf_ringbuf_reserve(&events, sizeof(*event) + GT_PYTHON_TAIL, 0);
	if (!event)
		return -1;
	event->head.time = time;
	event->head.process = process;
	event->head.thread = process;
	event->head.kind = GT_EVENT_code;
	event->head.clock = GT_CLOCK_MONOTONIC;
	event->head.device = GT_DEVICE_UNKNOWN;
	event->number = code->number;
	event->first_line = code->first_line;
	event->minor = GT_PYTHON_FIRST_MINOR + number;
	event->name_size =
		copy_text(layout, code->name, event->bytes, GT_PYTHON_NAME, &event->name_width);
	event->file_size = copy_text(layout, code->file, event->bytes + GT_PYTHON_NAME,
				     GT_PYTHON_FILE, &event->file_width);
	/* bytes: ob_size at 16, the bytes at 32. */
	if (bpf_probe_read_user(&size, sizeof(size), (void *)code->line_table + 16))
		event->first_line = 0;
	if (size > GT_PYTHON_TABLE)
		size = GT_PYTHON_TABLE;
	barrier_var(size);
	if (size > GT_PYTHON_TABLE ||
	    bpf_probe_read_user(event->bytes + GT_PYTHON_NAME + GT_PYTHON_FILE, size,
				(void *)code->line_table + 32)) {
		size = 0;
		event->first_line = 0;
	}
	event->table_size = size;
	event->head.size = (sizeof(*event) + GT_PYTHON_NAME + GT_PYTHON_FILE + size + 7) & ~7ull;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * The number of a code object, whose event is emitted if it is new. 0: it cannot be read, or its
 * event is lost, and counted. This function and the next ones are not static: the verifier checks
 * each once.
 */
__noinline __u64 gt_python_code(struct python_walk *walk, __u64 address, __u32 process)
{
	struct python_code_key key = {.address = address, .process = process};
	const struct gt_python_layout *layout;
	struct python_code code = {}, *known;
	__u32 start;

	if (!walk)
		return 0;
	layout = python_layout_of(walk->python.layout);
	start = layout->first_line & ~7u;
	if (bpf_probe_read_user(walk->object, PYTHON_OBJECT_BYTES - 16, (void *)address + start))
		return 0;
	code.first_line = object_u32(walk, layout->first_line - start);
	code.file = object_u64(walk, layout->file - start);
	code.name = object_u64(walk, layout->name - start);
	code.line_table = object_u64(walk, layout->line_table - start);
	known = bpf_map_lookup_elem(&python_codes, &key);
	if (known && known->first_line == code.first_line && known->file == code.file &&
	    known->name == code.name && known->line_table == code.line_table)
		return known->number;
	code.number = gt_hash_mix(
		gt_hash_mix(gt_hash_mix(gt_hash_mix(gt_hash_mix(address, process), code.first_line),
					code.file),
			    code.name),
		code.line_table);
	if (!code.number)
		code.number = 1;
	if (put_code(&code, process, walk->python.layout, walk->time)) {
		COUNT(others_lost);
		return 0;
	}
	cache_entry(&python_codes, &key, &code);
	return code.number;
}

static __always_inline __u64 instruction_of(const struct python_walk *walk,
					    const struct gt_python_layout *layout, __u64 code)
{
	if (!layout->instruction_unit)
		return object_u64(walk, layout->instruction) - (code + layout->instructions);
	return (__s64)(__s32)object_u32(walk, layout->instruction) * layout->instruction_unit;
}

/* The bytes of a frame that are read: what lies behind them may be beyond its memory. */
static __always_inline __u32 frame_bytes(const struct gt_python_layout *layout)
{
	return layout->instruction_unit ? 112 : 72;
}

/* The last frame that was recorded is the one by which the interpreter was entered. */
static __always_inline void mark_entry(struct python_walk *walk)
{
	__u64 at = walk->last & (PYTHON_RECORD_WORDS - 1);

	barrier_var(at);
	if (walk->count)
		walk->record[at & (PYTHON_RECORD_WORDS - 1)] |= GT_PYTHON_ENTRY;
}

/* Record the frame at `frame`. Returns the next one; 0: there is none. */
__noinline __u64 gt_python_frame(struct python_walk *walk, __u64 frame, __u32 process)
{
	__u64 code, back, at, instruction, number, entered;
	const struct gt_python_layout *layout;
	__u32 bytes;

	if (!walk)
		return 0;
	layout = python_layout_of(walk->python.layout);
	bytes = frame_bytes(layout);
	if (bpf_probe_read_user(walk->object, bytes & 127, (void *)frame))
		return 0;
	back = object_u64(walk, layout->back);
	code = object_u64(walk, layout->code);
	if (layout->entry_value == 3 && object_u8(walk, layout->entry) == 3) {
		mark_entry(walk);
		return back;
	}
	instruction = instruction_of(walk, layout, code) & 0xffffffff;
	entered = !layout->entry_value ||
		  (layout->entry_value == 1 && object_u8(walk, layout->entry));
	number = gt_python_code(walk, code, process);
	at = PYTHON_HEAD_WORDS + 2 * walk->count;
	barrier_var(at);
	walk->record[at & (PYTHON_RECORD_WORDS - 1)] = number;
	at++;
	barrier_var(at);
	walk->record[at & (PYTHON_RECORD_WORDS - 1)] =
		instruction | (entered ? GT_PYTHON_ENTRY : 0);
	walk->last = at;
	walk->count++;
	walk->hash = gt_hash_mix(gt_hash_mix(walk->hash, number), instruction);
	return back;
}

/*
 * Walk the Python frames of the current thread, at most `depth`: walk->count of them, whose hash is
 * walk->hash. `process` is what `pythons` has the process by; `parent` is tried, too: a forked
 * child has its parent's interpreter.
 */
__noinline int gt_python_walk(struct python_walk *walk, __u32 process, __u32 parent, __u32 depth)
{
	struct gt_python *python = bpf_map_lookup_elem(&pythons, &process);
	const struct gt_python_layout *layout;
	__u64 state, frame;

	if (!walk)
		return 0;
	walk->count = walk->hash = walk->last = 0;
	if (!python && parent)
		python = bpf_map_lookup_elem(&pythons, &parent);
	if (!python || python->layout >= GT_PYTHON_LAYOUTS)
		return 0;
	walk->python = *python;
	layout = python_layout_of(walk->python.layout);
	state = python_thread(walk, layout, bpf_get_current_task_btf());
	frame = state ? innermost_frame(state, layout) : 0;
	for (int i = 0; i < 2 * MAX_PYTHON_FRAMES; i++) {
		if (!frame || walk->count >= depth || walk->count >= MAX_PYTHON_FRAMES)
			break;
		frame = gt_python_frame(walk, frame, process);
	}
	return 0;
}

/* Emit the frames of a walk as those of the stack `number`. Negative: the ring is full. */
static __always_inline long put_python(struct python_walk *walk, const struct gt_event *head,
				       __u64 number)
{
	struct gt_event_python *event = (void *)walk->record;
	__u64 words = PYTHON_HEAD_WORDS + 2 * walk->count;

	event->head = *head;
	event->head.kind = GT_EVENT_python;
	event->head.size = words * sizeof(__u64);
	event->number = number;
	barrier_var(words);
	if (words > PYTHON_HEAD_WORDS + 2 * MAX_PYTHON_FRAMES)
		return -1;
	return put_record(event, words * sizeof(__u64));
}
