/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The mappings of a process: /proc/PID/maps (proc_pid_maps(5)). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

struct gt_proc_mapping {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t offset;     /* of `start` in the file, bytes */
	uint64_t device;     /* makedev(major, minor); 0 with inode 0: no file */
	uint64_t inode;
	bool readable, writable, executable, shared;
	bool deleted;     /* the file was unlinked; path is its former path */
	const char *path; /* as the process sees it; "[vdso]", "[heap]" …; "" if anonymous */
};

/* Sorted by address, as the kernel writes them. */
struct gt_proc_maps {
	pid_t pid;
	struct gt_proc_mapping *items;
	size_t count;
	char *text; /* owns the paths */
};

/*
 * Reads the mappings of a process. If the process changes its mappings meanwhile, the result is not
 * a consistent snapshot. -ESRCH: no such process; -EACCES, -EPERM: not allowed; -EBADMSG: malformed
 * line. A kernel thread or zombie has no mappings.
 */
int gt_proc_maps_read(pid_t pid, struct gt_proc_maps *ret_maps, struct gt_diag *diag);
/* Parses the text of such a file, which need not end with a newline; pid is copied to the result.
 */
int gt_proc_maps_parse(const char *text, size_t length, pid_t pid, struct gt_proc_maps *ret_maps,
		       struct gt_diag *diag);
void gt_proc_maps_free(struct gt_proc_maps *maps);
static inline void gt_cleanup_proc_maps(struct gt_proc_maps *maps)
{
	gt_proc_maps_free(maps);
}
#define gt_auto_proc_maps __attribute__((cleanup(gt_cleanup_proc_maps))) struct gt_proc_maps

/* Returns whether it is a mapping of a file: it has an inode and a path. */
bool gt_proc_mapping_is_file(const struct gt_proc_mapping *mapping);

/* Returns the mapping that contains an address, or NULL. */
const struct gt_proc_mapping *gt_proc_maps_at(const struct gt_proc_maps *maps, uint64_t address);

/*
 * Returns whether the file at a path has this device and inode in mappings. The device can differ
 * from that of stat(2) (btrfs, overlayfs): the file is mapped to compare them.
 */
bool gt_proc_maps_is_same_file(const char *path, uint64_t device, uint64_t inode);

/*
 * Returns a path by which this process can open the file of a mapping of process maps->pid: the
 * path itself if both have the same root and mounts or if it leads to the same file, else
 * /proc/PID/root/PATH, and for a deleted or replaced file /proc/PID/map_files/START-END. Where the
 * root of the process may not be read (CAP_SYS_PTRACE), the path itself if the same file is there.
 * Replaces the contents of *buffer. -ENOENT: none of them is the file; -EACCES: the file is not at
 * this path, and the root of the process may not be read; -ENODEV: not a mapping of a file.
 */
int gt_proc_mapping_path(const struct gt_proc_maps *maps, const struct gt_proc_mapping *mapping,
			 struct gt_strbuf *buffer, struct gt_diag *diag);
