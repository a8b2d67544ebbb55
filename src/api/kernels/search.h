/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernels by name, from the files that processes have mapped. A kernel is sought in the file of its
 * host function first, then in all others, those with less code first, and the code that is
 * uncompressed in all searches together has a limit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kernels/parameters.h"
#include "base/clean.h"

/*
 * Bytes of code, uncompressed: about two seconds. A sixteenth of it may be from other entries of
 * containers than the first ones (enum gt_kernel_entries).
 */
#define GT_KERNEL_SEARCH_LIMIT (UINT64_C(2) << 30)
#define GT_KERNEL_SEARCH_LIMIT_TEXT "2 GiB"

struct gt_kernel_search;

/* limit: bytes, usually GT_KERNEL_SEARCH_LIMIT. NULL if memory ran out. */
struct gt_kernel_search *gt_kernel_search_new(uint64_t limit);
void gt_kernel_search_free(struct gt_kernel_search *search);
GT_DEFINE_AUTO(kernel_search, struct gt_kernel_search, gt_kernel_search_free)

/* Adds a file, which is read when a kernel is sought. 0, also if it is known; -ENOMEM. */
int gt_kernel_search_add(struct gt_kernel_search *search, const char *path, size_t length);

/* The kernels that were found; others may be added. */
struct gt_parameters *gt_kernel_search_found(struct gt_kernel_search *search);

/*
 * Finds a kernel by its name as in the module; NULL: there is none. first: the path of the file
 * that probably has it, or NULL. Valid until the next call.
 */
const struct gt_kernel *gt_kernel_search_find(struct gt_kernel_search *search, const char *name,
					      const char *first);
/* Whether the limit was reached, so that kernels that were not found may be somewhere. */
bool gt_kernel_search_is_limited(const struct gt_kernel_search *search);
