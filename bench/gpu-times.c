/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of --gpu-times to a thread that launches: launches of an empty kernel on the software
 * GPU, in groups that are waited for, without gputap, with the agent and without times, with every
 * hundredth launch timed, with all, and with exact times. Times are those of launches, not of
 * waits. And how far the times of the kernels of examples/pipeline are from those in the log of the
 * software GPU: the median and the largest one of their starts and ends. And how far the sums in
 * the report of examples/streams are from that log, relative to 5 % or 200 us, whichever is more.
 * One round a run: bench/run takes the medians.
 */
#include <cuda.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			   ".visible .entry empty()\n{\n\tret;\n}\n";

enum {
	GROUP = 500,
	GROUPS = 40,
	QUICK_GROUPS = 4,
};

/* In the traced process: print the ns of a launch. */
static int launch(unsigned groups)
{
	CUcontext context;
	CUfunction kernel;
	CUmodule module;
	CUstream stream;
	uint64_t total = 0;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuModuleLoadData(&module, text) || cuModuleGetFunction(&kernel, module, "empty") ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return 1;
	/* The first group is not counted: it creates the events. */
	for (unsigned group = 0; group <= groups; group++) {
		uint64_t start = gt_clock_monotonic();

		for (int i = 0; i < GROUP; i++)
			if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL))
				return 1;
		if (group)
			total += gt_clock_monotonic() - start;
		if (cuStreamSynchronize(stream))
			return 1;
	}
	printf("%.0f\n", (double)total / groups / GROUP);
	return 0;
}

/* The ns of a launch in a command; negative: it failed. */
static double run_command(const char *before, const char *self, bool quick)
{
	char command[2048], line[64] = "";
	FILE *output;

	snprintf(command, sizeof(command), "%s %s --launch %d 2>/dev/null", before, self,
		 quick ? QUICK_GROUPS : GROUPS);
	output = popen(command, "r");
	if (!output)
		return -1;
	if (!fgets(line, sizeof(line), output))
		*line = 0;
	return pclose(output) || !*line ? -1 : strtod(line, NULL);
}

/* ---- errors ------------------------------------------------------------------------------- */

enum { MAX_KERNELS = 64 };

struct kernel_times {
	uint64_t start[MAX_KERNELS], end[MAX_KERNELS];
	unsigned count;
};

static uint64_t number_after(const char *line, const char *key)
{
	const char *found = strstr(line, key);

	return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* The kernels in a file with a JSON object a line, in the order of their ends. */
static bool read_kernels(const char *path, const char *mark, const char *end,
			 struct kernel_times *ret_times)
{
	FILE *file = fopen(path, "r");
	char line[8192];

	ret_times->count = 0;
	while (file && fgets(line, sizeof(line), file) && ret_times->count < MAX_KERNELS) {
		if (!strstr(line, mark))
			continue;
		ret_times->start[ret_times->count] = number_after(line, "\"start\":");
		ret_times->end[ret_times->count++] = number_after(line, end);
	}
	if (file)
		fclose(file);
	unlink(path);
	return ret_times->count;
}

static int compare_distances(const void *one, const void *other)
{
	uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;

	return (left > right) - (left < right);
}

static uint64_t distance(uint64_t one, uint64_t other)
{
	return one > other ? one - other : other - one;
}

static void print_errors(const char *which)
{
	static const char events[] = "gpu-times.events", log[] = "gpu-times.log";
	uint64_t distances[2 * MAX_KERNELS];
	struct kernel_times timed, logged;
	char command[2048];

	unlink(log);
	snprintf(command, sizeof(command),
		 "SOFTGPU_LOG=%s %s trace --gpu soft --gpu-times %s --json -o %s -- %s >/dev/null "
		 "2>&1",
		 log, GPUTAP, which, events, PIPELINE);
	if (system(command) ||
	    !read_kernels(events, "\"name\":\"gpu_kernel\"", "\"time\":", &timed) ||
	    !read_kernels(log, "\"op\":\"kernel\"", "\"end\":", &logged) ||
	    timed.count != logged.count) {
		printf("gpu_times.error.%s skip cannot trace\n", which);
		return;
	}
	for (unsigned i = 0; i < timed.count; i++) {
		distances[2 * i] = distance(timed.start[i], logged.start[i]);
		distances[2 * i + 1] = distance(timed.end[i], logged.end[i]);
	}
	qsort(distances, 2 * timed.count, sizeof(*distances), compare_distances);
	printf("gpu_times.error.%s.median %" PRIu64 " ns\n", which, distances[timed.count]);
	printf("gpu_times.error.%s.max %" PRIu64 " ns\n", which, distances[2 * timed.count - 1]);
}

/* ---- the report --------------------------------------------------------------------------- */

enum { MAX_INTERVALS = 256 };

struct interval {
	uint64_t start, end;
};

struct intervals {
	struct interval items[MAX_INTERVALS];
	unsigned count;
};

static int compare_starts(const void *one, const void *other)
{
	const struct interval *left = one, *right = other;

	return (left->start > right->start) - (left->start < right->start);
}

/* The operations of the log whose line contains `mark`. */
static void read_intervals(const char *path, const char *mark, struct intervals *ret_intervals)
{
	FILE *file = fopen(path, "r");
	char line[8192];

	ret_intervals->count = 0;
	while (file && fgets(line, sizeof(line), file) && ret_intervals->count < MAX_INTERVALS)
		if ((strstr(line, "\"op\":\"kernel\"") || strstr(line, "\"op\":\"copy\"")) &&
		    strstr(line, mark))
			ret_intervals->items[ret_intervals->count++] = (struct interval){
				number_after(line, "\"start\":"), number_after(line, "\"end\":")};
	if (file)
		fclose(file);
	qsort(ret_intervals->items, ret_intervals->count, sizeof(*ret_intervals->items),
	      compare_starts);
}

/* The time in which at least one of them runs, and *ret_overlap in which at least two do. */
static uint64_t find_busy(const struct intervals *intervals, uint64_t *ret_overlap)
{
	uint64_t busy = 0, overlap = 0, first = 0, second = 0; /* ends of the latest two */

	for (unsigned i = 0; i < intervals->count; i++) {
		uint64_t start = intervals->items[i].start, end = intervals->items[i].end;
		uint64_t lower = end < first ? end : first;

		if (end > first)
			busy += end - (start > first ? start : first);
		if (lower > start && lower > second)
			overlap += lower - (start > second ? start : second);
		second = lower > second ? lower : second;
		first = end > first ? end : first;
	}
	*ret_overlap = overlap;
	return busy;
}

/* A number of the report, after a text and a key. */
static uint64_t find_number(const char *report, const char *after, const char *key)
{
	const char *found = strstr(report, after);

	return found ? number_after(found, key) : 0;
}

static void print_deviation(const char *which, const char *argument, const char *name,
			    uint64_t reported, uint64_t logged)
{
	double limit = (double)logged * 0.05 > 200e3 ? (double)logged * 0.05 : 200e3;

	printf("gpu_times.report.%s.%s.%s %.3f x (goal: 1)\n", which, argument, name,
	       (double)distance(reported, logged) / limit);
}

static void print_report_errors(const char *which, const char *argument)
{
	static const char capture[] = "gpu-times.gtap", log[] = "gpu-times.log";
	static char report[1 << 20];
	struct intervals all, kernels;
	uint64_t busy, overlap, span = 0, unused;
	char command[2048];
	FILE *output;
	size_t size;

	unlink(log);
	snprintf(command, sizeof(command),
		 "SOFTGPU_LOG=%s %s record --gpu soft --gpu-times %s -e cuda -o %s -- %s %s "
		 ">/dev/null 2>&1 && %s report --from %s --json 2>/dev/null",
		 log, GPUTAP, which, capture, STREAMS, argument, GPUTAP, capture);
	output = popen(command, "r");
	size = output ? fread(report, 1, sizeof(report) - 1, output) : 0;
	report[size] = 0;
	if (!output || pclose(output) || !size) {
		printf("gpu_times.report skip cannot trace\n");
		return;
	}
	read_intervals(log, "", &all);
	read_intervals(log, "\"op\":\"kernel\"", &kernels);
	busy = find_busy(&all, &overlap);
	for (unsigned i = 0; i < all.count; i++)
		if (all.items[i].end - all.items[0].start > span)
			span = all.items[i].end - all.items[0].start;
	print_deviation(which, argument, "busy", find_number(report, "\"gpu\":", "\"busy\":"),
			busy);
	print_deviation(which, argument, "overlap", find_number(report, "\"gpu\":", "\"overlap\":"),
			overlap);
	print_deviation(which, argument, "idle", find_number(report, "\"gpu\":", "\"idle\":"),
			span - busy);
	print_deviation(which, argument, "kernel",
			find_number(report, "\"operation\":\"kernel\"", "\"busy\":"),
			find_busy(&kernels, &unused));
	unlink(capture);
	unlink(log);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *before;
	} cases[] = {
		{"without_gputap", "LD_LIBRARY_PATH=" SOFTGPU},
		/* No probe on a launch: cuInit alone is traced. */
		{"off", GPUTAP " trace --gpu soft -f cuInit -o /dev/null --"},
		{"sampled_100",
		 GPUTAP " trace --gpu soft -f cuInit --gpu-times sampled=100 -o /dev/null --"},
		{"all", GPUTAP " trace --gpu soft -f cuInit --gpu-times all -o /dev/null --"},
		{"exact", GPUTAP " trace --gpu soft -f cuInit --gpu-times exact -o /dev/null --"},
	};
	bool quick = argc > 1 && !strcmp(argv[1], "--quick");

	if (argc > 2 && !strcmp(argv[1], "--launch"))
		return launch((unsigned)strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double ns = run_command(cases[i].before, argv[0], quick);

		if (ns < 0)
			printf("gpu_times.%s skip cannot trace\n", cases[i].name);
		else
			printf("gpu_times.%s %.0f ns\n", cases[i].name, ns);
	}
	print_errors("all");
	print_errors("exact");
	print_report_errors("all", "async");
	print_report_errors("all", "sync");
	print_report_errors("exact", "async");
	print_report_errors("exact", "sync");
	return 0;
}
