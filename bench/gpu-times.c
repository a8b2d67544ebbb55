/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of --gpu-times to a thread that launches: launches of an empty kernel on the software
 * GPU, in groups that are waited for, without gputap, with the agent and without times, with every
 * hundredth launch timed, and with all. Times are those of launches, not of waits. One round a run:
 * bench/run takes the medians.
 */
#include <cuda.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
			   ".visible .entry empty()\n{\n\tret;\n}\n";

enum {
	GROUP = 500,
	GROUPS = 40,
	QUICK_GROUPS = 4,
};

/* In the traced process: print the ns of a launch. */
static int launch(unsigned groups)
{
	CUcontext context;
	CUfunction kernel;
	CUmodule module;
	CUstream stream;
	uint64_t total = 0;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuModuleLoadData(&module, text) || cuModuleGetFunction(&kernel, module, "empty") ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return 1;
	/* The first group is not counted: it creates the events. */
	for (unsigned group = 0; group <= groups; group++) {
		uint64_t start = gt_clock_monotonic();

		for (int i = 0; i < GROUP; i++)
			if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL))
				return 1;
		if (group)
			total += gt_clock_monotonic() - start;
		if (cuStreamSynchronize(stream))
			return 1;
	}
	printf("%.0f\n", (double)total / groups / GROUP);
	return 0;
}

/* The ns of a launch in a command; negative: it failed. */
static double run_command(const char *before, const char *self, bool quick)
{
	char command[2048], line[64] = "";
	FILE *output;

	snprintf(command, sizeof(command), "%s %s --launch %d 2>/dev/null", before, self,
		 quick ? QUICK_GROUPS : GROUPS);
	output = popen(command, "r");
	if (!output)
		return -1;
	if (!fgets(line, sizeof(line), output))
		*line = 0;
	return pclose(output) || !*line ? -1 : strtod(line, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *before;
	} cases[] = {
		{"without_gputap", "LD_LIBRARY_PATH=" SOFTGPU},
		/* No probe on a launch: cuInit alone is traced. */
		{"off", GPUTAP " trace --gpu soft -f cuInit -o /dev/null --"},
		{"sampled_100",
		 GPUTAP " trace --gpu soft -f cuInit --gpu-times sampled=100 -o /dev/null --"},
		{"all", GPUTAP " trace --gpu soft -f cuInit --gpu-times all -o /dev/null --"},
	};
	bool quick = argc > 1 && !strcmp(argv[1], "--quick");

	if (argc > 2 && !strcmp(argv[1], "--launch"))
		return launch((unsigned)strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double ns = run_command(cases[i].before, argv[0], quick);

		if (ns < 0)
			printf("gpu_times.%s skip cannot trace\n", cases[i].name);
		else
			printf("gpu_times.%s %.0f ns\n", cases[i].name, ns);
	}
	return 0;
}
