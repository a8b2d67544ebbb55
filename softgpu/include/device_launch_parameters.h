/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* threadIdx and its kin: all of it comes with cuda_runtime.h. */
#pragma once

#include "cuda_runtime.h"
