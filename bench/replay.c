/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of a capture that `gputap trace --from` prints per second of CPU time, as text and as
 * JSON. The capture has the calls of tests/programs/synthetic.
 *
 *     replay [--quick] [GPUTAP]   measure this build's gputap, or the given one
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_PER_STEP 10

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

/* Run a program and return its CPU time, so that other load does not count. */
static double run_program(const char *const *arguments)
{
	struct rusage usage;
	pid_t child = fork();
	int status;

	if (!child) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execv(arguments[0], (char *const *)arguments);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status)
		fail(arguments[0]);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **arguments)
{
	bool quick = count > 1 && !strcmp(arguments[1], "--quick");
	const char *gputap = count > 1 + quick ? arguments[1 + quick] : GPUTAP;
	unsigned calls = quick ? 100000 : 1000000;
	char path[] = P_tmpdir "/gputap-replay-XXXXXX", steps[16];
	int file = mkstemp(path);

	if (file < 0)
		fail("cannot create a file in " P_tmpdir);
	close(file);
	snprintf(steps, sizeof(steps), "%u", calls / CALLS_PER_STEP);
	run_program((const char *[]){SYNTHETIC, path, steps, "calls", NULL});
	printf("replay-text %.0f calls/s\n",
	       calls / run_program((const char *[]){gputap, "trace", "--from", path, NULL}));
	printf("replay-json %.0f calls/s\n",
	       calls / run_program(
			       (const char *[]){gputap, "trace", "--from", path, "--json", NULL}));
	unlink(path);
	return 0;
}
