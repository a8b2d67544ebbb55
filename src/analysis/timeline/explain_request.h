/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which gaps, calls and events are explained by their causes. */
#pragma once

#include <stdint.h>

#include "base/string_list.h"

/* Kinds of what is explained: flags. */
enum gt_explained_kind {
	GT_EXPLAIN_GAPS = 1,
	GT_EXPLAIN_CALLS = 2,
	GT_EXPLAIN_SYSCALLS = 4,
	GT_EXPLAIN_FAULTS = 8,
	GT_EXPLAIN_JOBS = 16,
	GT_EXPLAIN_XIDS = 32,
};

struct gt_explain_request {
	unsigned kinds; /* enum gt_explained_kind; gaps are kept always */
	const struct gt_strings *calls, *syscalls; /* of these names, as globs; NULL: of all */
	uint64_t fence_context, fence_seqno;       /* the job with this fence alone; 0, 0: all */
};
