/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Python interpreters in the files that processes map. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/event.h"
#include "probe/python/python.h"

struct gt_pythons;

/* NULL: out of memory. */
struct gt_pythons *gt_pythons_new(void);
void gt_pythons_free(struct gt_pythons *pythons);
GT_DEFINE_AUTO(pythons, struct gt_pythons, gt_pythons_free)

/*
 * Whether a file that a process has mapped is an interpreter whose frames can be walked: CPython
 * 3.9 to 3.13, as a program or as libpython. Each file is read once. On a machine other than x86-64
 * none is.
 */
bool gt_pythons_find(struct gt_pythons *pythons, const struct gt_event_mapping *mapping,
		     struct gt_python *ret_python);
