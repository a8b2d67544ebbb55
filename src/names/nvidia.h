/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The GPUs that NVIDIA's kernel driver lists in /proc and /sys. */
#pragma once

#include "event/event.h"

/*
 * A `device` event for ordinal 0 of all processes, where the machine has one NVIDIA GPU alone, not
 * divided into instances (MIG): then, and only then, nothing in a program's environment can make
 * another device of an ordinal. NULL: there is none, more than one, or no information; the
 * caller frees. `root` is put before the paths in /proc and /sys; "" for the true ones.
 */
struct gt_event *gt_nvidia_only_device(const char *root);
