/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The agent's types and constants of Level Zero, against its headers. */
#include "agent/level_zero/types.h"
#include "tap.h"

#if __has_include(<level_zero/ze_api.h>)
#include <level_zero/ze_api.h>

#define SAME_SIZE(own, type) CHECK(sizeof(struct own) == sizeof(type))
#define SAME_PLACE(own, field, type, member)                                                       \
	CHECK(offsetof(struct own, field) == offsetof(type, member) &&                             \
	      sizeof(((struct own *)0)->field) == sizeof(((type *)0)->member))

TEST("structures are those of the headers")
{
	SAME_SIZE(gt_ze_module_desc, ze_module_desc_t);
	SAME_PLACE(gt_ze_module_desc, format, ze_module_desc_t, format);
	SAME_PLACE(gt_ze_module_desc, size, ze_module_desc_t, inputSize);
	SAME_PLACE(gt_ze_module_desc, input, ze_module_desc_t, pInputModule);
	SAME_PLACE(gt_ze_module_desc, flags, ze_module_desc_t, pBuildFlags);
	SAME_PLACE(gt_ze_module_desc, constants, ze_module_desc_t, pConstants);
	SAME_SIZE(gt_ze_module_properties, ze_module_properties_t);
	SAME_PLACE(gt_ze_module_properties, flags, ze_module_properties_t, flags);
	SAME_SIZE(gt_ze_kernel_desc, ze_kernel_desc_t);
	SAME_PLACE(gt_ze_kernel_desc, name, ze_kernel_desc_t, pKernelName);
	SAME_SIZE(gt_ze_kernel_properties, ze_kernel_properties_t);
	SAME_PLACE(gt_ze_kernel_properties, argument_count, ze_kernel_properties_t, numKernelArgs);
	SAME_PLACE(gt_ze_kernel_properties, local_size, ze_kernel_properties_t, localMemSize);
	SAME_PLACE(gt_ze_kernel_properties, private_size, ze_kernel_properties_t, privateMemSize);
	SAME_SIZE(gt_ze_groups, ze_group_count_t);
	SAME_SIZE(gt_ze_device_properties, ze_device_properties_t);
	SAME_PLACE(gt_ze_device_properties, name, ze_device_properties_t, name);
	SAME_SIZE(gt_ze_memory_access, ze_device_memory_access_properties_t);
	SAME_PLACE(gt_ze_memory_access, host, ze_device_memory_access_properties_t,
		   hostAllocCapabilities);
	SAME_PLACE(gt_ze_memory_access, system, ze_device_memory_access_properties_t,
		   sharedSystemAllocCapabilities);
	SAME_SIZE(gt_ze_host_alloc, ze_host_mem_alloc_desc_t);
	SAME_PLACE(gt_ze_host_alloc, flags, ze_host_mem_alloc_desc_t, flags);
}

TEST("constants are those of the headers")
{
	CHECK((unsigned)GT_ZE_ERROR_OUT_OF_HOST_MEMORY == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
	CHECK((unsigned)GT_ZE_ERROR_UNINITIALIZED == ZE_RESULT_ERROR_UNINITIALIZED);
	CHECK((unsigned)GT_ZE_ERROR_INVALID_ARGUMENT_INDEX ==
	      ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
	CHECK((unsigned)GT_ZE_TYPE_DEVICE_PROPERTIES == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
	CHECK((unsigned)GT_ZE_TYPE_MEMORY_ACCESS ==
	      ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
	CHECK((unsigned)GT_ZE_TYPE_HOST_ALLOC == ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
	CHECK((unsigned)GT_ZE_TYPE_MODULE_PROPERTIES == ZE_STRUCTURE_TYPE_MODULE_PROPERTIES);
	CHECK((unsigned)GT_ZE_TYPE_KERNEL_PROPERTIES == ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
	CHECK((unsigned)GT_ZE_TYPE_MODULE_PROGRAM == ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC);
	CHECK((unsigned)GT_ZE_MODULE_IMPORTS == ZE_MODULE_PROPERTY_FLAG_IMPORTS);
	CHECK((unsigned)GT_ZE_ACCESS ==
	      (ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC));
	CHECK((unsigned)GT_ZE_INDIRECT_ACCESS_HOST == ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST);
}
#else
TEST("structures and constants are those of the headers")
{
	SKIP("there are no headers of Level Zero (libze-dev)");
}
#endif

TEST_MAIN
