/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the source "power". */
#pragma once

#define GT_MAX_POWER_CPUS 8192
#define GT_MAX_POWER_DEVICES 256
#define GT_POWER_CPU_PERIOD_NS 10000000 /* min time between shown frequencies of a CPU */
