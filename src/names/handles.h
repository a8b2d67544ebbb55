/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The handles by which code of nvcc 13 launches kernels. It fetches each once, before a kernel's
 * first launch, and keeps it in a variable of the launch stub (crt/host_runtime.h, __cudaLaunch):
 *
 *	static void __device_stub__Z4fillPfi(float *, int)	the mangled name of the kernel in it
 *	{
 *		static cudaKernel_t __handle;
 *
 * So if that happened before the process was traced, and the program has symbols, these name the
 * kernels.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "elf/elf.h"
#include "elf/proc_maps.h"

/*
 * Append the name of the kernel whose handle a variable holds, as it is registered: mangled, or
 * plain for extern "C", which is found by the functions of the program. False: no such variable.
 */
bool gt_handle_kernel(struct gt_elf *elf, const char *variable, struct gt_strbuf *name);

/*
 * Call `found` for each handle that a process has fetched so far, in all mapped files with device
 * code. Unreadable ones are omitted.
 */
void gt_handles_read(const struct gt_proc_maps *maps,
		     void (*found)(void *context, uint64_t handle, const char *kernel),
		     void *context);
