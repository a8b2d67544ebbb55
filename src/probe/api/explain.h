/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Notes for the user: where the probes are, and why there are none elsewhere. */
#pragma once

#include "base/diag.h"
#include "probe/api/find.h"
#include "probe/source.h"

/*
 * Nothing was found to attach to. -ENOENT with a diag if one file was named; 0 with a note if
 * something may still be loaded; none for a command, which has not run yet.
 */
int gt_explain_nothing(const struct gt_host *host, const struct gt_traced_files *files,
		       struct gt_diag *diag);

/* At the end, where no call of the runtime was seen: note that the calls are those of the driver.
 */
void gt_explain_fallback(const struct gt_host *host, const struct gt_traced_files *files);

/* No call was recorded: note where the probes were, and why there were none in the first file. */
void gt_explain_silence(const struct gt_host *host, const struct gt_traced_files *files);
