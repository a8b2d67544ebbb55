/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps on the host: their memory, which no process shares, and the calls that traced processes make
 * to access them.
 */
#include <errno.h>
#include <stdlib.h>

#include "run/host_group.h"
#include "run/inject_private.h"

int gt_inject_calls_plan(struct gt_inject *inject, uint32_t number, struct gt_diag *diag)
{
	const struct gt_bpf_map *map = &inject->options.object->maps[number];
	struct gt_inject_calls *calls = &inject->host_calls;

	if (!calls->maps)
		calls->maps = calloc(inject->map_count + 1u, sizeof(*calls->maps));
	if (!calls->copies)
		calls->copies = calloc(inject->map_count + 1u, sizeof(*calls->copies));
	/* A map of the kernel has its memory there. */
	if (calls->maps && calls->copies && !map->with_host) {
		calls->maps[number] = calloc(1, gt_bpf_map_bytes(map, 1));
		calls->copies[number] = calloc(1, gt_bpf_map_bytes(map, 1));
	}
	if (!calls->maps || !calls->copies ||
	    (!map->with_host && (!calls->maps[number] || !calls->copies[number])))
		return gt_diag(diag, -ENOMEM, "run", map->name,
			       "cannot allocate this map: out of memory");
	if (calls->maps[number])
		gt_bpf_map_initialise(map, 1, calls->maps[number]);
	return 0;
}

int gt_inject_calls_start(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_calls *calls = &inject->host_calls;
	const int *kernel = inject->options.host_programs
				    ? gt_host_group_arrays(inject->options.host_programs)
				    : NULL;
	int error;

	if (!calls->maps)
		return 0;
	error = gt_host_calls_open(inject->options.object, calls->maps, kernel,
				   inject->memory.data + calls->offset, &calls->calls);
	if (error)
		return gt_diag(diag, error, "run", NULL, "out of memory");
	return gt_host_call_service_start(&calls->calls, &calls->service, diag);
}

void gt_inject_calls_stop(struct gt_inject *inject)
{
	struct gt_inject_calls *calls = &inject->host_calls;

	gt_host_call_service_stop(calls->service);
	gt_host_calls_close(&calls->calls);
	for (uint32_t i = 0; calls->maps && i < inject->map_count; i++)
		free(calls->maps[i]);
	for (uint32_t i = 0; calls->copies && i < inject->map_count; i++)
		free(calls->copies[i]);
	free(calls->maps);
	free(calls->copies);
	*calls = (struct gt_inject_calls){0};
}

const void *gt_inject_calls_read(struct gt_inject *inject, uint32_t number)
{
	const struct gt_inject_calls *calls = &inject->host_calls;
	const struct gt_bpf_map *map = &inject->options.object->maps[number];

	if (calls->maps[number])
		gt_host_call_service_copy(calls->service, calls->maps[number],
					  gt_bpf_map_bytes(map, 1), calls->copies[number]);
	return calls->copies[number];
}

uint64_t gt_inject_calls_lost(const struct gt_inject *inject)
{
	return gt_host_calls_lost(&inject->host_calls.calls);
}
