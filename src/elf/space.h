/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The address spaces of processes, built from events: which files are mapped where. A later mapping
 * replaces the parts of earlier ones that it covers, as mmap(2) does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

enum {
	GT_SPACE_MAX_MAPPINGS = 65536, /* of one process; vm.max_map_count's default is 65530 */
};

/* A mapped file, the same for all processes; it lives as long as the space. */
struct gt_space_file {
	const char *path;
	uint64_t inode;  /* 0: unknown */
	bool is_file;    /* the path begins with '/'; else "[vdso]" and the like */
	uint32_t number; /* from 0 */
};

struct gt_space_mapping {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t offset;     /* of `start` in the file, bytes */
	const struct gt_space_file *file;
};

struct gt_space;

/* Returns an empty space; NULL: out of memory. */
struct gt_space *gt_space_new(void);
void gt_space_free(struct gt_space *space);
GT_DEFINE_AUTO(space, struct gt_space, gt_space_free)

/* A mapping to be added. */
struct gt_space_request {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t offset;     /* of `start` in the file, bytes */
	uint64_t inode;      /* 0: unknown */
	const char *path;    /* need not end in NUL */
	size_t length;       /* bytes of the path */
};

/*
 * Adds a mapping of a process. 0; -EINVAL: invalid addresses; -E2BIG: more than
 * GT_SPACE_MAX_MAPPINGS; -ENOMEM.
 */
int gt_space_map(struct gt_space *space, uint32_t process, const struct gt_space_request *request);
/* Copies the mappings of a process to its child. 0 or -ENOMEM. */
int gt_space_fork(struct gt_space *space, uint32_t parent, uint32_t child);
/* Removes the mappings of a process that has ended or executes another program. */
void gt_space_forget(struct gt_space *space, uint32_t process);

/* Returns the mapping that contains an address, or NULL; valid until the process's mappings change.
 */
const struct gt_space_mapping *gt_space_at(const struct gt_space *space, uint32_t process,
					   uint64_t address);
