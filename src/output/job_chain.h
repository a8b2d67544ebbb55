/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Chains (src/analysis/job_chains.h) as JSON. */
#pragma once

#include "analysis/job_chains.h"
#include "base/json.h"
#include "names/names.h"

/* Add the members of a chain to an object that is begun; docs/json.md describes them. */
void gt_json_job_chain(struct gt_json *json, const struct gt_names *names,
		       const struct gt_job_chain *chain);
