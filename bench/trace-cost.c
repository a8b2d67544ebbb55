/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of tracing a call of the stand-in runtime, which does nothing: untraced, with an empty
 * pair of probes, with one that takes the time stamps of a duration alone ("timed_pair": the
 * first one waits in task storage), with gputap counting it (`trace -c`),
 * recording it (every event kept or counted), and also writing the entry events of live text. The
 * ratios are to the empty pair.
 *
 * "agent": this program again, started by gputap with `--via agent`, which records the same calls
 * in the process. Its time is held against the empty pair, too.
 *
 * cudaSetDevice takes a number; cudaGetDevice returns one through a pointer, which is read from
 * the process's memory at the return: "with_result". clSetKernelArg ("opencl") has a value of the
 * process's memory, too, which is read at the entry. Times are lower quartiles of short windows, so
 * that other programs on the machine disturb them little. "programs": the part of the programs, as
 * the kernel measures it, without that of an empty pair; it does not depend on the price of traps.
 * One round a run: bench/run takes the medians.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "probe/load.h"

#include "call-cost.h"

static void launch(void)
{
	float *pointer = NULL;
	int number = 0;
	void *arguments[] = {&pointer, &number};

	cudaLaunchKernel((void *)launch, (dim3){1, 1, 1}, (dim3){32, 1, 1}, arguments, 0, NULL);
}

/* So many frames deep that a launch has STACK_FRAMES callers up to main's. */
#define STACK_FRAMES 16
static __attribute__((noinline)) void launch_from(int depth)
{
	if (depth > 1)
		launch_from(depth - 1);
	else
		launch();
	__asm__ volatile(""); /* no jump in place of a call */
}

static void launch_deep(void)
{
	launch_from(STACK_FRAMES - 8);
}

/* clSetKernelArg of the stand-in library, whose argument is read from the process's memory. */
static int (*set_argument)(void *kernel, unsigned index, size_t size, const void *value);

static void call_opencl(void)
{
	static char kernel;
	const int value = 7;

	set_argument(&kernel, 0, sizeof(value), &value);
}

static bool open_opencl(void)
{
	void *library = dlopen(STANDIN_OPENCL "/libOpenCL.so.1", RTLD_NOW);

	if (library)
		*(void **)&set_argument = dlsym(library, "clSetKernelArg");
	return set_argument;
}

/*
 * The time of a call: the lower quartile of the windows. Another program that takes the CPU for
 * some time lengthens a few windows by much, and would dominate their mean.
 */
static double ns_per_call(void (*call)(void), long calls)
{
	long count = calls / CALL_WINDOW;
	gt_autofree double *windows = calloc((size_t)count, sizeof(*windows));

	if (!windows)
		return -1;
	for (long i = 0; i < count; i++) {
		uint64_t start = gt_clock_monotonic();

		for (int j = 0; j < CALL_WINDOW; j++)
			call();
		windows[i] = (double)(gt_clock_monotonic() - start) / CALL_WINDOW;
	}
	return lower_quartile(windows, (size_t)count);
}

/* What was measured of a kind of tracing, ns a call. */
struct cost {
	double all, programs;
};

/* All calls that `measure` makes. */
static uint64_t measured_calls(long calls)
{
	return (uint64_t)(calls + calls / 10 + PROGRAM_WINDOWS * CALL_WINDOW);
}

/* After a warm-up of a tenth of the calls. */
static struct cost measure(void (*call)(void), long calls)
{
	struct cost cost;

	ns_per_call(call, calls / 10);
	cost.all = ns_per_call(call, calls);
	cost.programs = ns_in_programs(call);
	return cost;
}

/* With a pair of programs of empty.bpf.c. */
static struct cost with_pair(bool is_timed, long calls)
{
	struct probe_pair *pair = attach_pair(is_timed);
	struct cost cost = {-1, -1};

	if (pair)
		cost = measure(call_plain, calls);
	detach_pair(pair);
	return cost;
}

/* Whether the account at the end of the capture holds for this many calls. */
static bool is_accounted(const char *path, uint64_t calls, uint64_t *ret_lost)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	bool right = false;

	if (gt_capture_open(path, &reader, NULL))
		return false;
	while (gt_capture_next(reader, &event, NULL) > 0) {
		const struct gt_event_account *account = (const void *)event;

		if (event->kind != GT_EVENT_account)
			continue;
		right = account->made == calls &&
			account->complete + account->lost + account->unfinished == calls;
		*ret_lost += account->lost;
	}
	return right;
}

/* Time calls under `gputap trace` with more arguments. */
static struct cost with_gputap(const char *const more[3], const char *stack, void (*call)(void),
			       long calls)
{
	struct cost cost = {-1, -1};
	pid_t gputap = 0;

	if (start_tracing(more, stack, &gputap))
		return cost;
	cost = measure(call, calls);
	stop_tracing(gputap);
	return cost;
}

/* The same, into a capture whose totals must add up. */
static struct cost recorded(const char *stack, void (*call)(void), long calls, uint64_t *lost)
{
	char capture[] = "/dev/shm/gputap-bench-XXXXXX.gtap";
	int fd = mkstemps(capture, strlen(".gtap"));
	struct cost cost = {-1, -1};

	if (fd < 0)
		return cost;
	close(fd);
	cost = with_gputap((const char *[3]){"-o", capture}, stack, call, calls);
	if (!is_accounted(capture, measured_calls(calls), lost)) {
		fprintf(stderr, "trace-cost: the totals do not add up to %" PRIu64 " calls\n",
			measured_calls(calls));
		cost.all = -1;
	}
	unlink(capture);
	return cost;
}

/* ---- recorded by the agent ---- */

/* What the child calls, by name. */
static const struct {
	const char *name;
	void (*call)(void);
	const char *stack;
} agent_cases[] = {
	{"recorded", call_plain, "none"},
	{"recorded_with_result", call_with_result, "none"},
	{"launch", launch, "none"},
	{"launch_with_stack_of_16", launch_deep, "fp"},
};

/* The child: make the calls and print the time of one. */
static int run_child(size_t number, long calls)
{
	ns_per_call(agent_cases[number].call, calls / 10);
	printf("%.2f\n", ns_per_call(agent_cases[number].call, calls));
	return 0;
}

/* Run this program with the calls of a case under the agent. The time of a call in ns, or -1. */
static double by_agent(size_t number, const char *self, long calls, uint64_t *lost)
{
	char capture[] = "/dev/shm/gputap-bench-XXXXXX.gtap", command[1024];
	int fd = mkstemps(capture, strlen(".gtap"));
	double ns = -1;
	FILE *output;

	if (fd < 0)
		return -1;
	close(fd);
	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH=%s %s trace --gpu nvidia --via agent --ring-size 256M -f "
		 "'cuda?etDevice,cudaLaunchKernel' --stack %s -o %s -- "
		 "%s --child %zu %ld 2>/dev/null",
		 STANDIN, GPUTAP, agent_cases[number].stack, capture, self, number, calls);
	output = popen(command, "r");
	if (output && fscanf(output, "%lf", &ns) != 1)
		ns = -1;
	if (output)
		pclose(output);
	if (ns > 0 && !is_accounted(capture, (uint64_t)(calls + calls / 10), lost)) {
		fprintf(stderr, "trace-cost: the agent's totals do not add up to %ld calls\n",
			calls + calls / 10);
		ns = -1;
	}
	unlink(capture);
	return ns;
}

static int measure_agent(const char *self, long calls, double empty)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < gt_countof(agent_cases); i++) {
		double ns = by_agent(i, self, calls, &lost);

		if (ns <= 0)
			return 1;
		printf("agent.%s %.1f ns a call%s\n", agent_cases[i].name, ns,
		       i ? "" : " (goal: 150)");
		printf("agent.%s/empty_pair %.3f x%s\n", agent_cases[i].name, ns / empty,
		       i ? "" : " (goal: 0.167)");
	}
	printf("agent.lost %" PRIu64 " calls\n", lost);
	return 0;
}

/* ---- recorded by uprobes ---- */

/* What is measured, in the order in which it is. */
static const struct {
	const char *name;
	void (*call)(void);
	const char *stack;
	const char *goal;
	const char *output[3]; /* arguments; none: a capture */
} cases[] = {
	{"counted", call_plain, "none", " (goal: 1.1)", {"-c", "-o", "/dev/null"}},
	{"recorded", call_plain, "none", " (goal: 1.2)", {NULL}},
	{"recorded_with_result", call_with_result, "none", " (goal: 1.3)", {NULL}},
	{"opencl", call_opencl, "none", " (goal: 1.3)", {NULL}},
	{"launch", launch, "none", "", {NULL}},
	{"launch_with_stack_of_16", launch_deep, "fp", " (goal: 2.5)", {NULL}},
	{"launch_with_rules_of_16", launch_deep, "mixed", " (goal: 2.5)", {NULL}},
	{"live_text", call_plain, "none", " (goal: 1.3)", {"-o", "/dev/null"}},
};

/* Print what each case costs; 1: one failed. */
static int measure_cases(long calls, struct cost empty)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < gt_countof(cases); i++) {
		struct cost cost =
			cases[i].output[0]
				? with_gputap(cases[i].output, cases[i].stack, cases[i].call, calls)
				: recorded(cases[i].stack, cases[i].call, calls, &lost);

		if (cost.all <= 0)
			return 1;
		printf("trace.%s %.1f ns a call\n", cases[i].name, cost.all);
		printf("trace.%s/empty_pair %.3f x%s\n", cases[i].name, cost.all / empty.all,
		       cases[i].goal);
		printf("trace.%s.programs %.1f ns a call\n", cases[i].name,
		       cost.programs - empty.programs);
	}
	printf("trace.lost %" PRIu64 " calls\n", lost);
	return 0;
}

int main(int count, char **arguments)
{
	long calls = count > 1 && !strcmp(arguments[1], "--quick") ? 100000 : 300000;
	struct cost empty, timed;
	double untraced;

	if (count == 4 && !strcmp(arguments[1], "--child"))
		return run_child(strtoul(arguments[2], NULL, 10) % gt_countof(agent_cases),
				 strtol(arguments[3], NULL, 10));
	if (!open_opencl())
		return 1;
	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("trace.untraced skip BPF programs cannot be loaded here\n");
		return 0;
	}
	untraced = ns_per_call(call_plain, calls);
	empty = with_pair(false, calls);
	timed = with_pair(true, calls);
	if (empty.all <= 0 || timed.all <= 0)
		return 1;
	printf("trace.untraced %.2f ns a call\n", untraced);
	printf("trace.empty_pair %.1f ns a call\n", empty.all);
	printf("trace.timed_pair/empty_pair %.3f x\n", timed.all / empty.all);
	printf("trace.timed_pair.programs %.1f ns a call\n", timed.programs - empty.programs);
	if (measure_cases(calls, empty))
		return 1;
	return measure_agent(arguments[0], calls, empty.all);
}
