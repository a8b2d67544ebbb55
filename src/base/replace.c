/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file is created or replaced: no pipe, device or link to nothing. */
static bool is_replaceable(const char *path)
{
	struct stat file;

	return lstat(path, &file) ? errno == ENOENT : S_ISREG(file.st_mode);
}

/* What replaces a file that others may not read is not readable while it is written, either. */
static void create_private(const struct gt_replacement *replacement)
{
	struct stat old;
	gt_autoclose int file = -1;

	if (!replacement->is_direct && !stat(replacement->path, &old))
		file = open(replacement->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int gt_replacement_begin(const char *path, struct gt_replacement *ret_replacement,
			 struct gt_diag *diag)
{
	struct gt_replacement replacement = {.path = realpath(path, NULL)};

	if (!replacement.path)
		replacement.path = strdup(path);
	replacement.is_direct = replacement.path && !is_replaceable(replacement.path);
	if (replacement.path && replacement.is_direct)
		replacement.partial = strdup(replacement.path);
	else if (replacement.path && asprintf(&replacement.partial, "%s.partial-%d",
					      replacement.path, (int)getpid()) < 0)
		replacement.partial = NULL;
	if (!replacement.partial) {
		free(replacement.path);
		return gt_diag(diag, -ENOMEM, "write", path, "out of memory");
	}
	create_private(&replacement);
	*ret_replacement = replacement;
	return 0;
}

/* 0 or -errno. */
static int copy_all(int from, int to)
{
	char buffer[65536];
	ssize_t count;

	while ((count = read(from, buffer, sizeof(buffer))) > 0)
		for (ssize_t done = 0, written; done < count; done += written) {
			written = write(to, buffer + done, (size_t)(count - done));
			if (written < 0)
				return -errno;
		}
	return count ? -errno : 0;
}

/* Copy into the file that exists, so that its other names have the contents, too. */
static int copy_into(const struct gt_replacement *replacement, struct gt_diag *diag)
{
	gt_autoclose int from = open(replacement->partial, O_RDONLY | O_CLOEXEC);
	gt_autoclose int to = from < 0 ? -1 : open(replacement->path, O_WRONLY | O_CLOEXEC);
	int error = to < 0 ? -errno : 0;

	if (error)
		return gt_diag_file(diag, error, "write", replacement->path, GT_FILE_WRITTEN,
				    "cannot be replaced");
	error = ftruncate(to, 0) ? -errno : copy_all(from, to);
	return error ? gt_diag(diag, error, "write", replacement->path,
			       "cannot be written: %s; the contents are in %s", strerror(-error),
			       replacement->partial)
		     : 0;
}

/* The owner is kept where that is permitted, before the mode: chown(2) clears bits of it. */
static int keep_mode(const char *path, const struct stat *old)
{
	if (chown(path, old->st_uid, old->st_gid))
		errno = 0;
	return chmod(path, old->st_mode & 0777) ? -errno : 0;
}

int gt_replacement_commit(struct gt_replacement *replacement, struct gt_diag *diag)
{
	struct stat old;
	bool exists = !replacement->is_direct && !stat(replacement->path, &old), kept = false;
	int error = 0;

	if (exists && old.st_nlink > 1) {
		error = copy_into(replacement, diag);
		kept = error && strcmp(replacement->partial, replacement->path) &&
		       !stat(replacement->path, &old) && !old.st_size;
		if (!error)
			unlink(replacement->partial);
	} else if (!replacement->is_direct) {
		error = exists ? keep_mode(replacement->partial, &old) : 0;
		if (!error && rename(replacement->partial, replacement->path))
			error = -errno;
		if (error)
			gt_diag_file(diag, error, "write", replacement->path, GT_FILE_WRITTEN,
				     "cannot be replaced");
	}
	if (!error || kept) {
		free(replacement->partial);
		replacement->partial = NULL;
	}
	return error;
}

void gt_replacement_free(struct gt_replacement *replacement)
{
	if (replacement->partial && !replacement->is_direct)
		unlink(replacement->partial);
	free(replacement->partial);
	free(replacement->path);
	*replacement = (struct gt_replacement){0};
}
