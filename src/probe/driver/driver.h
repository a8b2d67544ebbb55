/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the sources of GPU drivers. */
#pragma once

#define GT_MAX_DRIVER_BUFFERS 262144 /* that exist at a time */
#define GT_MAX_DRIVER_REQUESTS 65536 /* that are not done */
#define GT_MAX_DRIVER_SPACES 4096    /* address spaces of processes */
