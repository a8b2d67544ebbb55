/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/installed.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/clean.h"
#include "base/strbuf.h"

/* Seen from the directory of the program. */
static const char *const library_directories[] = {"../lib/gputap", "../" GT_LIBDIR "/gputap"};

int gt_installed_try(const char *directory, const char *name, char **ret_directory)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	char resolved[PATH_MAX];

	gt_strbuf_printf(&path, "%s/%s", directory, name);
	if (access(gt_strbuf_string(&path), R_OK) || !realpath(directory, resolved))
		return -ENOENT;
	*ret_directory = strdup(resolved);
	return *ret_directory ? 0 : -ENOMEM;
}

int gt_installed_directory(const char *build, const char *installed, const char *name,
			   char **ret_directory)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	gt_auto_strbuf directory = GT_STRBUF_INIT;
	char *slash;
	int error;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	gt_strbuf_printf(&directory, "%s/%s", self, build);
	error = gt_installed_try(gt_strbuf_string(&directory), name, ret_directory);
	for (size_t i = 0; i < gt_countof(library_directories) && error == -ENOENT; i++) {
		gt_strbuf_clear(&directory);
		gt_strbuf_printf(&directory, "%s/%s/%s", self, library_directories[i], installed);
		error = gt_installed_try(gt_strbuf_string(&directory), name, ret_directory);
	}
	return error;
}

int gt_installed_file(const char *build, const char *installed, const char *name, char **ret_path,
		      struct gt_diag *diag)
{
	gt_autofree char *directory = NULL;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	int error = gt_installed_directory(build, installed, name, &directory);

	if (error == -ENOENT)
		return gt_diag(diag, error, "install", NULL,
			       "%s is not there; build it with 'make', or install gputap", name);
	gt_strbuf_printf(&path, "%s/%s", error ? "" : directory, name);
	*ret_path = error ? NULL : gt_strbuf_steal(&path);
	return *ret_path ? 0 : gt_diag(diag, -ENOMEM, "install", NULL, "out of memory");
}
