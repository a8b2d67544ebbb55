/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of Xids: errors of GPUs that NVIDIA's driver reports. */
#pragma once

/* What an Xid means, "GPU has fallen off the bus"; NULL: not documented. */
const char *gt_xid_name(unsigned code);
