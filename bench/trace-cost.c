/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of tracing a call of the stand-in runtime, which does nothing: untraced, with an empty
 * pair of probes, with one that takes the time stamps of a duration alone ("timed_pair": the
 * first one waits in task storage), with one that also writes a record ("recording_pair"), with
 * gputap counting it (`trace -c`), recording it (every event kept or counted), and also writing the
 * entry events of live text.
 *
 * The ratios are to the empty pair, which is on another function of the same library all the time:
 * windows of calls of the two alternate, and a ratio is the median of those of neighbours, so that
 * changes of the machine's speed concern both.
 *
 * "bpftrace_histogram": bpftrace's program for durations on the same function, where it is
 * installed.
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
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
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

/* The time of a call in one window, ns. */
static double take_window(void (*call)(void))
{
	uint64_t start = gt_clock_monotonic();

	for (int i = 0; i < CALL_WINDOW; i++)
		call();
	return (double)(gt_clock_monotonic() - start) / CALL_WINDOW;
}

/* What was measured of a kind of tracing, ns a call; `ratio`: to the empty pair. */
struct cost {
	double all, ratio, programs;
};

/*
 * The time of a call, and its ratio to one of the reference. Another program that takes the CPU
 * for some time lengthens a few windows by much, and would dominate their mean.
 */
static struct cost take_windows(void (*call)(void), long calls)
{
	size_t count = (size_t)calls / CALL_WINDOW;
	gt_autofree double *windows = calloc(count, sizeof(*windows));
	gt_autofree double *ratios = calloc(count, sizeof(*ratios));
	struct cost cost = {-1, -1, -1};

	if (!windows || !ratios)
		return cost;
	for (size_t i = 0; i < count; i++) {
		windows[i] = take_window(call);
		ratios[i] = windows[i] / take_window(call_reference);
	}
	cost.all = lower_quartile(windows, count);
	lower_quartile(ratios, count); /* sorts them */
	cost.ratio = ratios[count / 2];
	return cost;
}

/* All calls that `measure` makes. */
static uint64_t measured_calls(long calls)
{
	return (uint64_t)(calls + calls / 10 + PROGRAM_WINDOWS * CALL_WINDOW);
}

static struct cost measure(void (*call)(void), long calls)
{
	struct cost cost;

	take_windows(call, calls / 10);
	cost = take_windows(call, calls);
	cost.programs = ns_in_programs(call) - ns_in_programs(call_reference);
	return cost;
}

/* Print what a kind of tracing costs. */
static void print_cost(const char *name, const struct cost *cost, const char *goal)
{
	printf("trace.%s %.1f ns a call\n", name, cost->all);
	printf("trace.%s/empty_pair %.3f x%s\n", name, cost->ratio, goal);
	printf("trace.%s.programs %.1f ns a call\n", name, cost->programs);
}

/* With a pair of programs of empty.bpf.c; 1: it cannot be attached. */
static int measure_pair(const char *name, enum pair_kind kind, long calls)
{
	struct probe_pair *pair = attach_pair(kind);
	struct cost cost;

	if (!pair)
		return 1;
	cost = measure(call_plain, calls);
	detach_pair(pair);
	print_cost(name, &cost, "");
	return cost.all <= 0;
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
	struct cost cost = {-1, -1, -1};
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
	struct cost cost = {-1, -1, -1};

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

/* ---- histogram of bpftrace ---- */

/* The usual program for durations, on the function of call_plain(). */
#define BPFTRACE_PROGRAM                                                                           \
	"uprobe:" STANDIN "/libcudart.so.13:cudaSetDevice { @began[tid] = nsecs; } "               \
	"uretprobe:" STANDIN "/libcudart.so.13:cudaSetDevice /@began[tid]/ "                       \
	"{ @ = hist(nsecs - @began[tid]); delete(@began[tid]); }"

/* The child. bpftrace removes its probes through tracefs, which is mounted for it alone. */
static void run_bpftrace(void)
{
	int none = open("/dev/null", O_RDWR);

	if (!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
	dup2(none, STDOUT_FILENO);
	dup2(none, STDERR_FILENO);
	execlp("bpftrace", "bpftrace", "-e", BPFTRACE_PROGRAM, NULL);
	_exit(127);
}

/* Whether calls take the time of traps, at last. False: the tracer has ended, or attaches none. */
static bool wait_for_probes(pid_t tracer)
{
	siginfo_t ended = {0};
	int in_a_row = 0;

	for (int i = 0; i < 3000 && in_a_row < 10; i++) {
		if (waitid(P_PID, (id_t)tracer, &ended, WEXITED | WNOHANG | WNOWAIT) ||
		    ended.si_pid)
			return false;
		in_a_row = take_window(call_plain) > 200 ? in_a_row + 1 : 0;
		usleep(10000);
	}
	return in_a_row == 10;
}

static void measure_bpftrace(long calls)
{
	pid_t tracer = fork();
	struct cost cost;

	if (!tracer)
		run_bpftrace();
	if (tracer < 0 || !wait_for_probes(tracer)) {
		printf("trace.bpftrace_histogram skip bpftrace cannot be run here\n");
	} else {
		cost = take_windows(call_plain, calls);
		printf("trace.bpftrace_histogram/empty_pair %.3f x\n", cost.ratio);
	}
	if (tracer > 0)
		stop_tracing(tracer);
}

/* ---- recorded by the agent ---- */

/* What the child calls, by name, and the goals. */
static const struct {
	const char *name;
	void (*call)(void);
	const char *stack;
	const char *time_goal, *ratio_goal;
	const char *output; /* NULL: a capture */
} agent_cases[] = {
	{"recorded", call_plain, "none", " (goal: 150)", " (goal: 0.167)", NULL},
	{"recorded_with_result", call_with_result, "none", "", " (goal: 1.3)", NULL},
	{"opencl", call_opencl, "none", "", " (goal: 1.3)", NULL},
	{"launch", launch, "none", "", "", NULL},
	{"launch_with_stack_of_16", launch_deep, "fp", "", "", NULL},
	{"live_text", call_plain, "none", "", " (goal: 1.3)", "/dev/null"},
};

/* The child: make the calls and print the time of one, and its ratio to the empty pair. */
static int run_child(size_t number, long calls)
{
	struct cost cost;

	take_windows(agent_cases[number].call, calls / 10);
	cost = take_windows(agent_cases[number].call, calls);
	printf("cost %.2f %.4f\n", cost.all, cost.ratio);
	return 0;
}

/*
 * Read the child's line, and gputap's totals, which must add up to `calls`; `lost` is increased.
 * False: they do not, or a line is missing.
 */
static bool read_totals(FILE *output, uint64_t calls, struct cost *cost, uint64_t *lost)
{
	uint64_t made, complete, unfinished, missed;
	bool is_measured = false, is_right = false;
	char line[512];

	while (fgets(line, sizeof(line), output)) {
		is_measured |= sscanf(line, "cost %lf %lf", &cost->all, &cost->ratio) == 2;
		if (sscanf(line,
			   "gputap: %" SCNu64 " calls via agent: %" SCNu64 " complete, %" SCNu64
			   " unfinished, %" SCNu64 " lost",
			   &made, &complete, &unfinished, &missed) != 4)
			continue;
		is_right = made == calls && complete + missed == calls;
		*lost += missed;
	}
	return is_measured && is_right;
}

/* Run this program with the calls of a case under the agent. */
static struct cost by_agent(size_t number, const char *self, long calls, uint64_t *lost)
{
	char capture[] = "/dev/shm/gputap-bench-XXXXXX.gtap", command[1024];
	int fd = mkstemps(capture, strlen(".gtap"));
	const char *path = agent_cases[number].output ? agent_cases[number].output : capture;
	struct cost cost = {-1, -1, -1};
	FILE *output;

	if (fd < 0)
		return cost;
	close(fd);
	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH=%s %s trace --gpu nvidia --via agent --ring-size 256M -f "
		 "'cuda?etDevice,cudaLaunchKernel,clSetKernelArg' --stack %s -o %s -- "
		 "%s --child %zu %ld 2>&1",
		 STANDIN, GPUTAP, agent_cases[number].stack, path, self, number, calls);
	output = popen(command, "r");
	if (!output || !read_totals(output, (uint64_t)(calls + calls / 10), &cost, lost)) {
		fprintf(stderr, "trace-cost: the agent's totals of %s do not add up to %ld calls\n",
			agent_cases[number].name, calls + calls / 10);
		cost.all = -1;
	}
	if (output)
		pclose(output);
	unlink(capture);
	return cost;
}

static int measure_agent(const char *self, long calls)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < gt_countof(agent_cases); i++) {
		struct cost cost = by_agent(i, self, calls, &lost);

		if (cost.all <= 0)
			return 1;
		printf("agent.%s %.1f ns a call%s\n", agent_cases[i].name, cost.all,
		       agent_cases[i].time_goal);
		printf("agent.%s/empty_pair %.3f x%s\n", agent_cases[i].name, cost.ratio,
		       agent_cases[i].ratio_goal);
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
static int measure_cases(long calls)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < gt_countof(cases); i++) {
		struct cost cost =
			cases[i].output[0]
				? with_gputap(cases[i].output, cases[i].stack, cases[i].call, calls)
				: recorded(cases[i].stack, cases[i].call, calls, &lost);

		if (cost.all <= 0)
			return 1;
		print_cost(cases[i].name, &cost, cases[i].goal);
	}
	printf("trace.lost %" PRIu64 " calls\n", lost);
	return 0;
}

int main(int count, char **arguments)
{
	long calls = count > 1 && !strcmp(arguments[1], "--quick") ? 100000 : 300000;
	struct probe_pair *reference;
	int status;

	if (!open_opencl())
		return 1;
	if (count == 4 && !strcmp(arguments[1], "--child"))
		return run_child(strtoul(arguments[2], NULL, 10) % gt_countof(agent_cases),
				 strtol(arguments[3], NULL, 10));
	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("trace.untraced skip BPF programs cannot be loaded here\n");
		return 0;
	}
	printf("trace.untraced %.2f ns a call\n", take_windows(call_plain, calls).all);
	reference = attach_pair(PAIR_REFERENCE);
	if (!reference)
		return 1;
	printf("trace.empty_pair %.1f ns a call\n", take_windows(call_reference, calls).all);
	status = measure_pair("timed_pair", PAIR_TIMED, calls) ||
		 measure_pair("recording_pair", PAIR_RECORDING, calls);
	if (!status)
		measure_bpftrace(calls);
	status = status || measure_cases(calls) || measure_agent(arguments[0], calls);
	detach_pair(reference);
	return status;
}
