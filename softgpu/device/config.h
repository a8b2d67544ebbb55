/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration of the device: the SOFTGPU_ environment variables of README.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct sg_config {
	uint64_t memory;          /* bytes of each device */
	uint32_t devices;         /* number of devices; 0: none */
	uint32_t multiprocessors; /* of each device */
	uint32_t workers;         /* threads that run kernels; 0: one for each CPU */
	uint32_t arch;            /* 90 for compute capability 9.0 */
	uint32_t registers;       /* that a block can have, by the estimate; 0: no limit */
	uint64_t timeout_ns;      /* of one kernel; 0: none */
	const char *reports;      /* name of the socket for such reports; NULL: none */
	uint32_t queue;           /* operations that a stream holds; 0: no limit */
	bool verbose;             /* report faults, rejected modules, unsupported calls on stderr */
	bool virtual_time;        /* operations take modelled times on a virtual clock */
	int64_t clock_offset_ns;  /* of the virtual clock against CLOCK_MONOTONIC at the start */
	double clock_drift;       /* parts per million by which the virtual clock runs fast */
	const char *log;          /* path, or NULL */
	const char *reject;       /* PTX with this text does not compile; or NULL */
};

/* Read the environment. 0; -EINVAL with *diag naming the variable with the invalid value. */
int sg_config_read(struct sg_config *ret_config, struct gt_diag *diag);
