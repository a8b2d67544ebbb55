/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Xids from lines of the kernel's log (/dev/kmsg), "NVRM: Xid (PCI:0000:65:00): 79, …": those that
 * the tracepoint does not report. Proprietary modules have no tracepoints, older ones not this one.
 */
#pragma once

#include "probe/layer.h"

extern const struct gt_layer_extra gt_nvidia_log;
