// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A program for nvcc, linked with its device runtime: kernels that launch kernels, and one that
// ends the loop of a graph. Exit status 0: all well.
#include <cstdio>
#include <cstdlib>

__global__ void sort(int *values, int left, int right)
{
	int middle = values[(left + right) / 2], low = left, high = right;

	while (low <= high) {
		while (values[low] < middle)
			low++;
		while (values[high] > middle)
			high--;
		if (low <= high) {
			int value = values[low];

			values[low++] = values[high];
			values[high--] = value;
		}
	}
	cudaStream_t stream;
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	if (left < high)
		sort<<<1, 1, 0, stream>>>(values, left, high);
	if (low < right)
		sort<<<1, 1, 0, stream>>>(values, low, right);
	cudaStreamDestroy(stream);
}

__global__ void count_down(cudaGraphConditionalHandle handle, int *left, int *rounds)
{
	++*rounds;
	if (--*left == 0)
		cudaGraphSetConditional(handle, 0);
}

static void check(bool good, const char *what)
{
	if (!good) {
		printf("%s: %s\n", what, cudaGetErrorString(cudaPeekAtLastError()));
		exit(1);
	}
}

static void run_loop(int *left, int *rounds)
{
	cudaGraphNodeParams parameters = {cudaGraphNodeTypeConditional};
	cudaGraphConditionalHandle handle;
	cudaGraphExec_t executable;
	cudaGraphNode_t node;
	cudaStream_t stream;
	cudaGraph_t graph;

	check(!cudaStreamCreate(&stream), "cudaStreamCreate");
	check(!cudaGraphCreate(&graph, 0), "cudaGraphCreate");
	check(!cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault),
	      "cudaGraphConditionalHandleCreate");
	parameters.conditional.handle = handle;
	parameters.conditional.type = cudaGraphCondTypeWhile;
	parameters.conditional.size = 1;
	check(!cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters),
	      "cudaGraphAddNode");
	check(!cudaStreamBeginCaptureToGraph(stream, parameters.conditional.phGraph_out[0], nullptr,
					     nullptr, 0, cudaStreamCaptureModeGlobal),
	      "cudaStreamBeginCaptureToGraph");
	count_down<<<1, 1, 0, stream>>>(handle, left, rounds);
	check(!cudaStreamEndCapture(stream, nullptr), "cudaStreamEndCapture");
	check(!cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
	check(!cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
	check(!cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

int main()
{
	const int count = 500;
	int *values;

	check(!cudaMallocManaged(&values, count * sizeof(int)), "cudaMallocManaged");
	for (int i = 0; i < count; i++)
		values[i] = i * 7919 % 1009;
	sort<<<1, 1>>>(values, 0, count - 1);
	check(!cudaGetLastError(), "launch");
	check(!cudaDeviceSynchronize(), "sort");
	for (int i = 1; i < count; i++)
		check(values[i - 1] <= values[i], "the order is wrong");
	values[0] = 9;
	values[1] = 0;
	run_loop(&values[0], &values[1]);
	check(values[0] == 0 && values[1] == 9, "the loop is wrong");
	return 0;
}
