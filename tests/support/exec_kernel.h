/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kernels with three parameters, for tests of control flow, synchronization and special registers.
 */
#pragma once

#include "exec_fixture.h"

/* A kernel with parameters in %rd0 %rd1 %rd2, the thread in %r0, its word of p1 in %rd19. */
#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n"               \
	"{\n"                                                                                      \
	"	.reg .pred %p<10>;\n	.reg .b32 %r<20>;\n	.reg .b64 %rd<20>;\n"                           \
	"	ld.param.u64 %rd0, [p0];\n	ld.param.u64 %rd1, [p1];\n"                                   \
	"	ld.param.u64 %rd2, [p2];\n	mov.u32 %r0, %tid.x;\n"                                       \
	"	mad.wide.u32 %rd19, %r0, 4, %rd1;\n" body "	ret;\n}\n"

/* Opens a device and loads a module. */
static inline struct sg_module *load(struct device *device, const char *text)
{
	device_open(device);
	return device_load(device, text);
}

/* Runs one block of a kernel; returns the instructions of its warps. */
static inline uint64_t run_counting(struct device *device, struct sg_module *module,
				    const char *name, uint32_t threads, uint64_t a, uint64_t b,
				    uint64_t c)
{
	struct sg_grid_result result;
	uint64_t parameters[] = {a, b, c};

	if (device_run_with(device, module, name, (struct sg_launch){.shape.block = {threads}},
			    parameters, 3, &result))
		TAP_FAIL("%s: %s", name, result.fault.text);
	return result.warp_instructions;
}
