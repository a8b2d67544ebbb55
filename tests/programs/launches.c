/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One kernel, launched in every form that both APIs have, each time with another grid, block,
 * shared memory and arguments. What was launched is printed, a JSON object a launch, in the order
 * of the launches. With CUDA_API_PER_THREAD_DEFAULT_STREAM the headers make other functions of
 * these, those that end in _ptsz.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error_ = (int)(call);                                                          \
		if (error_) {                                                                      \
			fprintf(stderr, "launches: line %d: error %d\n", __LINE__, error_);        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static const unsigned char scale_fatbin[] __attribute__((aligned(16), section(".nv_fatbin"))) = {
#include "scale.fatbin.inc"
};

static struct {
	uint32_t magic, version;
	const void *data;
	void *unused;
} wrapper __attribute__((section(".nvFatBinSegment"))) = {0x466243b1, 1, scale_fatbin, NULL};

/* The host's function that stands for the kernel. */
static void scale(float *values, float factor, int count)
{
	printf("%p %g %d\n", (void *)values, factor, count);
}

__attribute__((constructor)) static void register_kernels(void)
{
	void **module = __cudaRegisterFatBinary(&wrapper);

	__cudaRegisterFunction(module, (const char *)(uintptr_t)scale, (char *)"scale", "scale", -1,
			       NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(module);
}

/* Not in every header any more; the software GPU rejects them. */
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchGrid(CUfunction function, int width, int height);
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);

/* The configuration of the next launch; each launch has another one. */
static struct {
	dim3 grid, block;
	unsigned int shared;
	cudaStream_t stream;
	float *values;
	float factor;
	int count;
	void *arguments[3];
} next = {.arguments = {&next.values, &next.factor, &next.count}};

static void prepare(const char *name)
{
	int number = ++next.count;

	next.grid = (dim3){1 + number, 2, 1 + number % 2};
	next.block = (dim3){32, 1 + number % 3, 1};
	next.shared = 16 * number;
	next.factor = 1 + number / 4.0f;
	printf("{\"name\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], "
	       "\"shared\": %u, \"stream\": \"%p\", \"factor\": %g, \"count\": %d}\n",
	       name, next.grid.x, next.grid.y, next.grid.z, next.block.x, next.block.y,
	       next.block.z, next.shared, (void *)next.stream, next.factor, number);
}

static void launch_by_runtime(void)
{
	const void *stub = (const void *)(uintptr_t)scale;
	cudaLaunchConfig_t config = {0};
	cudaKernel_t kernel = (cudaKernel_t)(uintptr_t)scale;

	prepare("cudaLaunchKernel");
	CHECK(cudaLaunchKernel(stub, next.grid, next.block, next.arguments, next.shared,
			       next.stream));
	CHECK(__cudaGetKernel(&kernel, stub));
	prepare("__cudaLaunchKernel");
	CHECK(__cudaLaunchKernel(kernel, next.grid, next.block, next.arguments, next.shared,
				 next.stream));
	prepare("cudaLaunchKernelExC");
	config.gridDim = next.grid;
	config.blockDim = next.block;
	config.dynamicSmemBytes = next.shared;
	config.stream = next.stream;
	CHECK(cudaLaunchKernelExC(&config, stub, next.arguments));
	prepare("cudaLaunchCooperativeKernel");
	CHECK(cudaLaunchCooperativeKernel(stub, next.grid, next.block, next.arguments, next.shared,
					  next.stream));
}

#define DIMENSIONS                                                                                 \
	next.grid.x, next.grid.y, next.grid.z, next.block.x, next.block.y, next.block.z, next.shared

static void launch_by_driver(void)
{
	CUlaunchConfig config = {0};
	CUmodule module;
	CUfunction function;

	CHECK(cuModuleLoadData(&module, scale_fatbin));
	CHECK(cuModuleGetFunction(&function, module, "scale"));
	prepare("cuLaunchKernel");
	CHECK(cuLaunchKernel(function, DIMENSIONS, next.stream, next.arguments, NULL));
	prepare("cuLaunchKernelEx");
	config.gridDimX = next.grid.x;
	config.gridDimY = next.grid.y;
	config.gridDimZ = next.grid.z;
	config.blockDimX = next.block.x;
	config.blockDimY = next.block.y;
	config.blockDimZ = next.block.z;
	config.sharedMemBytes = next.shared;
	config.hStream = next.stream;
	CHECK(cuLaunchKernelEx(&config, function, next.arguments, NULL));
	prepare("cuLaunchCooperativeKernel");
	CHECK(cuLaunchCooperativeKernel(function, DIMENSIONS, next.stream, next.arguments));
	cuLaunch(function);
	cuLaunchGrid(function, 3, 5);
	cuLaunchGridAsync(function, 7, 9, next.stream);
}

/* A captured launch, one that is added as a node, and the launches of their graph. */
static void launch_graphs(void)
{
	struct cudaGraphNodeParams parameters = {.type = cudaGraphNodeTypeKernel};
	cudaGraphNode_t node;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(next.stream, cudaStreamCaptureModeGlobal));
	prepare("cudaLaunchKernel");
	CHECK(cudaLaunchKernel((const void *)(uintptr_t)scale, next.grid, next.block,
			       next.arguments, next.shared, next.stream));
	CHECK(cudaStreamEndCapture(next.stream, &graph));
	parameters.kernel.func = (void *)(uintptr_t)scale;
	parameters.kernel.gridDim = (dim3){5, 1, 1};
	parameters.kernel.blockDim = (dim3){96, 1, 1};
	parameters.kernel.kernelParams = next.arguments;
	CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &parameters));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	printf("{\"name\": \"cudaGraphLaunch\", \"stream\": \"%p\"}\n", (void *)next.stream);
	CHECK(cudaGraphLaunch(exec, next.stream));
	printf("{\"name\": \"cuGraphLaunch\", \"stream\": \"%p\"}\n", (void *)next.stream);
	CHECK(cuGraphLaunch(exec, next.stream));
}

int main(void)
{
	CHECK(cudaMalloc((void **)&next.values, 4096));
	CHECK(cudaStreamCreate(&next.stream));
	launch_by_runtime();
	launch_by_driver();
	launch_graphs();
	CHECK(cudaDeviceSynchronize());
	return 0;
}
