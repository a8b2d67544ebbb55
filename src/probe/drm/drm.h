/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the source "drm", shared by its BPF programs and user space. */
#pragma once

#define GT_MAX_DRM_JOBS 65536    /* that are queued or run at a time */
#define GT_MAX_DRM_RINGS 256     /* whose names are kept */
#define GT_MAX_DRM_BLOCKERS 8192 /* fences that block jobs */
