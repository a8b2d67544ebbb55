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

/* nvmlFieldValue_t */
struct stand_in_field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, result;
	union {
		unsigned unsigned_int;
		unsigned long long unsigned_long_long;
	} value;
};

int nvmlDeviceGetFieldValues(void *gpu, int count, struct stand_in_field *fields);

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

/*
 * The first GPU has 18 links, over which it sends 1 MiB from call to call, and receives 2 MiB. It
 * supports no counter of data CRC errors.
 */
int nvmlDeviceGetFieldValues(void *gpu, int count, struct stand_in_field *fields)
{
	static unsigned long long calls;

	if (index_of(gpu))
		return 3;
	calls++;
	for (int i = 0; i < count; i++) {
		struct stand_in_field *field = &fields[i];

		field->result = 0;
		field->type = 1;
		switch (field->id) {
		case 91:
			field->value.unsigned_int = 18;
			break;
		case 138:
		case 139:
			field->type = 3;
			field->result = field->scope == -1u ? 0 : 2;
			field->value.unsigned_long_long =
				7777777 + calls * (field->id == 138 ? 1024 : 2048);
			break;
		case 38:
			field->value.unsigned_int = 3;
			break;
		case 52:
			field->type = 3;
			field->value.unsigned_long_long = 5000000000;
			break;
		case 59:
			field->value.unsigned_int = 0;
			break;
		default:
			field->result = 3;
		}
	}
	return 0;
}
