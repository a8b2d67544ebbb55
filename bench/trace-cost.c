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
 * the process's memory at the return: "with_result". Times are lower quartiles of short windows, so
 * that other programs on the machine disturb them little. "programs": the part of the programs, as
 * the kernel measures it, without that of an empty pair; it does not depend on the price of traps.
 * One round a run: bench/run takes the medians.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "elf/elf.h"
#include "probe/api/attach.h"
#include "probe/api/multi_link.h"
#include "probe/load.h"

#include "empty.skel.h"
#include "start.h"

/* What is called: of the functions of the stand-in, one for each thing that costs. */
static void call_plain(void)
{
	cudaSetDevice(0);
}

static void call_with_result(void)
{
	int device;

	cudaGetDevice(&device);
}

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

/* Calls that are timed together: fewer than a thread makes before another one gets its CPU. */
#define WINDOW 20

static int compare_ns(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/*
 * The time of a call: the lower quartile of the windows. Another program that takes the CPU for
 * some time lengthens a few windows by much, and would dominate their mean.
 */
static double ns_per_call(void (*call)(void), long calls)
{
	long count = calls / WINDOW;
	gt_autofree double *windows = calloc((size_t)count, sizeof(*windows));

	if (!windows)
		return -1;
	for (long i = 0; i < count; i++) {
		uint64_t start = gt_clock_monotonic();

		for (int j = 0; j < WINDOW; j++)
			call();
		windows[i] = (double)(gt_clock_monotonic() - start) / WINDOW;
	}
	qsort(windows, (size_t)count, sizeof(*windows), compare_ns);
	return windows[count / 4];
}

/* ---- the run time of the programs ---- */

#define MAX_PROGRAMS 32
#define PROGRAM_WINDOWS 500

struct runs {
	__u64 count, ns;
};

/* All programs on calls, of other sessions, too; none: of one that has ended. */
static size_t find_programs(int fds[MAX_PROGRAMS])
{
	static const char *const names[] = {"call_session", "count_session", "call_entry",
					    "call_return",  "empty_entry",   "empty_return",
					    "timed_entry",  "timed_return"};
	size_t count = 0;
	__u32 id = 0;

	while (count < MAX_PROGRAMS && !bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);
		bool wanted = false;

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size))
			for (size_t i = 0; i < gt_countof(names); i++)
				wanted |= !strcmp(info.name, names[i]);
		if (wanted)
			fds[count++] = fd;
		else
			close(fd);
	}
	return count;
}

static void read_runs(const int *fds, size_t count, struct runs *ret_runs)
{
	for (size_t i = 0; i < count; i++) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		bpf_obj_get_info_by_fd(fds[i], &info, &size);
		ret_runs[i] = (struct runs){info.run_cnt, info.run_time_ns};
	}
}

/*
 * The time of a call in the programs that run at each one, as the kernel measures it, the traps not
 * included: the lower quartile, too. It has the price of the measurement.
 */
static double ns_in_programs(void (*call)(void))
{
	static double windows[PROGRAM_WINDOWS];
	struct runs before[MAX_PROGRAMS], after[MAX_PROGRAMS];
	gt_autoclose int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	int fds[MAX_PROGRAMS];
	size_t count = find_programs(fds);

	for (size_t i = 0; i < PROGRAM_WINDOWS; i++) {
		__u64 ns = 0;

		read_runs(fds, count, before);
		for (int j = 0; j < WINDOW; j++)
			call();
		read_runs(fds, count, after);
		for (size_t j = 0; j < count; j++)
			if (after[j].count - before[j].count >= WINDOW)
				ns += after[j].ns - before[j].ns;
		windows[i] = (double)ns / WINDOW;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	qsort(windows, PROGRAM_WINDOWS, sizeof(*windows), compare_ns);
	return stats < 0 ? 0 : windows[PROGRAM_WINDOWS / 4];
}

/* What was measured of a kind of tracing, ns a call. */
struct cost {
	double all, programs;
};

/* All calls that `measure` makes. */
static uint64_t measured_calls(long calls)
{
	return (uint64_t)(calls + calls / 10 + PROGRAM_WINDOWS * WINDOW);
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

static int find_function(char **ret_path, uint64_t *ret_offset)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *const *symbols;
	Dl_info info;

	if (!dladdr((void *)cudaSetDevice, &info) || gt_elf_open(info.dli_fname, &elf, NULL) ||
	    !gt_elf_lookup(elf, "cudaSetDevice", &symbols))
		return -ENOENT;
	*ret_offset = symbols[0]->offset;
	*ret_path = strdup(info.dli_fname);
	return 0;
}

static void ignore_rejected(void *context, const struct gt_site *site, int error)
{
}

/* With a pair of programs of empty.bpf.c: empty ones, or the time stamps of a duration alone. */
static struct cost with_pair(bool is_timed, const char *path, uint64_t offset, long calls)
{
	struct gt_site site = {.name = "cudaSetDevice", .offset = offset};
	const struct gt_attach_request request = {
		.path = path,
		.sites = &site,
		.count = 1,
		.failed = ignore_rejected,
	};
	struct gt_attachment *attachment = NULL;
	struct empty_bpf *skeleton = empty_bpf__open();
	bool multi = !gt_multi_link_check(GT_MULTI_ENTRY);
	struct gt_attacher attacher = {.method = multi ? GT_ATTACH_MULTI : GT_ATTACH_PERF};
	struct cost cost = {-1, -1};

	if (!skeleton)
		return cost;
	attacher.entry = is_timed ? skeleton->progs.timed_entry : skeleton->progs.empty_entry;
	attacher.at_return = is_timed ? skeleton->progs.timed_return : skeleton->progs.empty_return;
	/* For perf events; the empty programs do not look into it. */
	attacher.sites =
		bpf_map_create(BPF_MAP_TYPE_HASH, "sites", sizeof(__u32), sizeof(__u64), 1, NULL);
	if (multi) {
		gt_multi_link_prepare(attacher.entry, GT_MULTI_ENTRY);
		gt_multi_link_prepare(attacher.at_return, GT_MULTI_RETURN);
	}
	if (!empty_bpf__load(skeleton) && !gt_attach(&attacher, &request, &attachment, NULL))
		cost = measure(call_plain, calls);
	gt_detach(attachment);
	close(attacher.sites);
	empty_bpf__destroy(skeleton);
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
	const char *const arguments[] = {"trace",   "-f",    "cuda?etDevice,cudaLaunchKernel",
					 "--stack", stack,   more[0],
					 more[1],   more[2], NULL};
	struct cost cost = {-1, -1};
	pid_t gputap = 0;

	if (start_gputap(arguments, &gputap))
		return cost;
	cost = measure(call, calls);
	kill(gputap, SIGINT);
	waitpid(gputap, NULL, 0);
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
	gt_autofree char *path = NULL;
	struct cost empty, timed;
	uint64_t offset;
	double untraced;

	if (count == 4 && !strcmp(arguments[1], "--child"))
		return run_child(strtoul(arguments[2], NULL, 10) % gt_countof(agent_cases),
				 strtol(arguments[3], NULL, 10));
	gt_load_set_verbose(false);
	if (gt_load_check(NULL) || find_function(&path, &offset)) {
		printf("trace.untraced skip BPF programs cannot be loaded here\n");
		return 0;
	}
	untraced = ns_per_call(call_plain, calls);
	empty = with_pair(false, path, offset, calls);
	timed = with_pair(true, path, offset, calls);
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
