/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The files with the functions that a target calls: shared libraries, found by their names, and
 * programs and libraries into which the CUDA runtime is linked statically.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/api.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "elf/proc_maps.h"
#include "probe/filter.h"
#include "probe/target.h"

/* A file with functions of an API. */
struct gt_traced_file {
	char *path;      /* the one by which gputap reaches it */
	uint64_t device; /* identity */
	uint64_t inode;
	const char *library; /* of its functions: "cudart" (the runtime API), "cuda", "cublas", … */
	bool is_program;     /* executed, and run by a loader */
	uint64_t attached_at; /* CLOCK_MONOTONIC, ns; 0: no probes */
};

static inline bool gt_traced_file_is_driver(const struct gt_traced_file *file)
{
	return !strcmp(file->library, "cuda");
}
static inline bool gt_traced_file_is_runtime(const struct gt_traced_file *file)
{
	return !strcmp(file->library, "cudart");
}

/* A library above CUDA, whose calls contain calls of CUDA that are shown nevertheless. */
static inline bool gt_traced_file_is_above(const struct gt_traced_file *file)
{
	return gt_api_group_bit(file->library) != GT_API_GROUP_CUDA &&
	       !gt_api_is_portable(file->library);
}

struct gt_traced_files {
	unsigned groups; /* of libraries above CUDA to find: gt_api_group_bit */
	GT_VEC(struct gt_traced_file) found;
	/* Files that were examined and not added, with the reasons: lines for the user. */
	struct gt_strbuf skipped;
	bool stripped;          /* a program has no symbols: a runtime inside it is not found */
	struct gt_hash *others; /* files without functions of an API: struct examined_file -> any */
};

void gt_traced_files_free(struct gt_traced_files *files);

/*
 * Examine one file, and add it if it has functions of an API. 1 if it was added, 0 if it has none
 * or was added before, -Exxx if it is unreadable or not ELF. A file
 * whose `name` (a path) is not that of a library of the API tables is only searched if `inside` is
 * set.
 */
int gt_traced_files_examine(struct gt_traced_files *files, const char *path, const char *name,
			    bool inside, struct gt_diag *diag);

/* The file at a path, if it has functions of an API; else NULL. Valid until the next is examined.
 */
const struct gt_traced_file *gt_traced_files_at(const struct gt_traced_files *files,
						const char *path);

/*
 * Find the files that the target has mapped, will load at its start, or may load later. Of the
 * whole system only processes of the user of the filter, if there is one. -EACCES, -EPERM: the
 * mappings of a process may not be read, or a mapped file cannot be reached (CAP_SYS_PTRACE).
 */
int gt_traced_files_find(struct gt_traced_files *files, const struct gt_target *target,
			 const struct gt_filter *filter, struct gt_diag *diag);

/* Find the files that a running process has mapped. -ESRCH: it does not exist; -EACCES, -EPERM as
 * above.
 */
int gt_traced_files_find_in_process(struct gt_traced_files *files, pid_t pid, struct gt_diag *diag);
