/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A driver of Level Zero for tests, which the loader loads by ZE_ENABLE_ALT_DRIVERS. Its device is
 * the first one of OpenCL, PoCL's: kernels are executed. Modules are SPIR-V, which llvm-spirv makes
 * SPIR of, since PoCL 3.1 takes no SPIR-V. A command list is executed by the thread that executes
 * its queue, or appends to it where it is immediate. There are no events and fences.
 *
 *	STANDIN_MEMORY=system|import|separate  the device accesses all memory of the process, as by
 *	                                       default; what zeMemAllocHost has mapped; neither
 *	STANDIN_REJECT=N                       zeModuleCreate fails from the N-th SPIR-V module on
 *	STANDIN_LOG=1                          print modules and launches to standard error
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <stdbool.h>

enum {
	STANDIN_MAX_ARGUMENTS = 16,
	STANDIN_MAX_VALUE = 64, /* bytes of an argument */
};

struct standin {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
};
extern struct standin standin;

/* Whether the environment has the variable with this value. */
bool standin_is(const char *variable, const char *value);

struct standin_argument {
	size_t size;
	bool is_local; /* local memory of this size */
	char value[STANDIN_MAX_VALUE];
};

/* What zeKernelCreate returns. */
struct standin_kernel {
	cl_kernel kernel;
	char name[256];
	uint32_t group[3];
	uint32_t indirect; /* ze_kernel_indirect_access_flags_t */
	struct standin_argument arguments[STANDIN_MAX_ARGUMENTS];
};

/* Whether memory was allocated by the driver. */
bool standin_has_memory(const void *pointer);

void standin_fill_module(ze_module_dditable_t *table);
void standin_fill_build_log(ze_module_build_log_dditable_t *table);
void standin_fill_kernel(ze_kernel_dditable_t *table);
void standin_fill_memory(ze_mem_dditable_t *table);
void standin_fill_list(ze_command_list_dditable_t *table);
void standin_fill_queue(ze_command_queue_dditable_t *table);
