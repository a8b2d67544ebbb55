/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which streams are being captured: what is called on them becomes part of a graph and does not
 * happen. CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture": a stream that waits
 * for an event of a captured stream is captured, too.
 */
#pragma once

#include "analysis/operation.h"

struct gt_stream_captures;

/* NULL: no memory. */
struct gt_stream_captures *gt_stream_captures_new(void);
void gt_stream_captures_free(struct gt_stream_captures *captures);

/* Sets operation->capture. 0 or -ENOMEM. */
int gt_stream_captures_take(struct gt_stream_captures *captures, struct gt_operation *operation);
void gt_stream_captures_end_process(struct gt_stream_captures *captures, uint32_t process);
