/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cudaProfilerStart and cudaProfilerStop are with the rest of the runtime API. */
#pragma once

#include "cuda_runtime_api.h"
