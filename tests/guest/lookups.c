// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * lookups COUNT: sleep for a moment COUNT times, while another process of low priority looks a
 * large value up in a BPF map: each end of a sleep preempts it in bpf(2), where the kernel can be
 * preempted. Exit status: 1: something is wrong.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define VALUE_SIZE (1 << 20)
#define SLEEP_NS 500000

static int fail(const char *what)
{
	fprintf(stderr, "lookups: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Until it is killed. */
static void look_up(int map)
{
	static char value[VALUE_SIZE];
	const __u32 key = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!bpf_map_lookup_elem(map, &key, value))
		;
	_exit(fail("bpf_map_lookup_elem"));
}

static int sleep_often(long count)
{
	const struct sched_param priority = {.sched_priority = 1};
	const struct timespec moment = {.tv_nsec = SLEEP_NS};

	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		return fail("sched_setscheduler");
	for (long i = 0; i < count; i++)
		if (nanosleep(&moment, NULL))
			return fail("nanosleep");
	return 0;
}

int main(int count, char **arguments)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lookups", sizeof(__u32), VALUE_SIZE, 1, NULL);
	pid_t child;
	int status;

	if (map < 0)
		return fail("bpf_map_create");
	child = fork();
	if (child < 0)
		return fail("fork");
	if (!child)
		look_up(map);
	status = sleep_often(count > 1 ? atol(arguments[1]) : 0);
	/* It has ended if it failed. */
	if (waitpid(child, NULL, WNOHANG) && !status)
		status = 1;
	kill(child, SIGKILL);
	return status;
}
