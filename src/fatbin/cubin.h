/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernels of a cubin: the layout of their parameters and what they use. A cubin is an ELF of
 * machine 190 with one .text.KERNEL and .nv.info.KERNEL a kernel; NVIDIA documents none of it.
 * Measured with nvcc and ptxas 13.0.88 for sm_75, sm_90 and sm_120, on kernels of known layout:
 *
 *   .nv.info*      records u8 format, u8 attribute, then by format: 1: u16 0; 2: u8, u8 0;
 *                  3: u16 value; 4: u16 size, that many bytes. Numbers are little-endian.
 *   0x17 (4, 12 bytes)  a parameter: u32 0, u16 ordinal, u16 offset, u32 whose bits 18 to 31 are
 *                  its size in bytes
 *   0x45 (4, 12 bytes)  the same in kernels with more than 4 KiB of parameters: u32 0,
 *                  u16 ordinal, u16 offset, u16 size, u16 unknown
 *   0x19 (3)       bytes of all parameters
 *   0x2f (4, 8 bytes, in .nv.info)  u32 symbol, u32 registers of a thread
 *   0x11 (4, 8 bytes, in .nv.info)  u32 symbol, u32 bytes of local memory (the stack frame)
 *   .nv.shared.KERNEL  its size: bytes of static shared memory
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"

/* A parameter's offset and size in the buffer of parameters, in bytes. */
struct gt_cubin_parameter {
	uint16_t offset;
	uint16_t size;
};

#define GT_CUBIN_UNKNOWN UINT32_MAX

struct gt_cubin_kernel {
	char *name; /* mangled */
	struct gt_cubin_parameter *parameters;
	size_t parameter_count;
	uint32_t parameter_bytes; /* or GT_CUBIN_UNKNOWN, as the following members */
	uint32_t registers;       /* of a thread */
	uint32_t shared_bytes;    /* static shared memory of a block */
	uint32_t local_bytes;     /* of a thread: the stack frame */
};

struct gt_cubin {
	struct gt_cubin_kernel *kernels;
	size_t count;
};

enum {
	GT_CUBIN_MAX_KERNELS = 1 << 20,
	GT_CUBIN_MAX_PARAMETERS = 4096, /* of one kernel; its buffer has at most 32,764 bytes */
};

/*
 * Reads the kernels of a cubin, possibly none. 0; -ENOEXEC: not a cubin; -EBADMSG: malformed;
 * -E2BIG: a limit; -ENOMEM. A kernel with malformed parameters is omitted.
 */
int gt_cubin_read(const void *data, size_t size, struct gt_cubin *ret_cubin, struct gt_diag *diag);
void gt_cubin_free(struct gt_cubin *cubin);
static inline void gt_cleanup_cubin(struct gt_cubin *cubin)
{
	gt_cubin_free(cubin);
}
#define gt_auto_cubin __attribute__((cleanup(gt_cleanup_cubin))) struct gt_cubin
