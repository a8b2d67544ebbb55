/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links of a program to uprobes through perf events (Linux 5.15: with cookies). A link keeps its
 * perf event open, so one descriptor is enough. Each function returns it, or -Exxx.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Link to the function at an offset of a file. */
int gt_perf_link_function(int program, const char *path, uint64_t offset, uint64_t cookie,
			  bool is_return);
/* Link to all probes of a trace event, by its id. */
int gt_perf_link_event(int program, int id, uint64_t cookie);

/* Raise the limit of descriptors to its maximum; there may be thousands of links. */
void gt_perf_link_allow_many(void);
