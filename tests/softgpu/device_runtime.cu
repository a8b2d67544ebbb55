// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A program for nvcc, linked with its device runtime: kernels that copy, set memory, ask for
// attributes and synchronize a grid by functions of the runtime. Exit status 0: all well.
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct answers {
	cudaError_t errors[12];
	int multiprocessors, devices, version, blocks, unknown_device;
	size_t pending;
	cudaFuncAttributes attributes;
	char text[32], name[32];
};

__global__ void increment(int *values)
{
	values[threadIdx.x]++;
}

__device__ void keep_text(char *to, const char *text)
{
	for (int i = 0; i < 31 && text[i]; i++)
		to[i] = text[i];
}

__global__ void transfer(char *a, char *b, int *values, answers *out)
{
	cudaMemcpy3DParms box = {};
	int n = 0;

	out->errors[n++] = cudaMemsetAsync(a, 7, 64, 0);
	out->errors[n++] = cudaMemcpyAsync(b, a, 32, cudaMemcpyDeviceToDevice, 0);
	out->errors[n++] = cudaMemset2DAsync(a + 64, 16, 5, 4, 3, 0);
	out->errors[n++] = cudaMemcpy2DAsync(b + 64, 8, a + 64, 16, 4, 3, cudaMemcpyDefault, 0);
	increment<<<1, 4>>>(values);
	out->errors[n++] = cudaMemcpyAsync(values + 4, values, 16, cudaMemcpyDeviceToDevice, 0);
	box.srcPtr = {a + 64, 16, 16, 3};
	box.srcPos = {0, 1, 0};
	box.dstPtr = {b + 128, 8, 8, 3};
	box.extent = {4, 2, 1};
	box.kind = cudaMemcpyDeviceToDevice;
	out->errors[n++] = cudaMemcpy3DAsync(&box, 0);
	out->errors[n++] =
		cudaMemset3DAsync(cudaPitchedPtr{b + 200, 8, 8, 2}, 9, cudaExtent{2, 2, 2}, 0);
	out->errors[n++] = cudaMemcpyAsync(b, a, 32, cudaMemcpyHostToDevice, 0);
	out->errors[n++] = cudaPeekAtLastError();
	out->errors[n++] = cudaGetLastError();
	out->errors[n++] = cudaGetLastError();
}

__global__ void ask(answers *out)
{
	cudaDeviceGetAttribute(&out->multiprocessors, cudaDevAttrMultiProcessorCount, 0);
	out->unknown_device = cudaDeviceGetAttribute(&out->devices, cudaDevAttrWarpSize, 999);
	cudaGetDeviceCount(&out->devices);
	cudaRuntimeGetVersion(&out->version);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&out->blocks, increment, 1024, 0);
	cudaFuncGetAttributes(&out->attributes, increment);
	cudaDeviceGetLimit(&out->pending, cudaLimitDevRuntimePendingLaunchCount);
	keep_text(out->text, cudaGetErrorString(cudaErrorInvalidValue));
	keep_text(out->name, cudaGetErrorName(cudaErrorMemoryAllocation));
}

__global__ void copy_to_nowhere(char *from)
{
	cudaMemcpyAsync((char *)16, from, 8, cudaMemcpyDeviceToDevice, 0);
}

// Compilers other than nvcc call these instead of cooperative_groups.
extern "C" __device__ unsigned long long cudaCGGetIntrinsicHandle(enum cudaCGScope scope);
extern "C" __device__ cudaError_t cudaCGSynchronize(unsigned long long handle, unsigned int flags);
extern "C" __device__ cudaError_t cudaCGGetSize(unsigned int *threads, unsigned int *grids,
						unsigned long long handle);
extern "C" __device__ cudaError_t cudaCGGetRank(unsigned int *thread, unsigned int *grid,
						unsigned long long handle);

__global__ void synchronize(int *count, int *problem)
{
	unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
	unsigned int threads = 0, rank = 0, other = 9;

	for (int round = 1; round <= 20; round++) {
		if (!threadIdx.x)
			atomicAdd(count, 1);
		if (cudaCGSynchronize(grid, 0)) {
			*problem = 1;
			return;
		}
		if (*(volatile int *)count != round * (int)gridDim.x)
			*problem = 2;
		cudaCGSynchronize(grid, 0);
	}
	cudaCGGetSize(&threads, nullptr, grid);
	cudaCGGetRank(&rank, &other, grid);
	if (threads != gridDim.x * blockDim.x || other ||
	    rank != blockIdx.x * blockDim.x + threadIdx.x)
		*problem = 3;
}

static void check(bool good, const char *what)
{
	if (!good) {
		printf("%s: %s\n", what, cudaGetErrorString(cudaPeekAtLastError()));
		exit(1);
	}
}

static bool has_bytes(const char *bytes, const char *expected)
{
	for (; *expected; bytes++, expected++)
		if (*bytes != *expected - '0')
			return false;
	return true;
}

static void check_transfers()
{
	static const cudaError_t expected[12] = {cudaSuccess,
						 cudaSuccess,
						 cudaSuccess,
						 cudaSuccess,
						 cudaSuccess,
						 cudaSuccess,
						 cudaSuccess,
						 cudaErrorInvalidMemcpyDirection,
						 cudaErrorInvalidMemcpyDirection,
						 cudaErrorInvalidMemcpyDirection,
						 cudaSuccess,
						 cudaSuccess};
	char *a, *b;
	int *values;
	answers *out;

	check(!cudaMallocManaged(&a, 256) && !cudaMallocManaged(&b, 256) &&
		      !cudaMallocManaged(&values, 64) && !cudaMallocManaged(&out, sizeof(*out)),
	      "cudaMallocManaged");
	transfer<<<1, 1>>>(a, b, values, out);
	check(!cudaDeviceSynchronize(), "transfer");
	check(!memcmp(out->errors, expected, sizeof(expected)), "the errors are wrong");
	check(has_bytes(b, "7777777777777777777777777777777700000000"), "copy");
	check(has_bytes(b + 64, "5555000055550000555500000000"), "2D copy");
	check(has_bytes(b + 128, "5555000055550000000000000000"), "3D copy");
	check(has_bytes(b + 200, "99000000990000009900000099000000"), "3D memset");
	check(values[0] == 1 && values[3] == 1 && values[4] == 1 && values[7] == 1,
	      "the copy ran before the kernel");
}

static void check_answers()
{
	cudaFuncAttributes attributes;
	int multiprocessors, version;
	answers *out;

	check(!cudaMallocManaged(&out, sizeof(*out)), "cudaMallocManaged");
	check(!cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096),
	      "cudaDeviceSetLimit");
	ask<<<1, 1>>>(out);
	check(!cudaDeviceSynchronize(), "ask");
	cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
	cudaRuntimeGetVersion(&version);
	cudaFuncGetAttributes(&attributes, increment);
	check(out->multiprocessors == multiprocessors && out->devices == 1, "device");
	check(out->unknown_device == cudaErrorInvalidDevice, "an unknown device");
	check(out->version == version && out->pending == 4096, "version, limit");
	check(out->blocks >= 1 && out->blocks <= 2, "occupancy");
	check(out->attributes.numRegs == attributes.numRegs &&
		      out->attributes.maxThreadsPerBlock == attributes.maxThreadsPerBlock,
	      "cudaFuncGetAttributes");
	check(!strcmp(out->text, "invalid argument"), "cudaGetErrorString");
	check(!strcmp(out->name, "cudaErrorMemoryAllocation"), "cudaGetErrorName");
}

static void check_grid()
{
	int *count, *problem;

	check(!cudaMallocManaged(&count, 64), "cudaMallocManaged");
	problem = count + 1;
	void *arguments[] = {&count, &problem};
	check(!cudaLaunchCooperativeKernel((void *)synchronize, dim3(6), dim3(64), arguments, 0,
					   nullptr),
	      "cudaLaunchCooperativeKernel");
	check(!cudaDeviceSynchronize(), "synchronize");
	check(count[0] == 120 && !problem[0], "the barrier of the grid is wrong");
	synchronize<<<2, 32>>>(count, problem);
	check(!cudaDeviceSynchronize() && problem[0] == 1,
	      "a grid that is not cooperative has a barrier");
}

int main()
{
	char *memory;

	check_transfers();
	check_answers();
	check_grid();
	check(!cudaMalloc(&memory, 64), "cudaMalloc");
	copy_to_nowhere<<<1, 1>>>(memory);
	check(cudaDeviceSynchronize() == cudaErrorIllegalAddress, "a copy to nowhere");
	return 0;
}
