/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What numbers in events stand for: processes, functions, libraries, clocks, the account. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event/kinds.h"
#include "names/handles.h"
#include "names/names.h"
#include "tap.h"

static void take(struct gt_names *names, struct gt_event *event)
{
	CHECK_INT(gt_names_take(names, event), 0);
	free(event);
}

static void take_process(struct gt_names *names, __u32 process, const char *name)
{
	struct gt_event *event = gt_event_new(GT_EVENT_process, name, strlen(name));

	event->process = process;
	take(names, event);
}

static void take_function(struct gt_names *names, __u32 number, const char *name)
{
	struct gt_event_function *event =
		(void *)gt_event_new(GT_EVENT_function, name, strlen(name));

	event->number = number;
	take(names, &event->head);
}

TEST("an unknown name is a question mark, or nothing")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	CHECK_STR(gt_names_process(names, 1), "?");
	CHECK_STR(gt_names_function(names, 1), "?");
	CHECK_STR(gt_names_library(names, 1), "?");
	CHECK(gt_names_api(names, 1) == NULL);
	CHECK(gt_names_account(names) == NULL);
	CHECK_INT(gt_names_wall_time(names, 1000), 0);
	CHECK_INT(gt_names_start_time(names), 0);
}

TEST("a process has the name of its latest event")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_process(names, 7, "sh");
	take_process(names, 8, "other");
	CHECK_STR(gt_names_process(names, 7), "sh");
	take_process(names, 7, "vectoradd");
	CHECK_STR(gt_names_process(names, 7), "vectoradd");
	CHECK_STR(gt_names_process(names, 8), "other");
}

static void take_process_event(struct gt_names *names, enum gt_event_kind kind, __u32 process,
			       const char *text, size_t length)
{
	struct gt_event *event = gt_event_new(kind, text, length);

	event->process = process;
	take(names, event);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST("a process has the command line, the cgroup and the container of its events")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	CHECK(gt_names_command(names, 7) == NULL);
	CHECK(gt_names_cgroup(names, 7) == NULL);
	CHECK(gt_names_container(names, 7) == NULL);
	take_process_event(names, GT_EVENT_command, 7, "./train\0--fast\0", 15);
	CHECK_STR(gt_names_command(names, 7), "./train --fast");
	take_process_event(names, GT_EVENT_cgroup, 7, "/user.slice", 11);
	CHECK_STR(gt_names_cgroup(names, 7), "/user.slice");
	CHECK(gt_names_container(names, 7) == NULL);
	take_process_event(names, GT_EVENT_cgroup, 7, "/docker/" ID, 72);
	CHECK_STR(gt_names_cgroup(names, 7), "/docker/" ID);
	CHECK_STR(gt_names_container(names, 7), ID);
	CHECK(gt_names_container(names, 8) == NULL);
}

TEST("a call has the context and the device of the events with their numbers")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_context context = {
		.head = {.process = 7, .kind = GT_EVENT_context, .size = sizeof(context)},
		.handle = 0x55aa00,
		.number = 0x55aa00,
		.flags = GT_CONTEXT_PRIMARY,
	};
	struct gt_event_call call = {.head = {.process = 7}, .context = 0x55aa00};
	struct gt_known_device device;

	CHECK(gt_names_context(names, &call) == NULL);
	gt_names_take(names, &context.head);
	CHECK_INT(gt_names_context(names, &call)->handle, 0x55aa00);
	CHECK(gt_names_context(names, &call)->primary);
	call.head.process = 8;
	CHECK(gt_names_context(names, &call) == NULL);
	CHECK(!gt_names_device(names, 7, 0, &device));
	take(names, gt_device_event(7, 0, NULL, "soft"));
	CHECK(gt_names_device(names, 7, 0, &device));
	CHECK_STR(device.name, "soft");
	CHECK_STR(device.uuid, "");
}

static void take_handle(struct gt_names *names, __u32 process, __u64 handle, const char *name)
{
	struct gt_event_kernel *event = (void *)gt_event_new(GT_EVENT_kernel, name, strlen(name));

	event->head.process = process;
	event->handle = handle;
	take(names, &event->head);
}

TEST("a handle that a process had before names the kernel of its event")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_handle(names, 7, 0x5600, "_Z4fillPfi");
	CHECK_STR(gt_names_kernel(names, 7, 0x5600), "_Z4fillPfi");
	CHECK(gt_names_kernel(names, 8, 0x5600) == NULL);
	CHECK(gt_names_kernel(names, 7, 0x5608) == NULL);
}

TEST("the variable of a handle names its kernel, and other variables name none")
{
	static const struct {
		const char *variable, *kernel;
	} cases[] = {
		{"_ZZ24__device_stub__Z4fillPfiPfiE8__handle", "_Z4fillPfi"},
		{"_ZZL33__device_stub__Z5scaleIfEvPT_S0_iPffiE8__handle", "_Z5scaleIfEvPT_S0_i"},
		/* This program has no function main(…) of C++, and a plain one. */
		{"_ZZ22__device_stub__Z4mainvvE8__handle", "main"},
		{"_ZZ24__device_stub__Z4fillPfiPfiE5__tmp", NULL},
		{"_ZZ4fillPfiE8__handle", NULL},
		{"_ZZ99__device_stub__Z4fillPfiPfiE8__handle", NULL},
		{"_ZZ99999999999999999999__device_stub__Z4fillPfiE8__handle", NULL},
		{"_ZZ16__device_stub__ZE8__handle", NULL},
		{"_ZZE8__handle", NULL},
		{"E8__handle", NULL},
		{"", NULL},
	};
	gt_auto(elf) struct gt_elf *elf = NULL;

	CHECK_INT(gt_elf_open("/proc/self/exe", &elf, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		gt_auto_strbuf name = GT_STRBUF_INIT;

		CHECK_INT(gt_handle_kernel(elf, cases[i].variable, &name), cases[i].kernel != NULL);
		CHECK_STR(gt_strbuf_string(&name), cases[i].kernel ? cases[i].kernel : "");
	}
}

TEST("a function of a JIT compiler has its name when its process and map are gone")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	const __u64 addresses[] = {0x1008};
	struct gt_event_stack *event =
		(void *)gt_event_new(GT_EVENT_stack, (const char *)addresses, sizeof(addresses));
	struct gt_location location;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "we");
	CHECK(file && fputs("1000 10 train_step\n", file) >= 0 && !fclose(file));
	CHECK_INT(gt_names_read_perf_maps(names), 0);
	event->head.process = (__u32)getpid();
	take(names, &event->head);
	unlink(path);
	gt_names_location(names, (__u32)getpid(), 0x1008, true, &location);
	CHECK_INT(location.frame_count, 1);
	CHECK_STR(location.frame_count ? location.frames[0].function : "", "train_step");
}

TEST("a stack says whether there were more callers")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	__u64 addresses[] = {0x1000, 0x2000};

	for (__u32 flags = 0; flags < 2; flags++) {
		struct gt_event_stack *event = (void *)gt_event_new(
			GT_EVENT_stack, (const char *)addresses, sizeof(addresses));

		event->head.process = 7;
		event->number = 5 + flags;
		event->flags = flags ? GT_STACK_TRUNCATED : 0;
		take(names, &event->head);
	}
	CHECK(!gt_names_stack_is_truncated(names, 7, 5));
	CHECK(gt_names_stack_is_truncated(names, 7, 6));
	CHECK(!gt_names_stack_is_truncated(names, 7, 7));
}

TEST("a function is found by its name, whatever its number was when it was recorded")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_function(names, 4000000, "cudaMalloc");
	CHECK_STR(gt_names_function(names, 4000000), "cudaMalloc");
	CHECK(gt_names_api(names, 4000000) == gt_api_function((unsigned)gt_api_find("cudaMalloc")));
}

TEST("names of functions and kernels stay valid when their numbers mean others")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	const char *function, *kernel;

	take_function(names, 3, "cudaMalloc");
	function = gt_names_function(names, 3);
	take_function(names, 3, "cudaMalloc");
	CHECK(gt_names_function(names, 3) == function);
	take_function(names, 3, "cudaFree");
	CHECK_STR(gt_names_function(names, 3), "cudaFree");
	CHECK_STR(function, "cudaMalloc");
	take_handle(names, 7, 0xaaa, "first");
	kernel = gt_names_kernel(names, 7, 0xaaa);
	take_handle(names, 7, 0xaaa, "second");
	CHECK_STR(gt_names_kernel(names, 7, 0xaaa), "second");
	CHECK_STR(kernel, "first");
}

TEST("a function that the tables do not have keeps its name, without arguments")
{
	gt_auto(names) struct gt_names *names = gt_names_new();

	take_function(names, 3, "cudaOfTheFuture");
	CHECK_STR(gt_names_function(names, 3), "cudaOfTheFuture");
	CHECK(gt_names_api(names, 3) == NULL);
}

TEST("a library has its path")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_library *event = (void *)gt_event_new(GT_EVENT_library, "/lib/x.so", 9);

	event->number = 2;
	take(names, &event->head);
	CHECK_STR(gt_names_library(names, 2), "/lib/x.so");
}

TEST("the wall clock follows from the last clock event, before it as after")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_clock clock = {
		.head = {.time = 1000, .kind = GT_EVENT_clock, .size = sizeof(clock)},
		.realtime = 1700000000000001000,
	};

	gt_names_take(names, &clock.head);
	CHECK_INT(gt_names_wall_time(names, 1500), 1700000000000001500);
	CHECK_INT(gt_names_wall_time(names, 400), 1700000000000000400);
	clock.realtime -= 5000;
	gt_names_take(names, &clock.head);
	CHECK_INT(gt_names_wall_time(names, 1500), 1699999999999996500);
}

TEST("the stream starts with its first event that has a time on the machine's clock")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event event = {.kind = GT_EVENT_note, .size = sizeof(event)};

	gt_names_take(names, &event);
	event.time = 77;
	event.clock = 1;
	gt_names_take(names, &event);
	CHECK_INT(gt_names_start_time(names), 0);
	event.time = 500;
	event.clock = GT_CLOCK_MONOTONIC;
	gt_names_take(names, &event);
	event.time = 600;
	gt_names_take(names, &event);
	CHECK_INT(gt_names_start_time(names), 500);
}

TEST("the account is the last one that passed")
{
	gt_auto(names) struct gt_names *names = gt_names_new();
	struct gt_event_account account = {
		.head = {.time = 1, .kind = GT_EVENT_account, .size = sizeof(account)},
		.made = 3,
	};

	gt_names_take(names, &account.head);
	account.made = 9;
	gt_names_take(names, &account.head);
	CHECK_INT(gt_names_account(names)->made, 9);
}

TEST_MAIN
