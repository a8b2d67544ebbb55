/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which functions are traced, and where a file has them. */
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
 * Of what is switched on: without a list, functions with a category; with one, what its globs match.
 * -EINVAL: a glob matches nothing that is switched on. `host` must outlive the selection.
 */
int gt_selection_make(const struct gt_host *host, struct gt_selection *ret_selection,
		      struct gt_diag *diag);
void gt_selection_free(struct gt_selection *selection);

/*
 * Adds the sites in a file of what is selected, and of what tells of kernels, contexts and devices,
 * in the order of their offsets, each with its cookie. `number` is the file's. The names belong to
 * `elf`.
 */
int gt_selection_find(const struct gt_selection *selection, const struct gt_place *place,
		      unsigned number, struct gt_elf *elf, gt_site_list *sites,
		      struct gt_diag *diag);
