/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls: their names, what is to be copied of their arguments, and their text as strace
 * prints it: openat(AT_FDCWD, "/dev/nvidia0", O_RDWR) = 3
 */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "event/event.h"
#include "kernel/syscall_plan.h"

/* The machine whose numbers a kernel of the build's machine has. */
enum gt_syscall_machine gt_syscall_machine(void);

/* NULL if there is none of that number. */
const char *gt_syscall_name(enum gt_syscall_machine machine, __u32 number);
/* The number of a call; -1 if the machine has none of that name. */
int gt_syscall_number(enum gt_syscall_machine machine, const char *name);

/* Make the plan of a call of the build's machine: what is copied, and with `selected` set. */
struct gt_syscall_plan gt_syscall_plan(__u32 number);

/*
 * Add the name of a call, "syscall_999" if it is not known; its arguments, "AT_FDCWD, "/x",
 * O_RDONLY"; its result, "-1 ENOENT (No such file or directory)". `event` is a checked record.
 */
void gt_syscall_put_name(struct gt_strbuf *text, const struct gt_event_syscall *event);
void gt_syscall_put_arguments(struct gt_strbuf *text, const struct gt_event_syscall *event);
void gt_syscall_put_result(struct gt_strbuf *text, const struct gt_event_syscall *event);

/*
 * The arguments one by one: add argument `index` and return true; false if the call has no more. An
 * argument may add several, as clone(2)'s.
 */
bool gt_syscall_put_argument(struct gt_strbuf *text, const struct gt_event_syscall *event,
			     unsigned index);

/* The errno of a call that failed, else 0. */
int gt_syscall_error(const struct gt_event_syscall *event);
/* The name of an errno as calls return it, "ENOENT"; NULL: unknown. */
const char *gt_errno_name(int error);
