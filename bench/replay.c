/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of a capture that `gputap trace --from` prints per second of CPU time, as text and as
 * JSON. The capture is generated: the calls of a program that copies, launches and waits.
 *
 *     replay [--quick] [GPUTAP]   measure this build's gputap, or the given one
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "capture/capture.h"
#include "event/kinds.h"

#define CALLS_PER_STEP 10
#define KERNELS 4
#define KERNEL_STUB 0x555500001000
#define PROCESS 4711

static struct {
	struct gt_capture_writer *writer;
	uint64_t time;
	uint16_t sequence;
} bench = {.time = 1000000000};

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

static void write_event(struct gt_event *event)
{
	event->time = bench.time;
	event->process = event->thread = PROCESS;
	if (gt_capture_write(bench.writer, event))
		fail("cannot write the capture");
}

static struct gt_event *new_event(enum gt_event_kind kind, const char *text)
{
	struct gt_event *event = gt_event_new(kind, text, strlen(text));

	if (!event)
		fail("out of memory");
	return event;
}

/* The functions that are called, and how their records are laid out. */
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
		struct gt_event_function *event =
			(void *)new_event(GT_EVENT_function, functions[i].name);

		functions[i].number = (uint32_t)gt_api_find(functions[i].name);
		gt_api_plan(gt_api_function(functions[i].number), &functions[i].plan);
		event->number = functions[i].number;
		write_event(&event->head);
		free(event);
	}
}

/* A call whose record has these words, and the first copies of its function's plan in them. */
static void write_call(unsigned kind, unsigned function, unsigned copied, const uint64_t *words,
		       unsigned count)
{
	const struct gt_plan *plan = &functions[function].plan;
	union {
		struct gt_event_call call;
		uint64_t space[sizeof(struct gt_event_call) / sizeof(uint64_t) + 64];
	} record = {0};

	bench.time += 3000;
	record.call.head.kind = (uint16_t)kind;
	record.call.head.size = (uint16_t)(sizeof(record.call) + count * sizeof(*words));
	record.call.head.device = 0;
	record.call.duration = 1000 + bench.time % 1777;
	record.call.function = functions[function].number;
	record.call.sequence = bench.sequence++;
	record.call.slots = (uint8_t)(plan->registers + plan->stack);
	record.call.copied = (uint8_t)copied;
	if (record.call.slots > count)
		fail("a call has too few words");
	memcpy(record.call.words, words, count * sizeof(*words));
	write_event(&record.call.head);
}

static void write_kernel(unsigned number)
{
	static const char *const names[KERNELS] = {
		"_Z9vectoraddPKfS0_Pfi",
		"_ZN3net7forwardIfEEvPKT_PS1_i",
		"_ZN3net8backwardIfEEvPKT_PS1_i",
		"_Z6reducePfPKfm",
	};
	struct gt_event_string *string = (void *)new_event(GT_EVENT_string, names[number]);
	uint64_t words[16] = {0x1000, KERNEL_STUB + number * 16, 0x2000, 0x2000};

	string->function = functions[REGISTER].number;
	string->sequence = bench.sequence;
	string->slot = (uint8_t)gt_api_kernel_name_slot(gt_api_function(string->function));
	write_event(&string->head);
	free(string);
	write_call(GT_EVENT_implicit, REGISTER, 0, words,
		   functions[REGISTER].plan.registers + functions[REGISTER].plan.stack);
}

/* What CUDA passes in two words: x and y of a dim3, then z. */
#define DIM3(x, y, z) (uint64_t)(y) << 32 | (x), (z)

static void write_launch(uint64_t number)
{
	uint64_t stub = KERNEL_STUB + number % KERNELS * 16;
	uint32_t blocks = (uint32_t)(number % 4096 + 1);

	write_call(GT_EVENT_call, LAUNCH, 0,
		   (uint64_t[]){stub, DIM3(blocks, 2, 1), DIM3(256, 1, 1), 0x7ffc00001000, 1024,
				0x5555000abc00},
		   8);
}

static void write_step(uint64_t number)
{
	uint64_t address = 0x7f0c20000000 + number % 512 * 0x200000, bytes = (number % 64 + 1)
									     << 12;
	uint64_t host = 0x7ffc12340000, stream = 0x5555000abc00;

	write_call(GT_EVENT_call, ALLOCATE, 1, (uint64_t[]){host, bytes, address}, 3);
	write_call(GT_EVENT_call, COPY, 0, (uint64_t[]){address, host, bytes, 1, stream}, 5);
	for (unsigned i = 0; i < 4; i++)
		write_launch(number + i);
	write_call(GT_EVENT_call, RECORD, 0, (uint64_t[]){0x555500077700, stream}, 2);
	write_call(GT_EVENT_call, COPY, 0, (uint64_t[]){host, address, bytes, 2, stream}, 5);
	write_call(GT_EVENT_call, WAIT, 0, (uint64_t[]){stream}, 1);
	write_call(GT_EVENT_call, RELEASE, 0, (uint64_t[]){address}, 1);
}

static void write_capture(const char *path, uint64_t calls)
{
	struct gt_event_clock clock = {.head = {.kind = GT_EVENT_clock, .size = sizeof(clock)},
				       .realtime = 1700000000000000000};
	struct gt_event_account account = {
		.head = {.kind = GT_EVENT_account, .size = sizeof(account)},
		.made = calls,
		.complete = calls,
	};
	struct gt_event *process = new_event(GT_EVENT_process, "train");

	if (gt_capture_create(path, &bench.writer, NULL))
		fail("cannot create the capture");
	write_event(&clock.head);
	write_event(process);
	free(process);
	write_functions();
	for (unsigned i = 0; i < KERNELS; i++)
		write_kernel(i);
	for (uint64_t step = 0; step < calls / CALLS_PER_STEP; step++)
		write_step(step);
	write_event(&account.head);
	if (gt_capture_close(bench.writer, NULL))
		fail("cannot write the capture");
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* CPU time of `gputap trace --from PATH`, so that other load does not count. */
static double measure(const char *gputap, const char *path, const char *option)
{
	struct rusage usage;
	pid_t child = fork();
	int status;

	if (!child) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(gputap, gputap, "trace", "--from", path, option, NULL);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status)
		fail("gputap trace --from failed");
	return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

int main(int count, char **arguments)
{
	bool quick = count > 1 && !strcmp(arguments[1], "--quick");
	const char *gputap = count > 1 + quick ? arguments[1 + quick] : GPUTAP;
	uint64_t calls = quick ? 100000 : 1000000;
	char path[] = P_tmpdir "/gputap-replay-XXXXXX";
	int file = mkstemp(path);

	if (file < 0)
		fail("cannot create a file in " P_tmpdir);
	close(file);
	write_capture(path, calls);
	printf("replay-text %.0f calls/s\n", (double)calls / measure(gputap, path, NULL));
	printf("replay-json %.0f calls/s\n", (double)calls / measure(gputap, path, "--json"));
	unlink(path);
	return 0;
}
