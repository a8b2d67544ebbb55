/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A call site: kind of finding, process, stack, function. What happens there is counted, and
 * becomes a finding (findings.h).
 */
#pragma once

#include "analysis/findings.h"
#include "analysis/operation.h"
#include "base/hash.h"

struct gt_call_site_key {
	uint64_t stack;
	uint64_t detail; /* bytes of an allocation, handle of a kernel */
	uint32_t process;
	uint32_t function;
	uint64_t kind;
};

struct gt_call_site {
	struct gt_call_site_key key;
	const char *function;
	const char *library; /* of the function; NULL: unknown */
	char *process_name;
	char *text; /* a kernel, an error: by kind */
	uint64_t count;
	uint64_t all; /* candidates, whether they are findings or not */
	uint64_t bytes, ns;
	uint64_t live, max_live; /* allocations */
	uint64_t stacks;         /* of a merged site: how many sites it was made of */
};

/* The site of a call; `detail` as in the key. */
struct gt_call_site_key gt_call_site_key_of(enum gt_finding_kind kind,
					    const struct gt_event_call *call, uint64_t detail);
/* Finds or adds the site in a map (key -> site). NULL: no room; then nothing is counted. */
struct gt_call_site *gt_call_site_in(struct gt_hash *sites, const struct gt_names *names,
				     const struct gt_call_site_key *key);
/*
 * Merge the sites that a person takes for one: of the same kind, process, function, text, and own
 * caller (gt_label_stack), whatever the callers of that caller and the handle of the kernel. Sites
 * whose counts depend on bytes (allocations) differ by these, too. *ret_merged: label -> struct
 * gt_call_site, which refers to texts of `sites` and has the stack of the first one; free it by
 * gt_hash_free_with(…, free). 0 or -ENOMEM.
 */
int gt_call_sites_merge(const struct gt_hash *sites, const struct gt_names *names,
			struct gt_hash **ret_merged);
/* For gt_hash_free_with. */
void gt_call_site_free(void *site);
/* Counts an operation on so many bytes; a NULL site counts nothing. */
void gt_call_site_count(struct gt_call_site *site, const struct gt_operation *operation,
			uint64_t bytes);
