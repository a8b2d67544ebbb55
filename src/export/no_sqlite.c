/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The format "sqlite" of a gputap that was built without libsqlite3. */
#include <errno.h>

#include "export/export.h"

static int sqlite_open(const struct gt_export_options *options, void **ret_state,
		       struct gt_diag *diag)
{
	return gt_diag(diag, -ENOTSUP, "export", NULL,
		       "this gputap was built without SQLite: install libsqlite3-dev and build it "
		       "again, or export to csv");
}

const struct gt_export_format gt_export_sqlite = {
	.name = "sqlite",
	.help = "a SQLite database (not in this build)",
	.extension = ".sqlite",
	.is_binary = true,
	.needs_file = true,
	.open = sqlite_open,
};
