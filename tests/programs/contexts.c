/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uses several CUDA contexts by the driver API, and prints which: the size of each allocation is
 * that of the line that prints its context.
 *
 *	contexts uuid	asks for the name and the UUID of the device first, and prints them
 *	contexts wait	makes one context, waits for two seconds, uses it, asks which one is
 * current, and uses it again
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		CUresult result_ = (call);                                                         \
		if (result_ != CUDA_SUCCESS) {                                                     \
			fprintf(stderr, "contexts: %s: error %d\n", #call, result_);               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void print_device(CUdevice device)
{
	CUuuid uuid;
	char name[256];

	CHECK(cuDeviceGetName(name, sizeof(name), device));
	CHECK(cuDeviceGetUuid(&uuid, device));
	printf("uuid ");
	for (int i = 0; i < 16; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
		       (unsigned char)uuid.bytes[i]);
	printf(" %s\n", name);
}

/* Allocate in the current context. */
static void use(size_t size, CUcontext expected)
{
	CUdeviceptr memory;

	CHECK(cuMemAlloc(&memory, size));
	printf("%zu 0x%llx\n", size, (unsigned long long)expected);
}

/* The calls for a tracer that attaches after the context was created. */
static int use_after_a_while(CUdevice device)
{
	CUcontext context, current;

	CHECK(cuCtxCreate(&context, NULL, 0, device));
	sleep(2);
	use(1000, context);
	CHECK(cuCtxGetCurrent(&current));
	use(2000, context);
	return current != context;
}

int main(int argc, char **argv)
{
	CUcontext first, second, primary, popped;
	CUdeviceptr memory;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	if (argc > 1 && !strcmp(argv[1], "wait"))
		return use_after_a_while(device);
	if (argc > 1)
		print_device(device);
	CHECK(cuCtxCreate(&first, NULL, 0, device));
	use(1000, first);
	CHECK(cuCtxCreate(&second, NULL, 0, device));
	use(2000, second);
	CHECK(cuCtxPopCurrent(&popped));
	use(3000, first);
	CHECK(cuCtxPushCurrent(second));
	use(4000, second);
	CHECK(cuDevicePrimaryCtxRetain(&primary, device));
	use(5000, second);
	CHECK(cuCtxSetCurrent(primary));
	use(6000, primary);
	CHECK(cuCtxPushCurrent(second));
	CHECK(cuCtxDestroy(second));
	use(7000, primary);
	CHECK(cuCtxSetCurrent(first));
	use(8000, first);
	CHECK(cuCtxSetCurrent(NULL));
	CHECK(cuCtxPopCurrent(&popped));
	return cuMemAlloc(&memory, 9000) == CUDA_SUCCESS;
}
