/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Histograms of powers of two as text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Append a line with a bar for each power of two from the first to the last that occurs: counts[n]
 * values from 2^n to 2^(n+1) - 1, counts[0] also 0. `size`: at most 64 counts. open_end: the last
 * one counts all greater values, too ("16 and up"). Nothing if all are 0.
 */
void gt_put_bars(struct gt_strbuf *text, const uint64_t *counts, unsigned size, bool open_end);
/*
 * The same of times in ns, from a bound to below the next ("1.02 µs .. 2.05 µs"); counts[0] may
 * have negative times, too, and its row has no lower bound.
 */
void gt_put_time_bars(struct gt_strbuf *text, const uint64_t counts[64]);
