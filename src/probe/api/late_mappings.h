/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Late mappings: files that traced processes map for execution during the session. Each becomes a
 * `mapping` event, so that its addresses can be symbolized; a file that may have functions to
 * attach to is passed to a callback.
 */
#pragma once

#include "base/clean.h"
#include "base/diag.h"
#include "probe/api/watch.h"
#include "probe/source.h"

struct gt_late_mappings;

/* `path` is the one by which gputap reaches the mapped file. */
typedef void (*gt_late_file)(void *context, const char *path, const struct gt_new_mapping *mapping);

/* `host` must outlive it. -EACCES, -EPERM: needs CAP_PERFMON (or root). */
int gt_late_mappings_open(const struct gt_host *host, struct gt_late_mappings **ret_late,
			  struct gt_diag *diag);
void gt_late_mappings_close(struct gt_late_mappings *late);
GT_DEFINE_AUTO(late_mappings, struct gt_late_mappings, gt_late_mappings_close)

/* A file descriptor for epoll: readable when a file was mapped. */
int gt_late_mappings_fd(const struct gt_late_mappings *late);

/* Process the mappings since the last time; each file is passed to `found` once. */
void gt_late_mappings_poll(struct gt_late_mappings *late, gt_late_file found, void *context);
/* Mappings that could not be reported: dropped by the kernel (buffer full). */
uint64_t gt_late_mappings_lost(const struct gt_late_mappings *late);
