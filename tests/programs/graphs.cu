/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * graphs LAUNCHES
 *
 * Makes a graph by capturing two streams, and one node by node, and launches each so often. In the
 * captured one: a copy of 4096 bytes to the device, two kernels, a copy of 1024 bytes back. In the
 * other: copies of 100 and of 200 bytes to the device, and an allocation.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, "graphs: line %d: %s\n", __LINE__,                         \
				cudaGetErrorName(error));                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void twice(int *numbers)
{
	numbers[threadIdx.x] *= 2;
}

static cudaGraph_t capture(int *device, int *host)
{
	cudaStream_t stream, side;
	cudaEvent_t forked, joined;
	cudaGraph_t graph;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamCreate(&side));
	CHECK(cudaEventCreate(&forked));
	CHECK(cudaEventCreate(&joined));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(forked, stream));
	CHECK(cudaStreamWaitEvent(side, forked, 0));
	twice<<<1, 32, 0, stream>>>(device);
	twice<<<1, 64, 0, side>>>(device + 512);
	CHECK(cudaEventRecord(joined, side));
	CHECK(cudaStreamWaitEvent(stream, joined, 0));
	CHECK(cudaMemcpyAsync(host, device, 1024, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraph_t build(int *device, int *host)
{
	cudaMemAllocNodeParams parameters = {};
	cudaGraphNode_t first, second, allocation, release;
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemcpyNode1D(&first, graph, NULL, 0, device, host, 100,
				       cudaMemcpyHostToDevice));
	CHECK(cudaGraphAddMemcpyNode1D(&second, graph, &first, 1, device, host, 200,
				       cudaMemcpyHostToDevice));
	parameters.poolProps.allocType = cudaMemAllocationTypePinned;
	parameters.poolProps.location.type = cudaMemLocationTypeDevice;
	parameters.bytesize = 4096;
	CHECK(cudaGraphAddMemAllocNode(&allocation, graph, &second, 1, &parameters));
	CHECK(cudaGraphAddMemFreeNode(&release, graph, &allocation, 1, parameters.dptr));
	return graph;
}

static void launch(cudaGraph_t graph, int times)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < times; i++)
		CHECK(cudaGraphLaunch(exec, 0));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

int main(int count, char **arguments)
{
	int times = count > 1 ? atoi(arguments[1]) : 3;
	int *device, *host;

	CHECK(cudaMalloc(&device, 4096));
	CHECK(cudaMallocHost(&host, 4096));
	for (int i = 0; i < 1024; i++)
		host[i] = 1;
	launch(capture(device, host), times);
	launch(build(device, host), times);
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(device));
	return 0;
}
