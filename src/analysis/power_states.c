/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/power_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RPM_ASYNC 1 /* drivers/base/power/power.h, include/linux/pm_runtime.h: only queued */

struct gt_power_states *gt_power_states_new(void)
{
	gt_auto(power_states) struct gt_power_states *states = calloc(1, sizeof(*states));

	if (!states || gt_keyed_rows_init(&states->units) ||
	    gt_keyed_rows_init(&states->frequencies) || gt_keyed_rows_init(&states->devices) ||
	    gt_keyed_rows_init(&states->steps))
		return NULL;
	return gt_take(states);
}

static void release_device(void *opaque)
{
	struct gt_power_device *device = opaque;

	gt_histogram_free(&device->suspending);
	gt_histogram_free(&device->resuming);
	gt_histogram_free(&device->callbacks);
}

static void release_step(void *opaque)
{
	gt_histogram_free(&((struct gt_power_step *)opaque)->times);
}

void gt_power_states_free(struct gt_power_states *states)
{
	if (!states)
		return;
	gt_keyed_rows_free(&states->units, NULL);
	gt_keyed_rows_free(&states->frequencies, NULL);
	gt_keyed_rows_free(&states->devices, release_device);
	gt_keyed_rows_free(&states->steps, release_step);
	free(states);
}

/* ---- frequencies -------------------------------------------------------------------------- */

static int advance_unit(struct gt_power_states *states, struct gt_frequency_unit *unit,
			uint64_t now)
{
	struct gt_frequency_time_key key = {unit->key.is_gpu, unit->last};
	uint64_t time = now > unit->since ? now - unit->since : 0;
	struct gt_frequency_time *row;

	if (!key.is_gpu)
		key.frequency -= key.frequency % GT_FREQUENCY_STEP;
	row = gt_keyed_rows_get(&states->frequencies, &key, sizeof(key), sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->time += time;
	unit->time += time;
	unit->weighted += (double)unit->last * (double)time;
	unit->since += time;
	return 0;
}

static int add_frequency(struct gt_power_states *states, const struct gt_event_power_state *power)
{
	const struct gt_frequency_unit_key key = {power->operation == GT_POWER_GPU_FREQUENCY,
						  power->unit};
	struct gt_frequency_unit *unit =
		gt_keyed_rows_get(&states->units, &key, sizeof(key), sizeof(*unit));
	int error = 0;

	if (!unit)
		return -ENOMEM;
	if (unit->changes)
		error = advance_unit(states, unit, power->head.time);
	else
		unit->since = power->head.time;
	if (!unit->changes || power->value < unit->min)
		unit->min = power->value;
	if (power->value > unit->max)
		unit->max = power->value;
	unit->changes += 1 + power->skipped;
	unit->last = power->value;
	return error;
}

int gt_power_states_advance(struct gt_power_states *states, uint64_t now)
{
	int error = 0;

	gt_vec_each (unit, &states->units.rows)
		if (!error)
			error = advance_unit(states, *unit, now);
	return error;
}

uint64_t gt_frequency_mean(const struct gt_frequency_unit *unit)
{
	double mean = unit->time ? unit->weighted / (double)unit->time : (double)unit->last;

	/* A capture may have any frequency: up to 2^64 in a double. */
	return mean >= (double)unit->max ? unit->max : (uint64_t)(mean + 0.5);
}

static int compare_frequencies(const void *a, const void *b)
{
	const struct gt_frequency_time_key *left = *(const struct gt_frequency_time_key *const *)a,
					   *right = *(const struct gt_frequency_time_key *const *)b;

	if (left->is_gpu != right->is_gpu)
		return left->is_gpu < right->is_gpu ? -1 : 1;
	return left->frequency < right->frequency ? -1 : left->frequency > right->frequency;
}

void gt_power_states_sort(struct gt_power_states *states)
{
	if (states->frequencies.rows.count)
		qsort(states->frequencies.rows.items, states->frequencies.rows.count,
		      sizeof(*states->frequencies.rows.items), compare_frequencies);
}

/* ---- devices ------------------------------------------------------------------------------ */

/* A function of runtime power management begins; its result follows those of functions in it. */
static void begin_operation(struct gt_power_device *device,
			    const struct gt_event_power_state *power)
{
	if (device->depth < GT_POWER_NESTING)
		device->pending[device->depth] = (struct gt_power_pending){
			power->operation, (uint32_t)power->value, power->head.time};
	if (device->depth < UINT32_MAX)
		device->depth++;
}

/* The device was suspended from its last suspend to the beginning of a resume that did anything. */
static void end_suspension(struct gt_power_device *device, uint64_t time)
{
	if (device->suspended_since && time > device->suspended_since)
		device->suspended += time - device->suspended_since;
	device->suspended_since = 0;
}

/*
 * The result 1 is that of a device in this state already. A suspend that is only scheduled has the
 * result 0, too: then another one follows, before the next resume.
 */
static int end_operation(struct gt_power_device *device, const struct gt_event_power_state *power)
{
	struct gt_power_pending *pending;
	uint64_t time;

	if (!device->depth || --device->depth >= GT_POWER_NESTING)
		return 0;
	pending = &device->pending[device->depth];
	if (pending->flags & RPM_ASYNC || pending->operation == GT_POWER_DEVICE_IDLE)
		return 0;
	device->errors += power->error < 0;
	if (power->error)
		return 0;
	time = power->head.time - pending->time;
	if (pending->operation == GT_POWER_DEVICE_SUSPEND) {
		device->suspends++;
		device->suspended_since = power->head.time;
		return gt_histogram_add(&device->suspending, time);
	}
	device->resumes++;
	end_suspension(device, pending->time);
	return gt_histogram_add(&device->resuming, time);
}

static int add_device(struct gt_power_states *states, const struct gt_event_power_state *power,
		      const char *name)
{
	struct gt_power_device *device =
		gt_keyed_rows_get(&states->devices, name, GT_DEVICE_NAME_SIZE, sizeof(*device));

	if (!device)
		return -ENOMEM;
	switch (power->operation) {
	case GT_POWER_DEVICE_IDLE:
		device->idles++;
		begin_operation(device, power);
		return 0;
	case GT_POWER_DEVICE_SUSPEND:
	case GT_POWER_DEVICE_RESUME:
		begin_operation(device, power);
		return 0;
	case GT_POWER_DEVICE_RESULT:
		return end_operation(device, power);
	}
	device->errors += power->error < 0;
	return gt_histogram_add(&device->callbacks, power->duration);
}

/* ---- the system --------------------------------------------------------------------------- */

static int add_step(struct gt_power_states *states, const struct gt_event_power_state *power,
		    const char *name)
{
	struct gt_power_step *step =
		gt_keyed_rows_get(&states->steps, name, GT_DEVICE_NAME_SIZE, sizeof(*step));
	uint64_t begun;

	if (!step)
		return -ENOMEM;
	begun = step->begun;
	step->begun = power->operation == GT_POWER_SYSTEM_BEGIN ? power->head.time : 0;
	if (power->operation == GT_POWER_SYSTEM_BEGIN || !begun || power->head.time < begun)
		return 0;
	return gt_histogram_add(&step->times, power->head.time - begun);
}

int gt_power_states_take(struct gt_power_states *states, const struct gt_event *event)
{
	const struct gt_event_power_state *power = (const void *)event;
	char names[GT_TAIL_NAMES];

	if (event->kind != GT_EVENT_power_state)
		return 0;
	gt_tail_names(event, names);
	switch (power->operation) {
	case GT_POWER_CPU_FREQUENCY:
	case GT_POWER_GPU_FREQUENCY:
		return add_frequency(states, power);
	case GT_POWER_SYSTEM_BEGIN:
	case GT_POWER_SYSTEM_END:
		return add_step(states, power, names);
	}
	return add_device(states, power, names);
}
