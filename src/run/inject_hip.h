/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is known of HIP kernels before a command runs. */
#pragma once

#include "elf/loader.h"

/*
 * Where the program of a command has HIP kernels (fatbin/bundle.h), pass remarks to `remark`: their
 * processors, and whether programs can be inserted into them.
 */
void gt_inject_remark_hip(const struct gt_command *command, void (*remark)(const char *text));
