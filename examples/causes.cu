/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Causes of late work on a GPU, one by one, for `gputap why`:
 *
 *     causes late        the thread sleeps between two kernels (the default)
 *     causes lock        it waits for a mutex that another thread holds
 *     causes copy        it is blocked in a copy behind a long kernel before the last kernel
 *     causes dependency  the last kernel waits for an event of another stream
 *     causes queue       it is blocked in a launch into a full stream (SOFTGPU_QUEUE=32) before the
 *                        last kernel, in another stream
 *
 * A cause is provoked again, and for longer, until it has taken two thirds of the time since the
 * process began, so that it is the main cause on the slowest machine, too. The process is a child,
 * which begins without the loading of libraries.
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define PAUSE 200000  /* µs, the first time */
#define LONG 20000000 /* steps of a kernel, the first time … */
#define SHORT 1000000 /* … and of one of many */
#define MAX_QUEUED 2048
#define MAX_TRIES 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned *memory;
static cudaStream_t first, second;
static cudaEvent_t begun, ended; /* around a long kernel */

__global__ void spin(unsigned *words, int steps)
{
	unsigned value = words[0];

	for (int i = 0; i < steps; i++)
		value = value * 1664525u + 1013904223u;
	words[0] = value;
}

__global__ void last(unsigned *words)
{
	words[1]++;
}

static void launch_last(cudaStream_t stream)
{
	last<<<1, 1, 0, stream>>>(memory);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
}

static void run_steps(cudaStream_t stream, double steps)
{
	spin<<<1, 1, 0, stream>>>(memory, steps < 2e9 ? (int)steps : 2000000000);
	CHECK(cudaGetLastError());
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void pause_for(double pause)
{
	struct timespec time;

	time.tv_sec = (time_t)pause;
	time.tv_nsec = (long)((pause - (double)time.tv_sec) * 1e9);
	nanosleep(&time, NULL);
}

/* Each cause takes `factor` times its usual time, and returns how long that was at least, s. */

static double late(double factor)
{
	pause_for(factor * PAUSE / 1e6);
	launch_last(second);
	return factor * PAUSE / 1e6;
}

/* Whether the main thread sleeps, as /proc has it. */
static bool main_sleeps(void)
{
	char path[64], line[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	file = fopen(path, "r");
	if (!file)
		return true;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	return strstr(line, ") S ");
}

static void *hold(void *factor)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&barrier);
	do
		usleep(PAUSE);
	while (!main_sleeps());
	pause_for(*(double *)factor * PAUSE / 1e6);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static double lock(double factor)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, hold, &factor);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	launch_last(second);
	pthread_join(thread, NULL);
	return factor * PAUSE / 1e6;
}

static void run_long(cudaStream_t stream, double factor)
{
	CHECK(cudaEventRecord(begun, stream));
	run_steps(stream, factor * LONG);
	CHECK(cudaEventRecord(ended, stream));
}

static double long_time(void)
{
	float ms;

	CHECK(cudaEventElapsedTime(&ms, begun, ended));
	return ms / 1e3;
}

static double copy(double factor)
{
	unsigned words[2];

	run_long(0, factor);
	CHECK(cudaMemcpy(words, memory, sizeof(words), cudaMemcpyDeviceToHost));
	launch_last(second);
	return long_time();
}

static double depend(double factor)
{
	run_long(first, factor);
	CHECK(cudaStreamWaitEvent(second, ended, 0));
	launch_last(second);
	return long_time();
}

/* How long the launches took. Where none has to wait, the stream is not full. */
static double fill_queue(double factor)
{
	int launches = factor < MAX_QUEUED / 64 ? (int)(64 * factor) : MAX_QUEUED;
	double start = seconds(), spent = 0;

	for (int i = 0; i < launches; i++) {
		double begin = seconds();

		run_steps(first, SHORT);
		spent += seconds() - begin;
	}
	launch_last(second);
	if (launches == MAX_QUEUED && spent * 20 < seconds() - start) {
		fprintf(stderr,
			"causes: a stream holds more than %d kernels here; on the software GPU, "
			"set SOFTGPU_QUEUE=32\n",
			MAX_QUEUED);
		exit(1);
	}
	return spent;
}

static const struct cause {
	const char *name;
	double (*provoke)(double factor);
} causes[] = {
	{"late", late},         {"lock", lock},        {"copy", copy},
	{"dependency", depend}, {"queue", fill_queue},
};
#define CAUSES (sizeof(causes) / sizeof(*causes))

/* Until it has taken two thirds of the time since `start`. */
static int provoke(const struct cause *cause, double start)
{
	double factor = 1;

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		double spent = cause->provoke(factor), all = seconds() - start;

		if (spent * 3 > all * 2) {
			printf("causes: %s took most of the time\n", cause->name);
			return 0;
		}
		factor *= 4 * all / spent;
	}
	fprintf(stderr, "causes: %s took less than two thirds of the time\n", cause->name);
	return 1;
}

static int run(const struct cause *cause, double start)
{
	CHECK(cudaMalloc(&memory, 64));
	CHECK(cudaMemset(memory, 0, 64));
	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&begun));
	CHECK(cudaEventCreate(&ended));
	run_steps(second, SHORT);
	CHECK(cudaDeviceSynchronize());
	return provoke(cause, start);
}

int main(int count, char **arguments)
{
	const char *name = count > 1 ? arguments[1] : causes[0].name;
	double start = seconds();
	int status;

	for (size_t i = 0; i < CAUSES; i++) {
		pid_t child;

		if (strcmp(name, causes[i].name))
			continue;
		child = fork();
		if (!child)
			exit(run(&causes[i], start));
		return child > 0 && waitpid(child, &status, 0) == child && !status ? 0 : 1;
	}
	fprintf(stderr, "usage: causes late|lock|copy|dependency|queue\n");
	return 2;
}
