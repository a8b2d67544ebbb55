/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program is made of, as the collector takes it: the chunks of GT_AGENT_PROGRAM. The layer
 * keeps those of programs that are linked later, and of binaries, which OpenCL does not return.
 */
#pragma once

#include "agent/opencl/layer.h"
#include "agent/protocol.h"

struct gt_cl_units {
	char *bytes; /* NULL: none */
	size_t size;
	bool failed; /* out of memory: what is there is not complete */
};

void gt_cl_units_add(struct gt_cl_units *units, enum gt_agent_chunk_kind kind, const void *bytes,
		     size_t size);
void gt_cl_units_append(struct gt_cl_units *units, const struct gt_cl_units *others);
/* The source of a program, or its SPIR-V. False: it has neither. */
bool gt_cl_units_add_code(struct gt_cl_units *units, cl_program program);
/* The source of a header. False: it has none. */
bool gt_cl_units_add_header(struct gt_cl_units *units, cl_program header);
/* A binary: all of it where it is SPIR-V or the bitcode of SPIR. */
void gt_cl_units_add_binary(struct gt_cl_units *units, const void *bytes, size_t size);
/*
 * What a device's compiler defines (OpenCL C 3.0, 6.11), as options of clang: the version, the
 * extensions and features.
 */
void gt_cl_units_add_device(struct gt_cl_units *units, cl_device_id device);
/* The name and version of the devices, where all have the same. */
void gt_cl_units_add_device_name(struct gt_cl_units *units, const cl_device_id *devices,
				 cl_uint count);
/* Whether they are those of a program that was created from a binary. */
bool gt_cl_units_is_binary(const struct gt_cl_units *units);
void gt_cl_units_clear(struct gt_cl_units *units);
