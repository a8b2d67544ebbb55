/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Symbols of the running kernel and its modules, by name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/*
 * Find functions in /proc/kallsyms, in one pass: of this name, or of this name with a suffix that a
 * compiler adds to a function with the same beginning (".isra.0", ".constprop.0"). ret_names, of
 * `count`, get the names as the kernel has them, to be freed; NULL: there is none, or the entry of
 * `functions` is NULL. 0, or the error of reading.
 */
int gt_kernel_symbols_find(const char *const *functions, size_t count, char **ret_names);

/* Whether /proc/kallsyms has a function of exactly this name; false if it cannot be read. */
bool gt_kernel_has_function(const char *name);

/*
 * Find the addresses of symbols of the kernel by their exact names, in one pass. ret_addresses, of
 * `count`, get them; 0: there is none, or this process may not see it. 0, or the error of reading.
 */
int gt_kernel_symbols_find_addresses(const char *const *names, size_t count, __u64 *ret_addresses);
