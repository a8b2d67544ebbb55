/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA calls that do not return normally. It needs the stand-in runtime, whose cudaMalloc calls
 * back; the callback then does:
 *
 *     longjmp N  leave each of N calls by longjmp, then make N ordinary ones
 *     nested N   call cudaGetDevice from within each of N cudaMalloc calls
 *     exit N     after N ordinary calls, end the process from within one more
 *     thread N   in N threads: after an ordinary call, end the thread from within one more
 *     block N    after N ordinary calls, stay in one more until a signal comes
 *     exec N     after N ordinary calls, execute itself, to make N ordinary calls more
 *     fork N     fork in each of N calls, from which the child returns, too, to make one more
 *     fork-call N  the same, but the child makes a call before it returns, too
 *     fork-nested N  one fork, inside N calls, each inside the one before: as fork-call
 *     fork-exec N  fork in each of N calls; the child executes itself, to make N ordinary calls
 *     vfork N    in each of N calls, let a child of vfork(2) make a call and end
 *     clone N    the same with a child that shares the memory (CLONE_VM), on a stack of its own
 *     spawn N    in each of N calls, posix_spawn(3) itself, to make N ordinary calls
 *     stop N     make N calls, N more while its parent is stopped, and N afterwards
 *     launch N   launch N times by __cudaLaunchKernel, N times by cudaLaunchKernel
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void standin_call_back(void (*callback)(void *data), void *data);

static void make_calls(long count)
{
	void *pointer;

	for (long i = 0; i < count; i++)
		cudaMalloc(&pointer, 64);
}

static void jump(void *data)
{
	longjmp(*(jmp_buf *)data, 1);
}

static int leave_by_longjmp(long count)
{
	static jmp_buf back;
	volatile long left = 0;

	standin_call_back(jump, &back);
	for (volatile long i = 0; i < count; i++) {
		if (setjmp(back))
			left++;
		else
			make_calls(1);
	}
	standin_call_back(NULL, NULL);
	make_calls(count);
	printf("callback: %ld calls left by longjmp, %ld ordinary\n", left, count);
	return left == count ? 0 : 1;
}

static void get_device(void *data)
{
	int device;

	if (cudaGetDevice(&device) == cudaSuccess)
		++*(long *)data;
}

static int call_within(long count)
{
	long inner = 0;

	standin_call_back(get_device, &inner);
	make_calls(count);
	printf("callback: %ld calls, %ld within them\n", count, inner);
	return inner == count ? 0 : 1;
}

static void end(void *data)
{
	_exit(0);
}

static void block(void *data)
{
	printf("callback: in a call that blocks\n");
	fflush(stdout);
	pause();
}

static int stay(long count, void (*callback)(void *data))
{
	make_calls(count);
	printf("callback: %ld ordinary calls, then one that does not return\n", count);
	fflush(stdout);
	standin_call_back(callback, NULL);
	make_calls(1);
	return 1;
}

static void end_thread(void *data)
{
	pthread_exit(data);
}

static void *run_thread(void *unused)
{
	int device;

	cudaGetDevice(&device);
	make_calls(1);
	return unused;
}

static int end_threads(long count)
{
	standin_call_back(end_thread, NULL);
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run_thread, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("callback: %ld threads ended in a call\n", count);
	return 0;
}

static int execute(long count, char *const *arguments)
{
	char plain[] = "plain", *const again[] = {arguments[0], plain, arguments[2], NULL};

	make_calls(count);
	execv("/proc/self/exe", again);
	return 1;
}

static int call_plainly(long count)
{
	make_calls(count);
	printf("callback: %ld ordinary calls\n", count);
	return 0;
}

/* A process that is made in a call. */
static struct {
	pid_t child;
	long depth;   /* calls that are still to be made inside this one, before that */
	char *number; /* of calls that an executed child makes */
} made;

static void fork_process(void *data)
{
	made.child = fork();
}

static void fork_process_that_calls(void *data)
{
	fork_process(data);
	if (made.child)
		return;
	standin_call_back(NULL, NULL);
	make_calls(1);
}

static void nest_before_fork(void *data)
{
	if (--made.depth > 0)
		make_calls(1);
	else
		fork_process_that_calls(data);
}

static char *const *arguments_of_child(void)
{
	static char path[] = "callback", plain[] = "plain";
	static char *arguments[4] = {path, plain};

	arguments[2] = made.number;
	return arguments;
}

static void fork_process_that_executes(void *data)
{
	fork_process(data);
	if (made.child)
		return;
	execv("/proc/self/exe", arguments_of_child());
	_exit(1);
}

static int call_and_end(void *data)
{
	standin_call_back(NULL, NULL);
	make_calls(1);
	_exit(0);
}

static void vfork_process(void *data)
{
	pid_t child = vfork();

	if (!child)
		call_and_end(NULL);
	made.child = child;
}

static void clone_process(void *data)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	made.child = clone(call_and_end, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
}

static void spawn_process(void *data)
{
	if (posix_spawn(&made.child, "/proc/self/exe", NULL, NULL, arguments_of_child(), environ))
		made.child = -1;
}

static int fork_within(long count, void (*in_call)(void *data))
{
	for (long i = 0; i < count; i++) {
		int status;

		standin_call_back(in_call, NULL);
		make_calls(1);
		if (!made.child) {
			standin_call_back(NULL, NULL);
			make_calls(1);
			_exit(0);
		}
		if (made.child < 0 || waitpid(made.child, &status, 0) != made.child || status)
			return 1;
	}
	printf("callback: %ld calls within which a child was forked\n", count);
	return 0;
}

static const struct {
	const char *what;
	void (*in_call)(void *data);
} forks[] = {
	{"fork", fork_process},
	{"fork-call", fork_process_that_calls},
	{"fork-exec", fork_process_that_executes},
	{"vfork", vfork_process},
	{"clone", clone_process},
	{"spawn", spawn_process},
};

static int stop_parent(long count)
{
	make_calls(count);
	kill(getppid(), SIGSTOP);
	make_calls(count);
	kill(getppid(), SIGCONT);
	make_calls(count);
	printf("callback: %ld calls\n", 3 * count);
	return 0;
}

static int launch(long count)
{
	const dim3 grid = {2, 3, 4}, block_size = {32, 1, 1};
	cudaKernel_t kernel = NULL;

	__cudaGetKernel(&kernel, (const void *)(size_t)launch);
	for (long i = 0; i < count; i++)
		__cudaLaunchKernel(kernel, grid, block_size, NULL, 0, NULL);
	for (long i = 0; i < count; i++)
		cudaLaunchKernel((const void *)(size_t)launch, grid, block_size, NULL, 0, NULL);
	printf("callback: %ld launches of each kind\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 1;

	if (!strcmp(what, "longjmp"))
		return leave_by_longjmp(count);
	if (!strcmp(what, "nested"))
		return call_within(count);
	if (!strcmp(what, "exit"))
		return stay(count, end);
	if (!strcmp(what, "block"))
		return stay(count, block);
	if (!strcmp(what, "launch"))
		return launch(count);
	if (!strcmp(what, "thread"))
		return end_threads(count);
	if (!strcmp(what, "exec") && argc > 2)
		return execute(count, argv);
	if (!strcmp(what, "plain"))
		return call_plainly(count);
	made.number = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; i < sizeof(forks) / sizeof(*forks); i++)
		if (!strcmp(what, forks[i].what))
			return fork_within(count, forks[i].in_call);
	made.depth = count;
	if (!strcmp(what, "fork-nested"))
		return fork_within(1, nest_before_fork);
	if (!strcmp(what, "stop"))
		return stop_parent(count);
	fprintf(stderr, "usage: callback longjmp|nested|exit|thread|block|exec|plain|fork|"
			"fork-call|fork-nested|fork-exec|vfork|clone|spawn|stop|launch [N]\n");
	return 2;
}
