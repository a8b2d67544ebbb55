/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * launch COUNT MICROSECONDS: COUNT times cudaLaunchKernel, each of which submits a job to fakegpu;
 * then cudaMalloc, in which another cudaLaunchKernel does so, and waits for it. It is linked with
 * the stand-in for the CUDA runtime, whose functions call back.
 */
#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "device.h"

void standin_call_back(void (*callback)(void *data), void *data);

struct launches {
	int fd;
	unsigned duration_us;
	bool is_nested; /* the next call is one that launches */
	bool waits;
};

static void launch(void)
{
	if (cudaLaunchKernel(launch, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL))
		die("cudaLaunchKernel");
}

static void in_call(void *opaque)
{
	struct launches *launches = opaque;

	if (launches->is_nested) {
		launches->is_nested = false;
		launch();
		return;
	}
	submit(launches->fd, 0, 1, launches->duration_us, 0, -1);
	if (launches->waits)
		wait_for_ring(launches->fd, 0);
}

int main(int argc, char **argv)
{
	struct launches launches = {.fd = open_gpu("renderD", 128)};
	void *memory;

	if (argc != 3)
		return 2;
	launches.duration_us = atoi(argv[2]);
	standin_call_back(in_call, &launches);
	for (int i = 0; i < atoi(argv[1]); i++)
		launch();
	launches.is_nested = true;
	launches.waits = true;
	if (cudaMalloc(&memory, 1))
		die("cudaMalloc");
	return 0;
}
