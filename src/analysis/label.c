/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <inttypes.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/chains.h"
#include "analysis/operation.h"
#include "base/text.h"
#include "event/kinds.h"
#include "names/python.h"

#define CONTAINER_DIGITS 12 /* as many as container runtimes show */

static const char *const by_names[GT_BY_COUNT] = {
	[GT_BY_NOTHING] = "nothing", [GT_BY_STACK] = "stack",     [GT_BY_THREAD] = "thread",
	[GT_BY_STREAM] = "stream",   [GT_BY_PROCESS] = "process", [GT_BY_DEVICE] = "device",
	[GT_BY_CONTEXT] = "context", [GT_BY_SIZE] = "size",       [GT_BY_AGE] = "age",
};

const char *gt_by_name(enum gt_by by)
{
	return by_names[by];
}

struct gt_group gt_group_of_device(const struct gt_names *names, uint32_t process, int device)
{
	struct gt_group group = {.device = device};
	struct gt_known_device known;

	if (gt_names_device(names, process, device, &known) && known.uuid[0]) {
		memcpy(group.uuid, known.uuid, strlen(known.uuid));
		group.device = 0;
	}
	return group;
}

struct gt_group gt_group_of(enum gt_by by, const struct gt_names *names,
			    const struct gt_event_call *call, uint64_t stream)
{
	struct gt_group group = {0};

	switch (by) {
	case GT_BY_STACK:
		group.process = call->head.process;
		group.number = call->stack;
		break;
	case GT_BY_THREAD:
		group.process = call->head.process;
		group.thread = call->head.thread;
		break;
	case GT_BY_STREAM:
		group.process = call->head.process;
		group.number = stream;
		if (stream == GT_STREAM_PER_THREAD)
			group.thread = call->head.thread;
		break;
	case GT_BY_PROCESS:
		group.process = call->head.process;
		break;
	case GT_BY_DEVICE:
		group = gt_group_of_device(names, call->head.process, call->head.device);
		group.process = group.uuid[0] ? 0 : call->head.process;
		break;
	case GT_BY_CONTEXT:
		group.process = call->head.process;
		group.number = call->context;
		break;
	default:
		break;
	}
	return group;
}

struct gt_group gt_group_now(enum gt_by by, const struct gt_names *names, struct gt_chains *chains,
			     const struct gt_group *group)
{
	struct gt_group now = *group;

	if (by == GT_BY_DEVICE && !group->uuid[0])
		return gt_group_of_device(names, group->process, (int)group->device);
	/* Without memory, the stack is a row of its own. */
	if (by == GT_BY_STACK && chains)
		gt_chains_add(chains, group->process, group->number, &now.number);
	return now;
}

/* The stubs of nvcc: the mangled name of the kernel follows, of clang: in the name itself. */
#define STUB "__device_stub_"

/* How much of a function's name stands before the arguments of template and function. */
static size_t plain_length(const char *function)
{
	return strcspn(function, "<(");
}

/* What stands between the program's own code and the call: wrappers of the API and launch stubs. */
static bool is_wrapper(const char *function)
{
	gt_autofree char *name = strndup(function, plain_length(function));

	return name && (strstr(name, STUB) || !strcmp(name, "__cudaLaunchKernel_helper") ||
			gt_api_find(name) >= 0);
}

/* The kernel that a launch stub of nvcc is for, demangled; nothing if it is none. */
static void put_kernel_of_stub(struct gt_strbuf *kernel, const char *function)
{
	gt_auto_strbuf mangled = GT_STRBUF_INIT;

	if (strncmp(function, STUB "_Z", strlen(STUB "_Z")))
		return;
	gt_strbuf_add(&mangled, function + strlen(STUB), plain_length(function) - strlen(STUB));
	gt_strbuf_clear(kernel);
	gt_demangle(gt_strbuf_string(&mangled), kernel);
}

/* The host's function of the kernel calls the stub. It has the kernel's name: plain if that is. */
static bool is_of_kernel(const char *function, const struct gt_strbuf *kernel)
{
	const char *name = gt_strbuf_string(kernel);
	size_t length = plain_length(name);

	return length && length == plain_length(function) && !strncmp(function, name, length);
}

/*
 * The innermost frame that is the program's own, in the caller *ret_index, behind *ret_wrappers
 * frames. NULL: none is, or names end before it.
 */
static const struct gt_source_frame *find_own(const struct gt_names *names, uint32_t process,
					      const __u64 *addresses, size_t count,
					      size_t *ret_index, struct gt_location *ret_location,
					      size_t *ret_wrappers)
{
	gt_auto_strbuf kernel = GT_STRBUF_INIT;

	*ret_wrappers = 0;
	for (size_t i = 0; i < count; i++) {
		gt_names_location(names, process, addresses[i], true, ret_location);
		*ret_index = i;
		if (!ret_location->frame_count)
			break;
		for (size_t k = 0; k < ret_location->frame_count; k++) {
			const char *function = ret_location->frames[k].function;

			if (!function ||
			    (!is_wrapper(function) && !is_of_kernel(function, &kernel)))
				return &ret_location->frames[k];
			put_kernel_of_stub(&kernel, function);
			++*ret_wrappers;
		}
	}
	return NULL;
}

/* The index of the innermost Python frame; `count`: there is none. */
static size_t find_python(const __u64 *addresses, size_t count)
{
	size_t i = 0;

	while (i < count && !gt_python_is_frame(addresses[i]))
		i++;
	return i;
}

/* A frame of a stack: of a caller, or inlined there. */
struct caller_position {
	size_t caller; /* index of the address */
	size_t frame;  /* of the frames there */
};

/*
 * Find the innermost caller that is the program's own; the innermost of all if none is. A Python
 * function goes before native ones without source lines, which are those of the libraries below it.
 */
static struct caller_position find_first(const struct gt_names *names, uint32_t process,
					 const __u64 *addresses, size_t count)
{
	struct gt_location location;
	size_t index = 0, wrappers, python = find_python(addresses, count);
	const struct gt_source_frame *frame =
		find_own(names, process, addresses, count, &index, &location, &wrappers);

	if (frame && (frame->file || python == count))
		return (struct caller_position){index, (size_t)(frame - location.frames)};
	return (struct caller_position){python < count ? python : 0, 0};
}

static void put_caller(struct gt_strbuf *text, const struct gt_location *location, size_t frame,
		       __u64 address)
{
	gt_put_frame(text, location,
		     frame < location->frame_count ? &location->frames[frame] : NULL, address);
}

/*
 * Whether a frame beyond the first is shown. In Python, native code without source lines is not.
 * What is in no file is not: code without a name, or no code at all, where a function without frame
 * pointer misled the walk.
 */
static bool is_shown(const struct gt_location *location, size_t frame, bool has_python)
{
	if (!has_python)
		return location->path;
	return frame < location->frame_count && location->frames[frame].file;
}

static void each_caller(const struct gt_names *names, uint32_t process, const __u64 *addresses,
			size_t count, gt_caller_taker take, void *context)
{
	struct caller_position first = find_first(names, process, addresses, count);
	bool has_python = find_python(addresses, count) < count;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	for (size_t i = first.caller; i < count; i++) {
		size_t k = i == first.caller ? first.frame : 0;
		struct gt_location location;

		gt_names_location(names, process, addresses[i], true, &location);
		do {
			if (i != first.caller && !is_shown(&location, k, has_python))
				continue;
			gt_strbuf_clear(&text);
			put_caller(&text, &location, k, addresses[i]);
			take(context, &text);
		} while (++k < location.frame_count);
	}
}

void gt_label_callers(const struct gt_names *names, uint32_t process, uint64_t stack,
		      gt_caller_taker take, void *context)
{
	size_t count;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (stack && addresses && count) {
		each_caller(names, process, addresses, count, take, context);
		return;
	}
	gt_label_stack(&text, names, process, stack);
	take(context, &text);
}

bool gt_stack_ends_in_stub(const struct gt_names *names, uint32_t process, uint64_t stack)
{
	size_t count, index, wrappers;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);
	struct gt_location location;

	if (!addresses || !count ||
	    find_own(names, process, addresses, count, &index, &location, &wrappers))
		return false;
	gt_names_location(names, process, addresses[0], true, &location);
	return location.frame_count && is_wrapper(location.frames[0].function);
}

size_t gt_stack_wrappers(const struct gt_names *names, uint32_t process, uint64_t stack)
{
	size_t count, index, wrappers;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);
	struct gt_location location;

	if (!addresses || !find_own(names, process, addresses, count, &index, &location, &wrappers))
		return 0;
	return wrappers;
}

void gt_label_stack(struct gt_strbuf *text, const struct gt_names *names, uint32_t process,
		    uint64_t stack)
{
	size_t count;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);
	struct caller_position first;
	struct gt_location location;

	if (!stack || (addresses && !count)) {
		gt_strbuf_putc(text, '-');
	} else if (addresses) {
		first = find_first(names, process, addresses, count);
		gt_names_location(names, process, addresses[first.caller], true, &location);
		put_caller(text, &location, first.frame, addresses[first.caller]);
	} else {
		gt_strbuf_printf(text, "stack 0x%" PRIx64, stack);
	}
}

void gt_label_kernel(struct gt_strbuf *text, const struct gt_short_names *shown, const char *name,
		     uint64_t handle)
{
	gt_auto_strbuf label = GT_STRBUF_INIT;

	if (!name) {
		gt_strbuf_printf(text, "0x%" PRIx64, handle);
		return;
	}
	if (shown)
		gt_short_names_put(shown, name, &label);
	else
		gt_demangle_untagged(name, &label);
	gt_put_printable(text, gt_strbuf_string(&label));
}

void gt_label_container(struct gt_strbuf *text, const struct gt_names *names, uint32_t process)
{
	const char *container = gt_names_container(names, process);
	const char *cgroup = gt_names_cgroup(names, process);

	gt_put_rank(text, names, process);
	if (container) {
		gt_strbuf_printf(text, " in container %.*s", CONTAINER_DIGITS, container);
	} else if (cgroup) {
		gt_strbuf_puts(text, " in cgroup ");
		gt_put_printable(text, cgroup);
	}
}

void gt_label_process(struct gt_strbuf *text, const struct gt_names *names, uint32_t process)
{
	gt_put_id(text, process);
	gt_strbuf_putc(text, ' ');
	gt_put_printable(text, gt_names_process(names, process));
	gt_label_container(text, names, process);
}

static void label_device(struct gt_strbuf *text, const struct gt_group *group)
{
	if (group->device == GT_DEVICE_UNKNOWN)
		gt_strbuf_puts(text, "device ?");
	else
		gt_strbuf_printf(text, "device %" PRId64, group->device);
	if (group->uuid[0])
		gt_strbuf_printf(text, " GPU-%s", group->uuid);
}

const struct gt_context *gt_group_context(const struct gt_names *names,
					  const struct gt_group *group)
{
	const struct gt_event_call call = {
		.head = {.process = group->process},
		.context = (uint32_t)group->number,
	};

	return gt_names_context(names, &call);
}

static void label_context(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_group *group)
{
	const struct gt_context *context = gt_group_context(names, group);

	if (!context)
		gt_strbuf_puts(text, "context ?");
	else if (context->primary)
		gt_strbuf_puts(text, "primary context");
	else
		gt_strbuf_printf(text, "context 0x%" PRIx64, context->handle);
	if (context && context->device != GT_DEVICE_UNKNOWN)
		gt_strbuf_printf(text, " of device %d", context->device);
}

void gt_label_group(struct gt_strbuf *text, const struct gt_names *names, enum gt_by by,
		    const struct gt_group *group)
{
	switch (by) {
	case GT_BY_STACK:
		gt_label_stack(text, names, group->process, group->number);
		break;
	case GT_BY_THREAD:
		gt_strbuf_puts(text, "thread ");
		gt_put_id(text, group->thread);
		break;
	case GT_BY_STREAM:
		if (group->number == GT_STREAM_NONE)
			gt_strbuf_putc(text, '-');
		else
			gt_strbuf_printf(text, "stream 0x%" PRIx64, group->number);
		if (group->thread) {
			gt_strbuf_puts(text, " of thread ");
			gt_put_id(text, group->thread);
		}
		break;
	case GT_BY_PROCESS:
		gt_label_process(text, names, group->process);
		break;
	case GT_BY_DEVICE:
		label_device(text, group);
		break;
	case GT_BY_CONTEXT:
		label_context(text, names, group);
		break;
	case GT_BY_SIZE:
		gt_format_bytes(text, group->number);
		break;
	case GT_BY_AGE:
		gt_strbuf_puts(text, gt_age_name((unsigned)group->number));
		break;
	default:
		break;
	}
}

static const struct {
	uint64_t below; /* seconds */
	const char *name;
} ages[GT_AGES] = {
	{1, "< 1 s"},           {10, "1 s - 10 s"},
	{60, "10 s - 1 min"},   {600, "1 min - 10 min"},
	{3600, "10 min - 1 h"}, {86400, "1 h - 1 d"},
	{UINT64_MAX, "> 1 d"},
};

unsigned gt_age_of(uint64_t ns)
{
	unsigned age = 0;

	while (ns / 1000000000 >= ages[age].below && age + 1 < GT_AGES)
		age++;
	return age;
}

const char *gt_age_name(unsigned age)
{
	return age < GT_AGES ? ages[age].name : "?";
}
