/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What limits the cgroups of the traced processes: throttling by cpu.max, memory limits and stalls
 * (PSI), from the files of the cgroups ten times a second.
 */
#pragma once

#include "probe/layer.h"

extern const struct gt_layer_extra gt_cgroup_limits;
