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

static int too_many(const char *option, struct gt_diag *diag)
{
	return gt_diag(diag, -EINVAL, "filter", NULL, "more than %d values for --%s", GT_FILTER_MAX,
		       option);
}

static int add_uid(struct gt_filter *filter, const char *text, struct gt_diag *diag)
{
	const struct passwd *user;
	uint64_t number;

	if (filter->uid_count == GT_FILTER_MAX)
		return too_many("uid", diag);
	if (!gt_parse_u64(text, &number) && number < UINT32_MAX) {
		filter->uids[filter->uid_count++] = number;
	} else {
		user = getpwnam(text);
		if (!user)
			return gt_diag(diag, -EINVAL, "filter", NULL,
				       "invalid user '%s' for --uid: no such user", text);
		filter->uids[filter->uid_count++] = user->pw_uid;
	}
	return 0;
}

static int add_name(struct gt_filter *filter, const char *name, struct gt_diag *diag)
{
	struct gt_filter_name *wanted = &filter->names[filter->name_count];
	size_t length = strlen(name);

	if (filter->name_count == GT_FILTER_MAX)
		return too_many("comm", diag);
	if (length && name[length - 1] == '*') {
		wanted->is_prefix = 1;
		length--;
	}
	/* The kernel truncates names, and so are names copied from /proc/PID/comm. */
	if (length >= GT_NAME_SIZE) {
		length = GT_NAME_SIZE - 1;
		wanted->is_prefix = 1;
	}
	if (!length)
		return gt_diag(diag, -EINVAL, "filter", NULL,
			       "invalid process name '%s' for --comm", name);
	memcpy(wanted->text, name, length);
	wanted->length = length;
	filter->name_count++;
	return 0;
}

static int add_cgroup(struct gt_filter *filter, const char *path, struct gt_diag *diag)
{
	int error;

	if (filter->cgroup_count == GT_FILTER_MAX)
		return too_many("cgroup", diag);
	error = gt_cgroup_find(path, &filter->cgroups[filter->cgroup_count], diag);
	filter->cgroup_count += !error;
	return error;
}

static int add_all(struct gt_filter *filter, const struct gt_strings *values,
		   int (*add)(struct gt_filter *filter, const char *value, struct gt_diag *diag),
		   struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < values->words.count && !error; i++)
		error = add(filter, values->words.items[i], diag);
	return error;
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
	int error;

	if (stat("/proc/self/ns/pid", &status) < 0)
		return gt_diag(diag, -errno, "filter", "/proc/self/ns/pid", "%s: is /proc mounted?",
			       strerror(errno));
	filter.pid_namespace = status.st_ino;
	error = add_all(&filter, &options->users, add_uid, diag);
	if (!error)
		error = add_all(&filter, &options->names, add_name, diag);
	if (!error)
		error = add_all(&filter, &options->cgroups_traced, add_cgroup, diag);
	if (!error && options->path)
		error = set_executable(&filter, options->path, diag);
	if (!error)
		*ret_filter = filter;
	return error;
}
