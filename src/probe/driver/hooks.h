/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of the tables of hooks of GPU drivers; define DRIVER_MODULE before using them. */
#pragma once

#include "probe/layer.h"

/* clang-format off */
#define DRIVER_HOOK(name, how, where, instead, what)                                               \
	{.program = name, .kind = how, .point = where, .module = DRIVER_MODULE,                    \
	 .fallback_of = instead, .lacks = what}
#define DRIVER_JOB_ENDS                                                                            \
	DRIVER_TRACEPOINT("job_done", "drm_sched_job_done", "completed jobs"),                     \
	DRIVER_HOOK("job_done_6_16", GT_HOOK_TRACEPOINT, "drm_sched_process_job", "job_done", NULL)
/* clang-format on */
#define DRIVER_TRACEPOINT(name, where, what)                                                       \
	DRIVER_HOOK(name, GT_HOOK_TRACEPOINT, where, NULL, what)
