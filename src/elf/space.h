/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The address spaces of processes as events tell them: what file is mapped where. Mappings come
 * one by one; a later one replaces what it covers, as mmap(2) does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

enum {
	GT_SPACE_MAX_MAPPINGS = 65536, /* of one process; vm.max_map_count's default is 65530 */
};

/* A file that is mapped somewhere, once however many processes map it; it lives as the space. */
struct gt_space_file {
	const char *path;
	uint64_t inode;  /* 0: not told */
	bool is_file;    /* the path begins with '/'; else "[vdso]" and the like */
	uint32_t number; /* counts from 0 */
};

struct gt_space_mapping {
	uint64_t start, end; /* addresses; end is the first one behind */
	uint64_t offset;     /* of `start` in the file, bytes */
	const struct gt_space_file *file;
};

struct gt_space;

/* NULL if memory ran out. */
struct gt_space *gt_space_new(void);
void gt_space_free(struct gt_space *space);
GT_DEFINE_AUTO(space, struct gt_space, gt_space_free)

/*
 * A process mapped a file. path has `length` bytes and need not end in NUL. 0; -EINVAL: the
 * addresses are none; -E2BIG: GT_SPACE_MAX_MAPPINGS; -ENOMEM.
 */
int gt_space_map(struct gt_space *space, uint32_t process, uint64_t start, uint64_t end,
		 uint64_t offset, uint64_t inode, const char *path, size_t length);
/* A process was forked: the child has what the parent has now. 0 or -ENOMEM. */
int gt_space_fork(struct gt_space *space, uint32_t parent, uint32_t child);
/* A process ended or executes another program: it has nothing mapped. */
void gt_space_forget(struct gt_space *space, uint32_t process);

/* The mapping that holds an address, or NULL; valid until the process's mappings change. */
const struct gt_space_mapping *gt_space_at(const struct gt_space *space, uint32_t process,
					   uint64_t address);
