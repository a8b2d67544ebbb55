/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes the kernel's filter out of what the user said. */
#pragma once

#include "base/diag.h"
#include "probe/filter.h"
#include "session/session.h"

/* -EINVAL, -ENOENT with a diag of stage "filter" for a user, cgroup or program that is none. */
int gt_filter_make(const struct gt_trace_options *options, struct gt_filter *ret_filter,
		   struct gt_diag *diag);
