/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* threadIdx and the other indices, all of which cuda_runtime.h declares. */
#pragma once

#include "cuda_runtime.h"
