/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether kernels of a device access the memory of this process by its addresses. It needs libc
 * alone: the layer inside traced processes has it, too.
 */
#pragma once

#include <CL/cl.h>
#include <stdbool.h>

/* The functions of the library, or those below a layer. */
struct gt_cl_sharing_calls {
#define FUNCTION(name) __typeof__(&(name)) name;
#include "opencl/sharing.def"
#undef FUNCTION
};

/*
 * A device does if it has fine-grain system SVM (OpenCL 2.0, 3.3.3). One that calls itself a CPU
 * may be a simulator with memory of its own (Oclgrind), so a kernel shows that it does: in a
 * context of its own, it gets a buffer in memory of this process (CL_MEM_USE_HOST_PTR) and stores
 * the buffer's address there. This process must see its own address, without a map of the buffer. A
 * device without a compiler of OpenCL C does not.
 */
bool gt_cl_shares_memory(const struct gt_cl_sharing_calls *call, cl_device_id device);
