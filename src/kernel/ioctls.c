/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "kernel/ioctls.h"

#include <string.h>

#include "base/clean.h"

/* Majors: Documentation/admin-guide/devices.txt of the kernel. */
#define DRM_MAJOR 226
#define ACCEL_MAJOR 261
#define NVIDIA_MAJOR 195

struct ioctl_row {
	enum gt_ioctl_file file;
	__u32 command;
	const char *name;
};

struct rm_control_row {
	__u32 command;
	const char *name;
};

struct ioctl_file_row {
	const char *module;
	bool driver;
};

static const struct ioctl_row ioctl_rows[] = {
#define IOCTL(file, command, name) {GT_IOCTL_##file, command, #name},
#include "kernel/ioctls.def"
#undef IOCTL
};

static const struct rm_control_row rm_control_rows[] = {
#define RM_CONTROL(command, name) {command, #name},
#include "kernel/rm_controls.def"
#undef RM_CONTROL
};

static const struct ioctl_file_row ioctl_files[] = {
#define IOCTL_FILE(identifier, module, driver) [GT_IOCTL_##identifier] = {module, driver},
#include "kernel/ioctl_files.def"
#undef IOCTL_FILE
};

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static enum gt_ioctl_file find_file_by_module(const char *module)
{
	for (unsigned i = 0; *module && i < GT_IOCTL_FILES; i++)
		if (!strcmp(ioctl_files[i].module, module))
			return i;
	return GT_IOCTL_OTHER;
}

/* Device files have fixed names; a container may have them in another folder. */
static enum gt_ioctl_file find_file_by_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (begins_with(name, "nvidia-uvm"))
		return GT_IOCTL_UVM;
	if (!strcmp(name, "nvidiactl") ||
	    (begins_with(name, "nvidia") && name[6] >= '0' && name[6] <= '9'))
		return GT_IOCTL_NVIDIA;
	if (!strcmp(name, "kfd"))
		return GT_IOCTL_KFD;
	if (begins_with(name, "renderD"))
		return GT_IOCTL_DRM;
	if (begins_with(path, "/dmabuf:"))
		return GT_IOCTL_DMABUF;
	if (begins_with(path, "anon_inode:sync_file"))
		return GT_IOCTL_SYNC;
	return GT_IOCTL_OTHER;
}

enum gt_ioctl_file gt_ioctl_file(const char *module, __u32 major, const char *path)
{
	enum gt_ioctl_file file = find_file_by_module(module);

	if (major == DRM_MAJOR || major == ACCEL_MAJOR)
		return ioctl_files[file].driver ? file : GT_IOCTL_DRM;
	if (file != GT_IOCTL_OTHER && !ioctl_files[file].driver)
		return file;
	/* A driver of DRM has other files, too: /dev/kfd is amdgpu's. */
	if (major == NVIDIA_MAJOR)
		return GT_IOCTL_NVIDIA;
	return find_file_by_path(path);
}

static int compare_ioctl(const struct ioctl_row *row, enum gt_ioctl_file file, __u16 number)
{
	if (row->file != file)
		return row->file < file ? -1 : 1;
	return (int)(row->command & 0xffff) - (int)number;
}

/* The first row of a file that has a type and number, or after it. */
static size_t find_first_ioctl(enum gt_ioctl_file file, __u16 number)
{
	size_t low = 0, high = gt_countof(ioctl_rows);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ioctl(&ioctl_rows[middle], file, number) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const char *find_ioctl(enum gt_ioctl_file file, __u32 command)
{
	size_t first = find_first_ioctl(file, (__u16)command);
	const char *similar = NULL;

	for (size_t i = first;
	     i < gt_countof(ioctl_rows) && !compare_ioctl(&ioctl_rows[i], file, (__u16)command);
	     i++) {
		if (ioctl_rows[i].command == command)
			return ioctl_rows[i].name;
		/* Commands of UVM are plain numbers, not of a type, a size and so on. */
		if (!similar && file != GT_IOCTL_UVM)
			similar = ioctl_rows[i].name;
	}
	return similar;
}

const char *gt_ioctl_name(enum gt_ioctl_file file, __u32 command)
{
	const char *name = NULL;

	if ((unsigned)file >= GT_IOCTL_FILES)
		return NULL;
	name = find_ioctl(file, command);
	if (!name && ioctl_files[file].driver)
		name = find_ioctl(GT_IOCTL_DRM, command);
	if (!name && file != GT_IOCTL_UVM)
		name = find_ioctl(GT_IOCTL_OTHER, command);
	return name;
}

const char *gt_rm_control_name(__u32 command)
{
	size_t low = 0, high = gt_countof(rm_control_rows);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rm_control_rows[middle].command == command)
			return rm_control_rows[middle].name;
		if (rm_control_rows[middle].command < command)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
