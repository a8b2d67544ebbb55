/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/replace.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "event/kinds.h"
#include "names/machine.h"
#include "session/merge_clock.h"

#define CONTEXT_SHIFT 56

/* A file that is being merged. */
struct merge_input {
	struct gt_merge_file *file;
	struct gt_capture_reader *reader;
	uint8_t *event; /* the next one, rewritten; GT_EVENT_MAX_SIZE bytes */
	bool ended, has_account;
	struct gt_event_account account;   /* its last one */
	struct gt_event_overhead overhead; /* likewise; all zero: none */
	char boot[64];
	gt_clock_samples clocks; /* of all files of the machine, at the first of them */
	/* Those of its machine and of the axis, between which times are converted; NULL: by offset.
	 */
	const gt_clock_samples *own_clocks, *axis_clocks;
	/* Numbers in this file -> numbers in the result + 1. */
	struct gt_hash *functions, *libraries;
};

struct merge {
	struct merge_input *inputs;
	size_t count;
	struct gt_capture_writer *writer;
	struct gt_hash *functions, *libraries; /* name -> number + 1 */
	struct gt_hash *processes;             /* that have events: the keys */
	struct gt_merge_result result;
	uint32_t function_count, library_count;
	GT_VEC(struct gt_event_totals *) totals; /* one per source */
};

/* ---- fields ------------------------------------------------------------------------------- */

enum merge_field {
	FIELD_PROCESS,  /* __u32: of a process or thread */
	FIELD_TIME,     /* __u64: ns, CLOCK_MONOTONIC; 0: unknown */
	FIELD_FUNCTION, /* __u32 */
	FIELD_LIBRARY,  /* __u16 */
	FIELD_CONTEXT,  /* __u64: unique on its machine; 0: none */
};

#define ROW(kind, field, what)                                                                     \
	{                                                                                          \
		GT_EVENT_##kind, offsetof(struct gt_event_##kind, field), what                     \
	}

/* What numbers of events mean something in their capture alone, besides the header. */
static const struct {
	uint16_t kind, offset;
	enum merge_field field;
} rows[] = {
	ROW(call, function, FIELD_FUNCTION),
	ROW(call, library, FIELD_LIBRARY),
	ROW(entry, function, FIELD_FUNCTION),
	ROW(entry, library, FIELD_LIBRARY),
	ROW(implicit, function, FIELD_FUNCTION),
	ROW(implicit, library, FIELD_LIBRARY),
	ROW(string, function, FIELD_FUNCTION),
	ROW(arguments, function, FIELD_FUNCTION),
	ROW(memory, function, FIELD_FUNCTION),
	ROW(sums, function, FIELD_FUNCTION),
	ROW(process, parent, FIELD_PROCESS),
	ROW(gap, start, FIELD_TIME),
	ROW(gap, end, FIELD_TIME),
	ROW(off_cpu, waker_process, FIELD_PROCESS),
	ROW(off_cpu, waker_thread, FIELD_PROCESS),
	ROW(fence, context, FIELD_CONTEXT),
	ROW(fence_wait, context, FIELD_CONTEXT),
	ROW(fence_interrupt, context, FIELD_CONTEXT),
	ROW(drm_job, context, FIELD_CONTEXT),
	ROW(drm_dependency, context, FIELD_CONTEXT),
	ROW(drm_dependency, on_context, FIELD_CONTEXT),
	ROW(i915_request, context, FIELD_CONTEXT),
	ROW(xe_request, context, FIELD_CONTEXT),
	ROW(amdgpu_request, context, FIELD_CONTEXT),
	ROW(syscall, call, FIELD_CONTEXT),
	ROW(vblank, timestamp, FIELD_TIME),
	ROW(gpu_work, submitted, FIELD_TIME),
	ROW(gpu_work, start, FIELD_TIME),
	ROW(gpu_work, returned, FIELD_TIME),
};

static uint32_t mark_process(const struct merge_input *input, uint32_t id)
{
	return id ? id | (uint32_t)input->file->machine << GT_ID_BITS : 0;
}

static uint64_t shift_time(const struct merge_input *input, uint64_t time)
{
	int64_t offset = input->file->offset;

	if (!time)
		return 0;
	if (input->axis_clocks)
		return gt_clock_time_of(input->axis_clocks,
					gt_clock_wall_time(input->own_clocks, time));
	return offset < 0 && time <= (uint64_t)-offset ? 1 : time + (uint64_t)offset;
}

/* The number in the result; ~0 for what the file has not named. */
static uint32_t renumber(const struct gt_hash *numbers, uint32_t number)
{
	uintptr_t known = (uintptr_t)gt_hash_get_u64(numbers, number);

	return known ? (uint32_t)known - 1 : UINT32_MAX;
}

static size_t width_of(enum merge_field field)
{
	return field == FIELD_LIBRARY                              ? sizeof(uint16_t)
	       : field == FIELD_PROCESS || field == FIELD_FUNCTION ? sizeof(uint32_t)
								   : sizeof(uint64_t);
}

static void rewrite_field(const struct merge_input *input, uint8_t *field, enum merge_field what)
{
	uint64_t wide;
	uint32_t number;
	uint16_t narrow;

	switch (what) {
	case FIELD_PROCESS:
	case FIELD_FUNCTION:
		memcpy(&number, field, sizeof(number));
		number = what == FIELD_PROCESS ? mark_process(input, number)
					       : renumber(input->functions, number);
		memcpy(field, &number, sizeof(number));
		break;
	case FIELD_LIBRARY:
		memcpy(&narrow, field, sizeof(narrow));
		narrow = (uint16_t)renumber(input->libraries, narrow);
		memcpy(field, &narrow, sizeof(narrow));
		break;
	case FIELD_TIME:
	case FIELD_CONTEXT:
		memcpy(&wide, field, sizeof(wide));
		if (what == FIELD_TIME)
			wide = shift_time(input, wide);
		else if (wide)
			wide ^= (uint64_t)input->file->machine << CONTEXT_SHIFT;
		memcpy(field, &wide, sizeof(wide));
		break;
	}
}

/* Rewrite the copy of an event, whose fields may be missing in captures of earlier versions. */
static void rewrite_event(const struct merge_input *input)
{
	struct gt_event *event = (struct gt_event *)input->event;

	event->process = mark_process(input, event->process);
	event->thread = mark_process(input, event->thread);
	if (event->clock == GT_CLOCK_MONOTONIC)
		event->time = shift_time(input, event->time);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == event->kind &&
		    rows[i].offset + width_of(rows[i].field) <= event->size)
			rewrite_field(input, input->event + rows[i].offset, rows[i].field);
}

/* ---- files -------------------------------------------------------------------------------- */

static void take_boot(struct merge_input *input, const struct gt_event_machine *machine)
{
	size_t length;
	const char *boot = gt_machine_text(machine, GT_MACHINE_BOOT, &length);

	if (boot && length < sizeof(input->boot))
		memcpy(input->boot, boot, length);
}

static int take_clock(struct merge_input *input, const struct gt_event_clock *clock)
{
	const struct gt_clock_sample sample = {clock->head.time,
					       clock->realtime - clock->head.time};

	return gt_vec_push(&input->clocks, sample);
}

/* Read a file's machine and clocks: from the blocks that have naming events. */
static int read_head(struct merge_input *input, struct gt_diag *diag)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	struct gt_diag ignored = {0};
	int error = gt_capture_open(input->file->path, &reader, diag);

	if (error)
		return error;
	gt_capture_select(reader, UINT64_MAX, 0);
	while (!error && gt_capture_next(reader, &event, &ignored) > 0) {
		if (event->kind == GT_EVENT_machine && !input->boot[0])
			take_boot(input, (const void *)event);
		else if (event->kind == GT_EVENT_clock)
			error = take_clock(input, (const void *)event);
	}
	return error;
}

static bool same_boot(const struct merge_input *one, const struct merge_input *other)
{
	return one->boot[0] && !strcmp(one->boot, other->boot);
}

/* The first file of the machine of this one, or itself. */
static struct merge_input *first_of_machine(struct merge *merge, struct merge_input *input)
{
	struct merge_input *other = merge->inputs;

	while (other < input && !same_boot(other, input))
		other++;
	return other;
}

static void number_machines(struct merge *merge)
{
	unsigned machines = 0;

	for (size_t i = 0; i < merge->count; i++) {
		struct merge_input *input = &merge->inputs[i];
		struct merge_input *first = first_of_machine(merge, input);

		input->file->machine = first < input ? first->file->machine : machines++;
	}
}

/* Move the clocks of each machine to its first file. 0 or -ENOMEM. */
static int join_clocks(struct merge *merge)
{
	int error = 0;

	for (size_t i = 0; i < merge->count && !error; i++) {
		struct merge_input *input = &merge->inputs[i];
		struct merge_input *first = first_of_machine(merge, input);

		input->own_clocks = &first->clocks;
		for (size_t j = 0; input != first && j < input->clocks.count && !error; j++)
			error = gt_vec_push(&first->clocks, input->clocks.items[j]);
	}
	for (size_t i = 0; i < merge->count && !error; i++)
		gt_clock_samples_finish(&merge->inputs[i].clocks);
	return error;
}

/* The clocks that are those of the result: of the machine that was booted first. NULL: none has. */
static const gt_clock_samples *find_axis(const struct merge *merge)
{
	const gt_clock_samples *axis = NULL;

	for (size_t i = 0; i < merge->count; i++) {
		const gt_clock_samples *clocks = merge->inputs[i].own_clocks;

		if (clocks->count && (!axis || clocks->items[0].wall < axis->items[0].wall))
			axis = clocks;
	}
	return axis;
}

/* What the times of a file are shifted by: at the first clock of its machine, and by the last one.
 */
static void set_shift(struct merge_input *input, const gt_clock_samples *axis)
{
	uint64_t first = input->own_clocks->items[0].time;
	uint64_t last = input->own_clocks->items[input->own_clocks->count - 1].time;

	input->axis_clocks = axis;
	input->file->offset = (int64_t)(shift_time(input, first) - first);
	input->file->drift = (int64_t)(shift_time(input, last) - last) - input->file->offset;
}

static int set_offsets(struct merge *merge, struct gt_diag *diag)
{
	const gt_clock_samples *axis;
	int error = join_clocks(merge);

	if (error)
		return error;
	axis = find_axis(merge);
	for (size_t i = 0; i < merge->count; i++) {
		struct merge_input *input = &merge->inputs[i];

		if (input->file->has_offset || (axis && input->own_clocks == axis))
			continue;
		if (!input->own_clocks->count)
			return gt_diag(diag, -EINVAL, "merge", input->file->path,
				       "it does not relate its clock to others; give --offset "
				       "FILE=TIME");
		set_shift(input, axis);
	}
	return 0;
}

static int open_input(struct merge_input *input, const struct merge_input *first,
		      struct gt_diag *diag)
{
	int error = gt_capture_open(input->file->path, &input->reader, diag);

	if (error)
		return error;
	input->event = malloc(GT_EVENT_MAX_SIZE + 8);
	input->functions = gt_hash_new();
	input->libraries = gt_hash_new();
	if (!input->event || !input->functions || !input->libraries)
		return gt_diag(diag, -ENOMEM, "merge", NULL, "out of memory");
	if (gt_capture_head(input->reader)->machine != gt_capture_head(first->reader)->machine)
		return gt_diag(diag, -EINVAL, "merge", input->file->path,
			       "it is of another architecture than %s", first->file->path);
	return 0;
}

/* ---- events ------------------------------------------------------------------------------- */

/* Number a function or library; *ret_new: it has none yet. 0 or -ENOMEM. */
static int number_name(struct gt_hash *names, struct gt_hash *numbers, uint32_t *count,
		       uint32_t number, const struct gt_event *event, uint32_t *ret_number,
		       bool *ret_new)
{
	size_t length;
	const char *name = gt_event_text(event, &length);
	uintptr_t known = (uintptr_t)gt_hash_get(names, name, length);

	*ret_new = !known;
	if (!known) {
		known = (uintptr_t)*count + 1;
		if (gt_hash_set(names, name, length, (void *)known))
			return -ENOMEM;
		(*count)++;
	}
	*ret_number = (uint32_t)known - 1;
	return gt_hash_set_u64(numbers, number, (void *)known);
}

static int take_function(struct merge *merge, struct merge_input *input, bool *ret_write)
{
	struct gt_event_function *function = (void *)input->event;

	return number_name(merge->functions, input->functions, &merge->function_count,
			   function->number, &function->head, &function->number, ret_write);
}

static int take_library(struct merge *merge, struct merge_input *input, bool *ret_write)
{
	struct gt_event_library *library = (void *)input->event;

	return number_name(merge->libraries, input->libraries, &merge->library_count,
			   library->number, &library->head, &library->number, ret_write);
}

static bool same_source(const struct gt_event_totals *one, const struct gt_event_totals *other)
{
	return one->head.size == other->head.size &&
	       !memcmp(one->source, other->source, gt_event_tail_size(&one->head));
}

/* Add a file's totals of a source to those of the others. A file's last ones count. */
static int take_totals(struct merge *merge, const struct merge_input *input, bool *ret_write)
{
	const struct gt_event_totals *totals = (const void *)input->event;
	struct gt_event_totals *copy = malloc(totals->head.size);

	*ret_write = false;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, totals, totals->head.size);
	/* Until the end, the header says whose they are. */
	copy->head.process = (uint32_t)(input - merge->inputs);
	gt_vec_each (other, &merge->totals) {
		if ((*other)->head.process == copy->head.process && same_source(*other, copy)) {
			free(*other);
			*other = copy;
			return 0;
		}
	}
	if (gt_vec_push(&merge->totals, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

/* Once for each machine: with the label of its first file. */
static int write_machine(struct merge *merge, struct merge_input *input)
{
	const struct gt_merge_file *file = input->file;
	struct gt_event *event;
	int error;

	if (first_of_machine(merge, input) != input)
		return 0;
	event = gt_machine_relabel((const void *)input->event, file->machine,
				   file->label ? file->label : file->path);
	if (!event)
		return -ENOMEM;
	error = gt_capture_write(merge->writer, event);
	free(event);
	return error;
}

static int count_process(struct merge *merge, uint32_t process)
{
	if (!process || gt_hash_get_u64(merge->processes, process))
		return 0;
	merge->result.processes++;
	return gt_hash_set_u64(merge->processes, process, merge);
}

/* Write what the result has of an event. */
static int write_event(struct merge *merge, struct merge_input *input)
{
	const struct gt_event *event = (const void *)input->event;
	bool is_written = true;
	int error = count_process(merge, event->process);

	if (error)
		return error;
	input->file->events++;
	switch (event->kind) {
	case GT_EVENT_function:
		error = take_function(merge, input, &is_written);
		break;
	case GT_EVENT_library:
		error = take_library(merge, input, &is_written);
		break;
	case GT_EVENT_account:
		input->account = *(const struct gt_event_account *)event;
		input->has_account = true;
		return 0;
	case GT_EVENT_overhead:
		input->overhead = *(const struct gt_event_overhead *)event;
		return 0;
	case GT_EVENT_totals:
		return take_totals(merge, input, &is_written);
	case GT_EVENT_machine:
		return write_machine(merge, input);
	case GT_EVENT_device: /* of all processes: of one machine only */
		is_written = event->process || !input->file->machine;
		break;
	case GT_EVENT_clock: /* relates the axis to CLOCK_REALTIME: those of one machine do */
		is_written = !input->file->offset && !input->axis_clocks;
		break;
	}
	if (!error && is_written)
		error = gt_capture_write(merge->writer, event);
	return error;
}

/* Read the next event of a file. 0, also at its end; -ENOMEM or an error of reading. */
static int read_next(struct merge_input *input, struct gt_diag *diag)
{
	const struct gt_event *event;
	int result = gt_capture_next(input->reader, &event, diag);

	if (result > 0) {
		memcpy(input->event, event, event->size);
		rewrite_event(input);
		return 0;
	}
	input->ended = true;
	input->file->is_incomplete = result == -EBADMSG || !input->has_account;
	if (result != -EBADMSG)
		return result;
	*diag = (struct gt_diag){0};
	return 0;
}

/* The file whose next event is the earliest; NULL: all have ended. */
static struct merge_input *find_earliest(struct merge *merge)
{
	struct merge_input *earliest = NULL;

	for (size_t i = 0; i < merge->count; i++) {
		struct merge_input *input = &merge->inputs[i];

		if (!input->ended &&
		    (!earliest || ((const struct gt_event *)input->event)->time <
					  ((const struct gt_event *)earliest->event)->time))
			earliest = input;
	}
	return earliest;
}

static int copy_events(struct merge *merge, struct gt_diag *diag)
{
	struct merge_input *input;
	int error = 0;

	for (size_t i = 0; i < merge->count && !error; i++)
		error = read_next(&merge->inputs[i], diag);
	while (!error && (input = find_earliest(merge))) {
		error = write_event(merge, input);
		if (!error)
			error = read_next(input, diag);
	}
	return error;
}

/* ---- totals ------------------------------------------------------------------------------- */

static void add_totals(struct gt_event_totals *sum, const struct gt_event_totals *more)
{
	sum->recorded += more->recorded;
	sum->lost += more->lost;
	sum->unsampled += more->unsampled;
	sum->evicted += more->evicted;
	sum->unattributed += more->unattributed;
}

/* Those of each source together, with the first of them. */
static int write_totals(struct merge *merge)
{
	int error = 0;

	for (size_t i = 0; i < merge->totals.count && !error; i++) {
		struct gt_event_totals *sum = merge->totals.items[i];

		if (!sum)
			continue;
		for (size_t j = i + 1; j < merge->totals.count; j++) {
			struct gt_event_totals *other = merge->totals.items[j];

			if (!other || !same_source(sum, other))
				continue;
			add_totals(sum, other);
			free(other);
			merge->totals.items[j] = NULL;
		}
		sum->head.process = 0;
		error = gt_capture_write(merge->writer, &sum->head);
	}
	return error;
}

/* The sums over all files, of the time that passed, too: the share is the mean. */
static int write_overhead(struct merge *merge)
{
	struct gt_event_overhead sum = {0};

	for (size_t i = 0; i < merge->count; i++) {
		const struct gt_event_overhead *overhead = &merge->inputs[i].overhead;

		if (!overhead->head.size)
			continue;
		if (overhead->head.time >= sum.head.time)
			sum.head = overhead->head;
		sum.elapsed += overhead->elapsed;
		sum.measured += overhead->measured;
		sum.runs += overhead->runs;
		sum.run_time += overhead->run_time;
		sum.traps += overhead->traps;
		sum.trap_time += overhead->trap_time;
		sum.own_time += overhead->own_time;
	}
	return sum.head.size ? gt_capture_write(merge->writer, &sum.head) : 0;
}

/* Nothing where a file has no account: what it lost is not known. */
static int write_account(struct merge *merge)
{
	struct gt_event_account sum = merge->inputs[0].account;

	for (size_t i = 0; i < merge->count; i++) {
		const struct gt_event_account *account = &merge->inputs[i].account;

		if (merge->inputs[i].file->is_incomplete)
			return 0;
		if (account->head.time > sum.head.time)
			sum.head.time = account->head.time;
		if (!i)
			continue;
		sum.made += account->made;
		sum.complete += account->complete;
		sum.unfinished += account->unfinished;
		sum.lost += account->lost;
		sum.filtered += account->filtered;
		sum.orphans += account->orphans;
		sum.entries_lost += account->entries_lost;
		sum.others_lost += account->others_lost;
	}
	return gt_capture_write(merge->writer, &sum.head);
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void release(struct merge *merge)
{
	for (size_t i = 0; i < merge->count; i++) {
		gt_capture_free(merge->inputs[i].reader);
		free(merge->inputs[i].event);
		gt_vec_free(&merge->inputs[i].clocks);
		gt_hash_free(merge->inputs[i].functions);
		gt_hash_free(merge->inputs[i].libraries);
	}
	free(merge->inputs);
	gt_hash_free(merge->functions);
	gt_hash_free(merge->libraries);
	gt_hash_free(merge->processes);
	gt_vec_each (totals, &merge->totals)
		free(*totals);
	gt_vec_free(&merge->totals);
}

static int open_all(struct merge *merge, struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < merge->count && !error; i++)
		error = read_head(&merge->inputs[i], diag);
	if (!error) {
		number_machines(merge);
		error = set_offsets(merge, diag);
	}
	for (size_t i = 0; i < merge->count && !error; i++)
		error = open_input(&merge->inputs[i], &merge->inputs[0], diag);
	return error;
}

static int write_contents(struct merge *merge, const char *path, struct gt_diag *diag)
{
	int error = gt_capture_create(path, &merge->writer, diag), closed;

	if (error)
		return error;
	error = copy_events(merge, diag);
	if (!error)
		error = write_totals(merge);
	if (!error)
		error = write_overhead(merge);
	if (!error)
		error = write_account(merge);
	closed = gt_capture_finish(merge->writer, &merge->result.totals, diag);
	return error ? error : closed;
}

static int write_all(struct merge *merge, const char *path, struct gt_diag *diag)
{
	struct gt_replacement file;
	int error;

	if (!strcmp(path, "-"))
		return write_contents(merge, path, diag);
	error = gt_replacement_begin(path, &file, diag);
	if (error)
		return error;
	error = write_contents(merge, file.partial, diag);
	if (!error)
		error = gt_replacement_commit(&file, diag);
	else if (diag && !strcmp(diag->place, file.partial))
		snprintf(diag->place, sizeof(diag->place), "%s", path);
	gt_replacement_free(&file);
	return error;
}

int gt_merge(struct gt_merge_file *files, size_t count, const char *path,
	     struct gt_merge_result *ret_result, struct gt_diag *diag)
{
	struct merge merge = {.inputs = calloc(count, sizeof(*merge.inputs)), .count = count};
	int error = 0;

	merge.functions = gt_hash_new();
	merge.libraries = gt_hash_new();
	merge.processes = gt_hash_new();
	if (!merge.inputs || !merge.functions || !merge.libraries || !merge.processes) {
		merge.count = 0;
		error = gt_diag(diag, -ENOMEM, "merge", NULL, "out of memory");
	}
	for (size_t i = 0; i < merge.count; i++)
		merge.inputs[i].file = &files[i];
	if (!error)
		error = open_all(&merge, diag);
	if (!error)
		error = write_all(&merge, path, diag);
	if (error == -ENOMEM && !gt_diag_is_set(diag))
		gt_diag(diag, error, "merge", NULL, "out of memory");
	release(&merge);
	if (!error)
		*ret_result = merge.result;
	return error;
}
