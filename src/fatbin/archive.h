/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device code in host objects (.o) and in archives of them (.a), as nvcc makes them: fatbins in
 * the sections .nv_fatbin and __nv_relfatbin. Members that are fatbins, cubins or PTX are device
 * code themselves. An archive is in the format of System V: ar(5), with the long names of "//".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/*
 * Sees device code, which gt_fatbin_open reads. name: of the member, "object" without an archive.
 * Another value than 0 ends the iteration.
 */
typedef int gt_archive_visit(void *context, const char *name, const void *code, size_t size);

/*
 * Visit all device code of an object or archive, which is hostile; members without any are skipped.
 * *ret_unknown: whether a member is neither device code nor a host object, but may be something
 * that a linker reads, such as LTO bitcode; NULL: it does not matter. 0; -EINVAL: malformed, with a
 * diag; what the visit returns.
 */
int gt_archive_each(const void *data, size_t size, gt_archive_visit *visit, void *context,
		    bool *ret_unknown, struct gt_diag *diag);
