/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ring buffer that all BPF programs of a session write their events into. */
#pragma once

#include "session/session.h"

/* Create it; *ret_size is its size in bytes. 0 or -Exxx. */
int gt_event_ring_create(const struct gt_trace_options *options, int *ret_fd, uint32_t *ret_size,
			 struct gt_diag *diag);
