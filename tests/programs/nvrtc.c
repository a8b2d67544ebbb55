/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compiles a kernel by NVRTC to PTX, loads it and launches it twice, with the driver API. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct _nvrtcProgram *nvrtcProgram;
int nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count,
		       const char *const *headers, const char *const *names);
int nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options);
int nvrtcGetPTXSize(nvrtcProgram program, size_t *size);
int nvrtcGetPTX(nvrtcProgram program, char *ptx);

static const char source[] = "extern \"C\" __global__ void halve(int *values, int count)\n"
			     "{\n"
			     "	for (int i = threadIdx.x; i < count; i += blockDim.x)\n"
			     "		values[i] /= 2;\n"
			     "}\n";

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error = (int)(call);                                                           \
		if (error) {                                                                       \
			fprintf(stderr, "nvrtc: %s: %d\n", #call, error);                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char *compile(void)
{
	static const char *const options[] = {"--gpu-architecture=compute_75"};
	nvrtcProgram program;
	size_t size;
	char *ptx;

	CHECK(nvrtcCreateProgram(&program, source, "halve.cu", 0, NULL, NULL));
	CHECK(nvrtcCompileProgram(program, 1, options));
	CHECK(nvrtcGetPTXSize(program, &size));
	ptx = malloc(size);
	CHECK(!ptx);
	CHECK(nvrtcGetPTX(program, ptx));
	return ptx;
}

int main(void)
{
	int values[100], count = 100, right = 0;
	char *ptx = compile();
	CUdeviceptr device;
	void *arguments[] = {&device, &count};
	CUfunction kernel;
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&kernel, module, "halve"));
	CHECK(cuMemAlloc(&device, sizeof(values)));
	for (int i = 0; i < count; i++)
		values[i] = 4 * i;
	CHECK(cuMemcpyHtoD(device, values, sizeof(values)));
	for (int round = 0; round < 2; round++)
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
	CHECK(cuMemcpyDtoH(values, device, sizeof(values)));
	for (int i = 0; i < count; i++)
		right += values[i] == i;
	printf("nvrtc: %d of %d quotients are right\n", right, count);
	free(ptx);
	return right != count;
}
