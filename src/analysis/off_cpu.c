/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/off_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"
#include "layers/layers.h"

struct gt_off_cpu *gt_off_cpu_new(void)
{
	gt_auto(off_cpu) struct gt_off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));

	if (!off_cpu || gt_keyed_rows_init(&off_cpu->waits) || gt_keyed_rows_init(&off_cpu->wakers))
		return NULL;
	return gt_take(off_cpu);
}

static void release_wait(void *row)
{
	gt_histogram_free(&((struct gt_off_cpu_row *)row)->durations);
	gt_histogram_free(&((struct gt_off_cpu_row *)row)->runnable);
}

static void release_waker(void *row)
{
	gt_histogram_free(&((struct gt_waker_row *)row)->ended);
}

void gt_off_cpu_free(struct gt_off_cpu *off_cpu)
{
	if (!off_cpu)
		return;
	gt_keyed_rows_free(&off_cpu->waits, release_wait);
	gt_keyed_rows_free(&off_cpu->wakers, release_waker);
	free(off_cpu);
}

static int take_waker(struct gt_off_cpu *off_cpu, const struct gt_event_off_cpu *event)
{
	struct gt_waker_key key = {.process = event->waker_process, .thread = event->waker_thread};
	struct gt_waker_row *row;
	size_t length;
	const char *name = gt_event_text(&event->head, &length);

	memcpy(key.name, name, length < sizeof(key.name) ? length : sizeof(key.name) - 1);
	/* Nobody woke a thread that was preempted. */
	if (!event->state || (!key.thread && !key.name[0]))
		return 0;
	row = gt_keyed_rows_get(&off_cpu->wakers, &key, sizeof(key), sizeof(*row));
	return row ? gt_histogram_add(&row->ended, event->duration) : -ENOMEM;
}

int gt_off_cpu_take(struct gt_off_cpu *off_cpu, const struct gt_event *event)
{
	const struct gt_event_off_cpu *wait = (const void *)event;
	const struct gt_off_cpu_key key = {
		.process = event->process,
		.thread = event->thread,
		.state = event->kind == GT_EVENT_off_cpu ? gt_layer_task_state(wait->state) : "",
	};
	struct gt_off_cpu_row *row;
	int error;

	if (event->kind != GT_EVENT_off_cpu)
		return 0;
	row = gt_keyed_rows_get(&off_cpu->waits, &key, sizeof(key), sizeof(*row));
	error = row ? gt_histogram_add(&row->durations, wait->duration) : -ENOMEM;
	if (!error && wait->runnable)
		error = gt_histogram_add(&row->runnable, wait->runnable);
	return error ? error : take_waker(off_cpu, wait);
}

static int compare_waits(const void *left, const void *right)
{
	const struct gt_off_cpu_row *a = *(void *const *)left, *b = *(void *const *)right;

	return (a->durations.sum < b->durations.sum) - (a->durations.sum > b->durations.sum);
}

static int compare_wakers(const void *left, const void *right)
{
	const struct gt_waker_row *a = *(void *const *)left, *b = *(void *const *)right;

	return (a->ended.sum < b->ended.sum) - (a->ended.sum > b->ended.sum);
}

void gt_off_cpu_sort(struct gt_off_cpu *off_cpu)
{
	if (off_cpu->waits.rows.count)
		qsort(off_cpu->waits.rows.items, off_cpu->waits.rows.count, sizeof(void *),
		      compare_waits);
	if (off_cpu->wakers.rows.count)
		qsort(off_cpu->wakers.rows.items, off_cpu->wakers.rows.count, sizeof(void *),
		      compare_wakers);
}
