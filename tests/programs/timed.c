/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that submit work in situations that are difficult for who times it. The argument names
 * one of them. Each prints what the driver returned, and the values that its kernels have made.
 */
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Add 1 to a word; wait until it is not 0; write to an address that is not there. */
static const char text[] =
	".version 7.8\n.target sm_75\n.address_size 64\n"
	".visible .entry count(.param .u64 word)\n{\n\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [word];\n\tred.global.add.u32 [%rd1], 1;\n\tret;\n}\n"
	".visible .entry wait(.param .u64 word)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\t.reg .pred %p<2>;\n\tld.param.u64 %rd1, [word];\nagain:\n"
	"\tld.volatile.global.u32 %r1, [%rd1];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n"
	"\tret;\n}\n"
	".visible .entry fault(.param .u64 word)\n{\n\t.reg .b64 %rd<2>;\n"
	"\tmov.u64 %rd1, 64;\n\tst.global.u32 [%rd1], 1;\n\tret;\n}\n";

enum {
	MANY = 5000,
	THREADS = 8,
	EACH = 50,
	CONTEXTS = 16, /* beside the primary one */
};

static CUcontext context;
static CUmodule module;
static CUfunction count, wait_for, fault;
static CUdeviceptr word;

#define SHOW(call) printf("%s: %d\n", #call, (int)(call))

static void start(void)
{
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuModuleLoadData(&module, text) || cuModuleGetFunction(&count, module, "count") ||
	    cuModuleGetFunction(&wait_for, module, "wait") ||
	    cuModuleGetFunction(&fault, module, "fault") || cuMemAlloc(&word, 8) ||
	    cuMemsetD32(word, 0, 2) || cuCtxSynchronize()) {
		puts("cannot start");
		exit(1);
	}
}

static CUresult launch(CUfunction function, CUdeviceptr address, CUstream stream)
{
	void *parameters[] = {&address};

	return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static void show_count(void)
{
	unsigned value = 0;

	SHOW(cuMemcpyDtoH(&value, word, sizeof(value)));
	printf("counted: %u\n", value);
}

/* More work than has room, which waits for a word that the host writes. */
static void submit_many(void)
{
	CUresult error = CUDA_SUCCESS;
	volatile unsigned *flag;
	CUdeviceptr address;
	CUstream stream;
	void *memory;

	SHOW(cuMemHostAlloc(&memory, sizeof(*flag), CU_MEMHOSTALLOC_DEVICEMAP));
	flag = memory;
	*flag = 0;
	SHOW(cuMemHostGetDevicePointer(&address, memory, 0));
	SHOW(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SHOW(launch(wait_for, address, stream));
	for (int i = 0; i < MANY && !error; i++)
		error = launch(count, word, stream);
	SHOW(error);
	*flag = 1;
	SHOW(cuStreamSynchronize(stream));
	show_count();
}

static void capture_stream(void)
{
	CUgraphExec executable;
	CUstream stream;
	CUgraph graph;

	SHOW(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SHOW(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 3; i++)
		SHOW(launch(count, word, stream));
	SHOW(cuStreamEndCapture(stream, &graph));
	SHOW(cuGraphInstantiate(&executable, graph, 0));
	SHOW(cuGraphLaunch(executable, stream));
	SHOW(cuGraphLaunch(executable, stream));
	SHOW(cuStreamSynchronize(stream));
	show_count();
}

static void reset_device(void)
{
	for (int i = 0; i < 3; i++) {
		SHOW(launch(count, word, NULL));
		show_count();
		SHOW(launch(count, word, NULL));
		SHOW(cuDevicePrimaryCtxReset(0));
		start();
	}
	show_count();
}

static void destroy_context(void)
{
	CUcontext other;

	for (int i = 0; i < 3; i++) {
		SHOW(cuCtxCreate(&other, NULL, 0, 0));
		SHOW(cuMemAlloc(&word, 8));
		SHOW(cuMemsetD32(word, 7, 2));
		show_count();
		SHOW(cuCtxDestroy(other));
	}
}

/* With the primary context one more than are timed; then one ends and makes room. */
static void crowd_contexts(void)
{
	CUcontext others[CONTEXTS];
	CUresult error = CUDA_SUCCESS;

	for (int i = 0; i < CONTEXTS && !error; i++) {
		error = cuCtxCreate(&others[i], NULL, 0, 0);
		if (!error)
			error = cuMemAlloc(&word, 8);
		if (!error)
			error = cuMemsetD32(word, 7, 2);
		/* Or its context may end before it. */
		if (!error)
			error = cuCtxSynchronize();
	}
	SHOW(error);
	SHOW(cuCtxDestroy(others[0]));
	SHOW(cuCtxCreate(&others[0], NULL, 0, 0));
	SHOW(cuMemAlloc(&word, 8));
	SHOW(cuMemsetD32(word, 9, 2));
	show_count();
	for (int i = 0; i < CONTEXTS; i++)
		cuCtxDestroy(others[i]);
}

static void *launch_in_thread(void *unused)
{
	CUresult error = cuCtxSetCurrent(context);

	for (int i = 0; i < EACH && !error; i++)
		error = launch(count, word, i % 2 ? CU_STREAM_PER_THREAD : NULL);
	return error ? (void *)1 : unused;
}

/* Threads end before their work does. */
static void launch_in_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_in_thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		if (failed)
			puts("a thread failed");
	}
	SHOW(cuCtxSynchronize());
	show_count();
}

/* Errors of the kernel come where they come without events, and remain. */
static void fail(void)
{
	CUevent event;

	SHOW(launch(count, word, (CUstream)0x12345678));
	SHOW(launch(NULL, word, NULL));
	SHOW(cuMemcpyHtoD(0, &word, 4));
	SHOW(launch(count, word, NULL));
	show_count();
	SHOW(launch(fault, word, NULL));
	SHOW(cuCtxSynchronize());
	SHOW(launch(count, word, NULL));
	SHOW(cuEventCreate(&event, 0));
	SHOW(cuCtxSynchronize());
}

static void end_early(void)
{
	SHOW(launch(count, word, NULL));
	fflush(stdout);
	_exit(3);
}

static void launch_at_exit(void)
{
	launch(count, word, NULL);
	show_count();
}

static void end_late(void)
{
	atexit(launch_at_exit);
	SHOW(launch(count, word, NULL));
}

/* A child cannot use the driver; the parent continues. */
static void fork_child(void)
{
	pid_t child;
	int status;

	SHOW(launch(count, word, NULL));
	fflush(stdout);
	child = fork();
	if (!child) {
		SHOW(launch(count, word, NULL));
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("status: %d\n", status);
	SHOW(launch(count, word, NULL));
	show_count();
}

static void kill_collector(void)
{
	pid_t parent = getppid();

	for (int i = 0; i < EACH; i++)
		launch(count, word, NULL);
	kill(parent, SIGKILL);
	while (getppid() == parent)
		usleep(1000);
	for (int i = 0; i < MANY; i++)
		launch(count, word, NULL);
	show_count();
}

static const struct {
	const char *name;
	void (*run)(void);
} programs[] = {
	{"many", submit_many},        {"capture", capture_stream},    {"reset", reset_device},
	{"destroy", destroy_context}, {"threads", launch_in_threads}, {"fail", fail},
	{"end-early", end_early},     {"end-late", end_late},         {"fork", fork_child},
	{"kill", kill_collector},     {"contexts", crowd_contexts},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (argc < 2 || strcmp(argv[1], programs[i].name) != 0)
			continue;
		start();
		programs[i].run();
		return 0;
	}
	fprintf(stderr, "usage: timed PROGRAM\n");
	return 2;
}
