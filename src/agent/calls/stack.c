/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The callers of a call, by frame pointers (base/walk.h), and the files that they are in. On the
 * thread's own stack memory is read directly, within its bounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "agent/calls/calls.h"
#include "base/walk.h"

enum {
	STACKS = 1 << 14, /* that are known to be recorded; a power of two */
	PROBES = 16,      /* places where a stack is looked for */
	MAPPINGS = 1024,  /* that are known */
	MAX_LINE = 4096,  /* of /proc/PID/maps */
};

static _Atomic uint64_t recorded[STACKS];

struct code_range {
	uint64_t start, end;
};

static struct {
	atomic_flag lock;
	uint32_t count;
	struct code_range ranges[MAPPINGS];
} code = {.lock = ATOMIC_FLAG_INIT};

void gt_call_stacks_forked(void)
{
	memset((void *)recorded, 0, sizeof(recorded));
	code.count = 0;
	atomic_flag_clear(&code.lock);
}

/* ---- mappings -------------------------------------------------------------------------- */

static bool is_known(uint64_t address)
{
	for (uint32_t i = 0; i < code.count; i++)
		if (address >= code.ranges[i].start && address < code.ranges[i].end)
			return true;
	return false;
}

static void emit_mapping(const struct gt_event *head, const struct gt_event_mapping *mapping,
			 const char *path)
{
	union {
		struct gt_event_mapping event;
		char bytes[sizeof(struct gt_event_mapping) + MAX_LINE + sizeof(uint64_t)];
	} room;
	size_t length = strlen(path);

	room.event = *mapping;
	room.event.head = *head;
	room.event.head.kind = GT_EVENT_mapping;
	room.event.head.size = (uint16_t)((sizeof(room.event) + length + 7) & ~7ull);
	memset(room.event.path, 0, (length + 7) & ~7ull);
	memcpy(room.event.path, path, length);
	gt_call_put(&room.event.head);
}

static uint64_t parse_number(const char **text, unsigned base)
{
	uint64_t number = 0;

	for (;; ++*text) {
		char c = **text;
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							: base;

		if (digit >= base)
			return number;
		number = number * base + digit;
	}
}

/* A line of the kernel: "start-end rwxp offset major:minor inode   path". */
static void take_line(const struct gt_event *head, const char *line)
{
	struct gt_event_mapping mapping = {.start = parse_number(&line, 16)};
	bool executable;

	line += *line == '-';
	mapping.end = parse_number(&line, 16);
	executable = strnlen(line, 6) == 6 && line[3] == 'x';
	if (!executable || is_known(mapping.start) || code.count == MAPPINGS)
		return;
	line += 6;
	mapping.offset = parse_number(&line, 16);
	line += strcspn(line, ":");
	line += strcspn(line, " ");
	line += strspn(line, " ");
	mapping.inode = parse_number(&line, 10);
	line += strspn(line, " ");
	code.ranges[code.count++] = (struct code_range){mapping.start, mapping.end};
	if (*line == '/')
		emit_mapping(head, &mapping, line);
}

/* From /proc, since the loader's list has a lock that another thread may hold. */
static void read_mappings(const struct gt_event *head)
{
	char text[MAX_LINE + 1];
	size_t used = 0;
	ssize_t size;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (size = read(fd, text + used, MAX_LINE - used)) > 0) {
		char *line = text, *end;

		used += (size_t)size;
		text[used] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			take_line(head, line);
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
		if (used == MAX_LINE)
			break;
	}
	if (fd >= 0)
		close(fd);
}

/* Emit the files of new callers. Another thread that does it has the same ones, or does it later.
 */
static void learn_mappings(const struct gt_event *head, const uint64_t *addresses, uint64_t count)
{
	bool complete = true;
	int error = errno;

	while (atomic_flag_test_and_set_explicit(&code.lock, memory_order_acquire))
		sched_yield();
	for (uint64_t i = 0; i < count && complete; i++)
		complete = is_known(addresses[i] - 1);
	if (!complete)
		read_mappings(head);
	atomic_flag_clear_explicit(&code.lock, memory_order_release);
	errno = error;
}

/* ---- stacks ---------------------------------------------------------------------------- */

/* The bounds of the stack of the thread that is walked: base/walk.h has no context. */
static __thread struct {
	uint64_t start, end;
} bounds __attribute__((tls_model("initial-exec")));

static long gt_read_user(void *to, __u32 size, __u64 from)
{
	if (from >= bounds.start && from < bounds.end && size <= bounds.end - from) {
		memcpy(to, (const void *)(uintptr_t)from, size);
		return 0;
	}
	return gt_call_read(to, size, from) == size ? 0 : -1;
}

/* Return addresses are not replaced. */
__u64 gt_probed_return(__u64 frame)
{
	return 0;
}

static void find_bounds(struct gt_call_thread *thread)
{
	pthread_attr_t attributes;
	void *start;
	size_t size;
	int error = errno;

	thread->has_stack = true;
	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &start, &size)) {
		thread->stack_start = (uintptr_t)start;
		thread->stack_end = (uintptr_t)start + size;
	}
	pthread_attr_destroy(&attributes);
	errno = error;
}

/* Whether a stack is new; it is taken for recorded then. Where many are known, some are repeated.
 */
static bool is_new(uint64_t number)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *place = &recorded[(number + i) % STACKS];
		uint64_t found = atomic_load_explicit(place, memory_order_relaxed);

		if (found == number)
			return false;
		if (!found && atomic_compare_exchange_strong(place, &found, number))
			return true;
		if (found == number)
			return false;
	}
	return true;
}

/* The code that calls a traced function (stubs.S) is not a caller. Numbers are as gt_walk_frames's.
 */
static void drop_stubs(struct gt_walk *walk, uint64_t *addresses)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < walk->count; i++)
		if (addresses[i] != (uintptr_t)gt_call_returned)
			addresses[kept++] = addresses[i];
	if (kept == walk->count)
		return;
	walk->count = kept;
	walk->hash = GT_WALK_SEED;
	for (uint64_t i = 0; i < kept; i++)
		walk->hash = gt_hash_mix(walk->hash, addresses[i]);
	walk->hash += !walk->hash;
}

uint64_t gt_call_take_stack(struct gt_call_thread *thread, const struct gt_call_frame *frame,
			    const uint64_t *words, uint32_t depth)
{
	enum { HEAD_WORDS = sizeof(struct gt_event_stack) / sizeof(uint64_t) };
	struct gt_event_stack *event = (void *)thread->stack;
	struct gt_window window;
	struct gt_walk walk;

	if (!thread->has_stack)
		find_bounds(thread);
	/* What is below the stack pointer is not the program's; another stack has other bounds. */
	bounds.start = thread->stack_start;
	bounds.end = thread->stack_end;
	if (frame->stack_pointer < bounds.start || frame->stack_pointer >= bounds.end)
		bounds.end = bounds.start;
	else
		bounds.start = frame->stack_pointer & ~7ull;
	walk = gt_walk_frames(&window, (__u64 *)&thread->stack[HEAD_WORDS], GT_CALL_CALLERS, depth,
			      words[1], frame->stack_pointer, words[0], 0);
	drop_stubs(&walk, &thread->stack[HEAD_WORDS]);
	if (!is_new(walk.hash))
		return walk.hash;
	learn_mappings(&frame->call.head, &thread->stack[HEAD_WORDS], walk.count);
	event->head = frame->call.head;
	event->head.kind = GT_EVENT_stack;
	event->head.size = (uint16_t)((HEAD_WORDS + walk.count) * sizeof(uint64_t));
	event->number = walk.hash;
	event->flags = walk.truncated ? GT_STACK_TRUNCATED : 0;
	event->reserved = 0;
	gt_call_put(&event->head);
	return walk.hash;
}
