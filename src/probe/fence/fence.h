/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the source "fence", shared by its BPF programs and user space. */
#pragma once

#define GT_MAX_FENCES 65536   /* that exist at a time, and whose process is known */
#define GT_MAX_TIMELINES 4096 /* whose names are known */
