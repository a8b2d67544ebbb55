/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types and constants of Level Zero that the agent needs, as its headers (ze_api.h, API
 * version 1.3; ze_external_memmap_sysmem_ext_desc_t: 1.14) define them;
 * tests/unit/agent/level_zero_types.c compares. Handles are void pointers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum gt_ze_result {
	GT_ZE_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
	GT_ZE_ERROR_UNINITIALIZED = 0x78000001,
	GT_ZE_ERROR_INVALID_ARGUMENT_INDEX = 0x78000015,
};

enum gt_ze_type {
	GT_ZE_TYPE_DEVICE_PROPERTIES = 0x3,
	GT_ZE_TYPE_MEMORY_ACCESS = 0x8,
	GT_ZE_TYPE_HOST_ALLOC = 0x16,
	GT_ZE_TYPE_MODULE_PROPERTIES = 0x1c,
	GT_ZE_TYPE_KERNEL_PROPERTIES = 0x1e,
	GT_ZE_TYPE_MODULE_PROGRAM = 0x20002,
	GT_ZE_TYPE_SYSTEM_MEMORY = 0x20037,
};

enum gt_ze_constants {
	GT_ZE_FORMAT_SPIRV = 0,
	GT_ZE_MODULE_IMPORTS = 1,       /* a flag of modules */
	GT_ZE_ACCESS = 1 | 2,           /* flags of memory: read, write and atomic operations */
	GT_ZE_INDIRECT_ACCESS_HOST = 1, /* a flag of kernels */
};

/* What structures that may be extended begin with. */
struct gt_ze_head {
	uint32_t type;
	const void *next;
};

struct gt_ze_module_desc {
	struct gt_ze_head head;
	uint32_t format;
	size_t size; /* bytes */
	const uint8_t *input;
	const char *flags;
	const void *constants;
};

struct gt_ze_module_properties {
	struct gt_ze_head head;
	uint32_t flags;
};

struct gt_ze_kernel_desc {
	struct gt_ze_head head;
	uint32_t flags;
	const char *name;
};

struct gt_ze_kernel_properties {
	struct gt_ze_head head;
	uint32_t argument_count;
	uint32_t sizes[7]; /* of groups and sub-groups */
	uint32_t local_size, private_size, spill_size;
	uint8_t uuid[32];
};

/* ze_group_count_t, ze_group_size_t */
struct gt_ze_groups {
	uint32_t x, y, z;
};

struct gt_ze_device_properties {
	struct gt_ze_head head;
	uint64_t fields[12];
	char name[256];
};

struct gt_ze_memory_access {
	struct gt_ze_head head;
	uint32_t host, device, shared, cross, system; /* flags of memory */
};

struct gt_ze_host_alloc {
	struct gt_ze_head head;
	uint32_t flags;
};

/* In a host allocation: memory that exists is mapped. */
struct gt_ze_system_memory {
	struct gt_ze_head head;
	void *memory;
	uint64_t size;
};
