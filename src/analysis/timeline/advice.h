/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Advice on where time could be saved, each with its evidence: numbers from the breakdown of a
 * process. What single calls show is in analysis/findings.h.
 */
#pragma once

#include "analysis/timeline/breakdown.h"
#include "base/strbuf.h"

enum gt_advice_kind {
#define ADVICE(name, text) GT_ADVICE_##name,
#include "analysis/timeline/advice.def"
#undef ADVICE
	GT_ADVICES,
};

/* "pin_memory"; and the advice, a sentence. */
const char *gt_advice_name(enum gt_advice_kind kind);
const char *gt_advice_text(enum gt_advice_kind kind);

/* Whether there is evidence for an advice; then add it to the text, a sentence. */
bool gt_advice_evidence(enum gt_advice_kind kind, const struct gt_process_breakdown *row,
			struct gt_strbuf *text);
