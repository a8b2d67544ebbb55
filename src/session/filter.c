/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/filter.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "elf/elf.h"
#include "session/cgroup.h"

static int set_uid(struct gt_filter *filter, const char *text, struct gt_diag *diag)
{
	const struct passwd *user;
	uint64_t number;

	if (!gt_parse_u64(text, &number) && number < UINT32_MAX) {
		filter->uid = number;
	} else {
		user = getpwnam(text);
		if (!user)
			return gt_diag(diag, -EINVAL, "filter", NULL,
				       "invalid user '%s' for --uid: no such user", text);
		filter->uid = user->pw_uid;
	}
	filter->by_uid = 1;
	return 0;
}

static int set_name(struct gt_filter *filter, const char *name, struct gt_diag *diag)
{
	size_t length = strlen(name);

	if (length && name[length - 1] == '*') {
		filter->name_is_prefix = 1;
		length--;
	}
	/* The kernel truncates names, and so are names copied from /proc/PID/comm. */
	if (length >= GT_NAME_SIZE) {
		length = GT_NAME_SIZE - 1;
		filter->name_is_prefix = 1;
	}
	if (!length)
		return gt_diag(diag, -EINVAL, "filter", NULL,
			       "invalid process name '%s' for --comm", name);
	memcpy(filter->name, name, length);
	filter->name_length = length;
	return 0;
}

/* -p PROGRAM selects the processes that execute that file. */
static int set_executable(struct gt_filter *filter, const char *path, struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct stat status;
	int error = gt_elf_open(path, &elf, diag);

	if (error || !gt_elf_info(elf)->program)
		return error;
	if (stat(path, &status) < 0)
		return gt_diag(diag, -errno, "filter", path, "%s", strerror(errno));
	filter->executable_inode = status.st_ino;
	/* The kernel's own form of a device number: MKDEV, include/linux/kdev_t.h. */
	filter->executable_device = major(status.st_dev) << 20 | minor(status.st_dev);
	return 0;
}

int gt_filter_make(const struct gt_trace_options *options, struct gt_filter *ret_filter,
		   struct gt_diag *diag)
{
	struct gt_filter filter = {.by_process = options->command || options->process_count};
	struct stat status;
	int error = 0;

	if (stat("/proc/self/ns/pid", &status) < 0)
		return gt_diag(diag, -errno, "filter", "/proc/self/ns/pid", "%s: is /proc mounted?",
			       strerror(errno));
	filter.pid_namespace = status.st_ino;
	if (options->uid)
		error = set_uid(&filter, options->uid, diag);
	if (!error && options->name)
		error = set_name(&filter, options->name, diag);
	if (!error && options->cgroup)
		error = gt_cgroup_find(options->cgroup, &filter.cgroup, diag);
	if (!error && options->path)
		error = set_executable(&filter, options->path, diag);
	if (!error)
		*ret_filter = filter;
	return error;
}
