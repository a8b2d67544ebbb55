/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lines for users who ask why something failed (report_line.h). */
#pragma once

#include "base/diag.h"

/* The fault of a kernel. */
void sg_report_fault(const char *text);
/* Why a call has that error; nothing if the diag is not set. */
void sg_report_error(int error, const struct gt_diag *diag);
/* A call of a function that this device does not have. Returns CUDA_ERROR_NOT_SUPPORTED. */
int sg_unsupported(const char *function);
