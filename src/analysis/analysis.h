/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the analyses share: how rows are grouped, and how what they are grouped by is named. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"
#include "elf/demangle.h"
#include "names/names.h"

/* What rows are split or gathered by. */
enum gt_by {
	GT_BY_NOTHING,
	GT_BY_STACK,
	GT_BY_THREAD,
	GT_BY_STREAM,
	GT_BY_PROCESS,
	GT_BY_DEVICE,
	GT_BY_CONTEXT,
	GT_BY_SIZE,
	GT_BY_AGE,
	GT_BY_COUNT,
};
/* "nothing", "stack", … */
const char *gt_by_name(enum gt_by by);

/* Which group: keys of maps, so without padding. What a grouping does not use is 0. */
struct gt_group {
	uint64_t number; /* a stack, stream, context, size or age, or 0 */
	uint32_t process;
	uint32_t thread;
	int64_t device;
	char uuid[40]; /* of the device; "": unknown */
};

#define GT_STREAM_NONE UINT64_MAX /* as a group's stream: the call has none */

/*
 * The group of a call; `stream` counts with GT_BY_STREAM alone. Devices are distinguished by
 * UUID where it is known, since ordinals may differ between processes: a group is all calls of one
 * UUID, and its `device` is 0 in keys (gt_group_with_ordinal). A device whose UUID is unknown is a
 * group per process, until gt_group_now.
 */
struct gt_group gt_group_of(enum gt_by by, const struct gt_names *names,
			    const struct gt_event_call *call, uint64_t stream);
/* The same for a device, of a process or of all (0): as much as is known now. */
struct gt_group gt_group_of_device(const struct gt_names *names, uint32_t process, int device);
struct gt_chains;
/*
 * The group of gt_group_of with what is known by now: the UUID of its device may have become known.
 * Devices without a known UUID are then one per ordinal. Stacks with equal callers are one: that
 * which `chains` (NULL: as they are) has of them.
 */
struct gt_group gt_group_now(enum gt_by by, const struct gt_names *names, struct gt_chains *chains,
			     const struct gt_group *group);

/* A group as shown in a row: with the ordinal of its first call. */
static inline struct gt_group gt_group_with_ordinal(struct gt_group key, int device)
{
	if (key.uuid[0])
		key.device = device;
	return key;
}

/*
 * Adds the caller of a call, by its stack: "-" if no stack was recorded or found, the number of the
 * stack if nothing else is known.
 */
void gt_label_stack(struct gt_strbuf *text, const struct gt_names *names, uint32_t process,
		    uint64_t stack);
/* Called for each caller, with its text, which is valid during the call. */
typedef void (*gt_caller_taker)(void *context, const struct gt_strbuf *text);
/*
 * Call `take` with the callers of a call, from that of gt_label_stack on outwards. In a stack with
 * Python frames, native ones without source lines are omitted. Without callers: once, with the text
 * of gt_label_stack.
 */
void gt_label_callers(const struct gt_names *names, uint32_t process, uint64_t stack,
		      gt_caller_taker take, void *context);
/*
 * Whether a stack has no callers but wrappers of the API and stubs of launches. nvcc compiles
 * these without frame pointers.
 */
bool gt_stack_ends_in_stub(const struct gt_names *names, uint32_t process, uint64_t stack);
/*
 * Number of frames between the call and the program's own code: wrappers of the API and stubs of
 * launches. 0 also if the stack has no other frames.
 */
size_t gt_stack_wrappers(const struct gt_names *names, uint32_t process, uint64_t stack);
/*
 * Adds the name of a kernel as a person reads it: as it is among `shown`, which are shown together;
 * NULL: with its parameters. `name` is mangled, or NULL: the handle.
 */
void gt_label_kernel(struct gt_strbuf *text, const struct gt_short_names *shown, const char *name,
		     uint64_t handle);
/*
 * Adds in which container a process is, " in container 0123456789ab", or where it is in none in
 * which cgroup; nothing unless cgroups were asked for (gt_names_cgroup).
 */
void gt_label_container(struct gt_strbuf *text, const struct gt_names *names, uint32_t process);
/* Adds "4711 name", and its container. */
void gt_label_process(struct gt_strbuf *text, const struct gt_names *names, uint32_t process);
/* Adds a group: "thread 4712", "stream 0x7f…", "device 0" …; nothing for GT_BY_NOTHING. */
void gt_label_group(struct gt_strbuf *text, const struct gt_names *names, enum gt_by by,
		    const struct gt_group *group);

/* The context of a group of GT_BY_CONTEXT; NULL: unknown. */
const struct gt_context *gt_group_context(const struct gt_names *names,
					  const struct gt_group *group);

/* Ages are grouped in steps: less than a second, ten, a minute … */
#define GT_AGES 7
unsigned gt_age_of(uint64_t ns);
const char *gt_age_name(unsigned age);
