/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files that belong to this gputap. */
#pragma once

#include "base/diag.h"

/*
 * Find the directory that contains a readable file `name`: `build`, seen from the directory of the
 * running program, or `installed` in the library directories below its prefix ("": these
 * themselves). *ret_directory is an absolute path without symbolic links, which the caller frees.
 * 0, -ENOENT or -ENOMEM.
 */
int gt_installed_directory(const char *build, const char *installed, const char *name,
			   char **ret_directory);

/* Find the file itself. The caller frees *ret_path. 0, -ENOENT or -ENOMEM. */
int gt_installed_file(const char *build, const char *installed, const char *name, char **ret_path,
		      struct gt_diag *diag);

/* Resolve `directory` if it contains a readable file `name`. 0, -ENOENT or -ENOMEM. */
int gt_installed_try(const char *directory, const char *name, char **ret_directory);
