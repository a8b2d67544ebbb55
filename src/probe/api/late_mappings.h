/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Late mappings: files that traced processes map for execution during the session. Each becomes a
 * `mapping` event, so that its addresses can be symbolized; a file that may have functions to
 * attach to is passed to a callback.
 *
 * A command that the session holds (probe/hold/hold.h) waits before such a file is mapped, until
 * the callback has attached to it. Otherwise the kernel reports the mapping when it exists: code of
 * the file may have run before its probes are attached, which is a gap.
 */
#pragma once

#include "base/clean.h"
#include "base/diag.h"
#include "probe/api/watch.h"
#include "probe/source.h"

struct gt_late_mappings;

/* The state of a file after the callback has attached to it. */
struct gt_late_probes {
	uint64_t attached_at; /* CLOCK_MONOTONIC, ns; 0: it has no functions to attach to */
	bool is_program;      /* executed, and run by a loader */
};

struct gt_late_handlers {
	/*
	 * A file, once or more: `path` is the one by which gputap reaches it now, `name` the one by
	 * which the process does.
	 */
	struct gt_late_probes (*file)(void *context, const char *path, const char *name);
	/* A process could run code of a file from `start` on, before its probes were attached. */
	void (*gap)(void *context, pid_t process, const char *name, uint64_t start, uint64_t end);
	/*
	 * A file of this name, which is that of a CUDA library, cannot be opened by gputap: it may
	 * not (-EACCES), or the file is gone.
	 */
	void (*unreachable)(void *context, pid_t process, const char *name, uint64_t time,
			    int error);
	void *context;
};

/* `host` must outlive it. -EACCES, -EPERM: needs CAP_PERFMON (or root). */
int gt_late_mappings_open(const struct gt_host *host, struct gt_late_mappings **ret_late,
			  struct gt_diag *diag);
/* What waits continues, and nothing is held any more. */
void gt_late_mappings_close(struct gt_late_mappings *late);
GT_DEFINE_AUTO(late_mappings, struct gt_late_mappings, gt_late_mappings_close)

/* A file descriptor for epoll: readable when a file was mapped. */
int gt_late_mappings_fd(const struct gt_late_mappings *late);

/* Process the mappings since the last time, and those that wait. */
void gt_late_mappings_poll(struct gt_late_mappings *late, const struct gt_late_handlers *handlers);
/* Mappings that could not be reported: dropped by the kernel (buffer full). */
uint64_t gt_late_mappings_lost(const struct gt_late_mappings *late);
