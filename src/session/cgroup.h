/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cgroups of version 2: the mount, and the cgroup of a path or of a process. */
#pragma once

#include <linux/types.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/strbuf.h"

/*
 * The id of a cgroup, as bpf_get_current_ancestor_cgroup_id gives it, by its path, absolute or
 * below the mount. -ENOENT with a diag of stage "filter": no cgroup v2 is mounted, or there is none
 * of that path.
 */
int gt_cgroup_find(const char *path, __u64 *ret_id, struct gt_diag *diag);

/*
 * Read the path of a process's cgroup from /proc: of version 2, or if it has none there, the
 * deepest one of version 1. -ENOENT: the process does not exist; -ENOMEM.
 */
int gt_cgroup_of_process(pid_t pid, struct gt_strbuf *ret_path);
/* The same from the text of /proc/PID/cgroup (cgroups(7)). -ENOENT: there is no path. */
int gt_cgroup_parse(const char *text, struct gt_strbuf *ret_path);
