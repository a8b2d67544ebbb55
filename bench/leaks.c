/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of a call in the analysis of leaks, with 100 and with 100,000 live allocations, and the
 * memory that it needs for them. The calls are generated: nothing is traced.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/leaks.h"
#include "base/clock.h"
#include "event/kinds.h"

#define DISTANCE 512 /* bytes between two allocations */

#define CALL_WORDS (sizeof(struct gt_event_call) / sizeof(uint64_t))

static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file) {
		if (fscanf(file, "%*u %lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct {
	struct gt_names *names;
	struct gt_leaks *leaks;
	uint64_t time;
	uint32_t allocates, frees;
} bench;

static void report_event(const struct gt_event *event)
{
	if (gt_names_take(bench.names, event) || gt_leaks_take(bench.leaks, bench.names, event)) {
		fprintf(stderr, "leaks: out of memory\n");
		exit(1);
	}
}

static uint32_t name_function(const char *name)
{
	struct gt_event_function *event =
		(void *)gt_event_new(GT_EVENT_function, name, strlen(name));
	uint32_t number = (uint32_t)gt_api_find(name);

	event->number = number;
	report_event(&event->head);
	free(event);
	return number;
}

static void call(uint32_t function, unsigned slots, unsigned copied, const uint64_t words[3])
{
	uint64_t record[CALL_WORDS + 3] = {0};
	struct gt_event_call *event = (void *)record;

	event->head.kind = GT_EVENT_call;
	event->head.size = (uint16_t)((CALL_WORDS + slots + (copied != 0)) * sizeof(uint64_t));
	event->head.time = bench.time += 2000;
	event->head.process = event->head.thread = 100;
	event->head.device = GT_DEVICE_UNKNOWN;
	event->duration = 1000;
	event->function = function;
	event->slots = (uint8_t)slots;
	event->copied = (uint8_t)copied;
	memcpy(record + CALL_WORDS, words, 3 * sizeof(*words));
	report_event(&event->head);
}

static void allocate(uint64_t number)
{
	call(bench.allocates, 2, 1, (uint64_t[]){0x7ffc0000, 256, 0x10000 + number * DISTANCE});
}

static void release(uint64_t number)
{
	call(bench.frees, 1, 0, (uint64_t[]){0x10000 + number * DISTANCE, 0, 0});
}

/* So many live, then pairs of a release and an allocation all over them. */
static double measure(uint64_t live, uint64_t pairs)
{
	uint64_t before = resident_bytes(), start, number = 1, memory;
	double ns;

	memset(&bench, 0, sizeof(bench));
	bench.names = gt_names_new();
	bench.leaks = gt_leaks_new(GT_BY_STACK);
	if (!bench.names || !bench.leaks)
		exit(1);
	bench.allocates = name_function("cudaMalloc");
	bench.frees = name_function("cudaFree");
	for (uint64_t i = 0; i < live; i++)
		allocate(i);
	memory = resident_bytes();
	start = gt_clock_monotonic();
	for (uint64_t i = 0; i < pairs; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		release((number >> 33) % live);
		allocate((number >> 33) % live);
	}
	ns = (double)(gt_clock_monotonic() - start) / (double)(2 * pairs);
	printf("leaks-%lu-live %.1f ns a call\n", (unsigned long)live, ns);
	printf("leaks-%lu-live-memory %.2f MiB\n", (unsigned long)live,
	       (double)(memory - before) / 0x1p20);
	gt_leaks_free(bench.leaks);
	gt_names_free(bench.names);
	return ns;
}

int main(int count, char **arguments)
{
	bool quick = count > 1 && !strcmp(arguments[1], "--quick");

	uint64_t pairs = quick ? 100000 : 1000000;
	double few = measure(100, pairs), many = measure(100000, pairs);

	printf("leaks-100000-live/100-live %.3f x\n", many / few);
	return 0;
}
