/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shared memory of a kernel, as its PTX declares it. */
#pragma once

#include "ptx/ptx.h"

/*
 * Bytes of the static shared memory that a kernel and what it calls name, each variable aligned
 * after the one before. 0; -ENOENT: it calls what is not known before it runs; -E2BIG; -ENOMEM.
 */
int gt_ptx_shared_bytes(const struct gt_ptx_module *module, const struct gt_ptx_function *kernel,
			uint64_t *ret_bytes);
