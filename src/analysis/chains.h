/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks in tables. A chain is the callers of a stack as a person reads them, the program's own
 * innermost one first: "my_alloc (a.c:3) ← loadA (a.c:9) ← main (a.c:20)". Stacks with equal chains
 * are one row, and a row shows as many callers as distinguish it from the others.
 */
#pragma once

#include "base/clean.h"
#include "names/names.h"

struct gt_chains;

/* NULL: out of memory. `names` must outlive the chains. */
struct gt_chains *gt_chains_new(const struct gt_names *names);
void gt_chains_free(struct gt_chains *chains);
GT_DEFINE_AUTO(chains, struct gt_chains, gt_chains_free)

/*
 * Add a stack. *ret_first (NULL: not wanted) is the stack that was added first of those of the same
 * process with the same chain. 0 or -ENOMEM.
 */
int gt_chains_add(struct gt_chains *chains, uint32_t process, uint64_t stack, uint64_t *ret_first);
/*
 * Find how many callers distinguish each chain from the others so far, of all processes. 0 or
 * -ENOMEM.
 */
int gt_chains_distinguish(struct gt_chains *chains);
/*
 * Put the callers of a stack that was added: those that distinguish it, or its innermost own one
 * before gt_chains_distinguish. "-": it has none.
 */
void gt_chains_put(const struct gt_chains *chains, struct gt_strbuf *text, uint32_t process,
		   uint64_t stack);

/* Put all callers of a stack, wrappers of the API and stubs of launches included. */
void gt_chain_put_whole(struct gt_strbuf *text, const struct gt_names *names, uint32_t process,
			uint64_t stack);
