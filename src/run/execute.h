/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Running a program by itself, in the interpreter or on devices: what goes in and what comes out
 * is the same, so that the two can be compared.
 */
#pragma once

#include "cuda/device.h"
#include "gpubpf/facts.h"
#include "gpubpf/map/instance.h"
#include "gpubpf/program.h"
#include "gpubpf/section.h"

enum {
	GT_EXECUTE_MAX_THREADS = 1 << 24,
	GT_EXECUTE_MAX_BLOCK = 1024,
};

/* What is run, wherever it is. None of it is owned. */
struct gt_execution {
	const struct gt_bpf_object *object; /* its maps; NULL: there are none */
	const struct gt_bpf_program *program;
	const struct gt_facts *facts;
	const struct gt_section *section; /* NULL: a raw program */
	const uint8_t *memory;            /* of raw programs and of "gpu/run": what r1 points to */
	uint32_t memory_size;             /* as it was verified */
	uint32_t grid[3], block[3];       /* none 0 */
	uint64_t time_limit;              /* ns, on devices; 0: none */
};

/* Its run on one device, or in the interpreter. All zeros at the start. */
struct gt_grid_run {
	const struct gt_execution *execution;
	struct gt_device *device; /* NULL: the interpreter */
	struct gt_instance *instance;
	struct gt_module *module;
	struct gt_device_memory device_memory, device_results;

	/* What came of it. Owned. */
	uint8_t *memory;   /* after the run */
	uint64_t *results; /* r0 of each run, by the flat id of its thread, warp or block */
	uint32_t result_count;
	struct gt_strbuf output; /* of trace_printk and puts */
	uint64_t output_lost;    /* of these calls, those that found no room */
	struct gt_strbuf text;   /* on devices: what the program was translated to */
	struct gt_strbuf log;    /* on devices: what the driver's compiler says against it */
};

/*
 * Makes all ready: maps, and, on a device, the module. What a run was given must outlive it.
 * 0; -EINVAL: sizes that no grid has; -E2BIG: more than GT_EXECUTE_MAX_THREADS threads; -ENOMEM;
 * errors of the translator and of the device.
 */
int gt_grid_run_prepare(const struct gt_execution *execution, struct gt_shared *shared,
			struct gt_device *device, struct gt_grid_run *run, struct gt_diag *diag);
/* Starts it, so that several devices run at once. The interpreter runs it in `finish`. */
int gt_grid_run_start(struct gt_grid_run *run, struct gt_diag *diag);
/*
 * Waits for its end, and fetches what came of it. Errors of gt_interp_run, of the device, and
 * -ETIME: the time limit is over; the program may still run, and its device can only be abandoned.
 */
int gt_grid_run_finish(struct gt_grid_run *run, struct gt_diag *diag);
void gt_grid_run_clear(struct gt_grid_run *run);
