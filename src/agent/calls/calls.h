/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libgputap-calls.so: the functions of APIs, hooked in the traced process. A call becomes the
 * events that the BPF programs on uprobes make of it (src/probe/api/calls.bpf.c), in the ring of
 * the process. It depends on libc and on libgputap-agent.so; whatever goes wrong, the program's
 * call is made. Nothing of the program's memory is read that the function has not read or written
 * itself, but by process_vm_readv, which fails where there is nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/call_table.h"
#include "agent/ring.h"
#include "agent/services.h"
#include "event/event.h"

enum {
	GT_CALL_DEPTH = 8, /* calls inside each other that are recorded */
	GT_CALL_WORDS = GT_PLAN_MAX_SLOTS + GT_PLAN_MAX_COPIED,
	GT_CALL_HEAD_WORDS = sizeof(struct gt_event_call) / sizeof(uint64_t),
	GT_CALL_CONTEXTS = 8,  /* pushed in a thread; the last one is overwritten */
	GT_CALL_CALLERS = 127, /* of a call, recorded */
};

/* Of the process. */
struct gt_call_slot;
extern const struct gt_agent_services *gt_call_services;

/* Whether calls are recorded in this process. */
bool gt_call_is_active(void);
/* A row of the table; NULL: calls are not recorded, or there is no such row. */
const struct gt_agent_call_row *gt_call_row(uint32_t row);
/* A function could not be hooked: its calls are missing. */
void gt_call_count_unhooked(void);
/* Emit the library of a function of a row, once per library. */
void gt_call_report_library(uint32_t row, const void *function);
/* Emit the file of code that looks up functions of the driver, once per file. */
void gt_call_report_caller(const void *address);

/* A context that is or was current in a thread. */
struct gt_call_context {
	uint64_t handle; /* 0: the primary context of `device`, whichever that is */
	int16_t device;  /* or GT_DEVICE_UNKNOWN */
};

/* Which device and context a thread uses. */
struct gt_call_current {
	int16_t device; /* that the runtime uses in the thread, or GT_DEVICE_UNKNOWN */
	uint16_t depth; /* contexts in use */
	struct gt_call_context contexts[GT_CALL_CONTEXTS];
};

/* A call that has not returned. */
struct gt_call_frame {
	uint64_t stack_pointer; /* at entry */
	uint32_t flags;         /* gt_agent_call_flags */
	bool is_uncounted;
	uint16_t counted; /* calls up to this one that are counted … */
	uint16_t hiding;  /* … and those of them that hide driver calls inside them */
	uint16_t words;   /* used of record[], after the head */
	const struct gt_plan *plan;
	union {
		struct gt_event_call call;
		uint64_t record[GT_CALL_HEAD_WORDS + GT_CALL_WORDS + 1];
	};
};

/* The words of the arguments, then those that were copied. */
static inline uint64_t *gt_call_words(struct gt_call_frame *frame)
{
	return frame->record + GT_CALL_HEAD_WORDS;
}

struct gt_call_thread {
	uint32_t process, thread;
	uint32_t depth; /* frames in use */
	uint16_t sequence;
	uint32_t runs;      /* entries and returns, of which some are measured */
	uint64_t waited;    /* for room in the ring, ns, in the one that is measured */
	volatile bool busy; /* a signal handler that calls an API finds it set */
	bool has_stack;     /* the bounds are known */
	uint64_t stack_start, stack_end;
	struct gt_call_current where;
	struct gt_call_frame frames[GT_CALL_DEPTH];
	uint64_t stack[sizeof(struct gt_event_stack) / sizeof(uint64_t) + GT_CALL_CALLERS];
};

/* ---- stubs.S ---- */

/* The return address of traced functions. */
extern const char gt_call_returned[] __attribute__((visibility("hidden")));

/* ---- calls.c ---- */

/* Write an event to the ring; lost ones are counted. */
bool gt_call_put(const struct gt_event *event);

/* ---- arguments.c ---- */

/*
 * Copy what the plan of the call wants at this time. is_there: the call has succeeded, so that it
 * has read or written what it has pointers to.
 */
void gt_call_copy(struct gt_call_frame *frame, enum gt_plan_when when, bool is_there);
/*
 * Emit strings, which do not fit into the record. Unless the result says that the call succeeded,
 * it may have read nothing.
 */
void gt_call_put_strings(struct gt_call_frame *frame, bool succeeded);
/* Emit the arguments of a kernel, at the entry: the array may be gone when the call returns. */
void gt_call_put_arguments(struct gt_call_frame *frame);

/* ---- memory.c ---- */

/*
 * Copy memory of the program that may be unreadable, at most 8 KiB. Return the bytes that could be
 * read.
 */
size_t gt_call_read(void *to, size_t size, uint64_t from);

/* ---- current.c ---- */

/* Set the device and the context of a call of the thread. */
void gt_call_put_current(const struct gt_call_thread *thread, struct gt_event_call *call,
			 bool is_runtime);
/* Apply the effect of a successful call. */
void gt_call_apply_effect(struct gt_call_thread *thread, struct gt_call_frame *frame);
void gt_call_current_forked(void);

/* ---- stack.c ---- */

/*
 * Find the callers of a call by frame pointers, and emit them if they are new. `words`: the saved
 * frame pointer and the return address of the call. Return the number of the stack.
 */
uint64_t gt_call_take_stack(struct gt_call_thread *thread, const struct gt_call_frame *frame,
			    const uint64_t *words, uint32_t depth);
void gt_call_stacks_forked(void);
