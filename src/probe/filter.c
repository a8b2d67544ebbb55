/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The filter for a process that user space has found; task.bpf.h has the one for threads. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "probe/source.h"

#define MAX_FILE 65536 /* bytes of a file in /proc */

static int read_file_of(pid_t pid, const char *name, struct gt_file *ret_file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return gt_file_read(path, MAX_FILE, ret_file, NULL);
}

static bool uid_passes(const struct gt_filter *filter, pid_t pid)
{
	gt_auto_file status = {0};
	const char *line;
	unsigned uid;

	if (!filter->uid_count || read_file_of(pid, "status", &status))
		return true;
	line = strstr((const char *)status.data, "\nUid:");
	return !line || sscanf(line, "\nUid: %u", &uid) != 1 || gt_filter_has_uid(filter, uid);
}

static bool name_passes(const struct gt_filter *filter, pid_t pid)
{
	gt_auto_file name = {0};
	size_t length;

	if (!filter->name_count || read_file_of(pid, "comm", &name))
		return true;
	length = strcspn((const char *)name.data, "\n");
	for (unsigned i = 0; i < filter->name_count; i++) {
		const struct gt_filter_name *wanted = &filter->names[i];

		if (length >= wanted->length && !memcmp(name.data, wanted->text, wanted->length) &&
		    (wanted->is_prefix || length == wanted->length))
			return true;
	}
	return false;
}

static bool executable_passes(const struct gt_filter *filter, pid_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !filter->executable_inode || stat(path, &status) ||
	       (status.st_ino == filter->executable_inode &&
		(major(status.st_dev) << 20 | minor(status.st_dev)) == filter->executable_device);
}

/* Whether the cgroup is a wanted one or below it: an id is the inode of a directory. */
static bool cgroup_passes(const struct gt_filter *filter, pid_t pid)
{
	gt_auto_file file = {0};
	const char *line;
	char path[4096];
	struct stat status;
	int length;

	if (!filter->cgroup_count || read_file_of(pid, "cgroup", &file))
		return true;
	line = strstr((const char *)file.data, "0::/");
	if (!line)
		return true;
	line += strlen("0::");
	length = snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s", (int)strcspn(line, "\n"), line);
	if (length < 0 || (size_t)length >= sizeof(path))
		return true;
	while (path[0]) {
		char *slash = strrchr(path, '/');

		if (!stat(path, &status) && gt_filter_has_cgroup(filter, status.st_ino))
			return true;
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

bool gt_host_passes(const struct gt_host *host, pid_t process)
{
	const struct gt_filter *filter = &host->filter;

	return uid_passes(filter, process) && name_passes(filter, process) &&
	       executable_passes(filter, process) && cgroup_passes(filter, process);
}
