/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The speed and width of the PCIe links of GPUs, from sysfs: `pcie_link` events. */
#pragma once

#include "probe/layer.h"

/* Links are read when the session begins and then once a second. */
extern const struct gt_layer_extra gt_pcie_links;
