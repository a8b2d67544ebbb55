/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The filter of the BPF programs, from the options. */
#pragma once

#include "base/diag.h"
#include "probe/filter.h"
#include "session/session.h"

/* -EINVAL, -ENOENT with a diag of stage "filter" for an invalid user, cgroup or program. */
int gt_filter_make(const struct gt_trace_options *options, struct gt_filter *ret_filter,
		   struct gt_diag *diag);
