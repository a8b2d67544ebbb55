/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of tracing system calls: a loop of open, ioctl and close, 100,000 times, in a process
 * that is not traced; under strace; with gputap's source "syscall", and with all sources; and in a
 * process beside one that is traced. The loop is split into turns, in each of which all of these
 * follow one another; results are medians of the turns, and ratios those of the same turn. Costs
 * are per round of the three calls, without the loop's own time. The program measures itself: what
 * is read from the ring and written to a file meanwhile is part of it only as far as it takes the
 * CPU away.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PART 500 /* rounds that are timed together */
#define MAX_ARGUMENTS 16
#define TURNS 5 /* a fifth of the rounds each */
#define MODES 3

static void run_rounds(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		int fd = open("/dev/null", O_RDWR);

		ioctl(fd, TIOCGWINSZ, 0);
		close(fd);
	}
}

/* Report the time of a round in the fastest part of the loop: other processes disturb the others.
 */
static void run_loop(unsigned rounds)
{
	uint64_t fastest = UINT64_MAX;

	for (unsigned i = 0; i < rounds; i += PART) {
		uint64_t start = gt_clock_monotonic();
		uint64_t time;

		run_rounds(PART);
		time = gt_clock_monotonic() - start;
		fastest = time < fastest ? time : fastest;
	}
	/* On a descriptor that no tracer uses. */
	dprintf(9, "%" PRIu64 "\n", fastest);
}

/* Start a command with the end of a pipe as its descriptor 9; its process id. */
static pid_t start_command(char *const *arguments, int end)
{
	pid_t process = fork();
	int null;

	if (process)
		return process;
	null = open("/dev/null", O_WRONLY);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(end, 9);
	execvp(arguments[0], arguments);
	_exit(127);
}

/* The time of a round of the loop in ns, under a prefix of arguments; negative: it did not run. */
static double measure(const char *program, const char *rounds, const char *const *prefix)
{
	char *arguments[MAX_ARGUMENTS];
	size_t count = 0;
	char text[32] = "";
	int ends[2], status;
	pid_t process;

	for (; prefix[count]; count++)
		arguments[count] = (char *)prefix[count];
	arguments[count++] = (char *)program;
	arguments[count++] = (char *)rounds;
	arguments[count] = NULL;
	if (pipe(ends))
		return -1;
	process = start_command(arguments, ends[1]);
	close(ends[1]);
	if (process < 0 || read(ends[0], text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	close(ends[0]);
	waitpid(process, &status, 0);
	return *text ? strtod(text, NULL) / PART : -1;
}

static const char *const plain[] = {NULL};
static const char *const strace[] = {"strace", "-f", "-o", "/dev/null", NULL};
static char capture[PATH_MAX];
static const char *const syscalls[] = {GPUTAP,   "trace", "-e",    "syscall", "--gpu",
				       "nvidia", "-o",    capture, "--",      NULL};
static const char *const sums[] = {GPUTAP, "stat", "-e", "syscall", "--gpu", "nvidia", "--", NULL};
static const char *const all[] = {GPUTAP,   "trace", "-e",    "all", "--gpu",
				  "nvidia", "-o",    capture, "--",  NULL};

static const struct {
	const char *name;
	const char *const *prefix;
} modes[MODES] = {
	{"syscall", syscalls},
	{"stat", sums},
	{"all", all},
};

/* By turn. */
static double bases[TURNS], under_strace[TURNS], costs[MODES][TURNS], ratios[MODES][TURNS];
static bool has_run[MODES];

/* The cost for a process that is not traced, while another one is. */
static void measure_beside(const char *program, const char *rounds, double base)
{
	char *const arguments[] = {(char *)GPUTAP,  (char *)"trace",
				   (char *)"-e",    (char *)"syscall",
				   (char *)"--gpu", (char *)"nvidia",
				   (char *)"--",    (char *)"sleep",
				   (char *)"3",     NULL};
	pid_t tracer = start_command(arguments, STDERR_FILENO);
	int status;

	sleep(1);
	printf("syscalls/beside %.1f ns\n", measure(program, rounds, plain) - base);
	waitpid(tracer, &status, 0);
}

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(const double *values)
{
	double sorted[TURNS];

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, TURNS, sizeof(*sorted), compare_doubles);
	return sorted[TURNS / 2];
}

/* All modes in turn, each turn beside an untraced one and one under strace. Negative: it did not
 * run. */
static void measure_turns(const char *program, const char *rounds)
{
	for (size_t turn = 0; turn < TURNS; turn++) {
		double base = measure(program, rounds, plain);
		double under = measure(program, rounds, strace);

		bases[turn] = base;
		under_strace[turn] = under > 0 ? under - base : -1;
		for (size_t i = 0; i < MODES; i++) {
			double traced = measure(program, rounds, modes[i].prefix);

			has_run[i] |= traced > 0;
			costs[i][turn] = traced - base;
			/* A cost within the error of the measurement counts as 1 ns. */
			ratios[i][turn] =
				under_strace[turn] / (costs[i][turn] > 1 ? costs[i][turn] : 1);
		}
	}
}

/* Create the file of the traces in $TMPDIR, or /tmp. Return its descriptor; negative: errno. */
static int create_capture(void)
{
	const char *folder = getenv("TMPDIR");

	snprintf(capture, sizeof(capture), "%s/gputap-bench-XXXXXX.gtap",
		 folder && *folder ? folder : "/tmp");
	return mkstemps(capture, (int)strlen(".gtap"));
}

int main(int count, char **arguments)
{
	const char *rounds = count > 1 && !strcmp(arguments[1], "--quick") ? "2000" : "20000";
	int file;

	if (count > 1 && arguments[1][0] != '-') {
		run_loop((unsigned)atoi(arguments[1]));
		return 0;
	}
	file = create_capture();
	if (file < 0) {
		fprintf(stderr, "%s cannot be created: %s\n", capture, strerror(errno));
		return 1;
	}
	measure_turns(arguments[0], rounds);
	printf("syscalls/untraced %.1f ns\n", median(bases));
	if (median(under_strace) > 0)
		printf("syscalls/strace %.1f ns\n", median(under_strace));
	else
		printf("syscalls/strace skip strace is not installed\n");
	for (size_t i = 0; i < MODES; i++) {
		if (!has_run[i]) {
			printf("syscalls/%s skip gputap cannot trace here\n", modes[i].name);
			continue;
		}
		printf("syscalls/%s %.1f ns\n", modes[i].name, median(costs[i]));
		if (median(under_strace) > 0)
			printf("syscalls/%s/cheaper-than-strace %.1f times\n", modes[i].name,
			       median(ratios[i]));
	}
	measure_beside(arguments[0], rounds, median(bases));
	close(file);
	unlink(capture);
	return 0;
}
