/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of CUDA's device runtime (libcudadevrt) that are PTX themselves. */
#pragma once

#include <stdbool.h>

#include "ptx/ptx.h"

/* Returns whether a module declares one of the functions and does not define it. */
bool sg_device_library_is_used(const struct gt_ptx_module *parsed);
/* Parses the library, for linking with such modules. The caller frees. */
int sg_device_library_parse(struct gt_ptx_module **ret_module, struct gt_diag *diag);
