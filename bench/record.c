/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The goals are 1,000,000 events/s and 20 bytes/event.
 *
 * Captures: how many events are written per second of CPU time on one core, and their bytes on
 * disk, for events that are made up; then bytes per event of recordings of the examples, with
 * callers.
 *
 *     record [--quick] [GPUTAP]   measure this build's gputap, or the given one
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "event/kinds.h"

#define FILE_NAME "gputap-bench-record.gtap"

static const char *const example_names[] = {"streams",   "pipeline",  "matmul", "leak",
					    "vectoradd", "transpose", "reduce", "uneven",
					    "newlaunch", "driver"};

static void fail(const char *what)
{
	fprintf(stderr, "record: %s\n", what);
	exit(1);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* A call of a launch or a copy, by a thread out of four, with a stack out of a hundred. */
static void make_call(uint64_t number, struct gt_event_call *call)
{
	uint64_t random = (number * 6364136223846793005ull + 1442695040888963407ull) >> 33;

	call->head = (struct gt_event){
		.kind = GT_EVENT_call,
		.size = (uint16_t)(sizeof(*call) + 8 * sizeof(call->words[0])),
		.time = 1000000000 + number * 1000 + random % 700,
		.process = 4711,
		.thread = 4711 + (uint32_t)(random % 4),
	};
	call->duration = 500 + random % 3000;
	call->stack = (random % 100 + 1) * 0x9e3779b97f4a7c15ull;
	call->function = 17 + (uint32_t)(random % 7);
	call->sequence = (uint16_t)number;
	call->slots = 8;
	for (unsigned i = 0; i < 8; i++)
		call->words[i] = 0x7f0c20000000 + (number * (i + 1)) % 512 * 0x1000;
}

static void measure_writer(uint64_t events)
{
	union {
		struct gt_event_call call;
		uint64_t space[sizeof(struct gt_event_call) / 8 + 8];
	} record = {0};
	struct gt_capture_totals totals;
	struct gt_capture_writer *writer;
	double start = cpu_seconds(), used, rate, bytes;

	if (gt_capture_create(FILE_NAME, &writer, NULL))
		fail("cannot create the capture");
	for (uint64_t i = 0; i < events; i++) {
		make_call(i, &record.call);
		gt_capture_write(writer, &record.call.head);
	}
	if (gt_capture_finish(writer, &totals, NULL) || totals.events != events)
		fail("cannot write the capture");
	unlink(FILE_NAME);
	used = cpu_seconds() - start;
	rate = (double)events / used;
	bytes = (double)totals.bytes / (double)events;
	printf("record-events %.0f events/s\n", rate);
	printf("record-bytes %.2f bytes/event\n", bytes);
}

/* Run gputap record; false: it failed. */
static bool record_example(const char *gputap, const char *program)
{
	int status;
	pid_t child = fork();

	if (!child) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(gputap, gputap, "record", "--stack", "fp", "-o", FILE_NAME, "--", program,
		      (char *)NULL);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* Events and bytes of the capture that was recorded. */
static void read_totals(struct gt_capture_totals *totals)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	int fd = open(FILE_NAME, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || gt_capture_open(FILE_NAME, &reader, NULL))
		fail("cannot read the recording");
	totals->bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	close(fd);
	while (gt_capture_next(reader, &event, NULL) > 0)
		totals->events++;
}

static void measure_examples(const char *gputap, size_t count)
{
	struct gt_capture_totals all = {0};

	for (size_t i = 0; i < count; i++) {
		struct gt_capture_totals totals = {0};
		char program[4096];

		snprintf(program, sizeof(program), "%s/%s", EXAMPLES, example_names[i]);
		if (!record_example(gputap, program)) {
			printf("record-%s skip it cannot be recorded here\n", example_names[i]);
			continue;
		}
		read_totals(&totals);
		unlink(FILE_NAME);
		printf("record-%s %.2f bytes/event\n", example_names[i],
		       (double)totals.bytes / (double)totals.events);
		all.events += totals.events;
		all.bytes += totals.bytes;
	}
	if (all.events)
		printf("record-examples %.2f bytes/event\n",
		       (double)all.bytes / (double)all.events);
}

int main(int count, char **arguments)
{
	const char *directory = getenv("TMPDIR");
	bool quick = count > 1 && !strcmp(arguments[1], "--quick");
	const char *gputap = count > 1 + quick ? arguments[1 + quick] : GPUTAP;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (chdir(directory ? directory : "/tmp"))
		fail("no directory for temporary files");
	measure_writer(quick ? 500000 : 5000000);
	measure_examples(gputap, quick ? 1 : gt_countof(example_names));

	return 0;
}
