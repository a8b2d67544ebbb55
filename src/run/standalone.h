/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Running a GPU program standalone, outside of any kernel, in the interpreter or on a device.
 * Inputs and results have the same form for both, so that they can be compared.
 */
#pragma once

#include "cuda/device.h"
#include "gpubpf/facts.h"
#include "gpubpf/map/instance.h"
#include "gpubpf/program.h"
#include "gpubpf/section.h"
#include "opencl/opencl.h"
#include "run/standalone_copies.h"

enum {
	GT_STANDALONE_MAX_THREADS = 1 << 24,
};

/* A program and its inputs. Nothing is owned. */
struct gt_standalone_program {
	const struct gt_bpf_object *object; /* has the maps; NULL: no maps */
	const struct gt_bpf_program *program;
	const struct gt_facts *facts;
	const struct gt_section *section; /* NULL: a raw program */
	const uint8_t *memory;            /* r1 of raw programs and of gpu/run points to a copy */
	uint32_t memory_size;             /* bytes, as it was verified */
	uint32_t grid[3], block[3];       /* each at least 1 */
	uint64_t time_limit;              /* ns, on devices; 0: none */
};

/* Where a program runs: on one of these devices, or in the interpreter. */
struct gt_standalone_target {
	struct gt_device *device;
	struct gt_cl_device *cl_device;
};

/* The device's name; NULL: the interpreter. */
const char *gt_standalone_target_name(const struct gt_standalone_target *target);

/* A run on one device or in the interpreter. Zero-initialise it. */
struct gt_standalone_run {
	const struct gt_standalone_program *program;
	struct gt_device *device; /* NULL: the interpreter, or OpenCL */
	struct gt_instance *instance;
	struct gt_module *module;
	struct gt_cl_device *cl_device; /* an OpenCL device in place of `device`; or NULL */
	struct gt_cl_program *cl_program;
	/* OpenCL: the maps, for a device that does not access those of this process; or NULL. */
	struct gt_standalone_copies *copies;
	bool is_abandoned; /* OpenCL: the program may still run */
	struct gt_device_memory device_memory, device_results;
	struct gt_host_call_service *service; /* of host calls, while the program runs; or NULL */

	/* Results, owned. */
	uint8_t *memory;   /* after the run */
	uint64_t *results; /* r0 of each execution, by the flat id of its thread, warp or block */
	uint32_t result_count;
	struct gt_strbuf output; /* of trace_printk and puts */
	uint64_t output_lost;    /* calls of these that were dropped (buffer full) */
	uint64_t calls_lost;     /* on devices: host calls that were not answered */
	struct gt_strbuf text;   /* on devices: the translated program */
	struct gt_strbuf log;    /* on devices: errors of the driver's compiler */
};

/*
 * Allocates the maps and, on a device, translates the program and loads the module. The inputs must
 * outlive the run. 0; -EINVAL: an invalid size of the grid or block; -E2BIG: too large, or more
 * than GT_STANDALONE_MAX_THREADS threads; -ENOMEM; errors of the translator and of the device.
 */
int gt_standalone_prepare(const struct gt_standalone_program *program, struct gt_shared *shared,
			  const struct gt_standalone_target *target, struct gt_standalone_run *run,
			  struct gt_diag *diag);
/* Launches the program without waiting, so that several devices run at once. */
int gt_standalone_start(struct gt_standalone_run *run, struct gt_diag *diag);
/*
 * Waits for the end of the run and reads the results; the interpreter runs the program here. Errors
 * of gt_interp_run and of the device. -ETIME: the time limit expired; the program may still run,
 * and the only thing to do with the device is gt_device_abandon.
 */
int gt_standalone_finish(struct gt_standalone_run *run, struct gt_diag *diag);
void gt_standalone_clear(struct gt_standalone_run *run);
