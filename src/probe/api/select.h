/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The selection of functions to trace, and their addresses in a file. */
#pragma once

#include <stdbool.h>

#include "base/diag.h"
#include "base/vec.h"
#include "probe/api/attach.h"
#include "probe/api/find.h"
#include "probe/source.h"

struct gt_elf;

typedef GT_VEC(struct gt_site) gt_site_list;

struct gt_selection {
	const struct gt_host *host;
	bool *rows; /* of the API tables, gt_api_count: to be traced */
};

/*
 * Select functions of the enabled APIs: without -f those with a category, else those that match a
 * glob. -EINVAL: a glob matches no enabled function. `host` must outlive the selection.
 */
int gt_selection_make(const struct gt_host *host, struct gt_selection *ret_selection,
		      struct gt_diag *diag);
void gt_selection_free(struct gt_selection *selection);

/*
 * The flags of the cookie of a function in the library of its API (GT_COOKIE_ONLY_OUTERMOST, …);
 * ret_flags is unchanged if it is neither selected nor traced implicitly: false.
 */
bool gt_selection_flags(const struct gt_selection *selection, unsigned row, uint64_t *ret_flags);

/*
 * Add the sites in a file of the selected functions and of those that are traced implicitly (for
 * the names of kernels, contexts and devices), sorted by offset, each with its cookie. `number` is
 * the file's. The names of the sites belong to `elf`.
 */
int gt_selection_find(const struct gt_selection *selection, const struct gt_traced_file *file,
		      unsigned number, struct gt_elf *elf, gt_site_list *sites,
		      struct gt_diag *diag);
