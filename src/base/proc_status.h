/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers in /proc/PID/status and /proc/PID/task/TID/status (proc(5)). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Return the first, or with `last` the last number of a line such as "NSpid: 4711 12 1", by its
 * name without the colon, of the status in a directory such as "/proc/4711". 0: there is none.
 */
uint32_t gt_proc_status_number(const char *directory, const char *name, bool last);
