/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The thread that serves host calls (gpubpf/map/host_calls.h). It polls the bells without sleeping
 * while calls arrive, and for a while after the last one; then it sleeps between two polls, 50 µs
 * at first and 1 ms in the long run.
 */
#pragma once

#include "gpubpf/map/host_calls.h"

struct gt_host_call_service;

/* `calls` must outlive the service, which alone uses it from now on. 0, -ENOMEM or -EAGAIN. */
int gt_host_call_service_start(struct gt_host_calls *calls,
			       struct gt_host_call_service **ret_service, struct gt_diag *diag);
/*
 * Copy `size` bytes of a map that the calls access, between two rounds of calls: no value is half
 * written. `service` may be NULL.
 */
void gt_host_call_service_copy(struct gt_host_call_service *service, const void *map, size_t size,
			       void *copy);
/* Serve what has arrived, and end the thread. Later calls are lost at once. NULL: do nothing. */
void gt_host_call_service_stop(struct gt_host_call_service *service);
