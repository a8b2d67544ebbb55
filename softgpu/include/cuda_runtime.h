/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA C++ for clang without any file of NVIDIA's: the language's words, the runtime API and its
 * templates, the device's functions. softcc includes it first of all, as nvcc does with its own:
 * device overloads of mathematical functions must be known before <cmath> is read.
 *
 * The names, types and meanings are those of NVIDIA's public documentation (CUDA C++ Programming
 * Guide, CUDA Runtime API, CUDA Math API). The device side rests on headers that come with clang
 * (14 and later), which bring CUDA's names, and on softgpu/libdevice.h below them. Not here:
 * __managed__ variables, textures and surfaces, cooperative groups, launches from kernels.
 * Half precision types are in cuda_fp16.h.
 */
#pragma once

#if defined(__CUDA__) && defined(__clang__)

#define __CUDACC__ 1
#define CUDA_VERSION 13000

#include <__clang_cuda_math_forward_declares.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cuda_runtime_api.h"
#include "driver_functions.h"
#include "vector_functions.h"

#include <__clang_cuda_builtin_vars.h>
#include <__clang_cuda_libdevice_declares.h>

#include "softgpu/libdevice.h"

#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>

#include "softgpu/device.h"

/* As in cuda.h; clang's header of intrinsics uses it. */
typedef uint32_t cuuint32_t;

#include <__clang_cuda_cmath.h>
#include <__clang_cuda_intrinsics.h>
#include <new>

#include "softgpu/templates.h"

#else

#include "cuda_runtime_api.h"
#include "driver_functions.h"
#include "vector_functions.h"

#ifdef __cplusplus
#include "softgpu/templates.h"
#endif

#endif
