/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SOFTGPU_LOG: a line of JSON for every operation, with its true start and end. Its keys are
 * described in README.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec.h"

struct sg_record {
	const char *operation; /* "kernel", "copy", "set", "host", "alloc", "free" … */
	const char *name;      /* of the kernel; NULL: none */
	const char *kind;      /* "H2D", "device" …; NULL: none */
	uint64_t submitted_ns; /* CLOCK_MONOTONIC, all three */
	uint64_t start_ns;
	uint64_t end_ns;
	int device;
	uint64_t stream;    /* the handle as the program passes it */
	uint64_t stream_id; /* as cuStreamGetId gives it; 0: no stream */
	uint64_t address;   /* of memory: what is allocated, freed, set; a copy's target */
	uint64_t source;    /* of a copy */
	uint64_t bytes;
	bool has_shape;
	struct sg_launch_shape shape; /* of a kernel */
	int result;                   /* CUresult */
	const char *fault;            /* a kernel's fault, as a sentence; NULL: none */
};

/* Open the file for appending. 0 or -Exxx. */
int sg_log_open(const char *path);
/* Return whether operations are logged, so that callers can skip the preparation of a record. */
bool sg_log_is_open(void);
/* Append a line with one write, since several processes may share the file. */
void sg_log_write(const struct sg_record *record);
