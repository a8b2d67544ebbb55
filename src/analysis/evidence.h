/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sentences in which findings name their evidence. */
#pragma once

#include "analysis/findings.h"

#define GT_TINY_COPY 4096 /* bytes */

struct gt_evidence {
	enum gt_finding_kind kind;
	const char *function;
	const char *text; /* a kernel, or the description of an error */
	uint64_t count;
	uint64_t all; /* of what might have been one */
	uint64_t bytes, ns;
	uint64_t launches; /* of the process */
};

/* The caller frees it; NULL: no memory. */
char *gt_evidence_text(const struct gt_evidence *evidence);
