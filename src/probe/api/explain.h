/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the user is told of where probes are, and of why there are none elsewhere. */
#pragma once

#include "base/diag.h"
#include "probe/api/find.h"
#include "probe/source.h"

/*
 * Nothing was found to attach to. -ENOENT with a diag where one file was named; 0 with a note where
 * something may still be loaded.
 */
int gt_explain_nothing(const struct gt_host *host, const struct gt_places *places,
		       struct gt_diag *diag);

/*
 * Notes where calls are seen one layer lower: a static program without symbols, say. A program with
 * symbols may still open a runtime that was found for this case.
 */
void gt_explain_fallback(const struct gt_host *host, const struct gt_places *places);

/* No call was seen: notes where the probes were, and why there were none in what was looked at
 * first. */
void gt_explain_silence(const struct gt_host *host, const struct gt_places *places);
