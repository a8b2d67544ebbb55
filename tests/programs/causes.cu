/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Causes of late work on a GPU, one by one:
 *
 *     causes late        the thread sleeps between two kernels
 *     causes lock        it waits for a mutex that another thread holds
 *     causes copy        it is blocked in a copy behind a long kernel before the last kernel
 *     causes dependency  the last kernel waits for an event of another stream
 *     causes queue       it is blocked in a launch into a full stream (SOFTGPU_QUEUE=8) before the
 *                        last kernel, in another stream
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, "causes: line %d: %s\n", __LINE__,                         \
				cudaGetErrorName(error));                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define PAUSE 200000  /* µs: longer than a busy machine delays a thread */
#define LONG 20000000 /* steps of a kernel: longer than a busy machine delays a launch … */
#define SHORT 1000000 /* … and of one of many */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned *memory;
static cudaStream_t first, second;

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

static void run_steps(cudaStream_t stream, int steps)
{
	spin<<<1, 1, 0, stream>>>(memory, steps);
	CHECK(cudaGetLastError());
}

static void late(void)
{
	usleep(PAUSE);
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

static void *hold(void *held)
{
	pthread_mutex_lock((pthread_mutex_t *)held);
	pthread_barrier_wait(&barrier);
	do
		usleep(PAUSE);
	while (!main_sleeps());
	usleep(PAUSE);
	pthread_mutex_unlock((pthread_mutex_t *)held);
	return NULL;
}

static void lock(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, hold, &mutex);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	launch_last(second);
	pthread_join(thread, NULL);
}

static void copy(void)
{
	unsigned words[2];

	run_steps(0, LONG);
	CHECK(cudaMemcpy(words, memory, sizeof(words), cudaMemcpyDeviceToHost));
}

static void depend(void)
{
	cudaEvent_t event;

	CHECK(cudaEventCreate(&event));
	run_steps(first, LONG);
	CHECK(cudaEventRecord(event, first));
	CHECK(cudaStreamWaitEvent(second, event, 0));
}

static void fill_queue(void)
{
	for (int i = 0; i < 64; i++)
		run_steps(first, SHORT);
}

int main(int count, char **arguments)
{
	const char *cause = count > 1 ? arguments[1] : "";

	CHECK(cudaMalloc(&memory, 64));
	CHECK(cudaMemset(memory, 0, 64));
	CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	run_steps(second, SHORT);
	CHECK(cudaDeviceSynchronize());
	if (!strcmp(cause, "late"))
		late();
	else if (!strcmp(cause, "lock"))
		lock();
	else if (!strcmp(cause, "copy"))
		copy();
	else if (!strcmp(cause, "dependency"))
		depend();
	else if (!strcmp(cause, "queue"))
		fill_queue();
	launch_last(second);
	return 0;
}
