/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What `gputap report` needs for a capture of 10 million events: CPU time, so that other load does
 * not count, and memory. The capture is that of tests/programs/synthetic.
 *
 *     report [--quick]    a tenth of the events
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_PER_STEP 20

static void fail(const char *what)
{
	fprintf(stderr, "report: %s\n", what);
	exit(1);
}

static void run_program(const char *const *arguments, struct rusage *ret_usage)
{
	pid_t child = fork();
	int status;

	if (!child) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execv(arguments[0], (char *const *)arguments);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, ret_usage) < 0 || status)
		fail(arguments[0]);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int count, char **arguments)
{
	bool quick = count > 1 && !strcmp(arguments[1], "--quick");
	uint64_t events = quick ? 1000000 : 10000000;
	char path[] = P_tmpdir "/gputap-report-XXXXXX", steps[32];
	const char *name = quick ? "report-1m" : "report-10m";
	struct rusage usage;
	int file = mkstemp(path);

	if (file < 0)
		fail("cannot create a file in " P_tmpdir);
	close(file);
	snprintf(steps, sizeof(steps), "%llu", (unsigned long long)events / EVENTS_PER_STEP);
	run_program((const char *[]){SYNTHETIC, path, steps, NULL}, &usage);
	run_program((const char *[]){GPUTAP, "report", path, NULL}, &usage);
	unlink(path);
	printf("%s-cpu %.2f s%s\n", name, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
	       quick ? "" : " (goal: 10)");
	printf("%s-memory %.1f MiB (goal: 500)\n", name, (double)usage.ru_maxrss / 1024);
	return 0;
}
