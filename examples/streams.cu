/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two streams work through eight pieces of an array: while one copies, the other computes. The
 * host waits only at the end, once for each stream.
 *
 * 2 streams, 4 events; 8 times: a copy to the device, a launch, a copy back, all asynchronous.
 *
 *     streams [sync]
 *
 * With "sync" the host waits for each copy and each kernel: nothing overlaps.
 */
#include "check.h"

#include <cuda_runtime.h>
#include <string.h>

const int STREAMS = 2;
const int PIECES = 8;
const int PIECE = 64 * 1024;

/* Some steps of a sequence that has no shortcut, so that computing takes its time. */
__global__ void steps(unsigned int *values, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count) {
		unsigned int value = values[i];

		for (int step = 0; step < 16; step++)
			value = value * 1664525u + 1013904223u;
		values[i] = value;
	}
}

static unsigned int expected(unsigned int value)
{
	for (int step = 0; step < 16; step++)
		value = value * 1664525u + 1013904223u;
	return value;
}

static void start_piece(unsigned int *part, unsigned int *device, cudaStream_t stream)
{
	const size_t size = PIECE * sizeof(unsigned int);

	CHECK(cudaMemcpyAsync(device, part, size, cudaMemcpyHostToDevice, stream));
	steps<<<PIECE / 256, 256, 0, stream>>>(device, PIECE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(part, device, size, cudaMemcpyDeviceToHost, stream));
}

static void do_piece(unsigned int *part, unsigned int *device, cudaStream_t stream)
{
	const size_t size = PIECE * sizeof(unsigned int);

	CHECK(cudaMemcpy(device, part, size, cudaMemcpyHostToDevice));
	steps<<<PIECE / 256, 256, 0, stream>>>(device, PIECE);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(part, device, size, cudaMemcpyDeviceToHost));
}

int main(int count, char **arguments)
{
	bool waits = count > 1 && !strcmp(arguments[1], "sync");

	const size_t size = PIECE * sizeof(unsigned int);
	unsigned int *host, *device[STREAMS];
	cudaStream_t streams[STREAMS];
	cudaEvent_t starts[STREAMS], ends[STREAMS];

	/* Only pinned memory can be copied while the host continues. */
	CHECK(cudaMallocHost(&host, PIECES * size));
	for (int i = 0; i < PIECES * PIECE; i++)
		host[i] = i;
	for (int s = 0; s < STREAMS; s++) {
		CHECK(cudaStreamCreate(&streams[s]));
		CHECK(cudaEventCreate(&starts[s]));
		CHECK(cudaEventCreate(&ends[s]));
		CHECK(cudaMalloc(&device[s], size));
	}

	/* A stream keeps its own order, so its one buffer on the device is free again in time. */
	for (int s = 0; s < STREAMS; s++)
		CHECK(cudaEventRecord(starts[s], streams[s]));
	for (int piece = 0; piece < PIECES; piece++) {
		int s = piece % STREAMS;
		unsigned int *part = host + piece * PIECE;

		if (waits)
			do_piece(part, device[s], streams[s]);
		else
			start_piece(part, device[s], streams[s]);
	}
	for (int s = 0; s < STREAMS; s++)
		CHECK(cudaEventRecord(ends[s], streams[s]));

	for (int s = 0; s < STREAMS; s++) {
		float ms;

		CHECK(cudaStreamSynchronize(streams[s]));
		CHECK(cudaEventElapsedTime(&ms, starts[s], ends[s]));
		printf("streams: stream %d was busy for %.3f ms\n", s, ms);
	}
	for (int i = 0; i < PIECES * PIECE; i++) {
		if (host[i] != expected(i)) {
			printf("streams: wrong: value %d is %u, not %u\n", i, host[i], expected(i));
			return 1;
		}
	}
	for (int s = 0; s < STREAMS; s++) {
		CHECK(cudaFree(device[s]));
		CHECK(cudaEventDestroy(starts[s]));
		CHECK(cudaEventDestroy(ends[s]));
		CHECK(cudaStreamDestroy(streams[s]));
	}
	CHECK(cudaFreeHost(host));
	printf("streams: %d pieces in %d streams are right\n", PIECES, STREAMS);
	return 0;
}
