/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * largemodule KERNELS: loads a module of so many kernels, of about 1,000 lines each, once and then
 * five times. Prints the median time of the latter in ms.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINES = 980, ROUNDS = 5 };

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_) {                                                                     \
			fprintf(stderr, "largemodule: %s: %d\n", #call, result_);                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char *make_module(int kernels)
{
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	fprintf(file, ".version 7.0\n.target sm_75\n.address_size 64\n");
	for (int i = 0; i < kernels; i++) {
		fprintf(file,
			".visible .entry large%d(.param .u64 words)\n{\n\t.reg .u64 %%a;\n"
			"\t.reg .u32 %%v<4>;\n\tld.param.u64 %%a, [words];\n"
			"\tcvta.to.global.u64 %%a, %%a;\n\tld.global.u32 %%v0, [%%a];\n",
			i);
		for (int line = 0; line < LINES; line++)
			fprintf(file, "\tmad.lo.u32 %%v%d, %%v%d, %%v%d, %d;\n", (line + 1) % 4,
				line % 4, (line + 2) % 4, line + 1);
		fprintf(file, "\tst.global.u32 [%%a], %%v%d;\n\tret;\n}\n", LINES % 4);
	}
	fclose(file);
	return text;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int compare_times(const void *one, const void *other)
{
	double left = *(const double *)one, right = *(const double *)other;

	return (left > right) - (left < right);
}

int main(int count, char **words)
{
	char *text = make_module(count > 1 ? atoi(words[1]) : 100);
	double times[ROUNDS], start;
	CUcontext context;
	CUmodule module;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	for (int round = -1; round < ROUNDS; round++) {
		start = now_ms();
		CHECK(cuModuleLoadData(&module, text));
		if (round >= 0)
			times[round] = now_ms() - start;
		CHECK(cuModuleUnload(module));
	}
	qsort(times, ROUNDS, sizeof(*times), compare_times);
	printf("%.3f\n", times[ROUNDS / 2]);
	return 0;
}
