/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What OpenCL knows of a program, as units. The layer keeps those of programs that are linked
 * later, and of binaries, which OpenCL does not return.
 */
#pragma once

#include "agent/opencl/layer.h"
#include "agent/units.h"

/* The source of a program, or its SPIR-V. False: it has neither. */
bool gt_cl_units_add_code(struct gt_agent_units *units, cl_program program);
/* The source of a header. False: it has none. */
bool gt_cl_units_add_header(struct gt_agent_units *units, cl_program header);
/*
 * What a device's compiler defines (OpenCL C 3.0, 6.11), as options of clang: the version, the
 * extensions and features.
 */
void gt_cl_units_add_device(struct gt_agent_units *units, cl_device_id device);
/* The name and version of the devices, where all have the same. */
void gt_cl_units_add_device_name(struct gt_agent_units *units, const cl_device_id *devices,
				 cl_uint count);
