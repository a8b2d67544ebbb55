/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Totals of NVIDIA's driver, added up by function, command, process, minor number and interrupt. */
#include "analysis/nvidia.h"

#include <stdlib.h>

#include "event/kinds.h"
#include "tap.h"

/* Calls of a function by a process, each of the same duration (0: none is known). */
static void take_sums(struct gt_nvidia_calls *calls, unsigned process, unsigned function,
		      unsigned command, unsigned control, uint64_t count, uint64_t duration)
{
	uint64_t durations[GT_DURATION_BUCKETS] = {0};
	struct gt_event_nvidia_sums *event;

	if (duration)
		durations[gt_duration_bucket(duration)] = count;
	event = (void *)gt_event_new(GT_EVENT_nvidia_sums, (const char *)durations,
				     sizeof(durations));
	event->head.process = process;
	event->function = function;
	event->command = command;
	event->control = control;
	event->count = count;
	event->errors = 1;
	event->total = count * duration;
	event->longest = duration;
	CHECK_INT(gt_nvidia_calls_take(calls, &event->head), 0);
	free(event);
}

static const struct gt_nvidia_row *row_at(struct gt_nvidia_calls *calls, enum gt_nvidia_group group,
					  size_t index)
{
	static const struct gt_nvidia_row none;
	size_t count;
	const struct gt_nvidia_row *rows = gt_nvidia_calls_rows(calls, group, &count);

	CHECK(index < count);
	return index < count ? &rows[index] : &none;
}

static size_t count_rows(struct gt_nvidia_calls *calls, enum gt_nvidia_group group)
{
	size_t count;

	gt_nvidia_calls_rows(calls, group, &count);
	return count;
}

TEST("calls of a function are added over processes and commands, the most frequent first")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();

	take_sums(calls, 7, GT_NVIDIA_open, 0, 0, 2, 1000);
	take_sums(calls, 7, GT_NVIDIA_ioctl, 0xc020462a, 0x20800102, 5, 1000);
	take_sums(calls, 8, GT_NVIDIA_ioctl, 0xc020462a, 0x20800102, 3, 9000);
	take_sums(calls, 8, GT_NVIDIA_ioctl, 0xc020462a, 0x20800103, 1, 9000);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_FUNCTION), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->first, GT_NVIDIA_ioctl);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->count, 9);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->errors, 3);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->total, 41000);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->longest, 9000);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 1)->first, GT_NVIDIA_open);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_COMMAND), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_COMMAND, 0)->second, 0x20800102);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_COMMAND, 0)->count, 8);
}

TEST("the same number is another command in UVM's file")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();

	take_sums(calls, 7, GT_NVIDIA_ioctl, 1, 0, 1, 0);
	take_sums(calls, 7, GT_NVIDIA_uvm_ioctl, 1, 0, 2, 0);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_COMMAND), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_COMMAND, 0)->function, GT_NVIDIA_uvm_ioctl);
}

TEST("a process holds the files that it has opened and not closed")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();

	take_sums(calls, 7, GT_NVIDIA_open, 0, 0, 39, 0);
	take_sums(calls, 7, GT_NVIDIA_open, 255, 0, 1, 0);
	take_sums(calls, 7, GT_NVIDIA_close, 0, 0, 1, 0);
	take_sums(calls, 8, GT_NVIDIA_close, 0, 0, 8, 0); /* opened before the session */
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_PROCESS), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_PROCESS, 0)->first, 7);
	CHECK_INT(gt_nvidia_held(row_at(calls, GT_NVIDIA_BY_PROCESS, 0)), 39);
	CHECK_INT(gt_nvidia_held(row_at(calls, GT_NVIDIA_BY_PROCESS, 1)), 0);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_MINOR), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_MINOR, 0)->first, 0);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_MINOR, 0)->count, 39);
}

TEST("interrupts belong to no process; bottom halves are rows by interrupt number")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();

	take_sums(calls, 0, GT_NVIDIA_isr, 40, 0, 5, 0);
	take_sums(calls, 0, GT_NVIDIA_isr_bottom_half, 40, 0, 5, 2000);
	take_sums(calls, 0, GT_NVIDIA_isr_bottom_half, 41, 0, 6, 3000);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_PROCESS), 0);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_INTERRUPT), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_INTERRUPT, 0)->first, 41);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_INTERRUPT, 0)->total, 18000);
}

TEST("quantiles are in the bucket of the duration, and never above the longest")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();
	const struct gt_nvidia_row *row;

	take_sums(calls, 7, GT_NVIDIA_poll, 0, 0, 98, 1000);
	take_sums(calls, 7, GT_NVIDIA_poll, 0, 0, 2, 1000000);
	row = row_at(calls, GT_NVIDIA_BY_FUNCTION, 0);
	CHECK_INT(row->timed, 100);
	CHECK(gt_nvidia_quantile(row, 0.5) >= 896 && gt_nvidia_quantile(row, 0.5) < 1024);
	CHECK(gt_nvidia_quantile(row, 0.99) >= 917504 && gt_nvidia_quantile(row, 0.99) <= 1000000);
	CHECK_INT(gt_nvidia_quantile(row, 1), gt_nvidia_quantile(row, 0.99));
}

TEST("a row without times has no quantiles")
{
	const struct gt_nvidia_row row = {.count = 5};

	CHECK_INT(gt_nvidia_quantile(&row, 0.5), 0);
}

TEST("Xids are counted by number")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();
	static const unsigned codes[] = {31, 79, 31};

	for (size_t i = 0; i < gt_countof(codes); i++) {
		struct gt_event_nvidia_xid *event =
			(void *)gt_event_new(GT_EVENT_nvidia_xid, "0000:65:00.0 ", 13);

		event->code = codes[i];
		CHECK_INT(gt_nvidia_calls_take(calls, &event->head), 0);
		free(event);
	}
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_XID), 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_XID, 0)->first, 31);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_XID, 0)->count, 2);
}

TEST("totals of functions that are not known, and with fewer buckets, are harmless")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();
	const uint64_t two[] = {1, 1};
	struct gt_event_nvidia_sums *event =
		(void *)gt_event_new(GT_EVENT_nvidia_sums, (const char *)two, sizeof(two));

	event->head.process = 7;
	event->function = 60000;
	event->count = 2;
	CHECK_INT(gt_nvidia_calls_take(calls, &event->head), 0);
	free(event);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->timed, 2);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_PROCESS, 0)->count, 2);
}

TEST("a capture with any number of processes does not grow the tables without bound")
{
	gt_auto(nvidia_calls) struct gt_nvidia_calls *calls = gt_nvidia_calls_new();

	for (unsigned process = 1; process <= 5000; process++)
		take_sums(calls, process, GT_NVIDIA_poll, 0, 0, 1, 0);
	CHECK_INT(count_rows(calls, GT_NVIDIA_BY_PROCESS), 4096);
	CHECK_INT(row_at(calls, GT_NVIDIA_BY_FUNCTION, 0)->count, 5000);
}

TEST_MAIN
