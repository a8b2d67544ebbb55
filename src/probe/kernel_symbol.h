/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Symbols of the running kernel and its modules, by name (/proc/kallsyms). The kernel takes long
 * to list them, so they are kept, and read again only where /proc/modules has changed since.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "base/clean.h"

struct gt_kernel_symbols;

/* Nothing is read yet. NULL: out of memory. */
struct gt_kernel_symbols *gt_kernel_symbols_new(void);
void gt_kernel_symbols_free(struct gt_kernel_symbols *symbols);
GT_DEFINE_AUTO(kernel_symbols, struct gt_kernel_symbols, gt_kernel_symbols_free)

/*
 * Find functions, in one pass: of this name, or of this name with a suffix that a compiler adds to
 * a function with the same beginning (".isra.0", ".constprop.0"). ret_names, of `count`, get the
 * names as the kernel has them, to be freed; NULL: there is none, or the entry of `functions` is
 * NULL. 0, or the error of reading.
 */
int gt_kernel_symbols_find(struct gt_kernel_symbols *symbols, const char *const *functions,
			   size_t count, char **ret_names);

/*
 * Find addresses of functions, or of symbols in their section, of exactly these names: 0 where
 * there is none, or the kernel hides it. 0, or the error of reading.
 */
int gt_kernel_symbols_find_addresses(struct gt_kernel_symbols *symbols, const char *const *names,
				     size_t count, __u64 *ret_addresses);

/* Whether there is a function of exactly this name; false if symbols cannot be read. */
bool gt_kernel_symbols_has(struct gt_kernel_symbols *symbols, const char *name);
