/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Static variables of functions that no function of their module writes. C++ names them _ZZ…E…
 * (Itanium C++ ABI, 5.1.6 "Scope Encoding"): the host has no name for them either, so that two
 * copies of one are the same. CUDA C++ compiles `static const` arrays to such variables.
 */
#pragma once

#include <stdbool.h>

#include "ptx/ptx.h"

/* Whether a variable is a static one of a function, by its scope, linkage and name. */
bool gt_patch_is_static(const struct gt_ptx_variable *variable);

/*
 * By variable number: a static variable of a function that is only loaded from. Any other use of
 * its address counts as a write: a store to it, and a store, a call or a return that passes it on.
 * 0 or -ENOMEM. The caller frees the array.
 */
int gt_patch_find_read_only(const struct gt_ptx_module *module, bool **ret_read_only);
