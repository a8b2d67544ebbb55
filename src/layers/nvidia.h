/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of what events of the source "nvidia" have as numbers: for lines and for its report. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

/* "open"; "unknown" for what newer captures may have. */
const char *gt_nvidia_function_name(unsigned function);

/*
 * Add an ioctl's name, or its number, and for NV_ESC_RM_CONTROL the command of the resource
 * manager. `function` is GT_NVIDIA_ioctl or GT_NVIDIA_uvm_ioctl.
 */
void gt_nvidia_put_command(struct gt_strbuf *text, unsigned function, uint32_t command,
			   uint32_t control);
