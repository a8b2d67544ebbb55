/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a process has mapped: /proc/PID/maps (proc_pid_maps(5)). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

struct gt_proc_mapping {
	uint64_t start, end; /* addresses; end is the first one behind */
	uint64_t offset;     /* of `start` in the file, bytes */
	uint64_t device;     /* makedev(major, minor); 0 with inode 0: no file */
	uint64_t inode;
	bool readable, writable, executable, shared;
	bool deleted;     /* the file was unlinked since; path is where it was */
	const char *path; /* as the process sees it; "[vdso]", "[heap]" …; "" if anonymous */
};

/* In the order of addresses, as the kernel writes them. */
struct gt_proc_maps {
	pid_t pid;
	struct gt_proc_mapping *items;
	size_t count;
	char *text; /* what the paths point into */
};

/*
 * Reads the mappings of a process. They are a picture of a moment, and if the process maps
 * meanwhile, not even that. -ESRCH: no such process; -EACCES, -EPERM: not allowed;
 * -EBADMSG: a line is not as the kernel writes it. A kernel thread or zombie has none.
 */
int gt_proc_maps_read(pid_t pid, struct gt_proc_maps *ret_maps, struct gt_diag *diag);
/* The same from text, which need not end with a newline. pid goes into the result. */
int gt_proc_maps_parse(const char *text, size_t length, pid_t pid, struct gt_proc_maps *ret_maps,
		       struct gt_diag *diag);
void gt_proc_maps_free(struct gt_proc_maps *maps);
static inline void gt_cleanup_proc_maps(struct gt_proc_maps *maps)
{
	gt_proc_maps_free(maps);
}
#define gt_auto_proc_maps __attribute__((cleanup(gt_cleanup_proc_maps))) struct gt_proc_maps

/* Whether a file is mapped there: it has an inode, and its path is one. */
bool gt_proc_mapping_is_file(const struct gt_proc_mapping *mapping);

/* The mapping that holds an address, or NULL. */
const struct gt_proc_mapping *gt_proc_maps_at(const struct gt_proc_maps *maps, uint64_t address);

/*
 * A path by which this process can open the file of a mapping of process maps->pid:
 * the path itself if both see the same root and mounts, else /proc/PID/root/PATH, and for a
 * deleted or replaced file /proc/PID/map_files/START-END. Replaces what is in *buffer.
 * -ENOENT: none of them leads to the file; -ENODEV: no file is mapped there.
 */
int gt_proc_mapping_range(const struct gt_proc_maps *maps, const struct gt_proc_mapping *mapping,
			  struct gt_strbuf *buffer, struct gt_diag *diag);
