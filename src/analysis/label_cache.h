/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The callers of calls as text, kept for the next call with the same stack. */
#pragma once

#include <stdint.h>

#include "base/clean.h"
#include "names/names.h"

struct gt_label_cache;

/* Returns an empty cache; NULL: out of memory. */
struct gt_label_cache *gt_label_cache_new(void);
void gt_label_cache_free(struct gt_label_cache *cache);
GT_DEFINE_AUTO(label_cache, struct gt_label_cache, gt_label_cache_free)

/*
 * The text of gt_label_stack, made anew where gt_names_code_changes differs. It is valid until the
 * next call. NULL: out of memory.
 */
const char *gt_label_cache_stack(struct gt_label_cache *cache, const struct gt_names *names,
				 uint32_t process, uint64_t stack);
