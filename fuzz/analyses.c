/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls in any order, with any results, taken by all reports. Every 12 bytes are an event: which
 * function, who calls it, how it goes, and eight bytes that its words are made of, so that
 * addresses, handles and sizes come again. Some functions stand for other events: operations of a
 * GPU, threads off the CPU, ends of processes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "event/kinds.h"
#include "report/breakdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 48

struct step {
	uint8_t function[2];
	uint8_t who;
	uint8_t how;
	uint8_t words[8];
};

union call {
	struct gt_event_call event;
	uint64_t space[sizeof(struct gt_event_call) / sizeof(uint64_t) + WORDS];
};

static const struct gt_report *const reports[] = {&gt_report_kernels,   &gt_report_leaks,
						  &gt_report_copies,    &gt_report_errors,
						  &gt_report_breakdown, &gt_report_why};

static struct {
	struct gt_names *names;
	struct gt_report_options options[gt_countof(reports)];
	void *states[gt_countof(reports)];
	uint64_t time;
	bool reported[4096]; /* functions */
} run;

static void report_event(const struct gt_event *event)
{
	if (gt_names_take(run.names, event))
		abort();
	for (size_t i = 0; i < gt_countof(reports); i++)
		if (reports[i]->event(run.states[i], run.names, event))
			abort();
}

static void report_function(unsigned row)
{
	const char *name = gt_api_function(row)->name;
	struct gt_event_function *event;

	if (run.reported[row])
		return;
	run.reported[row] = true;
	event = (void *)gt_event_new(GT_EVENT_function, name, strlen(name));
	if (!event)
		abort();
	event->number = row;
	report_event(&event->head);
	free(event);
}

/* The n-th function that has a category. */
static unsigned choose(unsigned number)
{
	unsigned row = number % gt_api_count() % gt_countof(run.reported);

	while (gt_api_function(row)->category == GT_CATEGORY_NONE)
		row = (row + 1) % gt_api_count() % gt_countof(run.reported);
	return row;
}

static void report_call(const struct step *step, unsigned function)
{
	static const uint32_t results[] = {0, 0, 0, 0, 0, 1, 2, 17, 400, 600, 700, 719};
	struct gt_plan plan;
	union call call = {0};
	unsigned words;

	report_function(function);
	call.event.function = function;
	gt_api_plan(gt_api_function(function), &plan);
	words = (unsigned)plan.registers + plan.stack;
	call.event.slots = (uint8_t)words;
	call.event.copied = step->how & 0x80 ? 0 : (uint8_t)((1u << plan.copies) - 1);
	for (unsigned i = 0; i < plan.copies; i++)
		words += call.event.copied ? (plan.copy[i].bytes + 7u) / 8 : 0;
	if (words > WORDS)
		return;
	for (unsigned i = 0; i < words; i++)
		call.event.words[i] = (uint64_t)(step->words[i % 8] >> 2)
				      << (step->words[i % 8] & 3) * 12;
	call.event.head.kind = GT_EVENT_call;
	call.event.head.size = (uint16_t)(sizeof(call.event) + words * sizeof(uint64_t));
	call.event.head.process = 100 + (step->who & 1);
	call.event.head.thread = 100 + (step->who & 3);
	call.event.head.device = (int16_t)((step->who >> 2 & 3) - 1);
	call.event.depth = step->who >> 4 & 3;
	call.event.state = step->who & 0x40 ? GT_CALL_UNFINISHED : 0;
	call.event.result = results[(step->how & 0x1f) % gt_countof(results)];
	call.event.stack = step->how >> 5 & 3;
	call.event.duration = (uint64_t)step->words[7] * 100;
	call.event.head.time = run.time += step->who & 0x80 ? 100000 : 100;
	report_event(&call.event.head);
}

static void report_end(const struct step *step)
{
	struct gt_event_exit end = {
		.head = {.kind = GT_EVENT_exit,
			 .size = sizeof(end),
			 .process = 100 + (step->who & 1),
			 .time = run.time += 100},
	};

	report_event(&end.head);
}

static void report_work(const struct step *step)
{
	struct gt_event_gpu_work work = {
		.head = {.kind = GT_EVENT_gpu_work,
			 .size = sizeof(work),
			 .process = 100 + (step->who & 1),
			 .thread = 100 + (step->who & 3),
			 .device = (int16_t)((step->who >> 2 & 3) - 1),
			 .time = run.time - 2000 + (uint64_t)step->words[0] * 100},
		.submitted = run.time - (uint64_t)step->words[1] * 100,
		.start = run.time - 2000 + (uint64_t)step->words[2] * 100,
		.error = step->words[3],
		.stream = step->words[4],
		.object = step->words[5],
		.operation = step->how & 15,
		.flags = step->how >> 4,
	};

	report_event(&work.head);
}

static void report_off_cpu(const struct step *step)
{
	struct gt_event_off_cpu *pause = (void *)gt_event_new(GT_EVENT_off_cpu, "waker", 5);

	if (!pause)
		abort();
	pause->head.process = 100 + (step->who & 1);
	pause->head.thread = 100 + (step->who & 3);
	pause->head.time = run.time += 100;
	pause->duration = (uint64_t)step->words[0] * 100;
	pause->runnable = (uint64_t)step->words[1] * 10;
	pause->waker_thread = step->words[2] ? 100 + (step->words[2] & 3) : 0;
	pause->state = step->words[3] & 3;
	report_event(&pause->head);
	free(pause);
}

static void put_all(bool json)
{
	const struct gt_report_format format = {.now = run.time, .final = json, .json = json};

	for (size_t i = 0; i < gt_countof(reports); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		run.options[i].final = format.final;
		if (gt_report_put(reports[i], run.states[i], &run.options[i], run.names, &format,
				  &text))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum gt_by groups[] = {GT_BY_STACK, GT_BY_STACK,   GT_BY_STREAM,
					    GT_BY_STACK, GT_BY_NOTHING, GT_BY_NOTHING};
	struct step step;

	run.names = gt_names_new();
	run.time = 1000000;
	for (size_t i = 0; i < gt_countof(reports); i++) {
		run.options[i] = (struct gt_report_options){
			.by = groups[i], .max_copies = 8, .events.kinds = UINT_MAX};
		if (!run.names || reports[i]->open(&run.options[i], &run.states[i]))
			abort();
	}
	memset(run.reported, 0, sizeof(run.reported));
	for (; size >= sizeof(step); data += sizeof(step), size -= sizeof(step)) {
		memcpy(&step, data, sizeof(step));
		if (step.function[1] == 0xff)
			report_end(&step);
		else if (step.function[1] == 0xfe)
			put_all(step.how & 1);
		else if (step.function[1] == 0xfd)
			report_work(&step);
		else if (step.function[1] == 0xfc)
			report_off_cpu(&step);
		else
			report_call(&step, choose(step.function[0] | step.function[1] << 8));
	}
	put_all(false);
	put_all(true);
	for (size_t i = 0; i < gt_countof(reports); i++)
		reports[i]->close(run.states[i]);
	gt_names_free(run.names);
	return 0;
}
