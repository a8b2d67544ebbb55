/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long five CUDA calls take on average, with and without a tracer. The kernel does next to
 * nothing: it is the calls that are measured. A launch returns before its kernel has run, so the
 * copy back includes the wait for it.
 *
 *	bench [ITERATIONS]	(default: 10000)
 */
#include "check.h"

#include <cuda_runtime.h>
#include <time.h>

#include <vector>

const size_t SIZE = 1024 * 1024;

enum operation { MALLOC, COPY_IN, LAUNCH, COPY_OUT, FREE, OPERATIONS };

static const char *const names[OPERATIONS] = {
	"cudaMalloc:", "cudaMemcpyH2D:", "cudaLaunchKernel:", "cudaMemcpyD2H:", "cudaFree:",
};

static double spent_us[OPERATIONS];

static double now_us()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/* Adds the time since *start, and makes this moment the next start. */
static void account(operation operation, double *start)
{
	double now = now_us();

	spent_us[operation] += now - *start;
	*start = now;
}

__global__ void add_one(unsigned int *values)
{
	values[threadIdx.x] += 1;
}

static void iterate(unsigned char *host)
{
	unsigned int *device;
	double start = now_us();

	CHECK(cudaMalloc(&device, SIZE));
	account(MALLOC, &start);
	CHECK(cudaMemcpy(device, host, SIZE, cudaMemcpyHostToDevice));
	account(COPY_IN, &start);
	add_one<<<1, 32>>>(device);
	account(LAUNCH, &start);
	CHECK(cudaMemcpy(host, device, SIZE, cudaMemcpyDeviceToHost));
	account(COPY_OUT, &start);
	CHECK(cudaFree(device));
	account(FREE, &start);
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? atol(argv[1]) : 10000;
	std::vector<unsigned int> host(SIZE / sizeof(unsigned int));

	if (iterations < 1) {
		fprintf(stderr, "usage: bench [ITERATIONS]\n");
		return 2;
	}
	/* The first call sets up the device: that is nobody's average. */
	CHECK(cudaFree(nullptr));

	printf("Data size: %zu bytes (%zu KB)\n", SIZE, SIZE / 1024);
	printf("Iterations: %ld\n\n", iterations);
	for (long i = 0; i < iterations; i++)
		iterate((unsigned char *)host.data());

	printf("Summary (average time per operation):\n");
	printf("-----------------------------------\n");
	for (int i = 0; i < OPERATIONS; i++)
		printf("%-18s %9.2f µs\n", names[i], spent_us[i] / iterations);
	if (host[0] != iterations || host[31] != iterations || host[32] != 0) {
		printf("bench: wrong: the values are %u, %u and %u\n", host[0], host[31], host[32]);
		return 1;
	}
	return 0;
}
