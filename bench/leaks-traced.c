/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of `gputap leaks` for a program with 100 and one with 100,000 live allocations: the time
 * of its calls of the stand-in runtime, which do nothing, and gputap's memory. A program must not
 * become slower as it allocates. One round per run: bench/run takes the medians.
 */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "probe/load.h"

#include "start.h"

#define FEW 100
#define MANY 100000

static void *live[MANY];

static void allocate(long number)
{
	cudaMalloc(&live[number], 256);
}

/*
 * Pairs of a release and an allocation all over those that live; ns a call. It is the program's own
 * time: what gputap does meanwhile, it does on another CPU where there is one.
 */
static double replace(long count, long pairs)
{
	uint64_t number = 1, start = gt_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (long i = 0; i < pairs; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		cudaFree(live[(number >> 33) % (uint64_t)count]);
		allocate((long)((number >> 33) % (uint64_t)count));
	}
	return (double)(gt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (2.0 * (double)pairs);
}

/* The most memory that a process has had resident, in MiB. */
static double memory_of(pid_t pid)
{
	char path[32], line[256];
	long kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmHWM:", 6))
			kib = strtol(line + 6, NULL, 10);
	if (file)
		fclose(file);
	return (double)kib / 1024;
}

int main(int count, char **arguments)
{
	static const char *const options[] = {"leaks", "--stack", "none", "-o", "/dev/null", NULL};
	long pairs = count > 1 && !strcmp(arguments[1], "--quick") ? 20000 : 100000;
	double few, many;
	pid_t gputap = 0;

	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("leaks-traced-100-live skip BPF programs cannot be loaded here\n");
		return 0;
	}
	if (start_gputap(options, &gputap))
		return 1;
	for (long i = 0; i < FEW; i++)
		allocate(i);
	replace(FEW, pairs / 10);
	few = replace(FEW, pairs);
	for (long i = FEW; i < MANY; i++)
		allocate(i);
	replace(MANY, pairs / 10);
	many = replace(MANY, pairs);
	printf("leaks-traced-%d-live %.1f ns a call\n", FEW, few);
	printf("leaks-traced-%d-live %.1f ns a call\n", MANY, many);
	printf("leaks-traced-%d-live/%d-live %.3f x\n", MANY, FEW, many / few);
	/* What it has read by now; the ring is part of it. */
	printf("leaks-traced-memory %.1f MiB (goal: 64)\n", memory_of(gputap));
	kill(gputap, SIGINT);
	waitpid(gputap, NULL, 0);
	return 0;
}
