/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of ioctl commands by the kind of file: DRM and its drivers, KFD, NVIDIA's driver and UVM,
 * and commands of the resource manager inside NVIDIA's. tools/gen-ioctls makes the tables.
 */
#pragma once

#include <stdbool.h>

#include <linux/types.h>

enum gt_ioctl_file {
#define IOCTL_FILE(identifier, module, driver) GT_IOCTL_##identifier,
#include "kernel/ioctl_files.def"
#undef IOCTL_FILE
	GT_IOCTL_FILES
};

/* Commands of NVIDIA's driver by number (bits 0 to 7 of the command, with type 'F'). */
#define GT_NV_ESC_RM_CONTROL 0x2a
#define GT_NV_ESC_RM_ALLOC 0x2b
#define GT_NV_ESC_IOCTL_XFER_CMD 211 /* its argument has the real command */

/*
 * The kind of a file by what the kernel has of it: the module that owns the file's operations (""
 * if none is known), the major number of a device (0 if it is none) and the path ("" if unknown).
 */
enum gt_ioctl_file gt_ioctl_file(const char *module, __u32 major, const char *path);

/*
 * The name of a command on such a file ("DRM_IOCTL_MODE_GETCRTC"), or NULL. Commands are matched
 * exactly first, then by type and number: sizes differ between versions of a driver.
 */
const char *gt_ioctl_name(enum gt_ioctl_file file, __u32 command);

/* The name of a command of NVIDIA's resource manager (NV_ESC_RM_CONTROL), or NULL. */
const char *gt_rm_control_name(__u32 command);
