/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define MAX_LIST 65536 /* bytes of /proc/PID/cgroup */

/* Where cgroup v2 is mounted: not at the usual place beside cgroup v1. */
static int find_mount(char ret_root[PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *mount;
	int error = -ENOENT;

	if (!mounts)
		return -errno;
	while (error && (mount = getmntent(mounts)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			error = realpath(mount->mnt_dir, ret_root) ? 0 : -errno;
	endmntent(mounts);
	return error;
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (path[length] == '/' || !path[length]);
}

int gt_cgroup_find(const char *path, __u64 *ret_id, struct gt_diag *diag)
{
	gt_auto_strbuf whole = GT_STRBUF_INIT;
	char root[PATH_MAX], resolved[PATH_MAX];
	struct stat status;

	if (find_mount(root))
		return gt_diag(diag, -ENOENT, "filter", path,
			       "no cgroup v2 is mounted here, and --cgroup needs one");
	if (!is_below(path, root))
		gt_strbuf_printf(&whole, "%s/", root);
	gt_strbuf_puts(&whole, path);
	if (!realpath(gt_strbuf_string(&whole), resolved) || stat(resolved, &status) < 0 ||
	    !S_ISDIR(status.st_mode) || !is_below(resolved, root))
		return gt_diag(diag, -ENOENT, "filter", path,
			       "no such cgroup: give a path below %s", root);
	*ret_id = status.st_ino;
	return 0;
}

/* The path in a line "number:controllers:path" of `length` bytes; NULL if it has none. */
static const char *path_of_line(const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);

	if (colon)
		colon = memchr(colon + 1, ':', length - (colon + 1 - line));
	return colon && colon + 1 < line + length && colon[1] == '/' ? colon + 1 : NULL;
}

static unsigned depth_of(const char *path, size_t length)
{
	unsigned depth = 0;

	for (size_t i = 0; i + 1 < length; i++)
		depth += path[i] == '/';
	return depth;
}

int gt_cgroup_parse(const char *text, struct gt_strbuf *ret_path)
{
	const char *best = NULL;
	size_t best_length = 0;
	unsigned best_depth = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *path = path_of_line(text, length);
		size_t path_length = path ? length - (path - text) : 0;
		unsigned depth = depth_of(path, path_length);
		/* Version 2's comes last, and only says something if it is in use. */
		bool counts = depth && !strncmp(text, "0::", 3);

		if (path && (!best || counts || depth > best_depth)) {
			best = path;
			best_length = path_length;
			best_depth = depth;
		}
		text += length + (text[length] == '\n');
	}
	if (!best)
		return -ENOENT;
	gt_strbuf_printf(ret_path, "%.*s", (int)best_length, best);
	return 0;
}

int gt_cgroup_of_process(pid_t pid, struct gt_strbuf *ret_path)
{
	gt_auto_file file = {0};
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	error = gt_file_read(path, MAX_LIST, &file, NULL);
	if (error)
		return error == -ENOMEM ? error : -ENOENT;
	return gt_cgroup_parse((const char *)file.data, ret_path);
}
