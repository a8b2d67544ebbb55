/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many events `gputap record` writes to disk per second of a program that makes them at full
 * speed (system calls), and how many are lost: with the source of these alone, and with all
 * sources. gputap runs on CPU 0 alone, the program on CPU 1. The goals are 1,000,000 and none.
 *
 *     record-rate [--quick]    a tenth of the events
 *     record-rate --make N     the program: makes N system calls and prints the ns that they took
 */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/clock.h"
#include "probe/load.h"

#define FILE_NAME "gputap-bench-record-rate.gtap"

static const struct {
	const char *name;
	const char *sources;
} rate_cases[] = {
	{"record_rate", "cuda,syscall"},
	{"record_rate_all", "all"},
};

struct rate_result {
	unsigned long long ns;       /* that the program ran */
	unsigned long long recorded; /* of all sources */
	unsigned long long lost;
};

/* Without a CPU of this number, all CPUs are used. */
static void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fprintf(stderr, "record-rate: there is no CPU %d\n", cpu);
}

static int make_events(unsigned long count)
{
	uint64_t start;

	pin_to_cpu(1);
	start = gt_clock_monotonic();
	for (unsigned long i = 0; i < count; i++)
		syscall(SYS_getppid);
	printf("made in %llu ns\n", (unsigned long long)(gt_clock_monotonic() - start));
	return 0;
}

/* Add what "gputap: … N recorded, M lost; …" says of each source. */
static void read_losses(const char *line, struct rate_result *result)
{
	unsigned long long count;

	for (const char *at = line; (at = strstr(at, " lost")); at++) {
		const char *digits = at;

		while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		if (sscanf(digits, "%llu lost", &count) == 1)
			result->lost += count;
	}
}

/* False: the recording failed. */
static bool record_events(const char *self, const char *sources, unsigned long count,
			  struct rate_result *result)
{
	char command[8192], line[4096];
	FILE *output;

	snprintf(command, sizeof(command),
		 "taskset -c 0 '%s' record -e %s --gpu nvidia -o %s -- '%s' --make %lu 2>&1",
		 GPUTAP, sources, FILE_NAME, self, count);
	output = popen(command, "r");
	while (output && fgets(line, sizeof(line), output)) {
		if (sscanf(line, "made in %llu ns", &result->ns) == 1 ||
		    sscanf(line, "gputap: recorded %llu events", &result->recorded) == 1)
			continue;
		read_losses(line, result);
	}
	unlink(FILE_NAME);
	return output && !pclose(output) && result->ns && result->recorded >= count;
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && !strcmp(argv[1], "--quick");
	const char *directory = getenv("TMPDIR");
	char self[4096] = "";

	if (argc > 2 && !strcmp(argv[1], "--make"))
		return make_events(strtoul(argv[2], NULL, 10));
	setenv("LD_LIBRARY_PATH", STANDIN, 1);
	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("record_rate_lost skip BPF programs cannot be loaded here\n");
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
	    chdir(directory ? directory : P_tmpdir))
		return 1;
	for (size_t i = 0; i < gt_countof(rate_cases); i++) {
		struct rate_result result = {0};

		if (!record_events(self, rate_cases[i].sources, quick ? 1000000 : 10000000,
				   &result)) {
			fprintf(stderr, "record-rate: gputap record -e %s failed\n",
				rate_cases[i].sources);
			return 1;
		}
		printf("%s_events %.0f events/s (goal: 1000000)\n", rate_cases[i].name,
		       (double)result.recorded * 1e9 / (double)result.ns);
		printf("%s_lost %llu events (goal: 0)\n", rate_cases[i].name, result.lost);
	}
	return 0;
}
