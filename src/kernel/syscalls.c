/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "kernel/syscalls.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clean.h"
#include "event/kinds.h"
#include "kernel/private.h"

#define MAX_ARGUMENTS 6
#define MAX_ERRNO 4095 /* include/linux/err.h */

static const char *const names_x86_64[] = {
#define SYSCALL(number, name) [number] = #name,
#include "kernel/syscalls_x86_64.def"
#undef SYSCALL
};

static const char *const names_aarch64[] = {
#define SYSCALL(number, name) [number] = #name,
#include "kernel/syscalls_aarch64.def"
#undef SYSCALL
};

struct machine_row {
	const char *const *names;
	size_t count;
};

static const struct machine_row machines[] = {
	[GT_SYSCALL_X86_64] = {names_x86_64, gt_countof(names_x86_64)},
	[GT_SYSCALL_AARCH64] = {names_aarch64, gt_countof(names_aarch64)},
};

enum argument_kind {
	ARGUMENT_NONE,
#define KIND(identifier, ...) ARGUMENT_##identifier,
#include "kernel/argument_kinds.def"
#undef KIND
};

struct kind_row {
	gt_put_argument *put;
	enum gt_name_set_number names;
	__u8 method;    /* enum gt_syscall_copy_method; 0: no copy */
	__u8 at_return; /* 2: both at the entry and at the return */
	__u16 size;
	__u16 limit;
	int length; /* the argument with the number of elements, relative to this one; 0: none */
};

static const struct kind_row kinds[] = {
#define KIND(identifier, format, names, method, at_return, size, limit, length)                    \
	[ARGUMENT_##identifier] = {                                                                \
		gt_put_##format, GT_NAMES_##names, method, at_return, size, limit, length},
#include "kernel/argument_kinds.def"
#undef KIND
};

struct call_row {
	const char *name;
	int select; /* the argument that selects the row; -1: any call of the name */
	__u32 mask, value;
	/* How the result is shown, then the arguments. */
	enum argument_kind shown[1 + MAX_ARGUMENTS];
};

#define FIRST(_1, _2, _3, _4, _5, _6, _7, n, ...) n
#define SHOW_1(a) ARGUMENT_##a
#define SHOW_2(a, ...) ARGUMENT_##a, SHOW_1(__VA_ARGS__)
#define SHOW_3(a, ...) ARGUMENT_##a, SHOW_2(__VA_ARGS__)
#define SHOW_4(a, ...) ARGUMENT_##a, SHOW_3(__VA_ARGS__)
#define SHOW_5(a, ...) ARGUMENT_##a, SHOW_4(__VA_ARGS__)
#define SHOW_6(a, ...) ARGUMENT_##a, SHOW_5(__VA_ARGS__)
#define SHOW_7(a, ...) ARGUMENT_##a, SHOW_6(__VA_ARGS__)
#define SHOW(...)                                                                                  \
	FIRST(__VA_ARGS__, SHOW_7, SHOW_6, SHOW_5, SHOW_4, SHOW_3, SHOW_2, SHOW_1, )(__VA_ARGS__)

static const struct call_row calls[] = {
#define CALL(name, ...) {#name, -1, 0, 0, {SHOW(__VA_ARGS__)}},
#define CALL_IF(name, argument, mask, value, ...)                                                  \
	{#name, argument, mask, value, {SHOW(__VA_ARGS__)}},
#include "kernel/arguments.def"
#undef CALL
#undef CALL_IF
};

/* A call without a row of its own. */
static const struct call_row any_call = {
	.select = -1,
	.shown = {ARGUMENT_INT, ARGUMENT_HEX, ARGUMENT_HEX, ARGUMENT_HEX, ARGUMENT_HEX,
		  ARGUMENT_HEX, ARGUMENT_HEX},
};

/* ---- names -------------------------------------------------------------------------------- */

enum gt_syscall_machine gt_syscall_machine(void)
{
#if defined(__x86_64__)
	return GT_SYSCALL_X86_64;
#else
	return GT_SYSCALL_AARCH64;
#endif
}

const char *gt_syscall_name(enum gt_syscall_machine machine, __u32 number)
{
	if ((size_t)machine >= gt_countof(machines) || number >= machines[machine].count)
		return NULL;
	return machines[machine].names[number];
}

int gt_syscall_number(enum gt_syscall_machine machine, const char *name)
{
	for (size_t i = 0; (size_t)machine < gt_countof(machines) && i < machines[machine].count;
	     i++)
		if (machines[machine].names[i] && !strcmp(machines[machine].names[i], name))
			return (int)i;
	return -1;
}

static bool row_is_of(const struct call_row *row, const char *name)
{
	return row->name[0] == name[0] && !strcmp(row->name, name);
}

__u64 gt_argument_value(const struct gt_event_syscall *event, unsigned index)
{
	return index < MAX_ARGUMENTS ? (&event->argument0)[index] : 0;
}

static const struct call_row *find_row(const struct gt_event_syscall *event)
{
	const char *name = gt_syscall_name(event->machine, event->number);

	for (size_t i = 0; name && i < gt_countof(calls); i++) {
		const struct call_row *row = &calls[i];

		if (row_is_of(row, name) &&
		    (row->select < 0 ||
		     (gt_argument_value(event, (unsigned)row->select) & row->mask) == row->value))
			return row;
	}
	return &any_call;
}

/* ---- plans -------------------------------------------------------------------------------- */

static struct gt_syscall_copy *find_copy(struct gt_syscall_plan *plan,
					 const struct gt_syscall_copy *wanted)
{
	for (unsigned i = 0; i < plan->copies; i++) {
		struct gt_syscall_copy *copy = &plan->copy[i];

		if (copy->argument == wanted->argument && copy->method == wanted->method &&
		    copy->at_return == wanted->at_return)
			return copy;
	}
	if (plan->copies == GT_SYSCALL_MAX_COPIES)
		return NULL;
	plan->copy[plan->copies] = *wanted;
	return &plan->copy[plan->copies++];
}

/* The values of the selecting argument for which a row is used. */
static __u64 row_values(const struct call_row *row, __u64 used)
{
	return row->select < 0 ? ~used : 1ULL << (row->value & 63);
}

static void plan_copies(struct gt_syscall_plan *plan, const struct call_row *row,
			const struct call_row *selected, __u64 used)
{
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		const struct kind_row *kind = &kinds[row->shown[1 + i]];

		for (unsigned at_return = 0; kind->method && at_return < 2; at_return++) {
			struct gt_syscall_copy copy = {
				.argument = (__u8)i,
				.method = kind->method,
				.at_return = (__u8)at_return,
				.select = GT_SYSCALL_NO_ARGUMENT,
				.length = (__u8)((int)i + kind->length),
				.size = kind->size,
				.limit = kind->limit,
			};
			struct gt_syscall_copy *at;

			if (kind->at_return != 2 && kind->at_return != at_return)
				continue;
			at = find_copy(plan, &copy);
			if (!at || !selected)
				continue;
			at->select = (__u8)selected->select;
			at->values |= row_values(row, used);
		}
	}
}

struct gt_syscall_plan gt_syscall_plan(__u32 number)
{
	const char *name = gt_syscall_name(gt_syscall_machine(), number);
	const struct call_row *selected = NULL;
	struct gt_syscall_plan plan = {.selected = 1};
	__u64 used = 0;

	for (size_t i = 0; name && i < gt_countof(calls); i++) {
		if (!row_is_of(&calls[i], name))
			continue;
		if (calls[i].select >= 0) {
			selected = &calls[i];
			used |= row_values(selected, 0);
		}
		plan_copies(&plan, &calls[i], selected, used);
	}
	plan.has_file = name && !strcmp(name, "ioctl");
	return plan;
}

/* ---- copies ------------------------------------------------------------------------------- */

bool gt_argument_find(const struct gt_event_syscall *event, unsigned argument, bool at_return,
		      unsigned element, size_t minimum, struct gt_argument_copy *ret_copy)
{
	const char *at = (const char *)event->data;
	size_t rest = gt_event_tail_size(&event->head);

	while (rest >= sizeof(struct gt_syscall_chunk)) {
		struct gt_syscall_chunk chunk;
		size_t padded;

		memcpy(&chunk, at, sizeof(chunk));
		at += sizeof(chunk);
		rest -= sizeof(chunk);
		padded = ((size_t)chunk.size + 7) & ~(size_t)7;
		if (padded > rest)
			return false;
		if (chunk.argument == argument && chunk.at_return == at_return &&
		    chunk.element == element) {
			if (chunk.size < minimum)
				return false;
			*ret_copy = (struct gt_argument_copy){at, chunk.size, chunk.total};
			return true;
		}
		at += padded;
		rest -= padded;
	}
	return false;
}

bool gt_argument_copy(const struct gt_argument *argument, size_t minimum,
		      struct gt_argument_copy *ret_copy)
{
	return gt_argument_find(argument->event, argument->index, false, 0, minimum, ret_copy) ||
	       gt_argument_find(argument->event, argument->index, true, 0, minimum, ret_copy);
}

/* ---- text --------------------------------------------------------------------------------- */

static void put_shown(struct gt_strbuf *text, const struct gt_event_syscall *event,
		      enum argument_kind shown, unsigned index, __u64 value)
{
	const struct kind_row *kind = &kinds[shown];
	const struct gt_argument argument = {
		.text = text,
		.event = event,
		.index = index,
		.value = value,
		.names = kind->names,
	};

	kind->put(&argument);
}

bool gt_syscall_put_argument(struct gt_strbuf *text, const struct gt_event_syscall *event,
			     unsigned index)
{
	const struct call_row *row = find_row(event);

	if (index >= MAX_ARGUMENTS || row->shown[1 + index] == ARGUMENT_NONE)
		return false;
	put_shown(text, event, row->shown[1 + index], index, gt_argument_value(event, index));
	return true;
}

void gt_syscall_put_name(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	const char *name = gt_syscall_name(event->machine, event->number);

	if (name)
		gt_strbuf_puts(text, name);
	else
		gt_strbuf_printf(text, "%s_%u",
				 event->machine == GT_SYSCALL_COMPAT ? "syscall32" : "syscall",
				 event->number);
}

void gt_syscall_put_arguments(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
		size_t start = text->length, begun;

		gt_strbuf_puts(text, i ? ", " : "");
		begun = text->length;
		if (!gt_syscall_put_argument(text, event, i) || text->length == begun) {
			text->length = start;
			if (text->data)
				text->data[start] = '\0';
		}
	}
}

int gt_syscall_error(const struct gt_event_syscall *event)
{
	return !event->state && event->result < 0 && event->result >= -MAX_ERRNO
		       ? (int)-event->result
		       : 0;
}

/* Results that programs do not see: include/linux/errno.h. */
struct restart_row {
	int error;
	const char *name, *description;
};

static const struct restart_row restarts[] = {
	{512, "ERESTARTSYS", "To be restarted if SA_RESTART is set"},
	{513, "ERESTARTNOINTR", "To be restarted"},
	{514, "ERESTARTNOHAND", "To be restarted if no handler"},
	{516, "ERESTART_RESTARTBLOCK", "Interrupted by signal"},
};

static const struct restart_row *find_restart(int error)
{
	for (size_t i = 0; i < gt_countof(restarts); i++)
		if (restarts[i].error == error)
			return &restarts[i];
	return NULL;
}

const char *gt_errno_name(int error)
{
	const struct restart_row *restart = find_restart(error);

	return restart ? restart->name : strerrorname_np(error);
}

static void put_error(struct gt_strbuf *text, int error)
{
	const struct restart_row *restart = find_restart(error);
	const char *name = strerrorname_np(error);

	if (restart)
		gt_strbuf_printf(text, "? %s (%s)", restart->name, restart->description);
	else if (name)
		gt_strbuf_printf(text, "-1 %s (%s)", name, strerrordesc_np(error));
	else
		gt_strbuf_printf(text, "-1 (errno %d)", error);
}

static void put_returned(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	enum argument_kind shown = find_row(event)->shown[0];
	__u64 result = (__u64)event->result;

	switch (shown) {
	case ARGUMENT_INT:
		gt_strbuf_i64(text, event->result);
		break;
	case ARGUMENT_DESCRIPTOR_FLAGS:
	case ARGUMENT_OPEN_FLAGS:
	case ARGUMENT_SEALS:
		gt_strbuf_printf(text, result ? "%#llx" : "%llu", (unsigned long long)result);
		if (!result && shown != ARGUMENT_OPEN_FLAGS)
			return;
		gt_strbuf_puts(text, shown == ARGUMENT_SEALS ? " (seals " : " (flags ");
		put_shown(text, event, shown, 0, result);
		gt_strbuf_putc(text, ')');
		break;
	case ARGUMENT_SCHEDULER:
	case ARGUMENT_DUMPABLE:
		gt_strbuf_i64(text, event->result);
		gt_strbuf_puts(text, " (");
		put_shown(text, event, shown, 0, result);
		gt_strbuf_putc(text, ')');
		break;
	default:
		put_shown(text, event, shown, 0, result);
	}
}

void gt_syscall_put_result(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	int error = gt_syscall_error(event);

	if (event->state)
		gt_strbuf_putc(text, '?');
	else if (error)
		put_error(text, error);
	else
		put_returned(text, event);
	if (!event->state && !error) {
		gt_put_poll_result(text, event);
		gt_put_select_result(text, event);
		gt_put_messages_result(text, event);
	}
}
