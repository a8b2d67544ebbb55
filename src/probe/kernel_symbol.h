/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of the running kernel and its modules, by name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Find a function in /proc/kallsyms: of this name, or of this name with a suffix that a compiler
 * adds to a function with the same beginning (".isra.0", ".constprop.0"). ret_name gets the name as
 * the kernel has it. 0, -ENOENT, or the error of reading.
 */
int gt_kernel_symbol_find(const char *function, char *ret_name, size_t size);

/* Whether /proc/kallsyms has a symbol of any type: variables only with CONFIG_KALLSYMS_ALL. */
bool gt_kernel_symbol_exists(const char *name);
