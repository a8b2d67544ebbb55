/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets of descriptors, times, timers and usage in the arguments of system calls, as strace prints
 * them. Layouts are those of 64-bit machines (include/uapi). Copies may lie at any address.
 */
#include <string.h>

#include "base/clean.h"
#include "kernel/private.h"

#define SELECT_TIMEOUT 4 /* the argument */

/* The descriptors of a set, in brackets; nothing for an empty one. */
static void put_set(struct gt_strbuf *text, const struct gt_argument_copy *copy, bool if_empty)
{
	bool found = false;

	for (size_t i = 0; i < copy->size * 8; i++) {
		if (!((unsigned char)copy->bytes[i / 8] >> i % 8 & 1))
			continue;
		gt_strbuf_printf(text, "%s%zu", found ? " " : "[", i);
		found = true;
	}
	if (found || if_empty)
		gt_strbuf_puts(text, found ? "]" : "[]");
}

/* As it was given to the call. */
void gt_put_fd_set(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if ((__s32)argument->event->argument0 >= 0 &&
	    gt_argument_find(argument->event, argument->index, false, 0, 0, &copy))
		put_set(argument->text, &copy, true);
	else
		gt_put_pointer(argument);
}

static void put_time(struct gt_strbuf *text, const char *bytes, const char *fraction)
{
	gt_strbuf_printf(text, "{tv_sec=%lld, %s=%llu}", (long long)gt_read_u64(bytes, 0), fraction,
			 (unsigned long long)gt_read_u64(bytes, 8));
}

void gt_put_timeval(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 16, &bytes))
		put_time(argument->text, bytes, "tv_usec");
}

void gt_put_select_result(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	static const char *const labels[] = {"in ", "out ", "except "};
	const char *name = gt_syscall_name(event->machine, event->number);
	const bool has_timespec = name && !strcmp(name, "pselect6");
	gt_auto_strbuf ready = GT_STRBUF_INIT;
	struct gt_argument_copy copy;

	if (!name || (!has_timespec && strcmp(name, "select") != 0))
		return;
	if (!event->result) {
		gt_strbuf_puts(text, " (Timeout)");
		return;
	}
	for (unsigned i = 0; i < gt_countof(labels); i++) {
		gt_auto_strbuf set = GT_STRBUF_INIT;

		if (gt_argument_find(event, 1 + i, true, 0, 0, &copy))
			put_set(&set, &copy, false);
		if (set.length)
			gt_strbuf_printf(&ready, "%s%s%s", ready.length ? ", " : "", labels[i],
					 gt_strbuf_string(&set));
	}
	if (gt_argument_find(event, SELECT_TIMEOUT, true, 0, 16, &copy)) {
		gt_strbuf_puts(&ready, ready.length ? ", left " : "left ");
		put_time(&ready, copy.bytes, has_timespec ? "tv_nsec" : "tv_usec");
	}
	if (ready.length)
		gt_strbuf_printf(text, " (%s)", gt_strbuf_string(&ready));
}

/* struct timezone */
void gt_put_time_zone(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 8, &bytes))
		gt_strbuf_printf(argument->text, "{tz_minuteswest=%d, tz_dsttime=%d}",
				 (int)gt_read_u32(bytes, 0), (int)gt_read_u32(bytes, 4));
}

/* struct tms, in clock ticks */
void gt_put_process_times(const struct gt_argument *argument)
{
	static const char *const fields[] = {"tms_utime", "tms_stime", "tms_cutime", "tms_cstime"};
	const char *bytes;

	if (!gt_argument_bytes(argument, 32, &bytes))
		return;
	for (size_t i = 0; i < gt_countof(fields); i++)
		gt_strbuf_printf(argument->text, "%s%s=%lld", i ? ", " : "{", fields[i],
				 (long long)gt_read_u64(bytes, i * 8));
	gt_strbuf_putc(argument->text, '}');
}

/* struct itimerspec */
void gt_put_timer(const struct gt_argument *argument)
{
	const char *bytes;

	if (!gt_argument_bytes(argument, 32, &bytes))
		return;
	gt_strbuf_puts(argument->text, "{it_interval=");
	put_time(argument->text, bytes, "tv_nsec");
	gt_strbuf_puts(argument->text, ", it_value=");
	put_time(argument->text, bytes + 16, "tv_nsec");
	gt_strbuf_putc(argument->text, '}');
}

/* struct rusage: its first two members. */
void gt_put_usage(const struct gt_argument *argument)
{
	const char *bytes;

	if (!gt_argument_bytes(argument, 32, &bytes))
		return;
	gt_strbuf_puts(argument->text, "{ru_utime=");
	put_time(argument->text, bytes, "tv_usec");
	gt_strbuf_puts(argument->text, ", ru_stime=");
	put_time(argument->text, bytes + 16, "tv_usec");
	gt_strbuf_puts(argument->text, ", ...}");
}

/* struct linux_dirent64: their number. */
void gt_put_directory_entries(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	gt_put_pointer(argument);
	if (gt_argument_copy(argument, 0, &copy))
		gt_strbuf_printf(argument->text, " /* %zu entr%s */", copy.total,
				 copy.total == 1 ? "y" : "ies");
}

/* struct sched_param */
void gt_put_scheduler_parameter(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 4, &bytes))
		gt_strbuf_printf(argument->text, "[%d]", (int)gt_read_u32(bytes, 0));
}
