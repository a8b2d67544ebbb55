/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is known of the programs and of OpenCL and Level Zero before a command runs. */
#pragma once

#include "elf/loader.h"
#include "run/inject.h"

/*
 * Where the program of a command is linked with the library of OpenCL or the loader of Level Zero,
 * pass a remark on each GPU program that cannot be inserted into their kernels to `remark`.
 */
void gt_inject_remark_spirv(const struct gt_inject *inject, const struct gt_command *command,
			    void (*remark)(const char *text));
