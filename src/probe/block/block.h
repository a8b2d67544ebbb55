/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the source "block". */
#pragma once

#define GT_MAX_BLOCK_REQUESTS 16384 /* in flight at a time */
