/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of the driver that the agent hooks or calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_agent_copy_2d;
struct gt_agent_copy_3d;
struct gt_agent_launch;

#define EXPORT __attribute__((visibility("default")))

typedef int CUresult;

enum {
	CUDA_ERROR_NOT_FOUND = 500,
};

/* The driver's own; NULL: it does not have the function. */
struct gt_agent_functions {
#define HOOKED(base, since, name, parameters) CUresult(*name) parameters;
#define CALLED(name, parameters) CUresult(*name) parameters;
#define WORK(base, since, name, per_thread, parameters, ...) CUresult(*name) parameters;
#include "agent/functions.def"
#include "agent/work.def"
#undef HOOKED
#undef CALLED
#undef WORK
};
extern struct gt_agent_functions gt_driver;

#define HOOKED(base, since, name, parameters) EXPORT CUresult name parameters;
#define CALLED(name, parameters)
#define WORK(base, since, name, per_thread, parameters, ...) EXPORT CUresult name parameters;
#include "agent/functions.def"
#include "agent/work.def"
#undef HOOKED
#undef CALLED
#undef WORK

/* Whether gputap started the process: else the hooks only call the driver. */
bool gt_agent_is_active(void);

/* Fill in gt_driver, once. */
void gt_agent_find_driver(void);

/* Each hook begins with it: a function that the driver does not have is not found. */
#define NEED(name)                                                                                 \
	gt_agent_find_driver();                                                                    \
	if (!gt_driver.name)                                                                       \
	return CUDA_ERROR_NOT_FOUND
