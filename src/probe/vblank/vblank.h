/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the source "vblank", shared by its BPF programs and user space. */
#pragma once

#define GT_MAX_VBLANK_EVENTS 4096 /* that are queued at a time */
#define GT_MAX_VBLANK_FILES 1024  /* whose process is known */
