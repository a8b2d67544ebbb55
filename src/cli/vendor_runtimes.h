/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The installed runtimes of OpenCL, HIP and Level Zero, and whether they have hardware. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

enum gt_vendor_api {
	GT_VENDOR_OPENCL,
	GT_VENDOR_HIP,
	GT_VENDOR_LEVEL_ZERO,
};

/*
 * Add a description of what the runtime of an API has: platforms, devices, which of them are
 * hardware. Its library is loaded in a child process that is killed after 5 s, since a broken
 * driver may crash or hang. Returns whether there is a device.
 */
bool gt_vendor_runtime(enum gt_vendor_api api, struct gt_strbuf *text);
