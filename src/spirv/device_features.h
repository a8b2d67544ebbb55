/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an OpenCL device has beyond OpenCL 1.2 and SPIR-V 1.0, as a mask of GT_SPIRV_<name>
 * (device_features.def):
 *
 *	SUB_GROUPS          ballots and shuffles of sub-groups, also where some of the
 *	                    work-items execute them (cl_khr_subgroup_ballot,
 *	                    cl_khr_subgroup_shuffle; SPIR-V 1.3)
 *	UNIFORM_SUB_GROUPS  the same, but only where all work-items of the work-group
 *	                    execute them
 *	SUB_GROUPS_OF_32    a kernel can require that its sub-groups have 32 work-items
 *	                    (cl_intel_required_subgroup_size)
 *	SUB_GROUP_CLOCK     a counter of 64 bits that the work-items of a sub-group have in
 *	                    common (cl_khr_kernel_clock, SPV_KHR_shader_clock)
 *	DEVICE_CLOCK        the same of the device
 */
#pragma once

#include <stdint.h>

enum gt_spirv_feature_number {
#define FEATURE(name, text) GT_SPIRV_NUMBER_##name,
#include "spirv/device_features.def"
#undef FEATURE
};

enum gt_spirv_feature {
#define FEATURE(name, text) GT_SPIRV_##name = 1 << GT_SPIRV_NUMBER_##name,
#include "spirv/device_features.def"
#undef FEATURE
	GT_SPIRV_ANY_SUB_GROUPS = GT_SPIRV_SUB_GROUPS | GT_SPIRV_UNIFORM_SUB_GROUPS,
	GT_SPIRV_ANY_CLOCK = GT_SPIRV_SUB_GROUP_CLOCK | GT_SPIRV_DEVICE_CLOCK,
};
