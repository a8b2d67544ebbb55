/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of this folder share. */
#pragma once

#include "api/kernels/parameters.h"

/*
 * Adds the kernels of a container as gt_parameters_add_image, for the sake of one kernel: if a
 * cubin has it, large PTX is not parsed for the types of its parameters. 0; -EBADMSG; -E2BIG;
 * -ENOMEM.
 */
int gt_parameters_add_container(struct gt_parameters *parameters, const void *data, size_t size,
				const char *name, struct gt_diag *diag);
