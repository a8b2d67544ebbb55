/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files that traced processes map while the session goes on: told, so that addresses in them get
 * names, and handed on if they may hold functions that nobody looked at.
 */
#pragma once

#include "base/clean.h"
#include "base/diag.h"
#include "probe/api/watch.h"
#include "probe/source.h"

struct gt_arrivals;

/* `path` is the one by which gputap reaches the file that was mapped. */
typedef void (*gt_arrival)(void *context, const char *path, const struct gt_new_mapping *mapping);

/* `host` must outlive it. -EACCES, -EPERM: needs CAP_PERFMON (or root). */
int gt_arrivals_open(const struct gt_host *host, struct gt_arrivals **ret_arrivals,
		     struct gt_diag *diag);
void gt_arrivals_close(struct gt_arrivals *arrivals);
GT_DEFINE_AUTO(arrivals, struct gt_arrivals, gt_arrivals_close)

/* A file descriptor that epoll can wait on: readable when something was mapped. */
int gt_arrivals_fd(const struct gt_arrivals *arrivals);

/* Takes what was mapped since the last time; each file is handed on once. */
void gt_arrivals_poll(struct gt_arrivals *arrivals, gt_arrival arrived, void *context);
