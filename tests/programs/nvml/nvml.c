/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stand-in for NVML with two GPUs of fixed values: functions and constants as in NVML's
 * reference. The second GPU supports less: most functions fail with "not supported" (3).
 * NVML_BROKEN makes the initialization fail.
 */
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

static int gpus[2];

static int index_of(const void *gpu)
{
	return gpu == &gpus[1];
}

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu);
int nvmlDeviceGetName(void *gpu, char *name, unsigned size);
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *rates);
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *memory);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts);
int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *degrees);
int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *megahertz);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *reasons);
int nvmlDeviceGetTotalEccErrors(void *gpu, int kind, int counter, unsigned long long *errors);
int nvmlDeviceGetPcieThroughput(void *gpu, int direction, unsigned *kilobytes);

int nvmlInit_v2(void)
{
	return getenv("NVML_BROKEN") ? 9 : 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu)
{
	*gpu = &gpus[index];
	return 0;
}

int nvmlDeviceGetName(void *gpu, char *name, unsigned size)
{
	strncpy(name, index_of(gpu) ? "Small GPU" : "Large GPU", size);
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *rates)
{
	rates[0] = 87;
	rates[1] = 34;
	return index_of(gpu) ? 3 : 0;
}

int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *memory)
{
	memory[0] = 80ull << 30;
	memory[1] = 60ull << 30;
	memory[2] = 20ull << 30;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts)
{
	*milliwatts = 312500;
	return index_of(gpu) ? 3 : 0;
}

int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *degrees)
{
	*degrees = sensor ? 0 : 61;
	return 0;
}

int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *megahertz)
{
	*megahertz = clock == 1 ? 1410 : clock == 2 ? 1593 : 0;
	return index_of(gpu) ? 3 : 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *reasons)
{
	*reasons = 0x44;
	return index_of(gpu) ? 3 : 0;
}

int nvmlDeviceGetTotalEccErrors(void *gpu, int kind, int counter, unsigned long long *errors)
{
	*errors = counter ? 999 : kind ? 0 : 5;
	return index_of(gpu) ? 3 : 0;
}

int nvmlDeviceGetPcieThroughput(void *gpu, int direction, unsigned *kilobytes)
{
	*kilobytes = direction ? 7000 : 3000;
	return index_of(gpu) ? 3 : 0;
}
