/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Running a program by itself, in the interpreter or on a device: what goes in and what comes out
 * is the same, so that the two can be compared.
 */
#pragma once

#include "device/device.h"
#include "gpubpf/facts.h"
#include "gpubpf/maps.h"
#include "gpubpf/program.h"
#include "gpubpf/section.h"

enum {
	GT_EXECUTE_MAX_THREADS = 1 << 24,
	GT_EXECUTE_MAX_BLOCK = 1024,
};

struct gt_execution {
	/* What is run. None of it is owned. */
	const struct gt_bpf_object *object; /* its maps; NULL: there are none */
	const struct gt_bpf_program *program;
	const struct gt_facts *facts;
	const struct gt_section *section; /* NULL: a raw program */
	uint8_t *memory;      /* of raw programs and of "gpu/run": r1; written to by the program */
	uint32_t memory_size; /* as it was verified */
	uint32_t grid[3], block[3]; /* none 0 */
	uint64_t time_limit;        /* ns, on devices; 0: none */

	/* What came of it. */
	uint64_t *results; /* r0 of each run, by the flat id of its thread, warp or block */
	uint32_t result_count;
	void **map_memory; /* one a map of the object: as maps.h says; NULL: host_only */
	uint32_t *map_copies;
	uint32_t map_count;
	struct gt_strbuf output; /* of trace_printk and puts */
	uint64_t output_lost;    /* of these calls, those that found no room */
	struct gt_strbuf text;   /* on devices: what the program was translated to */
	struct gt_strbuf log;    /* on devices: what the driver's compiler says against it */
};
void gt_execution_clear(struct gt_execution *execution);

/*
 * 0; -EINVAL: sizes that no grid has; -E2BIG: more than GT_EXECUTE_MAX_THREADS threads; -ENOMEM.
 * Interpreter: errors of gt_interp_run. Device: errors of the translator and of the device;
 * -ETIME: time_limit is over; the program may still run, and the device can only be closed.
 */
int gt_execute_on_interp(struct gt_execution *execution, struct gt_diag *diag);
int gt_execute_on_device(struct gt_execution *execution, struct gt_device *device,
			 struct gt_diag *diag);
