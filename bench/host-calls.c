// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The latency of host calls (src/gpubpf/map/host_calls.h): a thread of the software GPU looks up or
 * updates a key in a map on the host, on one worker. It is the only thread: the calls of others
 * would wait for each other, since they are served one after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "gpubpf/object/object.h"
#include "gpubpf/verify/verify.h"
#include "run/exec.h"

enum {
	CALLS = 20000,
	MEDIAN = CALLS / 2, /* among the sorted times */
	P99 = CALLS / 100 * 99,
};

static int compare_times(const void *one, const void *other)
{
	uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;

	return (left > right) - (left < right);
}

static void print_times(const char *name, struct gt_standalone_run *run)
{
	static uint64_t times[CALLS];

	memcpy(times, run->memory, sizeof(times));
	qsort(times, CALLS, sizeof(*times), compare_times);
	printf("host-call-%s-median %.3f us\n", name, (double)times[MEDIAN] / 1e3);
	printf("host-call-%s-p99 %.3f us\n", name, (double)times[P99] / 1e3);
	printf("host-call-%s-lost %llu calls\n", name, (unsigned long long)run->calls_lost);
}

/* Run one program of the object. */
static int measure(struct gt_bpf_object *object, const char *name)
{
	static const uint8_t times[CALLS * sizeof(uint64_t)];
	struct gt_exec exec = {
		.options = {.engine = GT_EXEC_GPU, .gpu = GT_GPU_SOFT},
		.object = object,
		.program = {.object = object,
			    .memory = times,
			    .memory_size = sizeof(times),
			    .grid = {1, 1, 1},
			    .block = {1, 1, 1}},
	};
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY, .memory_size = sizeof(times)};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	int error;

	for (uint32_t i = 0; i < object->program_count; i++)
		if (!strcmp(object->programs[i].name, name))
			exec.program.program = &object->programs[i];
	error = gt_exec_open(&exec, &diag);
	if (!error)
		error = gt_verify(object, exec.program.program, &options, &facts, NULL, &diag);
	exec.program.facts = &facts;
	if (!error)
		error = gt_exec_prepare(&exec, &diag);
	if (!error)
		error = gt_exec_run(&exec, &diag);
	if (error)
		printf("host-call-%s-median skip %s\n", name, diag.text);
	else
		print_times(name, &exec.devices[0].run);
	gt_exec_close(&exec);
	gt_facts_clear(&facts);
	return error;
}

int main(void)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_diag diag = {0};

	setenv("GPUTAP_SOFTGPU", SOFTGPU, 0);
	setenv("SOFTGPU_WORKERS", "1", 1);
	if (gt_bpf_object_open(PROBES, false, &object, &diag)) {
		fprintf(stderr, "host-calls: %s\n", diag.text);
		return 1;
	}
	return measure(object, "lookup") || measure(object, "update");
}
