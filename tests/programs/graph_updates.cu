/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * graph_updates: launches a graph of two kernels, and again after each change: other functions with
 * other parameters in its nodes, a disabled node, a changed graph, and as a child of another graph.
 * Prints a sum of the numbers that the kernels computed after each.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	COUNT = 128,
};

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, "graph_updates: line %d: %s\n", __LINE__,                  \
				cudaGetErrorName(error));                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct factors {
	long long values[8];
};

__global__ void add(unsigned *numbers, unsigned value)
{
	numbers[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void multiply(unsigned *numbers, struct factors factors)
{
	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;

	numbers[at] *= (unsigned)factors.values[at % 8];
}

__global__ void reverse(unsigned *numbers)
{
	__shared__ unsigned copy[COUNT];

	copy[threadIdx.x] = numbers[threadIdx.x];
	__syncthreads();
	numbers[threadIdx.x] = copy[COUNT - 1 - threadIdx.x];
}

static cudaKernelNodeParams node_of(void *function, unsigned blocks, void **parameters)
{
	cudaKernelNodeParams node = {};

	node.func = function;
	node.gridDim = dim3(blocks);
	node.blockDim = dim3(COUNT / blocks);
	node.kernelParams = parameters;
	return node;
}

static void launch(const char *title, cudaGraphExec_t exec, unsigned *numbers)
{
	unsigned copy[COUNT], sum = 0;

	CHECK(cudaGraphLaunch(exec, 0));
	CHECK(cudaMemcpy(copy, numbers, sizeof(copy), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < COUNT; i++)
		sum = sum * 31 + copy[i];
	printf("%s: %08x\n", title, sum);
}

static void launch_as_child(cudaGraph_t graph, unsigned *numbers)
{
	cudaGraph_t clone, parent;
	cudaGraphNode_t child;
	cudaGraphExec_t exec;

	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphCreate(&parent, 0));
	CHECK(cudaGraphAddChildGraphNode(&child, parent, NULL, 0, clone));
	CHECK(cudaGraphInstantiate(&exec, parent, 0));
	launch("child", exec, numbers);
}

int main(void)
{
	struct factors factors = {{3, 5, 7, 9, 11, 13, 15, 17}};
	unsigned *numbers, value = 2;
	void *for_add[] = {&numbers, &value}, *for_multiply[] = {&numbers, &factors};
	cudaKernelNodeParams node;
	cudaGraphNode_t first, second;
	cudaGraphExecUpdateResultInfo result;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaMalloc(&numbers, COUNT * sizeof(*numbers)));
	CHECK(cudaMemset(numbers, 0, COUNT * sizeof(*numbers)));
	CHECK(cudaGraphCreate(&graph, 0));
	node = node_of((void *)add, 4, for_add);
	CHECK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &node));
	node = node_of((void *)multiply, 2, for_multiply);
	CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &node));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	launch("as built", exec, numbers);
	node = node_of((void *)reverse, 1, for_add);
	CHECK(cudaGraphExecKernelNodeSetParams(exec, first, &node));
	launch("another function", exec, numbers);
	value = 5;
	node = node_of((void *)add, 1, for_add);
	CHECK(cudaGraphExecKernelNodeSetParams(exec, second, &node));
	launch("fewer parameters", exec, numbers);
	CHECK(cudaGraphNodeSetEnabled(exec, first, 0));
	launch("disabled", exec, numbers);
	CHECK(cudaGraphKernelNodeSetParams(first, &node));
	CHECK(cudaGraphExecUpdate(exec, graph, &result));
	launch("updated", exec, numbers);
	launch_as_child(graph, numbers);
	return 0;
}
