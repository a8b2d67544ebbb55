/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a capture of a program that never ran: two threads copy, launch and wait, each in a stream
 * of its own, with the times of the GPU's operations, and events of layers.
 *
 *     synthetic FILE STEPS [OPTION…]
 *
 * A step is 20 events, 10 of them calls.
 *
 *     hostile     the names have quotes, commas, control characters, markup and bytes that are not
 *                 UTF-8
 *     calls       nothing but calls
 *     no-clock    no event relates CLOCK_MONOTONIC to CLOCK_REALTIME
 *     drift=NS    at the end CLOCK_REALTIME is NS later than at the beginning, by CLOCK_MONOTONIC
 *     rank=N      the process is rank N of 8
 *     machine=ID  it ran on a machine of this name, whose boot has this id
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "capture/capture.h"
#include "event/kinds.h"
#include "names/machine.h"

#define PROCESS 4711
#define THREADS 2
#define STUB 0x555500001000
#define CONTEXT 0x55550000c000
#define HOSTILE "a\"b'c,d;e\n<f>&\\\x01\x1b[31m\xff\xc3(=\r"

static struct {
	struct gt_capture_writer *writer;
	uint64_t time;
	uint32_t thread;
	uint16_t sequence;
	bool hostile, calls_only, no_clock;
	int64_t drift;
	const char *rank, *machine;
	uint64_t calls;
} synthetic = {.time = 1000000000};

static void fail(const char *what)
{
	fprintf(stderr, "synthetic: %s\n", what);
	exit(1);
}

static void write_event(struct gt_event *event)
{
	event->time = event->time ? event->time : synthetic.time;
	event->process = PROCESS;
	event->thread = synthetic.thread;
	if (gt_capture_write(synthetic.writer, event))
		fail("cannot write the capture");
}

static struct gt_event *new_event(enum gt_event_kind kind, const void *tail, size_t length)
{
	struct gt_event *event = gt_event_new(kind, tail, length);

	if (!event)
		fail("out of memory");
	return event;
}

/* The functions that are called. */
enum {
	REGISTER,
	ALLOCATE,
	RELEASE,
	COPY,
	LAUNCH,
	RECORD,
	WAIT,
	FUNCTIONS,
};

static struct {
	const char *name;
	uint32_t number;
	struct gt_plan plan;
} functions[FUNCTIONS] = {
	[REGISTER] = {.name = "__cudaRegisterFunction"},
	[ALLOCATE] = {.name = "cudaMalloc"},
	[RELEASE] = {.name = "cudaFree"},
	[COPY] = {.name = "cudaMemcpyAsync"},
	[LAUNCH] = {.name = "cudaLaunchKernel"},
	[RECORD] = {.name = "cudaEventRecord"},
	[WAIT] = {.name = "cudaStreamSynchronize"},
};

static void write_functions(void)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		struct gt_event_function *event = (void *)new_event(
			GT_EVENT_function, functions[i].name, strlen(functions[i].name));

		functions[i].number = (uint32_t)gt_api_find(functions[i].name);
		gt_api_plan(gt_api_function(functions[i].number), &functions[i].plan);
		event->number = functions[i].number;
		write_event(&event->head);
		free(event);
	}
}

#define STACK_OF(function) (0x5000 + (uint64_t)(function))

/* A call that takes `duration` from now on. Returns the time at which it began. */
static uint64_t write_call(unsigned kind, unsigned function, unsigned copied, uint64_t duration,
			   const uint64_t *words, unsigned count)
{
	const struct gt_plan *plan = &functions[function].plan;
	union {
		struct gt_event_call call;
		uint64_t space[sizeof(struct gt_event_call) / sizeof(uint64_t) + 64];
	} record = {0};

	synthetic.time += duration;
	record.call.head.kind = (uint16_t)kind;
	record.call.head.size = (uint16_t)(sizeof(record.call) + count * sizeof(*words));
	record.call.head.device = 0;
	record.call.duration = duration;
	record.call.function = functions[function].number;
	record.call.sequence = synthetic.sequence++;
	record.call.slots = (uint8_t)(plan->registers + plan->stack);
	record.call.copied = (uint8_t)copied;
	record.call.context = 1;
	record.call.stack = kind == GT_EVENT_call ? STACK_OF(function) : 0;
	if (record.call.slots > count)
		fail("a call has too few words");
	memcpy(record.call.words, words, count * sizeof(*words));
	write_event(&record.call.head);
	synthetic.calls += kind == GT_EVENT_call;
	synthetic.time += 100;
	return synthetic.time - 100 - duration;
}

static void write_kernel(void)
{
	const char *name = synthetic.hostile ? HOSTILE : "_Z9vectoraddPKfS0_Pfi";
	struct gt_event_string *string = (void *)new_event(GT_EVENT_string, name, strlen(name));
	uint64_t words[16] = {0x1000, STUB, 0x2000, 0x2000};

	string->function = functions[REGISTER].number;
	string->sequence = synthetic.sequence;
	string->slot = (uint8_t)gt_api_kernel_name_slot(gt_api_function(string->function));
	write_event(&string->head);
	free(string);
	write_call(GT_EVENT_implicit, REGISTER, 0, 500, words,
		   functions[REGISTER].plan.registers + functions[REGISTER].plan.stack);
}

/* What is at an address: a file, then a function with its source line. */
static void write_location(uint64_t address, const char *function)
{
	char text[512];
	int length = snprintf(text, sizeof(text), "/opt/train%c%s%c%s%c/src/%s.cu%c%d%c0%c0%c0%c",
			      0, function, 0, function, 0, synthetic.hostile ? HOSTILE : "train", 0,
			      12, 0, 0, 0, 0);
	struct gt_event_location *event =
		(void *)new_event(GT_EVENT_location, text, (size_t)length);

	event->address = address;
	event->offset = event->elf_address = address - 0x400000;
	write_event(&event->head);
	free(event);
}

/* main -> step -> the call, for each function. */
static void write_stacks(void)
{
	write_location(0x401000, "main");
	write_location(0x402000, synthetic.hostile ? HOSTILE : "step(int)");
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		uint64_t addresses[] = {0x402000, 0x401000};
		struct gt_event_stack *event =
			(void *)new_event(GT_EVENT_stack, addresses, sizeof(addresses));

		event->number = STACK_OF(i);
		write_event(&event->head);
		free(event);
	}
}

static void write_work(enum gt_gpu_operation operation, uint64_t submitted, uint64_t start,
		       uint64_t end, uint64_t stream, uint64_t bytes)
{
	struct gt_event_gpu_work work = {
		.head = {.kind = GT_EVENT_gpu_work, .size = sizeof(work), .time = end},
		.submitted = submitted,
		.start = start,
		.error = 200,
		.stream = stream,
		.object = operation == GT_GPU_KERNEL ? STUB : 0,
		.bytes = bytes,
		.handle = CONTEXT,
		.operation = operation,
	};

	write_event(&work.head);
}

static void write_sleep(uint64_t duration)
{
	const char *waker = synthetic.hostile ? HOSTILE : "kworker";
	struct gt_event_off_cpu *event = (void *)new_event(GT_EVENT_off_cpu, waker, strlen(waker));

	event->head.time = synthetic.time + duration + 100;
	event->duration = duration;
	event->runnable = duration / 10;
	event->state = 1;
	write_event(&event->head);
	free(event);
}

static void write_syscall(uint64_t duration)
{
	struct gt_event_syscall event = {
		.head = {.kind = GT_EVENT_syscall,
			 .size = sizeof(event),
			 .time = synthetic.time + duration + 200},
		.duration = duration + 100,
		.call = synthetic.time,
		.number = 24, /* sched_yield */
	};

	write_event(&event.head);
}

static void write_sample(uint64_t step)
{
	const char *model = synthetic.hostile ? HOSTILE : "GPU of nobody";
	struct gt_event_gpu_sample *event =
		(void *)new_event(GT_EVENT_gpu_sample, model, strlen(model));

	event->memory_used = step << 20;
	event->memory_total = 80ull << 30;
	event->utilization = (uint32_t)(step % 101);
	event->power = 300000;
	event->pcie_sent = 1000000;
	write_event(&event->head);
	free(event);
}

static void write_job(uint64_t step)
{
	char names[2 * GT_DRM_NAME_SIZE] = {0};
	struct gt_event_drm_job *event;

	snprintf(names, GT_DRM_NAME_SIZE, "%s", synthetic.hostile ? HOSTILE : "gfx");
	snprintf(names + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE, "0000:01:00.0");
	event = (void *)new_event(GT_EVENT_drm_job, names, sizeof(names));
	event->context = 7;
	event->seqno = step;
	event->operation = GT_DRM_DONE;
	event->ran = 5000;
	write_event(&event->head);
	free(event);
}

static void write_layers(uint64_t step)
{
	write_sleep(5000);
	write_syscall(5000);
	if (step % 100)
		write_job(step);
	else
		write_sample(step);
}

/* What CUDA passes in two words: x and y of a dim3, then z. */
#define DIM3(x, y, z) (uint64_t)(y) << 32 | (x), (z)

static void write_step(uint64_t step)
{
	uint64_t thread = step % THREADS, stream = 0x555500080000 + thread * 16;
	uint64_t address = 0x7f0c20000000 + step % 512 * 0x200000;
	uint64_t bytes = (step % 64 + 1) << 12, host = 0x7ffc12340000, began[6];

	synthetic.thread = PROCESS + (uint32_t)thread;
	write_call(GT_EVENT_call, ALLOCATE, 1, 2000, (uint64_t[]){host, bytes, address}, 3);
	began[0] = write_call(GT_EVENT_call, COPY, 0, 1000,
			      (uint64_t[]){address, host, bytes, 1, stream}, 5);
	for (unsigned i = 0; i < 4; i++)
		began[1 + i] =
			write_call(GT_EVENT_call, LAUNCH, 0, 1500 + i,
				   (uint64_t[]){STUB, DIM3((uint32_t)(step % 4096 + 1), 2, 1),
						DIM3(256, 1, 1), 0x7ffc00001000, 1024, stream},
				   8);
	write_call(GT_EVENT_call, RECORD, 0, 300, (uint64_t[]){0x555500077700, stream}, 2);
	began[5] = write_call(GT_EVENT_call, COPY, 0, 1000,
			      (uint64_t[]){host, address, bytes, 2, stream}, 5);
	for (unsigned i = 0; i < gt_countof(began) && !synthetic.calls_only; i++) {
		uint64_t start = synthetic.time + i * 1000;

		write_work(i == 0   ? GT_GPU_COPY_TO_DEVICE
			   : i == 5 ? GT_GPU_COPY_TO_HOST
				    : GT_GPU_KERNEL,
			   began[i] + 100, start, start + 900, stream, i % 5 ? 0 : bytes);
	}
	if (!synthetic.calls_only)
		write_layers(step);
	write_call(GT_EVENT_call, WAIT, 0, 7000, (uint64_t[]){stream}, 1);
	write_call(GT_EVENT_call, RELEASE, 0, 700, (uint64_t[]){address}, 1);
}

static void write_xid(void)
{
	const char *text = synthetic.hostile ? HOSTILE : "0000:01:00 13, Graphics exception";
	struct gt_event_nvidia_xid *event =
		(void *)new_event(GT_EVENT_nvidia_xid, text, strlen(text));

	event->code = 13;
	write_event(&event->head);
	free(event);
}

static void write_clock(int64_t drift)
{
	struct gt_event_clock clock = {
		.head = {.kind = GT_EVENT_clock, .size = sizeof(clock)},
		.realtime = 1700000000000000000 + synthetic.time - 1000000000 + (uint64_t)drift,
	};

	if (!synthetic.no_clock)
		write_event(&clock.head);
}

static void write_rank(void)
{
	static const char variable[] = "OMPI_COMM_WORLD_RANK";
	struct gt_event_rank *event = (void *)new_event(GT_EVENT_rank, variable, strlen(variable));

	event->rank = (uint32_t)strtoul(synthetic.rank, NULL, 10);
	event->ranks = 8;
	write_event(&event->head);
	free(event);
}

static void write_machine(void)
{
	gt_auto_strbuf texts = GT_STRBUF_INIT;
	struct gt_event *event;

	for (unsigned i = 0; i < GT_MACHINE_TEXTS; i++) {
		if (i == GT_MACHINE_HOST || i == GT_MACHINE_BOOT)
			gt_strbuf_puts(&texts, synthetic.machine);
		gt_strbuf_putc(&texts, 0);
	}
	event = new_event(GT_EVENT_machine, texts.data, texts.length);
	write_event(event);
	free(event);
}

static void write_head(void)
{
	struct gt_event_context context = {
		.head = {.kind = GT_EVENT_context, .size = sizeof(context)},
		.handle = CONTEXT,
		.number = 1,
		.flags = GT_CONTEXT_PRIMARY,
	};
	const char *name = synthetic.hostile ? HOSTILE : "train";
	struct gt_event *process = new_event(GT_EVENT_process, name, strlen(name));

	write_clock(0);
	write_event(process);
	if (synthetic.machine)
		write_machine();
	if (synthetic.rank)
		write_rank();
	write_event(&context.head);
	free(process);
	write_functions();
	write_kernel();
	write_stacks();
}

static void take_option(const char *option)
{
	if (!strcmp(option, "hostile"))
		synthetic.hostile = true;
	else if (!strcmp(option, "calls"))
		synthetic.calls_only = true;
	else if (!strcmp(option, "no-clock"))
		synthetic.no_clock = true;
	else if (!strncmp(option, "drift=", 6))
		synthetic.drift = strtoll(option + 6, NULL, 10);
	else if (!strncmp(option, "machine=", 8))
		synthetic.machine = option + 8;
	else if (!strncmp(option, "rank=", 5))
		synthetic.rank = option + 5;
	else
		fail("invalid option");
}

int main(int count, char **arguments)
{
	struct gt_event_account account = {
		.head = {.kind = GT_EVENT_account, .size = sizeof(account)},
	};
	uint64_t steps;

	if (count < 3)
		fail("usage: synthetic FILE STEPS [OPTION…]");
	steps = strtoull(arguments[2], NULL, 10);
	for (int i = 3; i < count; i++)
		take_option(arguments[i]);
	synthetic.thread = PROCESS;
	if (gt_capture_create(arguments[1], &synthetic.writer, NULL))
		fail("cannot create the capture");
	write_head();
	for (uint64_t step = 0; step < steps; step++)
		write_step(step);
	if (!synthetic.calls_only)
		write_xid();
	if (synthetic.drift)
		write_clock(synthetic.drift);
	account.lost = synthetic.calls_only ? 0 : 3;
	account.made = synthetic.calls + account.lost;
	account.complete = synthetic.calls;
	write_event(&account.head);
	if (gt_capture_close(synthetic.writer, NULL))
		fail("cannot write the capture");
	return 0;
}
